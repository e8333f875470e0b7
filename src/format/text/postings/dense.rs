//! Dense lists: a nibble for every leaf of the segment.

use std::ops::Range;

use super::Bounds;
use super::Found;
use super::LeafColumns;
use super::Posting;
use super::nibbles::Escapes;
use super::nibbles::nibble;
use super::nibbles::put_nibbles;
use super::pairs::take_varint;
use super::{BUCKET_ORDINALS, put_head, put_maxima};
use crate::format::text::Damage;
use crate::format::text::Decoded;

/// A dense list whose escapes have been checked.
#[derive(Debug, Clone, Copy)]
pub struct DenseList<'a> {
    bounds: &'a Bounds,
    maxima: &'a [u8],
    nibbles: &'a [u8],
    escapes: Escapes<'a>,
    count: u32,
    bound: u32,
    /// Where `nibbles` begins, for reports of damage.
    start: usize,
}

impl<'a> DenseList<'a> {
    /// The list of `count` postings in `bytes`, which follow byte 0.
    pub(super) fn parse(bytes: &'a [u8], count: u32, bound: u32) -> Decoded<Self> {
        let at = |rest: &[u8]| 1 + bytes.len() - rest.len();
        let bad = |field, offset, why| Damage { field, offset, why };
        let cut = |field, rest: &[u8]| bad(field, at(rest), "the list is cut short");
        let (bounds, mut rest) = bytes.split_first_chunk().ok_or(cut("bounds", bytes))?;
        let escape_count = take_varint(&mut rest).ok_or(cut("escapes", rest))?;
        let leaves = bound as usize;
        let (maxima, rest) =
            rest.split_at_checked(leaves.div_ceil(BUCKET_ORDINALS)).ok_or(cut("maxima", rest))?;
        let start = at(rest);
        let (nibbles, rest) = rest.split_at_checked(leaves.div_ceil(2)).ok_or(cut("nibbles", rest))?;
        if nibble(nibbles, leaves) != 0 {
            return Err(bad("nibbles", at(rest) - 1, "a nibble follows the last"));
        }
        let of = |ordinal: u32| (ordinal < bound).then(|| nibble(nibbles, ordinal as usize));
        let escapes = Escapes::parse(rest, escape_count, at(rest), of)?;
        Ok(Self { bounds, maxima, nibbles, escapes, count, bound, start })
    }

    /// What bounds the scores.
    #[must_use]
    pub const fn bounds(&self) -> &'a Bounds {
        self.bounds
    }

    /// For each bucket of 256 leaves the maximum of [`LeafColumns::impact`].
    #[must_use]
    pub const fn maxima(&self) -> &'a [u8] {
        self.maxima
    }

    /// For each leaf its frequency, 0 if it has no posting, 15 if that is an escape; see [`nibble`].
    #[must_use]
    pub const fn nibbles(&self) -> &'a [u8] {
        self.nibbles
    }

    /// How many postings there are.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The frequencies from 15 on.
    #[must_use]
    pub const fn escapes(&self) -> Escapes<'a> {
        self.escapes
    }

    pub(super) fn groups_in(
        &self,
        within: &Range<u32>,
        mut wanted: impl FnMut(u32, u32, u32) -> bool,
        mut each: impl FnMut(u32, &[u32], &[u32]),
    ) -> Decoded<()> {
        let mut ids = [0; BUCKET_ORDINALS];
        let mut freqs = [0; BUCKET_ORDINALS];
        let mut left_out = within.start > 0 || within.end < self.bound;
        let mut total = 0;
        let buckets = within.start.min(self.bound) >> 8..within.end.min(self.bound).div_ceil(256);
        for bucket in buckets {
            let first = bucket << 8;
            let last = (first | 255).min(self.bound - 1);
            if last < within.start || !wanted(bucket, first, last) {
                left_out = true;
                continue;
            }
            let count = self.bucket(first, last, &mut ids, &mut freqs)?;
            total += count;
            if count > 0 {
                each(bucket, ids.get(..count).unwrap_or_default(), freqs.get(..count).unwrap_or_default());
            }
        }
        if left_out || total == self.count as usize {
            return Ok(());
        }
        Err(Damage { field: "nibbles", offset: self.start, why: "the postings are not as many as the count" })
    }

    pub(super) fn find(&self, ordinal: u32) -> Decoded<Option<Found>> {
        if ordinal >= self.bound || nibble(self.nibbles, ordinal as usize) == 0 {
            return Ok(None);
        }
        let mut ids = [0; BUCKET_ORDINALS];
        let mut freqs = [0; BUCKET_ORDINALS];
        let last = (ordinal | 255).min(self.bound - 1);
        let count = self.bucket(ordinal & !255, last, &mut ids, &mut freqs)?;
        Ok(Found::among(ids.get(..count).unwrap_or_default(), &freqs, ordinal, ordinal >> 8))
    }

    /// Writes the postings of the bucket `first..=last`; how many they are.
    fn bucket(
        &self,
        first: u32,
        last: u32,
        ids: &mut [u32; BUCKET_ORDINALS],
        freqs: &mut [u32; BUCKET_ORDINALS],
    ) -> Decoded<usize> {
        let mut count = 0;
        for ordinal in first..=last {
            let freq = match nibble(self.nibbles, ordinal as usize) {
                15 => self.escapes.get(ordinal).ok_or(Damage {
                    field: "nibbles",
                    offset: self.start + ordinal as usize / 2,
                    why: "a frequency from 15 on has no escape",
                })?,
                nibble => u32::from(nibble),
            };
            // Every leaf writes its place; only those with a posting keep it.
            if let (Some(id), Some(slot)) = (ids.get_mut(count), freqs.get_mut(count)) {
                (*id, *slot) = (ordinal, freq);
            }
            count += usize::from(freq > 0);
        }
        Ok(count)
    }
}

/// Appends all of a dense list but its kind to `out`.
pub(super) fn encode(postings: &[Posting], leaves: &LeafColumns<'_>, out: &mut Vec<u8>) {
    put_head(postings, leaves, out);
    put_maxima(postings, leaves, out);
    let mut rest = postings;
    let freqs = (0..leaves.full_lens.len()).map(|leaf| match rest.split_first() {
        Some((posting, after)) if posting.ordinal as usize == leaf => {
            rest = after;
            posting.term_freq
        }
        _ => 0,
    });
    put_nibbles(freqs, out);
}
