//! Posting lists. format-spec.md section 7.5.

use bitpacking::BitPacker;
use bitpacking::BitPacker4x;

use super::Damage;
use super::Decoded;
use super::Field;
use super::Layout;

/// Postings of a packed block.
pub const BLOCK: usize = 128;

/// Lists below this length are short.
const PACKED_FROM: usize = BLOCK;

/// Bytes of a skip entry: last id, offset, bits of an id, bits of a frequency.
const SKIP_BYTES: usize = 10;

const SHORT: u8 = 1;
const PACKED: u8 = 2;

/// One posting: the ordinal of a node among the leaves (or the inner nodes) of its segment, and how often
/// the term occurs in the node's own text, at least once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// Ordinal of the node, from 0.
    pub ordinal: u32,
    /// Occurrences, at least 1.
    pub term_freq: u32,
}

/// A list of postings in its stored bytes.
///
/// # Format
///
/// A kind byte, then by kind; an empty list has no byte at all.
///
/// | Kind | Name   | When              | Bytes                                                           |
/// |-----:|--------|-------------------|-----------------------------------------------------------------|
/// |    1 | short  | fewer than 128    | a pair for each posting                                         |
/// |    2 | packed | 128 and more      | skip table, blocks of 128 postings, a pair for each of the rest |
///
/// A pair is a varint `2 * gap + m`, and if `m` is 1 another varint `term_freq - 2`; if `m` is 0, `term_freq`
/// is 1. `gap` is the ordinal less the one before it less 1; the first gap is the ordinal.
///
/// The skip table has one entry for each block:
///
/// | Offset | Size | Field   | Meaning                                                             |
/// |-------:|-----:|---------|---------------------------------------------------------------------|
/// |      0 |    4 | last    | last ordinal of the block                                           |
/// |      4 |    4 | offset  | first byte of the block, from the end of the skip table             |
/// |      8 |    1 | bits    | width of a delta, 0 to 32                                           |
/// |      9 |    1 | `tf_bits` | width of a frequency less 1, 0 to 32                                |
///
/// A block is `16 * bits` bytes of deltas (from the last ordinal of the block before, or 0) and
/// `16 * tf_bits` bytes of frequencies less 1, both in the order of crate `bitpacking`'s `BitPacker4x`.
#[derive(Debug, Clone, Copy)]
pub struct PostingList<'a> {
    count: u32,
    bound: u32,
    bytes: &'a [u8],
    start: usize,
    kind: Kind<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    Short,
    Packed { skips: &'a [u8] },
}

// A gap or an overlap in the layout is a compile error.
const _: () = assert!(matches!(PostingList::SKIP_LAYOUT.width(), Some(SKIP_BYTES)));

impl<'a> PostingList<'a> {
    /// Where each field of a skip entry lies.
    pub const SKIP_LAYOUT: Layout = Layout {
        section: "7.5",
        fields: &[
            Field::new("last", 0, 4),
            Field::new("offset", 4, 4),
            Field::new("bits", 8, 1),
            Field::new("tf_bits", 9, 1),
        ],
    };

    /// The list of `count` postings in `bytes`, whose ordinals must be below `bound`.
    ///
    /// # Errors
    ///
    /// [`Damage`] if the kind is unknown or the bytes are too few for so many postings.
    pub fn parse(bytes: &'a [u8], count: u32, bound: u32) -> Decoded<Self> {
        let bad = |field, why| Err(Damage { field, offset: 0, why });
        if count > bound {
            return bad("count", "more postings than nodes");
        }
        let list = Self { count, bound, bytes, start: 1, kind: Kind::Short };
        match (count as usize, bytes.split_first()) {
            (0, None) => Ok(list),
            (0, Some(_)) => bad("kind", "an empty list has bytes"),
            (_, None) => bad("kind", "a list has no bytes"),
            // Each posting of a short list takes a byte at least: what is allocated stays in proportion.
            (n, Some((&SHORT, rest))) if n < PACKED_FROM && rest.len() >= n => Ok(list),
            (n, Some((&PACKED, rest))) if n >= PACKED_FROM => {
                match rest.split_at_checked(n / BLOCK * SKIP_BYTES) {
                    Some((skips, data)) => {
                        Ok(Self { bytes: data, start: 1 + skips.len(), kind: Kind::Packed { skips }, ..list })
                    }
                    None => bad("skips", "the list is shorter than its skip table"),
                }
            }
            _ => bad("kind", "no kind of list for so many postings"),
        }
    }

    /// How many postings there are.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Gives the postings block by block, ascending: `each(ordinals, term_freqs)`, two slices of one length
    /// from 1 to [`BLOCK`]. A block for whose interval `wanted(first, last)` is false may be left out unread;
    /// `first` is the lowest ordinal it could hold, `last` the highest. Intervals ascend too.
    ///
    /// # Errors
    ///
    /// [`Damage`] if the ordinals do not ascend, reach the bound, or the bytes do not end with the list;
    /// blocks before the damage have been given by then.
    pub fn blocks(
        &self,
        mut wanted: impl FnMut(u32, u32) -> bool,
        mut each: impl FnMut(&[u32], &[u32]),
    ) -> Decoded<()> {
        if self.count == 0 {
            return Ok(());
        }
        let (rest, first) = match self.kind {
            Kind::Short => (self.bytes.get(1..).ok_or(self.damage("pair", 0, "the list has no bytes"))?, 0),
            Kind::Packed { skips } => self.packed(skips, &mut wanted, &mut each)?,
        };
        let tail = self.count as usize % BLOCK;
        if tail > 0 && self.bound > first && wanted(first, self.bound - 1) {
            self.pairs(rest, tail, first, &mut each)?;
        } else if tail == 0 && !rest.is_empty() {
            return Err(self.damage("pair", self.bytes.len() - rest.len(), "bytes follow the last block"));
        }
        Ok(())
    }

    /// The blocks of a packed list; gives the bytes behind them and the lowest ordinal that may follow.
    fn packed(
        &self,
        skips: &[u8],
        wanted: &mut impl FnMut(u32, u32) -> bool,
        each: &mut impl FnMut(&[u32], &[u32]),
    ) -> Decoded<(&'a [u8], u32)> {
        let packer = BitPacker4x::new();
        let mut ids = [0_u32; BLOCK];
        let mut freqs = [0_u32; BLOCK];
        let mut rest = self.bytes;
        let mut first = 0;
        for entry in skips.chunks_exact(SKIP_BYTES) {
            let at = self.bytes.len() - rest.len();
            let &[l0, l1, l2, l3, o0, o1, o2, o3, bits, tf_bits] = entry else { continue };
            let last = u32::from_le_bytes([l0, l1, l2, l3]);
            if u32::from_le_bytes([o0, o1, o2, o3]) as usize != at {
                return Err(self.damage("skips.offset", at, "a block does not follow the one before"));
            }
            if last < first || last >= self.bound {
                return Err(self.damage("skips.last", at, "the last ordinal is out of order"));
            }
            if bits > 32 || tf_bits > 32 {
                return Err(self.damage("skips.bits", at, "a width is over 32 bits"));
            }
            let short = self.damage("block", at, "the block is cut short");
            let (block, after) = rest.split_at_checked(16 * usize::from(bits)).ok_or(short)?;
            let (block_tf, after) = after.split_at_checked(16 * usize::from(tf_bits)).ok_or(short)?;
            rest = after;
            if wanted(first, last) {
                packer.decompress_sorted(first.saturating_sub(1), block, &mut ids, bits);
                packer.decompress(block_tf, &mut freqs, tf_bits);
                let ascends = ids.windows(2).fold(true, |ok, pair| ok & matches!(pair, [a, b] if a < b));
                let [lowest, .., highest] = ids;
                if !ascends || lowest < first || highest != last {
                    return Err(self.damage("block", at, "the ordinals do not ascend to the last"));
                }
                freqs = freqs.map(|freq| freq.saturating_add(1));
                each(&ids, &freqs);
            }
            first = last + 1;
        }
        Ok((rest, first))
    }

    /// `count` pairs, which are all of `rest`; `count` is below [`BLOCK`].
    fn pairs(
        &self,
        mut rest: &[u8],
        count: usize,
        first: u32,
        each: &mut impl FnMut(&[u32], &[u32]),
    ) -> Decoded<()> {
        let mut ids = [0_u32; BLOCK];
        let mut freqs = [1_u32; BLOCK];
        let mut lowest = u64::from(first);
        for (id, freq) in ids.iter_mut().zip(&mut freqs).take(count) {
            let at = self.bytes.len() - rest.len();
            let bad = |why| self.damage("pair", at, why);
            let gap = take_varint(&mut rest).ok_or(bad("the list is cut short"))?;
            let ordinal = lowest + gap / 2;
            *id = u32::try_from(ordinal)
                .ok()
                .filter(|id| *id < self.bound)
                .ok_or(bad("an ordinal is past the last node"))?;
            if gap % 2 == 1 {
                let more = take_varint(&mut rest).ok_or(bad("the list is cut short"))?;
                *freq = u32::try_from(more)
                    .ok()
                    .and_then(|more| more.checked_add(2))
                    .ok_or(bad("a frequency is over 32 bits"))?;
            }
            lowest = ordinal + 1;
        }
        if !rest.is_empty() {
            return Err(self.damage("pair", self.bytes.len() - rest.len(), "bytes follow the last posting"));
        }
        let (ids, freqs) = (ids.get(..count).unwrap_or(&[]), freqs.get(..count).unwrap_or(&[]));
        each(ids, freqs);
        Ok(())
    }

    fn damage(&self, field: &'static str, offset: usize, why: &'static str) -> Damage {
        let start = if matches!(self.kind, Kind::Short) { 0 } else { self.start };
        Damage { field, offset: start + offset, why }
    }
}

/// What is known of the leaves of a segment when its lists are written.
#[derive(Debug, Clone, Copy)]
pub struct LeafColumns<'a> {
    /// For each leaf its terms with those of its ancestors.
    pub full_lens: &'a [u32],
    /// Mean of them.
    pub mean_len: f64,
}

/// The length class of a text of `len` terms: exact below 64, then 32 to an octave.
#[must_use]
pub const fn length_class(len: u32) -> u8 {
    let class = if len < 64 {
        len
    } else {
        let octave = len.ilog2();
        64 + (octave - 6) * 32 + ((len >> (octave - 5)) & 31)
    };
    let [low, ..] = class.to_le_bytes();
    if class > 255 { 255 } else { low }
}

/// Appends the list of `postings`, whose ordinals ascend, to `out`.
pub fn encode_postings(postings: &[Posting], _leaves: Option<&LeafColumns<'_>>, out: &mut Vec<u8>) {
    if postings.is_empty() {
        return;
    }
    if postings.len() < PACKED_FROM {
        out.push(SHORT);
        put_pairs(postings, 0, out);
        return;
    }
    out.push(PACKED);
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

fn put_pairs(postings: &[Posting], mut lowest: u32, out: &mut Vec<u8>) {
    for posting in postings {
        put_pair(*posting, lowest, out);
        lowest = posting.ordinal + 1;
    }
}

/// Appends to `out` the list whose `count` pairs are `pairs`, as [`put_pair`] wrote them from 0 on.
pub fn encode_pairs(mut pairs: &[u8], count: u32, out: &mut Vec<u8>) {
    if (1..PACKED_FROM).contains(&(count as usize)) {
        out.push(SHORT);
        out.extend_from_slice(pairs);
        return;
    }
    let mut postings = Vec::with_capacity(pairs.len().min(count as usize));
    let mut lowest = 0;
    while let Some(gap) = take_varint(&mut pairs) {
        let more = if gap % 2 == 1 { take_varint(&mut pairs).map_or(0, |more| more + 1) } else { 0 };
        let (Ok(gap), Ok(more)) = (u32::try_from(gap / 2), u32::try_from(more)) else { return };
        let posting = Posting { ordinal: lowest + gap, term_freq: more + 1 };
        lowest = posting.ordinal + 1;
        postings.push(posting);
    }
    encode_postings(&postings, None, out);
}

/// Appends one pair to `out`; `lowest` is the ordinal before plus 1, or 0.
pub fn put_pair(posting: Posting, lowest: u32, out: &mut Vec<u8>) {
    let gap = 2 * u64::from(posting.ordinal - lowest);
    if posting.term_freq > 1 {
        put_varint(out, gap + 1);
        put_varint(out, u64::from(posting.term_freq - 2));
    } else {
        put_varint(out, gap);
    }
}

/// Appends `value` as LEB128: seven bits a byte, the lowest first, the high bit set on all but the last.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

/// Takes a varint of at most 35 bits off the front of `bytes`; `None` if there is none.
pub fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(bytes: &[u8], count: u32, bound: u32) -> Decoded<Vec<Posting>> {
        let mut out = Vec::new();
        PostingList::parse(bytes, count, bound)?.blocks(
            |_, _| true,
            |ids, freqs| {
                out.extend(
                    ids.iter().zip(freqs).map(|(&ordinal, &term_freq)| Posting { ordinal, term_freq }),
                );
            },
        )?;
        Ok(out)
    }

    fn list(gaps: &[(u32, u32)]) -> Vec<Posting> {
        let mut next = 0;
        let step = |&(gap, term_freq): &(u32, u32)| {
            let ordinal = next + gap;
            next = ordinal + 1;
            Posting { ordinal, term_freq }
        };
        gaps.iter().map(step).collect()
    }

    /// spec: R-7.5.1 (the worked example)
    #[test]
    fn the_worked_example_of_a_short_list_holds() {
        let mut bytes = Vec::new();

        encode_postings(&list(&[(3, 1), (4, 2), (0, 1)]), None, &mut bytes);

        // Ordinals 3, 8, 9: gaps 3, 4, 0. 2*3 = 6; 2*4 + 1 = 9 and 2 - 2 = 0; 2*0 = 0.
        assert_eq!(bytes, [1, 6, 9, 0, 0]);
    }

    #[test]
    fn a_block_that_is_not_wanted_is_not_read() {
        let mut bytes = Vec::new();
        encode_postings(&list(&[(1, 1); 300]), None, &mut bytes);
        let mut seen = Vec::new();

        // Ordinals 1, 3, .. 599: blocks end at 255, 511; the tail is 513 .. 599.
        PostingList::parse(&bytes, 300, 600)
            .unwrap()
            .blocks(|first, last| first <= 300 && 300 <= last, |ids, _| seen.extend_from_slice(ids))
            .unwrap();

        assert_eq!((seen.len(), seen[0], seen[127]), (128, 257, 511));
    }

    proptest! {
        #[test]
        fn a_list_comes_back(gaps in prop::collection::vec((0_u32..2000, 1_u32..50), 0..700)) {
            let postings = list(&gaps);
            let mut bytes = Vec::new();
            encode_postings(&postings, None, &mut bytes);
            let count = u32::try_from(gaps.len()).unwrap();
            let bound = postings.last().map_or(0, |posting| posting.ordinal + 1);

            prop_assert_eq!(decode(&bytes, count, bound), Ok(postings));
            prop_assert!(count == 0 || decode(&bytes, count, bound - 1).is_err());
        }

        #[test]
        fn damaged_lists_give_ascending_ordinals_below_the_bound_or_an_error(
            gaps in prop::collection::vec((0_u32..20, 1_u32..4), 1..400),
            at in any::<prop::sample::Index>(),
            mask in 1_u8..,
            cut in 0_usize..3,
        ) {
            let mut bytes = Vec::new();
            encode_postings(&list(&gaps), None, &mut bytes);
            let at = at.index(bytes.len());
            bytes[at] ^= mask;
            bytes.truncate(bytes.len() - cut.min(bytes.len()));

            if let Ok(out) = decode(&bytes, u32::try_from(gaps.len()).unwrap(), 20_000) {
                prop_assert!(out.is_sorted_by(|a, b| a.ordinal < b.ordinal));
                prop_assert!(out.iter().all(|p| p.ordinal < 20_000 && p.term_freq > 0));
                prop_assert_eq!(out.len(), gaps.len());
            }
        }
    }

    #[test]
    fn the_largest_ordinals_and_frequencies_come_back() {
        let mut postings = list(&[(5, u32::MAX); 127]);
        postings.push(Posting { ordinal: u32::MAX - 2, term_freq: u32::MAX });
        postings.push(Posting { ordinal: u32::MAX - 1, term_freq: u32::MAX });
        let mut bytes = Vec::new();
        encode_postings(&postings, None, &mut bytes);

        assert_eq!(decode(&bytes, 129, u32::MAX), Ok(postings));
    }
}
