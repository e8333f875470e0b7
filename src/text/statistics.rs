//! What searches need to know of all live leaves, made once for a snapshot.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::OnceLock;

use parking_lot::Mutex;

use super::index::TextIndex;
use super::live::Live;
use super::reader::SegmentReader;
use super::top_k::FieldWeights;
use crate::error::Result;
use crate::format::text::length_class;

/// Counts of terms that are kept.
const KEPT: usize = 1 << 16;

/// What is known of all live leaves, and what has been found out about terms.
#[derive(Debug, Default)]
pub struct Statistics {
    totals: OnceLock<Totals>,
    /// For the weights asked for last, other than the full field's: the length classes of each segment.
    weighted: Mutex<Option<(FieldWeights, Arc<Vec<Classes>>)>>,
    /// In how many live leaves of a segment terms occur; filled only where a segment has deleted leaves.
    doc_freqs: Mutex<HashMap<(usize, Counted, String), u32>>,
}

/// Sums over live leaves.
#[derive(Debug)]
pub struct Totals {
    /// How many there are.
    pub leaves: u32,
    /// Their own terms.
    own_terms: u64,
    /// Their own terms and those above them.
    full_terms: u64,
    /// What is known of the leaves of each segment, dead or alive.
    pub segments: Vec<Columns>,
}

/// What is known of the leaves of a segment.
#[derive(Debug)]
pub struct Columns {
    /// For each 256 leaves the lowest class of a full length.
    pub floors: Vec<u8>,
    /// The longest full length.
    pub longest: u32,
    /// Their mean.
    pub mean_len: f64,
}

/// Classes of weighted lengths in a segment.
#[derive(Debug)]
pub struct Classes {
    /// For each leaf.
    pub classes: Vec<u8>,
    /// For each 256 leaves the lowest.
    pub floors: Vec<u8>,
}

/// Where a term must occur for a leaf to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    Full,
    Body,
    Title,
}

impl Counted {
    /// What counts with `weights`.
    pub fn with(weights: FieldWeights) -> Self {
        match weights {
            FieldWeights { title, .. } if title <= 0.0 => Self::Body,
            FieldWeights { body, .. } if body <= 0.0 => Self::Title,
            _ => Self::Full,
        }
    }
}

impl Statistics {
    /// Sums over the live leaves of `index`, whose statistics these are.
    pub fn totals(&self, index: &TextIndex) -> &Totals {
        self.totals.get_or_init(|| {
            let (mut leaves, mut own_terms, mut full_terms) = (0, 0, 0);
            let mut segments = Vec::new();
            for (reader, live) in index.segments_with_live() {
                let (count, own, full) = sums(reader, live);
                leaves += count;
                own_terms += own;
                full_terms += full;
                segments.push(Columns::of(reader));
            }
            Totals { leaves, own_terms, full_terms, segments }
        })
    }

    /// The length classes of each segment of `index` with `weights`; `None` if they are those of full lengths.
    pub fn classes(&self, index: &TextIndex, weights: FieldWeights) -> Option<Arc<Vec<Classes>>> {
        if weights == FieldWeights::default() {
            return None;
        }
        let mut kept = self.weighted.lock();
        if let Some((of, classes)) = &*kept
            && *of == weights
        {
            return Some(Arc::clone(classes));
        }
        let all = index.segments().iter().map(|reader| Classes::of(reader, weights)).collect();
        let all = Arc::new(all);
        *kept = Some((weights, Arc::clone(&all)));
        Some(all)
    }

    /// In how many live leaves of segment `at` `term` occurs, by `count` if that is not known yet.
    ///
    /// # Errors
    ///
    /// What `count` reports.
    pub fn doc_freq(
        &self,
        at: usize,
        counted: Counted,
        term: &str,
        count: impl FnOnce() -> Result<u32>,
    ) -> Result<u32> {
        let key = (at, counted, term.to_owned());
        if let Some(known) = self.doc_freqs.lock().get(&key) {
            return Ok(*known);
        }
        let found = count()?;
        let mut known = self.doc_freqs.lock();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, found);
        Ok(found)
    }
}

impl Totals {
    /// The mean weighted length.
    #[expect(clippy::cast_precision_loss, reason = "counts of terms stay below 2^53")]
    pub fn mean_len(&self, weights: FieldWeights) -> f64 {
        let above = self.full_terms.saturating_sub(self.own_terms);
        let sum = f64::from(weights.body) * self.own_terms as f64 + f64::from(weights.title) * above as f64;
        if self.leaves == 0 { 0.0 } else { sum / f64::from(self.leaves) }
    }
}

fn sums(reader: &SegmentReader, live: Option<&Live>) -> (u32, u64, u64) {
    let Some(live) = live else {
        let header = reader.header();
        return (header.leaf_count, header.own_terms, header.full_terms);
    };
    (live.leaf_count(), live.own_terms(), live.full_terms())
}

impl Columns {
    fn of(reader: &SegmentReader) -> Self {
        let header = reader.header();
        Self {
            floors: floors(reader.length_classes()),
            longest: reader.full_lens().iter().copied().max().unwrap_or(0),
            mean_len: super::bm25::mean(header.full_terms, header.leaf_count),
        }
    }
}

impl Classes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    fn of(reader: &SegmentReader, weights: FieldWeights) -> Self {
        let (body, title) = (f64::from(weights.body), f64::from(weights.title));
        let leaves = reader.leaves().iter().zip(reader.full_lens());
        let len = leaves.map(|(leaf, full_len)| {
            let above = full_len.saturating_sub(leaf.own_len);
            body * f64::from(leaf.own_len) + title * f64::from(above)
        });
        let classes: Vec<u8> = len.map(|len| length_class(len as u32)).collect();
        let floors = floors(&classes);
        Self { classes, floors }
    }
}

fn floors(classes: &[u8]) -> Vec<u8> {
    classes.chunks(256).map(|bucket| bucket.iter().copied().min().unwrap_or(0)).collect()
}
