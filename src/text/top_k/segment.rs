//! What a search needs of the leaves of one segment.

use std::ops::Range;

use super::score::Formula;
use crate::format::text::LeafRecord;
use crate::ids::NodeId;

/// Ordinals that are scored at once.
pub const WINDOW: usize = 16_384;

/// The same as an ordinal.
pub const WINDOW_ORDINALS: u32 = 16_384;

/// Buckets of 256 ordinals in a window.
pub const BUCKETS: usize = WINDOW / 256;

/// Which ordinals of a window are allowed: 64 a word, lowest first.
pub type Words = [u64; WINDOW / 64];

/// The leaves of a segment.
#[derive(Debug, Clone)]
pub struct Segment<'a> {
    pub leaves: &'a [LeafRecord],
    pub full_lens: &'a [u32],
    /// For each leaf the class of its weighted length.
    pub classes: &'a [u8],
    /// For each 256 leaves the lowest class.
    pub floors: &'a [u8],
    /// Whether weighted lengths are the full lengths, so that the bounds of the lists hold.
    pub is_full: bool,
    /// What the maxima of the lists must be multiplied by to hold, if they can be made to.
    pub maxima: Option<f64>,
    /// Bits of the live leaves, 64 a word; `None` if all are.
    pub live: Option<&'a [u64]>,
    /// Bits of the leaves the query allows.
    pub filter: Option<Vec<u64>>,
    /// Ordinals of the leaves the query allows.
    pub range: Range<u32>,
}

impl Segment<'_> {
    /// Whether leaf `ordinal` lives and is allowed.
    pub fn allows(&self, ordinal: u32) -> bool {
        let bit = |words: &[u64]| {
            words.get(ordinal as usize / 64).is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
        };
        self.range.contains(&ordinal) && self.live.is_none_or(bit) && self.filter.as_deref().is_none_or(bit)
    }

    /// Writes which of the ordinals from `base` on are allowed, `base` being a multiple of 64; `false` if all
    /// are.
    pub fn allowed(&self, base: u32, words: &mut Words) -> bool {
        let end = base.saturating_add(WINDOW_ORDINALS);
        let is_whole = self.range.start <= base && (self.range.end >= end || self.range.end == self.end());
        if is_whole && self.live.is_none() && self.filter.is_none() {
            return false;
        }
        words.fill(u64::MAX);
        for of_all in [self.live, self.filter.as_deref()].into_iter().flatten() {
            let from = of_all.get(base as usize / 64..).unwrap_or_default();
            let (both, rest) = words.split_at_mut(from.len().min(WINDOW / 64));
            for (word, other) in both.iter_mut().zip(from) {
                *word &= other;
            }
            rest.fill(0);
        }
        for (first, word) in (base..).step_by(64).zip(words.iter_mut()) {
            let below = self.range.start.saturating_sub(first).min(64);
            let within = self.range.end.saturating_sub(first).min(64);
            *word &= low_bits(within) & !low_bits(below);
        }
        true
    }

    /// One past the last ordinal.
    pub fn end(&self) -> u32 {
        u32::try_from(self.leaves.len()).unwrap_or(u32::MAX)
    }

    /// The node of leaf `ordinal`; `None` past the end.
    pub fn node(&self, ordinal: u32) -> Option<NodeId> {
        self.leaves.get(ordinal as usize).map(|leaf| NodeId(leaf.node))
    }

    /// The weighted length of leaf `ordinal`; 0 past the end.
    pub fn len(&self, ordinal: u32, formula: &Formula) -> f64 {
        let full_len = self.full_lens.get(ordinal as usize).copied().unwrap_or(0);
        if self.is_full {
            // The same, and one place in memory less to wait for.
            return f64::from(full_len);
        }
        let own_len = self.leaves.get(ordinal as usize).map_or(0, |leaf| leaf.own_len);
        formula.len(own_len, full_len)
    }

    /// The class of leaf `ordinal`; 255 past the end.
    pub fn class(&self, ordinal: u32) -> u8 {
        self.classes.get(ordinal as usize).copied().unwrap_or(255)
    }
}

fn low_bits(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Consecutive ordinals of a segment.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// The first, a multiple of 256.
    pub base: u32,
    /// One past the last, a multiple of 256; it may lie behind the segment's.
    pub end: u32,
    /// Length classes of the ordinals from `base` on; what follows the segment's last is 255.
    pub classes: &'a [u8; WINDOW],
}

impl<'a> Window<'a> {
    /// `padded` is for the last window of a segment, whose classes are too few.
    pub fn new(segment: &Segment<'a>, base: u32, end: u32, padded: &'a mut [u8; WINDOW]) -> Self {
        let from = segment.classes.get(base as usize..).unwrap_or_default();
        let classes = match from.first_chunk() {
            Some(classes) => classes,
            None => {
                let (own, rest) = padded.split_at_mut(from.len().min(WINDOW));
                own.copy_from_slice(from);
                rest.fill(255);
                padded
            }
        };
        Self { base, end, classes }
    }

    /// How many buckets it has.
    pub fn buckets(&self) -> usize {
        ((self.end - self.base) / 256) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_are_allowed_that_live_pass_the_filter_and_lie_in_the_range() {
        let leaf = LeafRecord { node: 1, own_len: 1, kind: 0, level: 0 };
        let leaves = vec![leaf; 300];
        let live: Vec<u64> = vec![!0b10, u64::MAX, u64::MAX, u64::MAX, 0b1111];
        let segment = Segment {
            leaves: &leaves,
            full_lens: &[],
            classes: &[],
            floors: &[],
            is_full: true,
            maxima: None,
            live: Some(&live),
            filter: Some(vec![0b1111, 0, 0, 0, 0b111]),
            range: 1..258,
        };
        let mut words = [0; WINDOW / 64];

        assert!(segment.allowed(0, &mut words));

        let allowed = |ordinal: u32| words[ordinal as usize / 64] >> (ordinal % 64) & 1 == 1;
        let found: Vec<u32> = (0..WINDOW_ORDINALS).filter(|ordinal| allowed(*ordinal)).collect();
        assert_eq!(found, [2, 3, 256, 257]);
        assert!((0..400).all(|ordinal| segment.allows(ordinal) == allowed(ordinal)));
        let all = Segment { live: None, filter: None, range: 0..300, ..segment };
        assert!(!all.allowed(0, &mut words));
    }
}
