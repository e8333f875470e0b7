//! Posting lists. format-spec.md section 7.5.

use std::ops::Range;

use super::Damage;
use super::Decoded;
use super::Field;
use super::Layout;

mod bucket;
mod classes;
mod dense;
mod nibbles;
mod packed;
mod pairs;
#[cfg(test)]
mod tests;

pub use bucket::BucketList;
pub use classes::BUILT_B;
pub use classes::BUILT_K1;
pub use classes::Bounds;
pub use classes::LeafColumns;
pub use classes::NO_CLASS;
pub use classes::TOP_BOUND;
pub use classes::TOP_FREQ;
pub use classes::class_min;
pub use classes::length_class;
pub use dense::DenseList;
pub use nibbles::Escapes;
pub use nibbles::nibble;
pub use packed::PackedList;
pub use pairs::put_varint;
pub use pairs::take_varint;

use pairs::Pairs;
use pairs::put_pairs;

/// Postings of a packed block.
pub const BLOCK: usize = 128;

/// Consecutive ordinals of a bucket.
pub const BUCKET_ORDINALS: usize = 256;

/// Lists below this length are short.
const PACKED_FROM: usize = BLOCK;

/// A list of leaves with a posting for one in so many leaves is a bucket list.
const BUCKET_PART: u64 = 32;

/// A list of leaves with a posting for one in so many leaves is dense.
const DENSE_PART: u64 = 4;

/// Bytes of a skip entry: last id, offset, bits of an id, bits of a frequency.
const SKIP_BYTES: usize = 10;

const SHORT: u8 = 1;
const PACKED: u8 = 2;
const BUCKET: u8 = 3;
const DENSE: u8 = 4;

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
/// A kind byte, then by kind; an empty list has no byte at all. `n` is how many leaves the segment has; lists
/// of inner nodes are short or packed, whatever `n`.
///
/// | Kind | Name   | When                          | Bytes                                                    |
/// |-----:|--------|-------------------------------|----------------------------------------------------------|
/// |    1 | short  | fewer than 128                | a pair for each posting                                  |
/// |    2 | packed | else fewer than `n / 32`      | bounds, skip table, blocks of 128 postings, pairs        |
/// |    3 | bucket | else fewer than `n / 4`       | bounds, escape count, offsets, maxima, low bytes, nibbles, escapes |
/// |    4 | dense  | else                          | bounds, escape count, maxima, nibbles, escapes           |
///
/// A pair is a varint `2 * gap + m`, and if `m` is 1 another varint `term_freq - 2`; if `m` is 0, `term_freq`
/// is 1. `gap` is the ordinal less the one before it less 1; the first gap is the ordinal.
///
/// Bounds are 16 bytes, see [`Bounds`]; a packed list of inner nodes has [`NO_CLASS`] from place 1 on.
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
///
/// A bucket is 256 consecutive leaves, `ceil(n / 256)` in all. Offsets say, for each bucket and for the end,
/// which posting is its first: a `u32` for each 16 of them, then a `u16` for each of them, to be added. Maxima
/// are a byte for each bucket, see [`LeafColumns::impact`]. Low bytes are those of the ordinals. Nibbles are
/// frequencies, low half of a byte first: one for each posting in a bucket list, one for each leaf in a dense
/// one, 0 where it has no posting; 15 is an escape. Escapes are the ordinal and the frequency, each a `u32`, of
/// the postings with a frequency from 15 on; their count is a varint.
#[derive(Debug, Clone, Copy)]
pub struct PostingList<'a> {
    count: u32,
    kind: Kind<'a>,
}

/// A list by its kind.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'a> {
    /// Fewer than 128 postings, or none.
    Short(ShortList<'a>),
    /// Blocks of 128.
    Packed(PackedList<'a>),
    /// Buckets of 256 leaves.
    Bucket(BucketList<'a>),
    /// Something for every leaf.
    Dense(DenseList<'a>),
}

/// A short list.
#[derive(Debug, Clone, Copy)]
pub struct ShortList<'a>(Pairs<'a>);

/// Where a list holds a posting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Which group of postings: the block of 128 in short and packed lists, the bucket in the others.
    pub group: u32,
    /// Postings of the group before it.
    pub index: u32,
    /// Sum of their frequencies.
    pub before: u64,
    /// Its frequency.
    pub term_freq: u32,
}

impl Found {
    /// The posting of `ordinal` among `ids`, which ascend.
    fn among(ids: &[u32], freqs: &[u32], ordinal: u32, group: u32) -> Option<Self> {
        let index = ids.binary_search(&ordinal).ok()?;
        let before = freqs.get(..index)?.iter().map(|freq| u64::from(*freq)).sum();
        Some(Self { group, index: u32::try_from(index).ok()?, before, term_freq: *freqs.get(index)? })
    }
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

    /// The list of `count` postings in `bytes`, whose ordinals must be below `bound`, the count of the leaves
    /// (or of the inner nodes). Every length, offset and escape is checked; ordinals are, as they are read.
    ///
    /// # Errors
    ///
    /// [`Damage`] if the kind is unknown or the bytes are not as many as its parts take.
    pub fn parse(bytes: &'a [u8], count: u32, bound: u32) -> Decoded<Self> {
        let bad = |field, why| Err(Damage { field, offset: 0, why });
        if count > bound {
            return bad("count", "more postings than nodes");
        }
        let short = |bytes, start| {
            Kind::Short(ShortList(Pairs { bytes, count: count as usize, first: 0, bound, start }))
        };
        let kind = match (count as usize, bytes.split_first()) {
            (0, None) => short(bytes, 0),
            (0, Some(_)) => return bad("kind", "an empty list has bytes"),
            (_, None) => return bad("kind", "a list has no bytes"),
            // Each posting of a short list takes a byte at least: what is allocated stays in proportion.
            (n, Some((&SHORT, rest))) if n < PACKED_FROM && rest.len() >= n => short(rest, 1),
            (PACKED_FROM.., Some((&PACKED, rest))) => Kind::Packed(PackedList::parse(rest, count, bound)?),
            (PACKED_FROM.., Some((&BUCKET, rest))) => Kind::Bucket(BucketList::parse(rest, count, bound)?),
            (PACKED_FROM.., Some((&DENSE, rest))) => Kind::Dense(DenseList::parse(rest, count, bound)?),
            _ => return bad("kind", "no kind of list for so many postings"),
        };
        Ok(Self { count, kind })
    }

    /// How many postings there are.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The list by its kind.
    #[must_use]
    pub const fn kind(&self) -> Kind<'a> {
        self.kind
    }

    /// What bounds the scores; a short list has none.
    #[must_use]
    pub const fn bounds(&self) -> Option<&'a Bounds> {
        match &self.kind {
            Kind::Short(_) => None,
            Kind::Packed(list) => Some(list.bounds()),
            Kind::Bucket(list) => Some(list.bounds()),
            Kind::Dense(list) => Some(list.bounds()),
        }
    }

    /// Gives the postings group by group, ascending: `each(ordinals, term_freqs)`, two slices of one length
    /// from 1 to [`BLOCK`], in bucket and dense lists to [`BUCKET_ORDINALS`]. A group for whose interval
    /// `wanted(first, last)` is false may be left out unread; `first` is the lowest ordinal it could hold,
    /// `last` the highest. Intervals ascend too.
    ///
    /// # Errors
    ///
    /// [`Damage`] if the ordinals do not ascend, reach the bound, or the bytes do not end with the list;
    /// groups before the damage have been given by then.
    pub fn blocks(
        &self,
        mut wanted: impl FnMut(u32, u32) -> bool,
        mut each: impl FnMut(&[u32], &[u32]),
    ) -> Decoded<()> {
        let everything = 0..u32::MAX;
        self.groups_in(everything, |_, first, last| wanted(first, last), |_, ids, freqs| each(ids, freqs))
    }

    /// As [`blocks`](Self::blocks), for the groups that may hold an ordinal of `within`; the others are not even
    /// asked about. Both closures get the group's number as well.
    ///
    /// # Errors
    ///
    /// As [`blocks`](Self::blocks).
    pub fn groups_in(
        &self,
        within: Range<u32>,
        mut wanted: impl FnMut(u32, u32, u32) -> bool,
        mut each: impl FnMut(u32, &[u32], &[u32]),
    ) -> Decoded<()> {
        match &self.kind {
            _ if within.is_empty() => Ok(()),
            Kind::Short(ShortList(pairs))
                if pairs.count > 0 && within.start < pairs.bound && wanted(0, 0, pairs.bound - 1) =>
            {
                pairs.decode(&mut |ids, freqs| each(0, ids, freqs))
            }
            Kind::Short(_) => Ok(()),
            Kind::Packed(list) => list.groups_in(&within, wanted, each),
            Kind::Bucket(list) => list.groups_in(&within, wanted, each),
            Kind::Dense(list) => list.groups_in(&within, wanted, each),
        }
    }

    /// The posting of `ordinal`, and where it is.
    ///
    /// # Errors
    ///
    /// [`Damage`] if its group is damaged, as in [`blocks`](Self::blocks).
    pub fn find(&self, ordinal: u32) -> Decoded<Option<Found>> {
        match &self.kind {
            Kind::Short(ShortList(pairs)) => {
                let mut found = None;
                pairs.decode(&mut |ids, freqs| found = Found::among(ids, freqs, ordinal, 0))?;
                Ok(found)
            }
            Kind::Packed(list) => list.find(ordinal),
            Kind::Bucket(list) => list.find(ordinal),
            Kind::Dense(list) => list.find(ordinal),
        }
    }
}

/// Appends the list of `postings`, whose ordinals ascend, to `out`.
///
/// * `leaves`: the leaves the ordinals are among; `None` if they are among inner nodes.
pub fn encode_postings(postings: &[Posting], leaves: Option<&LeafColumns<'_>>, out: &mut Vec<u8>) {
    if postings.is_empty() {
        return;
    }
    if postings.len() < PACKED_FROM {
        out.push(SHORT);
        put_pairs(postings, 0, out);
        return;
    }
    let Some(leaves) = leaves else {
        out.push(PACKED);
        out.extend(NO_BOUNDS);
        packed::encode(postings, out);
        return;
    };
    let part = |part: u64| part * postings.len() as u64 >= leaves.full_lens.len() as u64;
    if part(DENSE_PART) {
        out.push(DENSE);
        dense::encode(postings, leaves, out);
        put_escapes(postings, out);
    } else if part(BUCKET_PART) {
        out.push(BUCKET);
        bucket::encode(postings, leaves, out);
        put_escapes(postings, out);
    } else {
        out.push(PACKED);
        out.extend(bounds(postings, leaves));
        packed::encode(postings, out);
    }
}

/// The bounds of a list without postings.
const NO_BOUNDS: Bounds = [0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255];

fn bounds(postings: &[Posting], leaves: &LeafColumns<'_>) -> Bounds {
    let mut bounds = NO_BOUNDS;
    for posting in postings {
        let class = length_class(leaves.full_len(posting.ordinal));
        if let Some(bound) = bounds.get_mut(posting.term_freq.min(TOP_FREQ) as usize) {
            *bound = class.min(TOP_BOUND).min(*bound);
        }
    }
    bounds
}

/// Bounds and the count of escapes.
fn put_head(postings: &[Posting], leaves: &LeafColumns<'_>, out: &mut Vec<u8>) {
    out.extend(bounds(postings, leaves));
    let escapes = postings.iter().filter(|posting| posting.term_freq >= TOP_FREQ).count();
    put_varint(out, escapes as u64);
}

fn put_maxima(postings: &[Posting], leaves: &LeafColumns<'_>, out: &mut Vec<u8>) {
    let from = out.len();
    out.resize(from + leaves.full_lens.len().div_ceil(BUCKET_ORDINALS), 0);
    for posting in postings {
        let impact = leaves.impact(posting.term_freq, leaves.full_len(posting.ordinal));
        if let Some(most) = out.get_mut(from + (posting.ordinal >> 8) as usize) {
            *most = impact.max(*most);
        }
    }
}

fn put_escapes(postings: &[Posting], out: &mut Vec<u8>) {
    for posting in postings.iter().filter(|posting| posting.term_freq >= TOP_FREQ) {
        nibbles::put_escape(posting.ordinal, posting.term_freq, out);
    }
}
