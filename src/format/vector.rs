//! Vectors: spaces, blocks of rows, context norms. format-spec.md chapter 8.
#![expect(clippy::doc_markdown, reason = "fields are named as in the tables of the spec")]

use std::ops::Range;

use super::codec;
use super::codec::{Decode, Encode};
use super::frame::{HEADER_BYTES, RecordKind};
use super::key;
use super::layout::{Field, Layout};
use crate::error::{Error, Result};
use crate::ids::{DocumentId, NodeId, SpaceId};

/// Records of the `spaces` table, by `key::one(space)`.
pub const SPACE: RecordKind = RecordKind { tag: *b"VSPC", version: 1, table: "spaces", section: "8.1" };

/// Blocks of the `vectors` table, by `key::two(space, block)`.
pub const BLOCK: RecordKind = RecordKind { tag: *b"VBLK", version: 1, table: "vectors", section: "8.2" };

/// Records of the `contexts` table, by `key::two(space, document)`.
pub const CONTEXT: RecordKind = RecordKind { tag: *b"VCTX", version: 1, table: "contexts", section: "8.3" };

/// Most bytes of a block's value, frame included: redb's page of 256 KiB less its 16 bytes of leaf header.
pub const MAX_BLOCK_BYTES: usize = (256 << 10) - 16;

/// Bytes of a block's header, after the frame.
pub const BLOCK_HEADER_BYTES: usize = 48;

/// Where the rows begin in a block's value.
pub const ROWS_OFFSET: usize = HEADER_BYTES + BLOCK_HEADER_BYTES;

/// Largest dimension: a block holds at least one row.
pub const MAX_DIMENSION: u32 = 65_515;

const ID_BYTES: usize = 4;
const _: () = assert!(ROWS_OFFSET == 64);
const _: () = assert!(capacity(MAX_DIMENSION) == 1 && capacity(MAX_DIMENSION + 1) == 0);

/// How two vectors are compared. Higher scores are better under every metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Metric {
    /// Dot product of unit vectors, in -1 to 1 up to rounding; rows are stored at unit length.
    Cosine = 1,
    /// Dot product of the vectors as they are.
    Dot = 2,
    /// Minus the squared Euclidean distance; 0 is best.
    L2 = 3,
}

impl Metric {
    /// The metric of a code in a file.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Cosine),
            2 => Some(Self::Dot),
            3 => Some(Self::L2),
            _ => None,
        }
    }

    /// Its code in a file.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Its name: `cosine`, `dot`, `l2`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Dot => "dot",
            Self::L2 => "l2",
        }
    }
}

/// What a row is made of in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType {
    /// 32-bit floats, little-endian.
    F32 = 1,
}

impl ElementType {
    /// The type of a code in a file.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::F32),
            _ => None,
        }
    }

    /// Its code in a file.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
        }
    }
}

/// Rows of `dimension` floats that fit a block; 0 above [`MAX_DIMENSION`].
#[must_use]
pub const fn capacity(dimension: u32) -> usize {
    let row_bytes = dimension as usize * ElementType::F32.size_bytes() + ID_BYTES;
    (MAX_BLOCK_BYTES - ROWS_OFFSET) / row_bytes
}

/// What the file keeps about one space.
///
/// # Format
///
/// Payload in bincode (section 3.2), fields in this order: `name` string, `fingerprint` string, `dimension`
/// u32, `element` u8, `metric` u8, `rows` u32, `live` u32, `generation` u64, `last_nodes` sequence of u32.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceRecord {
    /// Name, unique in the file.
    pub name: String,
    /// What made the vectors: [`Embedder::fingerprint`](crate::model::Embedder::fingerprint).
    pub fingerprint: String,
    /// Length of every vector, 1 to [`MAX_DIMENSION`].
    pub dimension: u32,
    /// What a row is made of.
    pub element: ElementType,
    /// How rows are compared.
    pub metric: Metric,
    /// Rows stored, those of removed nodes included.
    pub rows: u32,
    /// Rows of nodes that were not removed.
    pub live: u32,
    /// The generation the next block written will have.
    pub generation: u64,
    /// The last node of each block, ascending; block `i` holds nodes above the last of block `i - 1`.
    pub last_nodes: Vec<u32>,
}

#[derive(Encode, Decode)]
struct SpaceWire {
    name: String,
    fingerprint: String,
    dimension: u32,
    element: u8,
    metric: u8,
    rows: u32,
    live: u32,
    generation: u64,
    last_nodes: Vec<u32>,
}

impl SpaceRecord {
    /// A space without rows.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the dimension is 0 or above [`MAX_DIMENSION`], or name or fingerprint is not of 1 to
    /// 255 bytes.
    pub fn new(name: &str, fingerprint: &str, dimension: usize, metric: Metric) -> Result<Self> {
        let dimension = u32::try_from(dimension)
            .ok()
            .filter(|d| (1..=MAX_DIMENSION).contains(d))
            .ok_or_else(|| Error::invalid(format!("dimension {dimension} is not in 1 to {MAX_DIMENSION}")))?;
        for (what, text) in [("name", name), ("fingerprint", fingerprint)] {
            if text.is_empty() || text.len() > 255 {
                let size = text.len();
                return Err(Error::invalid(format!("the {what} of a space has {size} bytes, not 1 to 255")));
            }
        }
        Ok(Self {
            name: name.into(),
            fingerprint: fingerprint.into(),
            dimension,
            element: ElementType::F32,
            metric,
            rows: 0,
            live: 0,
            generation: 1,
            last_nodes: Vec::new(),
        })
    }

    /// How many blocks it has; they are numbered from 0.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if 32 bits do not count them.
    pub fn block_count(&self) -> Result<u32> {
        u32::try_from(self.last_nodes.len())
            .map_err(|_| Error::invalid("a space has at most 2^32 - 1 blocks"))
    }

    /// The value to store under `key::one(space)`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is larger than a value may be.
    pub fn seal(&self, space: SpaceId) -> Result<Vec<u8>> {
        let wire = SpaceWire {
            name: self.name.clone(),
            fingerprint: self.fingerprint.clone(),
            dimension: self.dimension,
            element: self.element.code(),
            metric: self.metric.code(),
            rows: self.rows,
            live: self.live,
            generation: self.generation,
            last_nodes: self.last_nodes.clone(),
        };
        codec::seal(&SPACE, &key::one(space.get()), &wire)
    }

    /// The record in the value stored under `key::one(space)`.
    ///
    /// # Errors
    ///
    /// `Corrupt`, naming the field, if the bytes are no such record.
    pub fn open(space: SpaceId, value: &[u8]) -> Result<Self> {
        let key = key::one(space.get());
        let wire: SpaceWire = codec::open(&SPACE, &key, value)?;
        let bad = |field: &str, why: String| SPACE.malformed(&key, field, HEADER_BYTES, why);
        if !(1..=MAX_DIMENSION).contains(&wire.dimension) {
            return Err(bad("dimension", format!("it is {}", wire.dimension)));
        }
        let element = ElementType::from_code(wire.element)
            .ok_or_else(|| bad("element", format!("code {} is not known", wire.element)))?;
        let metric = Metric::from_code(wire.metric)
            .ok_or_else(|| bad("metric", format!("code {} is not known", wire.metric)))?;
        if wire.live > wire.rows {
            return Err(bad("live", format!("{} of {} rows", wire.live, wire.rows)));
        }
        if !wire.last_nodes.is_sorted_by(|a, b| a < b) {
            return Err(bad("last_nodes", "they do not ascend".into()));
        }
        Ok(Self {
            name: wire.name,
            fingerprint: wire.fingerprint,
            dimension: wire.dimension,
            element,
            metric,
            rows: wire.rows,
            live: wire.live,
            generation: wire.generation,
            last_nodes: wire.last_nodes,
        })
    }
}

/// A block of rows, as it lies in the file.
///
/// # Format
///
/// Offsets in the payload; the payload begins at byte 16 of the value. Numbers little-endian. `n` = `rows`,
/// `d` = `dimension`.
///
/// | Offset | Size | Field      | Meaning                                                           |
/// |-------:|-----:|------------|-------------------------------------------------------------------|
/// |      0 |    4 | space      | the space, as in the key                                          |
/// |      4 |    4 | block      | the block's number, as in the key                                 |
/// |      8 |    8 | generation | grows with every block written to the space; never reused         |
/// |     16 |    1 | element    | element type: 1 = f32                                             |
/// |     17 |    1 | metric     | 1 cosine, 2 dot, 3 squared L2                                     |
/// |     18 |    2 | reserved   | zero                                                              |
/// |     20 |    4 | dimension  | 1 to 65,515                                                       |
/// |     24 |    4 | rows       | rows in this block, 1 to capacity                                 |
/// |     28 |    4 | capacity   | rows that fit: floor(262,064 / (4 d + 4))                         |
/// |     32 |    4 | norm_bound | f32, not below the length of any row                              |
/// |     36 |   12 | unused     | zero                                                              |
/// |     48 |  4nd | data       | n x d f32, row by row                                             |
/// | 48+4nd |   4n | nodes      | u32 node id of each row, ascending                                |
///
/// A value has at most 262,128 bytes. In a full block of a redb page the rows begin at byte 80 of the page.
#[derive(Debug, Clone, Copy)]
pub struct VectorBlock<'a> {
    /// Which writing of which block this is.
    pub generation: u64,
    /// Length of every row.
    pub dimension: usize,
    /// How rows are compared.
    pub metric: Metric,
    /// Not below the length of any row.
    pub norm_bound: f32,
    data: &'a [u8],
    nodes: &'a [[u8; ID_BYTES]],
}

impl<'a> VectorBlock<'a> {
    /// Where each fixed field lies in the payload.
    pub const LAYOUT: Layout = Layout {
        section: "8.2",
        fields: &[
            Field::new("space", 0, 4),
            Field::new("block", 4, 4),
            Field::new("generation", 8, 8),
            Field::new("element", 16, 1),
            Field::new("metric", 17, 1),
            Field::new("reserved", 18, 2),
            Field::new("dimension", 20, 4),
            Field::new("rows", 24, 4),
            Field::new("capacity", 28, 4),
            Field::new("norm_bound", 32, 4),
            Field::new("unused", 36, 12),
        ],
    };

    /// The block in the whole `value` stored under `key::two(space, block)`, whose frame was verified.
    ///
    /// # Errors
    ///
    /// `Corrupt`, naming the field, if header and size do not fit each other or the place.
    pub fn of_value(space: SpaceId, block: u32, value: &'a [u8]) -> Result<Self> {
        let bad = |field: &str, why: String| {
            let offset = Self::LAYOUT.fields.iter().find(|f| f.name == field).map_or(0, |f| f.offset);
            Err(BLOCK.malformed(&key::two(space.get(), block), field, HEADER_BYTES + offset, why))
        };
        // What follows the payload is the frame's padding.
        let payload = value.split_first_chunk::<HEADER_BYTES>().and_then(|(frame, rest)| {
            let &[.., l0, l1, l2, l3, _, _, _, _] = frame;
            rest.get(..u32::from_le_bytes([l0, l1, l2, l3]) as usize)
        });
        let body = payload.and_then(|payload| payload.split_first_chunk::<BLOCK_HEADER_BYTES>());
        let Some((header, body)) = body else {
            return bad("space", format!("{} bytes are no block", value.len()));
        };
        let header = Header(header);
        let (in_space, number) = (header.u32_at(0), header.u32_at(4));
        if (in_space, number) != (space.get(), block) {
            return bad("space", format!("it says space {in_space}, block {number}"));
        }
        if ElementType::from_code(header.u8_at(16)) != Some(ElementType::F32) {
            return bad("element", format!("code {} is not known", header.u8_at(16)));
        }
        let Some(metric) = Metric::from_code(header.u8_at(17)) else {
            return bad("metric", format!("code {} is not known", header.u8_at(17)));
        };
        let dimension = header.u32_at(20);
        if !(1..=MAX_DIMENSION).contains(&dimension) {
            return bad("dimension", format!("it is {dimension}"));
        }
        let (rows, claimed) = (header.u32_at(24) as usize, header.u32_at(28) as usize);
        if claimed != capacity(dimension) {
            return bad("capacity", format!("it is {claimed} for dimension {dimension}"));
        }
        if rows == 0 || rows > claimed {
            return bad("rows", format!("they are {rows} of {claimed}"));
        }
        let norm_bound = f32::from_bits(header.u32_at(32));
        if !norm_bound.is_finite() || norm_bound < 0.0 {
            return bad("norm_bound", format!("it is {norm_bound}"));
        }
        let data_bytes = rows * dimension as usize * ElementType::F32.size_bytes();
        let Some((data, rest)) = body.split_at_checked(data_bytes) else {
            return bad("rows", format!("{rows} rows of dimension {dimension} in {} bytes", body.len()));
        };
        let (nodes, left) = rest.as_chunks::<ID_BYTES>();
        if nodes.len() != rows || !left.is_empty() {
            return bad("rows", format!("{rows} node ids in {} bytes", rest.len()));
        }
        let generation = header.u64_at(8);
        Ok(Self { generation, dimension: dimension as usize, metric, norm_bound, data, nodes })
    }

    /// Says whether the block is one of the space of `record`.
    ///
    /// # Errors
    ///
    /// `Corrupt`, naming the field, if its dimension or metric is another.
    pub fn expect(&self, space: SpaceId, block: u32, record: &SpaceRecord) -> Result<()> {
        let bad = |field: &str, offset: usize, why: String| {
            Err(BLOCK.malformed(&key::two(space.get(), block), field, HEADER_BYTES + offset, why))
        };
        if self.dimension != record.dimension as usize {
            return bad(
                "dimension",
                20,
                format!("it is {}; the space has {}", self.dimension, record.dimension),
            );
        }
        if self.metric != record.metric {
            return bad("metric", 17, format!("it is {:?}; the space has {:?}", self.metric, record.metric));
        }
        Ok(())
    }

    /// How many rows there are; at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a block holds at least one row")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All rows: `n x d` floats as bytes.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The bytes of row `index`; empty beyond the last.
    #[must_use]
    pub fn row(&self, index: usize) -> &'a [u8] {
        self.rows(index..index.saturating_add(1))
    }

    /// The bytes of the rows `range`; empty if there are not so many.
    #[must_use]
    pub fn rows(&self, range: Range<usize>) -> &'a [u8] {
        let row_bytes = self.dimension * ElementType::F32.size_bytes();
        let bytes = range.start.saturating_mul(row_bytes)..range.end.saturating_mul(row_bytes);
        self.data.get(bytes).unwrap_or_default()
    }

    /// The node of each row; ascending in a sound file.
    #[must_use]
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + 'a {
        self.nodes.iter().map(|bytes| NodeId(u32::from_le_bytes(*bytes)))
    }

    /// The first row whose node is not below `node`; the number of rows if there is none.
    #[must_use]
    pub fn first_row_from(&self, node: NodeId) -> usize {
        self.nodes.partition_point(|bytes| u32::from_le_bytes(*bytes) < node.get())
    }

    /// The row of `node`, if it is here.
    #[must_use]
    pub fn row_of(&self, node: NodeId) -> Option<usize> {
        self.nodes.binary_search_by_key(&node.get(), |bytes| u32::from_le_bytes(*bytes)).ok()
    }
}

struct Header<'a>(&'a [u8; BLOCK_HEADER_BYTES]);

impl Header<'_> {
    fn array_at<const N: usize>(&self, offset: usize) -> [u8; N] {
        self.0.get(offset..).and_then(|bytes| bytes.first_chunk::<N>()).copied().unwrap_or([0; N])
    }

    fn u8_at(&self, offset: usize) -> u8 {
        u8::from_le_bytes(self.array_at(offset))
    }

    fn u32_at(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.array_at(offset))
    }

    fn u64_at(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.array_at(offset))
    }
}

/// A block to be written.
#[derive(Debug, Clone, Copy)]
pub struct BlockParts<'a> {
    /// The space it belongs to.
    pub space: SpaceId,
    /// Its number in the space, from 0.
    pub block: u32,
    /// Which writing this is.
    pub generation: u64,
    /// How rows are compared.
    pub metric: Metric,
    /// Length of every row.
    pub dimension: u32,
    /// Not below the length of any row.
    pub norm_bound: f32,
    /// `n x d` floats as bytes.
    pub data: &'a [u8],
    /// The node of each of the `n` rows, ascending.
    pub nodes: &'a [u32],
}

impl BlockParts<'_> {
    /// The value to store under `key::two(space, block)`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if there is no row, more than fit, or data and nodes are not of one length.
    pub fn seal(&self) -> Result<Vec<u8>> {
        let fits = capacity(self.dimension);
        let data_bytes = self.nodes.len() * self.dimension as usize * ElementType::F32.size_bytes();
        let (Ok(rows), Ok(most)) = (u32::try_from(self.nodes.len()), u32::try_from(fits)) else {
            return Err(Error::invalid(format!("{} rows are no block", self.nodes.len())));
        };
        if !(1..=most).contains(&rows) || data_bytes != self.data.len() {
            let (n, d, bytes) = (rows, self.dimension, self.data.len());
            return Err(Error::invalid(format!(
                "{n} rows of dimension {d} in {bytes} bytes, at most {fits}"
            )));
        }
        let mut payload = Vec::with_capacity(BLOCK_HEADER_BYTES + data_bytes + self.nodes.len() * ID_BYTES);
        payload.extend_from_slice(&self.space.get().to_le_bytes());
        payload.extend_from_slice(&self.block.to_le_bytes());
        payload.extend_from_slice(&self.generation.to_le_bytes());
        payload.extend_from_slice(&[ElementType::F32.code(), self.metric.code(), 0, 0]);
        payload.extend_from_slice(&self.dimension.to_le_bytes());
        payload.extend_from_slice(&rows.to_le_bytes());
        payload.extend_from_slice(&most.to_le_bytes());
        payload.extend_from_slice(&self.norm_bound.to_le_bytes());
        payload.resize(BLOCK_HEADER_BYTES, 0);
        payload.extend_from_slice(self.data);
        payload.extend(self.nodes.iter().flat_map(|node| node.to_le_bytes()));
        BLOCK.seal(&key::two(self.space.get(), self.block), &payload)
    }
}

/// The norms that context-mixed scores of one document need; see [`crate::vector::context_scores`].
///
/// # Format
///
/// | Offset | Size | Field         | Meaning                                                    |
/// |-------:|-----:|---------------|------------------------------------------------------------|
/// |      0 |    4 | leaves        | leaves of the document                                     |
/// |      4 |    4 | sections      | sections of the document                                   |
/// |      8 |    - | leaf_norms    | f32 each, in document order                                |
/// |      - |    - | section_norms | f32 each, in the order of sections                         |
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContextNorms {
    /// Length of each leaf's mixed vector before it is made a unit vector.
    pub leaf_norms: Vec<f32>,
    /// Length of the sum of each section's leaf vectors.
    pub section_norms: Vec<f32>,
}

impl ContextNorms {
    /// Where each fixed field lies in the payload.
    pub const LAYOUT: Layout =
        Layout { section: "8.3", fields: &[Field::new("leaves", 0, 4), Field::new("sections", 4, 4)] };

    /// The value to store under `key::two(space, document)`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is larger than a value may be (some four million norms).
    pub fn seal(&self, space: SpaceId, document: DocumentId) -> Result<Vec<u8>> {
        let count = |norms: &[f32]| {
            u32::try_from(norms.len()).map_err(|_| Error::invalid("a document has fewer than 2^32 leaves"))
        };
        let mut payload = Vec::with_capacity(8 + 4 * (self.leaf_norms.len() + self.section_norms.len()));
        payload.extend_from_slice(&count(&self.leaf_norms)?.to_le_bytes());
        payload.extend_from_slice(&count(&self.section_norms)?.to_le_bytes());
        let norms = self.leaf_norms.iter().chain(&self.section_norms);
        payload.extend(norms.flat_map(|norm| norm.to_le_bytes()));
        CONTEXT.seal(&key::two(space.get(), document.get()), &payload)
    }

    /// The record in the value stored under `key::two(space, document)`.
    ///
    /// # Errors
    ///
    /// `Corrupt`, naming the field, if the bytes are no such record or a norm is negative or not finite.
    pub fn open(space: SpaceId, document: DocumentId, value: &[u8]) -> Result<Self> {
        let key = key::two(space.get(), document.get());
        let payload = CONTEXT.open(&key, value)?;
        let bad = |field, offset: usize, why: String| {
            Err(CONTEXT.malformed(&key, field, HEADER_BYTES + offset, why))
        };
        let (words, rest) = payload.as_chunks::<4>();
        let [leaves, sections, norms @ ..] = words else {
            return bad("leaves", 0, format!("{} bytes are no context", payload.len()));
        };
        let (leaves, sections) =
            (u32::from_le_bytes(*leaves) as usize, u32::from_le_bytes(*sections) as usize);
        let Some((of_leaves, of_sections)) = norms.split_at_checked(leaves) else {
            return bad("leaves", 0, format!("{leaves} leaves in {} bytes", payload.len()));
        };
        if of_sections.len() != sections || !rest.is_empty() {
            return bad("sections", 4, format!("{sections} sections in {} bytes", payload.len()));
        }
        let read = |words: &[[u8; 4]]| words.iter().map(|word| f32::from_le_bytes(*word)).collect::<Vec<_>>();
        let (leaf_norms, section_norms) = (read(of_leaves), read(of_sections));
        let sound = |norm: &f32| norm.is_finite() && *norm >= 0.0;
        if let Some(index) = leaf_norms.iter().chain(&section_norms).position(|norm| !sound(norm)) {
            return bad("leaf_norms", 8 + 4 * index, "a norm is negative or not finite".into());
        }
        Ok(Self { leaf_norms, section_norms })
    }
}

// A gap or an overlap in a layout is a compile error.
const _: () = assert!(matches!(VectorBlock::LAYOUT.width(), Some(BLOCK_HEADER_BYTES)));
const _: () = assert!(matches!(ContextNorms::LAYOUT.width(), Some(8)));

#[cfg(test)]
mod tests;
