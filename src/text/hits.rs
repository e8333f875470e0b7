//! Where a question's terms occur in a view.

use std::collections::HashSet;
use std::ops::Range;

use super::source::PartSource;
use super::view::View;
use crate::error::Result;
use crate::ids::NodeId;

/// Consecutive ordinals `first..=last` of a segment, which are the indexes from `base` on in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) base: u32,
}

/// An inner node whose title has the term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadingHit {
    /// Its index among the view's inner nodes.
    pub inner: u32,
    /// The node.
    pub node: NodeId,
    /// Indexes of the leaves below it, to whose fields the title belongs.
    pub leaves: Range<u32>,
    /// Occurrences in the title.
    pub term_freq: u32,
}

/// Where one term occurs in a view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TermHits {
    /// The term.
    pub term: String,
    /// Indexes of the leaves with the term in their own title or text, ascending.
    pub leaves: Vec<u32>,
    /// Occurrences in each of them.
    pub term_freqs: Vec<u32>,
    /// Visible inner nodes with the term in their title, ascending.
    pub headings: Vec<HeadingHit>,
}

impl View {
    /// Where each distinct term of `terms` occurs, in order of first appearance. Terms nobody has are among
    /// them, with no hits: BM25 passes over them.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a posting list is damaged; and what `source` reports.
    pub fn hits<T: AsRef<str>>(&self, source: &dyn PartSource, terms: &[T]) -> Result<Vec<TermHits>> {
        let mut seen = HashSet::new();
        let distinct = terms.iter().map(AsRef::as_ref).filter(|term| seen.insert(*term));
        distinct.map(|term| self.term_hits(source, term)).collect()
    }

    fn term_hits(&self, source: &dyn PartSource, term: &str) -> Result<TermHits> {
        let mut hits = TermHits { term: term.to_owned(), ..TermHits::default() };
        for slice in &self.segments {
            let Some(postings) = slice.reader.postings(source, term)? else { continue };
            let mut emit = |leaf, term_freq| {
                hits.leaves.push(leaf);
                hits.term_freqs.push(term_freq);
            };
            let (mut wanted, mut within) = (Cursor(&slice.leaves), Cursor(&slice.leaves));
            slice.reader.body_blocks(
                &postings,
                |first, last| wanted.meets(first, last),
                |ids, freqs| within.translate(ids, freqs, &mut emit),
            )?;
            let mut emit = |inner: u32, term_freq| {
                if let Some(entry) = self.inner.get(inner as usize) {
                    let (node, leaves) = (entry.range.first, entry.leaves.clone());
                    hits.headings.push(HeadingHit { inner, node, leaves, term_freq });
                }
            };
            let (mut wanted, mut within) = (Cursor(&slice.inner), Cursor(&slice.inner));
            slice.reader.heading_blocks(
                &postings,
                |first, last| wanted.meets(first, last),
                |ids, freqs| within.translate(ids, freqs, &mut emit),
            )?;
        }
        Ok(hits)
    }
}

/// The runs not yet passed.
struct Cursor<'a>(&'a [Run]);

impl Cursor<'_> {
    /// Whether a run holds one of `first..=last`; runs before are passed.
    fn meets(&mut self, first: u32, last: u32) -> bool {
        let passed = self.0.partition_point(|run| run.last < first);
        self.0 = self.0.get(passed..).unwrap_or_default();
        self.0.first().is_some_and(|run| run.first <= last)
    }

    /// Gives the view's index and the frequency of each of `ids` that is in a run.
    fn translate(&mut self, ids: &[u32], freqs: &[u32], emit: &mut impl FnMut(u32, u32)) {
        for (&id, &freq) in ids.iter().zip(freqs) {
            while let [run, rest @ ..] = self.0
                && run.last < id
            {
                self.0 = rest;
            }
            let Some(run) = self.0.first() else { return };
            if id >= run.first {
                emit(run.base + (id - run.first), freq);
            }
        }
    }
}
