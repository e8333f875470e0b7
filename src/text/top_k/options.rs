//! What is asked of a search.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Instant;

use roaring::RoaringBitmap;

use crate::error::Error;
use crate::error::ErrorKind;
use crate::error::Result;
use crate::ids::NodeRange;
use crate::text::Bm25;

/// A term of a query, and what its part of a score is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightedTerm<'a> {
    /// The term, as the analyzer makes it.
    pub term: &'a str,
    /// From 0 to 1,000,000. A term with boost 0 may be required, but never adds.
    pub boost: f32,
}

impl<'a> WeightedTerm<'a> {
    /// `term` with a boost of 1.
    #[must_use]
    pub const fn new(term: &'a str) -> Self {
        Self { term, boost: 1.0 }
    }
}

/// How much an occurrence counts by where it is, and so the length of a leaf: a term's frequency is
/// `body * (occurrences in the leaf's own title and text) + title * (those in the titles above it)`, and a
/// leaf's length is the same sum over all terms. `(1, 1)`: the full field; `(1, 0)`: the leaf alone; `(0, 1)`:
/// its heading path.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FieldWeights {
    /// From 0 to 1,000,000.
    pub body: f32,
    /// From 0 to 1,000,000.
    pub title: f32,
}

impl Default for FieldWeights {
    /// Both 1.
    fn default() -> Self {
        Self { body: 1.0, title: 1.0 }
    }
}

/// What is asked of a search.
#[derive(Debug, Clone, Copy)]
pub struct SearchOptions<'a> {
    /// Only leaves in it are given; statistics are those of all live leaves all the same.
    pub filter: Option<&'a RoaringBitmap>,
    /// Only leaves in it are given, as for `filter`.
    pub range: Option<NodeRange>,
    /// How many leaves are given at most.
    pub limit: usize,
    /// Constants of the scores.
    pub bm25: Bm25,
    /// What counts how much.
    pub weights: FieldWeights,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Set by another thread to make the search give up.
    pub cancel: Option<&'a AtomicBool>,
}

impl Default for SearchOptions<'_> {
    /// The best ten of all leaves, by the default BM25 over the full field, however long it takes.
    fn default() -> Self {
        Self {
            filter: None,
            range: None,
            limit: 10,
            bm25: Bm25::default(),
            weights: FieldWeights::default(),
            deadline: None,
            cancel: None,
        }
    }
}

/// Largest boost and weight.
const MOST: f32 = 1e6;

/// Most distinct terms of one query; each takes a table of 8 or 16 KB.
pub const MAX_TERMS: usize = 8192;

impl SearchOptions<'_> {
    /// Whether a search for `terms` makes sense.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a number is out of range or not a number, or the terms are too many.
    pub(crate) fn check(&self, terms: &[WeightedTerm<'_>]) -> Result<()> {
        let within = |value: f32| (0.0..=MOST).contains(&value);
        if let Some(bad) = terms.iter().find(|term| !within(term.boost)) {
            let WeightedTerm { term, boost } = bad;
            return Err(Error::invalid(format!(
                "term \"{term}\" has the boost {boost}; a boost is from 0 to 1,000,000"
            )));
        }
        let FieldWeights { body, title } = self.weights;
        if !within(body) || !within(title) || body + title <= 0.0 {
            return Err(Error::invalid(format!(
                "the field weights are {body} for the body and {title} for the title; they are from 0 to \
                 1,000,000 and not both 0"
            )));
        }
        let Bm25 { k1, b } = self.bm25;
        if !(0.0..=1e6).contains(&k1) || !(0.0..=1.0).contains(&b) {
            return Err(Error::invalid(format!(
                "BM25 has k1 {k1} and b {b}; k1 is from 0 to 1,000,000, b from 0 to 1"
            )));
        }
        Ok(())
    }

    /// Whether to go on.
    ///
    /// # Errors
    ///
    /// `Cancelled` if the flag is set, `DeadlineExceeded` if the deadline has passed.
    pub(crate) fn go_on(&self) -> Result<()> {
        if self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(Error::new(ErrorKind::Cancelled, "the search was cancelled"));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Error::new(ErrorKind::DeadlineExceeded, "the search did not end by its deadline"));
        }
        Ok(())
    }
}
