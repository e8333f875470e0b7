//! Packed lists: blocks of 128 postings behind a skip table, and pairs for the rest.

use std::ops::Range;

use bitpacking::BitPacker;
use bitpacking::BitPacker4x;

use super::BLOCK;
use super::Bounds;
use super::Found;
use super::Posting;
use super::SKIP_BYTES;
use super::pairs::Pairs;
use super::pairs::put_pairs;
use crate::format::text::Damage;
use crate::format::text::Decoded;

/// A packed list whose skip table has been checked.
#[derive(Debug, Clone, Copy)]
pub struct PackedList<'a> {
    bounds: &'a Bounds,
    skips: &'a [[u8; SKIP_BYTES]],
    data: &'a [u8],
    /// Where `data` begins, for reports of damage.
    start: usize,
    tail: Pairs<'a>,
}

/// An entry of the skip table.
#[derive(Debug, Clone, Copy)]
struct Skip {
    last: u32,
    offset: usize,
    bits: u8,
    tf_bits: u8,
}

impl Skip {
    const fn of([l0, l1, l2, l3, o0, o1, o2, o3, bits, tf_bits]: [u8; SKIP_BYTES]) -> Self {
        let last = u32::from_le_bytes([l0, l1, l2, l3]);
        Self { last, offset: u32::from_le_bytes([o0, o1, o2, o3]) as usize, bits, tf_bits }
    }
}

impl<'a> PackedList<'a> {
    /// The list of `count` postings in `bytes`, which follow byte 0.
    pub(super) fn parse(bytes: &'a [u8], count: u32, bound: u32) -> Decoded<Self> {
        let bad = |field, offset, why| Err(Damage { field, offset, why });
        let Some((bounds, rest)) = bytes.split_first_chunk() else {
            return bad("bounds", 1, "the list is shorter than its bounds");
        };
        let blocks = count as usize / BLOCK;
        let Some((skips, data)) = rest.split_at_checked(blocks * SKIP_BYTES) else {
            return bad("skips", 1 + bounds.len(), "the list is shorter than its skip table");
        };
        let (skips, _) = skips.as_chunks::<SKIP_BYTES>();
        let start = 1 + bytes.len() - data.len();
        let (mut at, mut first) = (0_usize, 0_u32);
        for skip in skips.iter().copied().map(Skip::of) {
            if skip.offset != at {
                return bad("skips.offset", start + at, "a block does not follow the one before");
            }
            if skip.last < first || skip.last >= bound {
                return bad("skips.last", start + at, "the last ordinal is out of order");
            }
            if skip.bits > 32 || skip.tf_bits > 32 {
                return bad("skips.bits", start + at, "a width is over 32 bits");
            }
            at += 16 * (usize::from(skip.bits) + usize::from(skip.tf_bits));
            if at > data.len() {
                return bad("block", start + skip.offset, "the block is cut short");
            }
            first = skip.last + 1;
        }
        let (data, tail) = data.split_at_checked(at).unwrap_or((data, &[]));
        let tail_count = count as usize % BLOCK;
        if tail.len() < tail_count || (tail_count == 0 && !tail.is_empty()) {
            return bad("pair", start + at, "the bytes behind the blocks are not those of the last postings");
        }
        if tail_count > (bound - first) as usize {
            return bad("pair", start + at, "more postings than nodes are left");
        }
        let tail = Pairs { bytes: tail, count: tail_count, first, bound, start: start + at };
        Ok(Self { bounds, skips, data, start, tail })
    }

    /// What bounds the scores; of a list of inner nodes it says nothing.
    #[must_use]
    pub const fn bounds(&self) -> &'a Bounds {
        self.bounds
    }

    pub(super) fn groups_in(
        &self,
        within: &Range<u32>,
        mut wanted: impl FnMut(u32, u32, u32) -> bool,
        mut each: impl FnMut(u32, &[u32], &[u32]),
    ) -> Decoded<()> {
        let passed = self.skips.partition_point(|skip| Skip::of(*skip).last < within.start);
        let before = passed.checked_sub(1).and_then(|before| self.skips.get(before));
        let mut first = before.map_or(0, |skip| Skip::of(*skip).last + 1);
        let mut group = u32::try_from(passed).unwrap_or(u32::MAX);
        let (mut ids, mut freqs) = ([0; BLOCK], [0; BLOCK]);
        for skip in self.skips.iter().skip(passed).copied().map(Skip::of) {
            if first >= within.end {
                return Ok(());
            }
            if wanted(group, first, skip.last) {
                self.block(skip, first, &mut ids, &mut freqs)?;
                each(group, &ids, &freqs);
            }
            first = skip.last + 1;
            group += 1;
        }
        let reaches = first < within.end && within.start < self.tail.bound;
        if self.tail.count > 0 && reaches && wanted(group, first, self.tail.bound - 1) {
            self.tail.decode(&mut |ids, freqs| each(group, ids, freqs))?;
        }
        Ok(())
    }

    pub(super) fn find(&self, ordinal: u32) -> Decoded<Option<Found>> {
        let block = self.skips.partition_point(|skip| Skip::of(*skip).last < ordinal);
        let group = u32::try_from(block).unwrap_or(u32::MAX);
        let first = block.checked_sub(1).and_then(|before| self.skips.get(before));
        let first = first.map_or(0, |skip| Skip::of(*skip).last + 1);
        match self.skips.get(block).copied().map(Skip::of) {
            Some(skip) => {
                let (mut ids, mut freqs) = ([0; BLOCK], [0; BLOCK]);
                self.block(skip, first, &mut ids, &mut freqs)?;
                Ok(Found::among(&ids, &freqs, ordinal, group))
            }
            None if self.tail.count > 0 => {
                let mut found = None;
                self.tail.decode(&mut |ids, freqs| found = Found::among(ids, freqs, ordinal, group))?;
                Ok(found)
            }
            None => Ok(None),
        }
    }

    /// Writes the block of `skip`, whose ordinals begin at `first` or above.
    fn block(&self, skip: Skip, first: u32, ids: &mut [u32; BLOCK], freqs: &mut [u32; BLOCK]) -> Decoded<()> {
        let packer = BitPacker4x::new();
        let bad = |why| Damage { field: "block", offset: self.start + skip.offset, why };
        let from = self.data.get(skip.offset..).unwrap_or_default();
        let parts = from.split_at_checked(16 * usize::from(skip.bits));
        let (packed, rest) = parts.ok_or(bad("the block is cut short"))?;
        let packed_tf = rest.get(..16 * usize::from(skip.tf_bits)).ok_or(bad("the block is cut short"))?;
        packer.decompress_sorted(first.saturating_sub(1), packed, ids, skip.bits);
        if skip.tf_bits == 0 {
            freqs.fill(1);
        } else {
            packer.decompress(packed_tf, freqs, skip.tf_bits);
            for freq in freqs {
                *freq = freq.saturating_add(1);
            }
        }
        // Added up, not given up at the first: all are compared side by side.
        let stuck: u32 = ids.iter().zip(ids.iter().skip(1)).map(|(a, b)| u32::from(a >= b)).sum();
        let [lowest, .., highest] = *ids;
        if stuck > 0 || lowest < first || highest != skip.last {
            return Err(bad("the ordinals do not ascend to the last"));
        }
        Ok(())
    }
}

/// Appends skip table, blocks and pairs of `postings` to `out`.
pub(super) fn encode(postings: &[Posting], out: &mut Vec<u8>) {
    let packer = BitPacker4x::new();
    let (blocks, tail) = postings.as_chunks::<BLOCK>();
    let mut data = Vec::new();
    let mut buffer = [0_u8; 4 * BLOCK];
    let mut before = 0;
    for block in blocks {
        let ids = block.map(|posting| posting.ordinal);
        let freqs = block.map(|posting| posting.term_freq.saturating_sub(1));
        let bits = packer.num_bits_sorted(before, &ids);
        let tf_bits = packer.num_bits(&freqs);
        let [.., last] = ids;
        out.extend_from_slice(&last.to_le_bytes());
        // A block has at most 1,024 bytes for 128 postings, and ordinals are below 2^32: offsets can exceed
        // 32 bits only in lists of over 2^29 postings, which the header of a segment does not admit.
        out.extend_from_slice(&u32::try_from(data.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(&[bits, tf_bits]);
        let size = packer.compress_sorted(before, &ids, &mut buffer, bits);
        data.extend_from_slice(buffer.get(..size).unwrap_or(&[]));
        let size = packer.compress(&freqs, &mut buffer, tf_bits);
        data.extend_from_slice(buffer.get(..size).unwrap_or(&[]));
        before = last;
    }
    out.append(&mut data);
    put_pairs(tail, before + 1, out);
}
