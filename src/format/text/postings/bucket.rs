//! Bucket lists: one byte a posting within each 256 ordinals.

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

/// Buckets that share a coarse offset.
const SHARING: usize = 16;

/// A bucket list whose offsets and escapes have been checked.
#[derive(Debug, Clone, Copy)]
pub struct BucketList<'a> {
    bounds: &'a Bounds,
    coarse: &'a [[u8; 4]],
    fine: &'a [[u8; 2]],
    maxima: &'a [u8],
    low: &'a [u8],
    nibbles: &'a [u8],
    escapes: Escapes<'a>,
    bound: u32,
    /// Where `low` begins, for reports of damage.
    start: usize,
}

impl<'a> BucketList<'a> {
    /// The list of `count` postings in `bytes`, which follow byte 0.
    pub(super) fn parse(bytes: &'a [u8], count: u32, bound: u32) -> Decoded<Self> {
        let at = |rest: &[u8]| 1 + bytes.len() - rest.len();
        let bad = |field, offset, why| Damage { field, offset, why };
        let cut = |field, rest: &[u8]| bad(field, at(rest), "the list is cut short");
        let (bounds, mut rest) = bytes.split_first_chunk().ok_or(cut("bounds", bytes))?;
        let escape_count = take_varint(&mut rest).ok_or(cut("escapes", rest))?;
        let buckets = (bound as usize).div_ceil(BUCKET_ORDINALS);
        let offsets = rest;
        let (coarse, rest) =
            rest.split_at_checked(4 * (buckets / SHARING + 1)).ok_or(cut("offsets", rest))?;
        let (fine, rest) = rest.split_at_checked(2 * (buckets + 1)).ok_or(cut("offsets", rest))?;
        let (maxima, rest) = rest.split_at_checked(buckets).ok_or(cut("maxima", rest))?;
        let start = at(rest);
        let (low, rest) = rest.split_at_checked(count as usize).ok_or(cut("low", rest))?;
        let (nibbles, rest) = rest.split_at_checked(low.len().div_ceil(2)).ok_or(cut("nibbles", rest))?;
        if nibble(nibbles, low.len()) != 0 {
            return Err(bad("nibbles", at(rest) - 1, "a nibble follows the last"));
        }
        let (coarse, fine) = (coarse.as_chunks().0, fine.as_chunks().0);
        let escapes = Escapes::NONE;
        let list = Self { bounds, coarse, fine, maxima, low, nibbles, escapes, bound, start };
        list.check_offsets(count).map_err(|why| bad("offsets", at(offsets), why))?;
        let of = |ordinal| list.index_of(ordinal).map(|index| nibble(nibbles, index));
        let escapes = Escapes::parse(rest, escape_count, at(rest), of)?;
        Ok(Self { escapes, ..list })
    }

    /// Every query checks this: buckets that share a coarse offset are compared side by side.
    fn check_offsets(&self, count: u32) -> Result<(), &'static str> {
        const MOST: u16 = 256;
        let (whole, rest) = self.fine.as_chunks::<SHARING>();
        let mut last = [[0; 2]; SHARING];
        for (fine, own) in last.iter_mut().zip(rest) {
            *fine = *own;
        }
        // The places behind the last offset repeat it.
        let end = rest.last().copied().unwrap_or_default();
        for fine in last.iter_mut().skip(rest.len()) {
            *fine = end;
        }
        let shared = whole.iter().chain((!rest.is_empty()).then_some(&last));
        let (mut before, mut is_wrong) = (0, false);
        for (coarse, fine) in self.coarse.iter().zip(shared) {
            let base = u32::from_le_bytes(*coarse);
            let fine = fine.map(u16::from_le_bytes);
            let [first, .., behind] = fine;
            let mut steps = [0; SHARING];
            for (step, (low, high)) in steps.iter_mut().zip(fine.iter().zip(fine.iter().skip(1))) {
                // Descending offsets wrap to more than a bucket holds.
                *step = high.wrapping_sub(*low);
            }
            let wide = steps.iter().fold(0, |wide, step| wide | u16::from(*step > MOST));
            let step = base.wrapping_sub(before);
            is_wrong |= wide != 0 || first != 0 || base > count || step > u32::from(MOST);
            before = base.saturating_add(u32::from(behind));
        }
        if is_wrong {
            return Err("they do not ascend, or a bucket has too many postings");
        }
        if self.offset(0) != 0 || before != count {
            return Err("they do not begin with 0 and end with the count");
        }
        Ok(())
    }

    /// What bounds the scores.
    #[must_use]
    pub const fn bounds(&self) -> &'a Bounds {
        self.bounds
    }

    /// For each bucket the maximum of [`LeafColumns::impact`].
    #[must_use]
    pub const fn maxima(&self) -> &'a [u8] {
        self.maxima
    }

    /// For each 16 buckets the index of their first posting, `u32` little-endian; one for the end too.
    #[must_use]
    pub const fn coarse(&self) -> &'a [[u8; 4]] {
        self.coarse
    }

    /// For each bucket how far behind the coarse offset its first posting is, `u16` little-endian; one for the
    /// end too.
    #[must_use]
    pub const fn fine(&self) -> &'a [[u8; 2]] {
        self.fine
    }

    /// For each posting the low byte of its ordinal.
    #[must_use]
    pub const fn low(&self) -> &'a [u8] {
        self.low
    }

    /// For each posting its frequency, 15 if it is an escape; see [`nibble`].
    #[must_use]
    pub const fn nibbles(&self) -> &'a [u8] {
        self.nibbles
    }

    /// The frequencies from 15 on.
    #[must_use]
    pub const fn escapes(&self) -> Escapes<'a> {
        self.escapes
    }

    /// Index of the first posting of bucket `bucket`; the count past the last.
    #[must_use]
    pub fn offset(&self, bucket: usize) -> u32 {
        match (self.coarse.get(bucket / SHARING), self.fine.get(bucket)) {
            (Some(coarse), Some(fine)) => {
                u32::from_le_bytes(*coarse).saturating_add(u32::from(u16::from_le_bytes(*fine)))
            }
            _ => u32::try_from(self.low.len()).unwrap_or(u32::MAX),
        }
    }

    /// Indexes of the postings of buckets `from..to`.
    #[must_use]
    pub fn postings_of(&self, from: usize, to: usize) -> Range<usize> {
        self.offset(from) as usize..self.offset(to) as usize
    }

    /// Index of the posting of `ordinal`.
    #[must_use]
    pub fn index_of(&self, ordinal: u32) -> Option<usize> {
        let bucket = (ordinal >> 8) as usize;
        let within = self.postings_of(bucket, bucket + 1);
        let [low, ..] = ordinal.to_le_bytes();
        let at = self.low.get(within.clone())?.iter().position(|byte| *byte == low)?;
        Some(within.start + at)
    }

    pub(super) fn groups_in(
        &self,
        within: &Range<u32>,
        mut wanted: impl FnMut(u32, u32, u32) -> bool,
        mut each: impl FnMut(u32, &[u32], &[u32]),
    ) -> Decoded<()> {
        let mut ids = [0; BUCKET_ORDINALS];
        let mut freqs = [0; BUCKET_ORDINALS];
        let buckets = within.start.min(self.bound) >> 8..within.end.min(self.bound).div_ceil(256);
        for bucket in buckets {
            let first = bucket << 8;
            let last = (first | 255).min(self.bound - 1);
            if last < within.start {
                continue;
            }
            let postings = self.postings_of(bucket as usize, bucket as usize + 1);
            if !postings.is_empty() && wanted(bucket, first, last) {
                let count = self.bucket(postings, first, last, &mut ids, &mut freqs)?;
                each(bucket, ids.get(..count).unwrap_or_default(), freqs.get(..count).unwrap_or_default());
            }
        }
        Ok(())
    }

    pub(super) fn find(&self, ordinal: u32) -> Decoded<Option<Found>> {
        let bucket = ordinal >> 8;
        let within = self.postings_of(bucket as usize, bucket as usize + 1);
        if ordinal >= self.bound || within.is_empty() {
            return Ok(None);
        }
        let mut ids = [0; BUCKET_ORDINALS];
        let mut freqs = [0; BUCKET_ORDINALS];
        let last = (ordinal | 255).min(self.bound - 1);
        let count = self.bucket(within, bucket << 8, last, &mut ids, &mut freqs)?;
        let ids = ids.get(..count).unwrap_or_default();
        Ok(Found::among(ids, &freqs, ordinal, bucket))
    }

    /// Writes the postings `within`, those of the bucket `first..=last`; how many they are.
    fn bucket(
        &self,
        within: Range<usize>,
        first: u32,
        last: u32,
        ids: &mut [u32; BUCKET_ORDINALS],
        freqs: &mut [u32; BUCKET_ORDINALS],
    ) -> Decoded<usize> {
        let bad = |why| Damage { field: "low", offset: self.start + within.start, why };
        let low = self.low.get(within.clone()).unwrap_or_default();
        let mut lowest = first;
        for (at, ((id, freq), byte)) in ids.iter_mut().zip(freqs).zip(low).enumerate() {
            *id = first | u32::from(*byte);
            if *id < lowest || *id > last {
                return Err(bad("the ordinals of a bucket do not ascend, or are past the last node"));
            }
            lowest = *id + 1;
            *freq = match nibble(self.nibbles, within.start + at) {
                0 => return Err(bad("a frequency is 0")),
                15 => self.escapes.get(*id).ok_or(bad("a frequency from 15 on has no escape"))?,
                nibble => u32::from(nibble),
            };
        }
        Ok(low.len())
    }
}

/// Appends all of a bucket list but its kind to `out`.
pub(super) fn encode(postings: &[Posting], leaves: &LeafColumns<'_>, out: &mut Vec<u8>) {
    put_head(postings, leaves, out);
    let buckets = leaves.full_lens.len().div_ceil(BUCKET_ORDINALS);
    let mut offsets = Vec::with_capacity(buckets + 1);
    let mut rest = postings;
    for bucket in 0..=buckets {
        let before = rest.iter().take_while(|posting| ((posting.ordinal >> 8) as usize) < bucket).count();
        rest = rest.get(before..).unwrap_or_default();
        offsets.push(u32::try_from(postings.len() - rest.len()).unwrap_or(u32::MAX));
    }
    for shared in offsets.chunks(SHARING) {
        out.extend(shared.first().copied().unwrap_or(0).to_le_bytes());
    }
    for shared in offsets.chunks(SHARING) {
        let base = shared.first().copied().unwrap_or(0);
        for offset in shared {
            out.extend(u16::try_from(offset - base).unwrap_or(u16::MAX).to_le_bytes());
        }
    }
    put_maxima(postings, leaves, out);
    out.extend(postings.iter().map(|posting| {
        let [low, ..] = posting.ordinal.to_le_bytes();
        low
    }));
    put_nibbles(postings.iter().map(|posting| posting.term_freq), out);
}
