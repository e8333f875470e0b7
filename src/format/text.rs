//! The text index: segments, their parts, and the bytes of each. format-spec.md section 7.
//!
//! A segment is a [`SegmentHeader`] and five [`Part`]s. A part is one stream of bytes, cut into chunks of
//! [`CHUNK_BYTES`] (the last may be shorter); chunk `i` of part `p` of segment `s` is stored under the key
//! `(s, p, i)` of table `text_parts`. The fixed records of a part never straddle a chunk, lists may.
//!
//! Every decoder here is given bytes that may be hostile: it answers with [`Damage`] and never panics, and
//! allocates no more than a constant for each byte it was given.

use super::codec::Decode;
use super::codec::Encode;
use super::frame::RecordKind;
use super::layout::Field;
use super::layout::Layout;

mod entry;
mod positions;
mod postings;

pub use entry::MAX_ENTRY_HEAD_BYTES;
pub use entry::Place;
pub use entry::TermEntry;
pub use entry::put_set_head;
pub use entry::take_set_head;
pub use positions::Grouping;
pub use positions::PositionGroup;
pub use positions::PositionList;
pub use positions::PositionWalk;
pub use positions::encode_positions;
pub use postings::BLOCK;
pub use postings::BUCKET_ORDINALS;
pub use postings::BUILT_B;
pub use postings::BUILT_K1;
pub use postings::Bounds;
pub use postings::BucketList;
pub use postings::DenseList;
pub use postings::Escapes;
pub use postings::Found;
pub use postings::Kind;
pub use postings::LeafColumns;
pub use postings::NO_CLASS;
pub use postings::PackedList;
pub use postings::Posting;
pub use postings::PostingList;
pub use postings::ShortList;
pub use postings::TOP_BOUND;
pub use postings::TOP_FREQ;
pub use postings::class_min;
pub use postings::encode_postings;
pub use postings::length_class;
pub use postings::nibble;
pub use postings::put_varint;
pub use postings::take_varint;

/// Bytes of a full chunk: whole records of every width used, and with its frame below 256 KiB.
pub const CHUNK_BYTES: usize = 262_080;

/// The record of a segment's header; its key is the segment's id.
pub const SEGMENT: RecordKind =
    RecordKind { tag: *b"TXTS", version: 2, table: "text_segments", section: "7.2" };

/// The record of a chunk of a part; its key is segment, part, index.
pub const PART: RecordKind = RecordKind { tag: *b"TXTP", version: 2, table: "text_parts", section: "7.3" };

/// The five parts of a segment, by their stored number. There is no part 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Part {
    /// An fst map (version 3 of crate `fst`) to the values of [`Place`] from keys: a [`prefix`] byte, then the
    /// term (`t`), kind byte (`k`), level byte (`l`) or attribute `key=value` (`a`).
    Dictionary = 1,
    /// One [`LeafRecord`] for each leaf, in node order.
    Leaves = 3,
    /// One [`InnerRecord`] for each inner node, in node order.
    Inner = 4,
    /// The entries, each with its lists or its set, one after another in the order of their keys.
    Postings = 5,
    /// The positions of the entries, one after another in the order of their keys.
    Positions = 6,
}

impl Part {
    /// All parts, by their stored number.
    pub const ALL: [Self; 5] = [Self::Dictionary, Self::Leaves, Self::Inner, Self::Postings, Self::Positions];
}

/// What a byte before a dictionary key says about the list behind it.
pub mod prefix {
    /// An attribute `key=value`; the list is a set of nodes.
    pub const ATTRIBUTE: u8 = b'a';
    /// A node kind, one byte; the list is a set of nodes.
    pub const KIND: u8 = b'k';
    /// A level, one byte, the root being 0; the list is a set of nodes.
    pub const LEVEL: u8 = b'l';
    /// A term; the list is postings of leaves, then of inner nodes.
    pub const TERM: u8 = b't';
}

/// Where bytes break their layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// The field.
    pub field: &'static str,
    /// Offset in bytes from the first byte the decoder was given.
    pub offset: usize,
    /// What is wrong.
    pub why: &'static str,
}

/// What a decoder gives.
pub type Decoded<T> = std::result::Result<T, Damage>;

/// What is known of a segment before its parts are read. A record in bincode (section 3.2).
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct SegmentHeader {
    /// Lowest node id; 0 in an empty segment.
    pub first_node: u32,
    /// Highest node id; 0 in an empty segment.
    pub last_node: u32,
    /// How many leaves.
    pub leaf_count: u32,
    /// How many inner nodes, document roots among them.
    pub inner_count: u32,
    /// How many inner nodes are the parent of a leaf.
    pub section_count: u32,
    /// How many document roots.
    pub document_count: u32,
    /// Terms of all leaves, without headings.
    pub own_terms: u64,
    /// Terms of all leaves, each with those of all its ancestors.
    pub full_terms: u64,
    /// How many keys the dictionary has.
    pub list_count: u32,
    /// Size of the dictionary.
    pub dictionary_bytes: u64,
    /// Size of the stream of entries.
    pub postings_bytes: u64,
    /// Size of the stream of positions.
    pub positions_bytes: u64,
}

impl SegmentHeader {
    /// Whether there is no node, so that nothing need be stored.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.leaf_count == 0 && self.inner_count == 0
    }

    /// How many bytes `part` has in all its chunks.
    #[must_use]
    pub const fn size_bytes(&self, part: Part) -> u64 {
        match part {
            Part::Dictionary => self.dictionary_bytes,
            Part::Leaves => self.leaf_count as u64 * LeafRecord::WIDTH as u64,
            Part::Inner => self.inner_count as u64 * InnerRecord::WIDTH as u64,
            Part::Postings => self.postings_bytes,
            Part::Positions => self.positions_bytes,
        }
    }
}

/// A leaf.
///
/// # Format
///
/// | Offset | Size | Field   | Meaning                                  |
/// |-------:|-----:|---------|------------------------------------------|
/// |      0 |    4 | node    | its id; above that of the record before  |
/// |      4 |    4 | own_len | terms of its own title and text          |
/// |      8 |    1 | kind    | node kind                                |
/// |      9 |    1 | level   | distance from the root                   |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafRecord {
    /// Its id.
    pub node: u32,
    /// Terms of its own title and text.
    pub own_len: u32,
    /// Node kind.
    pub kind: u8,
    /// Distance from the root, which is 0.
    pub level: u8,
}

impl LeafRecord {
    /// Where each field lies.
    pub const LAYOUT: Layout = Layout {
        section: "7.6.1",
        fields: &[
            Field::new("node", 0, 4),
            Field::new("own_len", 4, 4),
            Field::new("kind", 8, 1),
            Field::new("level", 9, 1),
        ],
    };

    /// Bytes of a record.
    pub const WIDTH: usize = 10;

    /// Appends the record to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.node.to_le_bytes());
        out.extend_from_slice(&self.own_len.to_le_bytes());
        out.extend_from_slice(&[self.kind, self.level]);
    }

    /// Record `index` of `bytes`; `None` past the end.
    #[must_use]
    pub fn decode_at(bytes: &[u8], index: usize) -> Option<Self> {
        let at = index.checked_mul(Self::WIDTH)?;
        let [kind, level] = array(bytes, at + 8)?;
        Some(Self { node: number(bytes, at)?, own_len: number(bytes, at + 4)?, kind, level })
    }
}

/// An inner node: a document's root or a section. Its parent is the inner node with the highest id below its
/// own whose range holds it; there is none for a root.
///
/// # Format
///
/// | Offset | Size | Field   | Meaning                                  |
/// |-------:|-----:|---------|------------------------------------------|
/// |      0 |    4 | node    | its id; above that of the record before  |
/// |      4 |    4 | last    | its last descendant; itself without any  |
/// |      8 |    4 | own_len | terms of its own title                   |
/// |     12 |    1 | kind    | node kind                                |
/// |     13 |    1 | level   | distance from the root                   |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InnerRecord {
    /// Its id.
    pub node: u32,
    /// Its last descendant.
    pub last: u32,
    /// Terms of its own title.
    pub own_len: u32,
    /// Node kind.
    pub kind: u8,
    /// Distance from the root, which is 0.
    pub level: u8,
}

impl InnerRecord {
    /// Where each field lies.
    pub const LAYOUT: Layout = Layout {
        section: "7.6.2",
        fields: &[
            Field::new("node", 0, 4),
            Field::new("last", 4, 4),
            Field::new("own_len", 8, 4),
            Field::new("kind", 12, 1),
            Field::new("level", 13, 1),
        ],
    };

    /// Bytes of a record.
    pub const WIDTH: usize = 14;

    /// Appends the record to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for field in [self.node, self.last, self.own_len] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&[self.kind, self.level]);
    }

    /// Record `index` of `bytes`; `None` past the end.
    #[must_use]
    pub fn decode_at(bytes: &[u8], index: usize) -> Option<Self> {
        let at = index.checked_mul(Self::WIDTH)?;
        let [kind, level] = array(bytes, at + 12)?;
        Some(Self {
            node: number(bytes, at)?,
            last: number(bytes, at + 4)?,
            own_len: number(bytes, at + 8)?,
            kind,
            level,
        })
    }
}

// A gap or an overlap in a layout is a compile error.
const _: () = assert!(matches!(LeafRecord::LAYOUT.width(), Some(LeafRecord::WIDTH)));
const _: () = assert!(matches!(InnerRecord::LAYOUT.width(), Some(InnerRecord::WIDTH)));

// Records of every width fill a chunk, and a chunk with its frame stays below 256 KiB.
const _: () = assert!(
    CHUNK_BYTES.is_multiple_of(LeafRecord::WIDTH)
        && CHUNK_BYTES.is_multiple_of(InnerRecord::WIDTH)
        && CHUNK_BYTES + 64 <= 256 << 10
);

/// The set of nodes in `bytes`: a Roaring bitmap in the portable format, all of `bytes`.
///
/// # Errors
///
/// [`Damage`] if it is none, or bytes are left over.
pub fn decode_set(mut bytes: &[u8]) -> Decoded<roaring::RoaringBitmap> {
    let len = bytes.len();
    let damage = |offset, why| Damage { field: "set", offset, why };
    let set = roaring::RoaringBitmap::deserialize_from(&mut bytes)
        .map_err(|_| damage(0, "it is no Roaring bitmap"))?;
    if bytes.is_empty() { Ok(set) } else { Err(damage(len - bytes.len(), "bytes follow the bitmap")) }
}

/// Appends `set` to `out` as [`decode_set`] reads it.
pub fn encode_set(set: &roaring::RoaringBitmap, out: &mut Vec<u8>) {
    // A vector takes every byte: writing to it cannot fail.
    let _ = set.serialize_into(out);
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(array(bytes, at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_by_their_index_and_not_past_the_end() {
        let mut leaves = Vec::new();
        let leaf = LeafRecord { node: 70_000, own_len: 12, kind: 3, level: 2 };
        leaf.encode(&mut leaves);
        let mut inner = Vec::new();
        let node = InnerRecord { node: 1, last: 70_001, own_len: 4, kind: 1, level: 0 };
        node.encode(&mut inner);

        assert_eq!(LeafRecord::decode_at(&leaves, 0), Some(leaf));
        assert_eq!(InnerRecord::decode_at(&inner, 0), Some(node));
        assert_eq!(LeafRecord::decode_at(&leaves, usize::MAX), None);
    }

    #[test]
    fn a_set_with_bytes_behind_it_is_refused() {
        let mut bytes = Vec::new();
        encode_set(&(3..9).collect(), &mut bytes);

        assert_eq!(decode_set(&bytes).map(|set| set.len()), Ok(6));
        bytes.push(0);
        assert!(decode_set(&bytes).is_err());
        assert!(decode_set(&[]).is_err());
    }
}
