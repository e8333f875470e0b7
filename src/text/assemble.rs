//! Writing a segment: keys in order, everything else as it comes.

use roaring::RoaringBitmap;

use super::tally::Tally;
use crate::error::Error;
use crate::error::Result;
use crate::format::text::CHUNK_BYTES;
use crate::format::text::Grouping;
use crate::format::text::InnerRecord;
use crate::format::text::LeafColumns;
use crate::format::text::LeafRecord;
use crate::format::text::Part;
use crate::format::text::Place;
use crate::format::text::Posting;
use crate::format::text::SegmentHeader;
use crate::format::text::TermEntry;
use crate::format::text::encode_positions;
use crate::format::text::encode_postings;
use crate::format::text::encode_set;
use crate::format::text::put_set_head;

/// Where the first byte of an entry's positions can lie: a varint has 35 bits.
const POSITIONS_BOUND: u64 = 1 << 35;

/// Takes the chunks of a segment as they fill, so that no segment need be in memory whole. The chunks of one
/// part come in order, those of different parts in between each other.
pub trait PartSink {
    /// Takes chunk `index` of part `part`: at most [`CHUNK_BYTES`], never empty.
    ///
    /// # Errors
    ///
    /// What keeps it from being stored; the segment is then given up.
    fn chunk(&mut self, part: u8, index: u32, payload: &[u8]) -> Result<()>;
}

/// A finished segment: its header, and the chunks of its parts as `(part, index, payload)` in that order.
/// No payload has more than [`CHUNK_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentParts {
    /// What is to be known before the parts are read.
    pub header: SegmentHeader,
    /// Part number, index of the chunk, payload without frame.
    pub chunks: Vec<(u8, u32, Vec<u8>)>,
}

impl SegmentParts {
    /// What `write` gives and sends to its sink.
    ///
    /// # Errors
    ///
    /// What `write` reports.
    pub fn collect(write: impl FnOnce(&mut dyn PartSink) -> Result<SegmentHeader>) -> Result<Self> {
        struct Chunks(Vec<(u8, u32, Vec<u8>)>);
        impl PartSink for Chunks {
            fn chunk(&mut self, part: u8, index: u32, payload: &[u8]) -> Result<()> {
                self.0.push((part, index, payload.to_vec()));
                Ok(())
            }
        }
        let mut chunks = Chunks(Vec::new());
        let header = write(&mut chunks)?;
        chunks.0.sort_unstable_by_key(|(part, index, _)| (*part, *index));
        Ok(Self { header, chunks: chunks.0 })
    }
}

/// Where a term occurs: postings, and the positions of each, one after another.
#[derive(Debug, Default)]
pub struct Occurrences {
    pub postings: Vec<Posting>,
    pub positions: Vec<u32>,
}

impl Occurrences {
    pub fn clear(&mut self) {
        self.postings.clear();
        self.positions.clear();
    }

    /// Adds a posting behind the others; its frequency is the number of its positions.
    pub fn push(&mut self, ordinal: u32, positions: &[u32]) {
        let term_freq = u32::try_from(positions.len()).unwrap_or(u32::MAX);
        self.postings.push(Posting { ordinal, term_freq });
        self.positions.extend_from_slice(positions);
    }

    fn count(&self) -> u32 {
        u32::try_from(self.postings.len()).unwrap_or(u32::MAX)
    }
}

/// A part that is being written: what does not fill a chunk yet is in memory.
struct Stream {
    part: Part,
    index: u32,
    sent: u64,
    bytes: Vec<u8>,
}

impl Stream {
    const fn new(part: Part) -> Self {
        Self { part, index: 0, sent: 0, bytes: Vec::new() }
    }

    const fn len(&self) -> u64 {
        self.sent + self.bytes.len() as u64
    }

    /// Sends full chunks on, and the last one too if it is `done`.
    fn send(&mut self, sink: &mut dyn PartSink, done: bool) -> Result<()> {
        if self.bytes.len() < CHUNK_BYTES && !done {
            return Ok(());
        }
        let (full, rest) = self.bytes.as_chunks::<CHUNK_BYTES>();
        let last = done.then_some(rest).filter(|rest| !rest.is_empty());
        let mut sent = 0;
        for chunk in full.iter().map(<[u8; CHUNK_BYTES]>::as_slice).chain(last) {
            sink.chunk(self.part as u8, self.index, chunk)?;
            self.index += 1;
            sent += chunk.len();
        }
        self.bytes.drain(..sent);
        self.sent += sent as u64;
        Ok(())
    }
}

/// Writes dictionary, entries and positions side by side, keys ascending.
pub struct Assembler<'a> {
    sink: &'a mut dyn PartSink,
    leaves: &'a [LeafRecord],
    inner: &'a [InnerRecord],
    tally: Tally,
    dictionary: fst::MapBuilder<Vec<u8>>,
    list_count: u32,
    postings: Stream,
    positions: Stream,
    /// The lists of one entry, until their lengths are known.
    lists: Vec<u8>,
}

impl<'a> Assembler<'a> {
    /// A writer of the segment with these nodes, which are all that its lists will be about.
    pub fn new(
        leaves: &'a [LeafRecord],
        inner: &'a [InnerRecord],
        sink: &'a mut dyn PartSink,
    ) -> Result<Self> {
        let tally = Tally::of(leaves, inner).map_err(|damage| Error::invalid(damage.why))?;
        Ok(Self {
            sink,
            leaves,
            inner,
            tally,
            dictionary: fst::MapBuilder::memory(),
            list_count: 0,
            postings: Stream::new(Part::Postings),
            positions: Stream::new(Part::Positions),
            lists: Vec::new(),
        })
    }

    /// Adds `set` under `key`.
    pub fn set(&mut self, key: &[u8], set: &RoaringBitmap) -> Result<()> {
        let mut set = set.clone();
        // Equal sets get equal bytes, whatever they were made from.
        set.remove_run_compression();
        set.optimize();
        self.lists.clear();
        encode_set(&set, &mut self.lists);
        // Node ids begin at 1, so a set has fewer than 2^32 of them.
        let count = u32::try_from(set.len()).unwrap_or(u32::MAX);
        let bytes = length(self.lists.len())?;
        self.insert(key, Place::Entry(self.postings.len()))?;
        put_set_head(&mut self.postings.bytes, count, bytes);
        self.postings.bytes.append(&mut self.lists);
        self.postings.send(self.sink, false)
    }

    /// Adds a term under `key`, which occurs in these leaves and inner nodes.
    pub fn term(&mut self, key: &[u8], body: &Occurrences, heading: &Occurrences) -> Result<()> {
        if let ([Posting { ordinal, term_freq: 1 }], [position], []) =
            (body.postings.as_slice(), body.positions.as_slice(), heading.postings.as_slice())
            && let Some(place) = Place::lone(*ordinal, *position)
        {
            return self.insert(key, place);
        }
        self.insert(key, Place::Entry(self.postings.len()))?;
        let columns = LeafColumns { full_lens: &self.tally.full_lens, mean_len: self.tally.mean_full_len() };
        self.lists.clear();
        encode_postings(&body.postings, Some(&columns), &mut self.lists);
        let body_bytes = self.lists.len();
        let grouping = Grouping::of_list(&self.lists);
        encode_postings(&heading.postings, None, &mut self.lists);
        let heading_bytes = self.lists.len() - body_bytes;

        let positions_offset = self.positions.len();
        if positions_offset >= POSITIONS_BOUND {
            return Err(Error::invalid("the positions of a segment would have 32 GiB or more"));
        }
        let (leaf_count, inner_count) = (count(self.leaves.len()), count(self.inner.len()));
        let start = self.positions.bytes.len();
        encode_positions(&body.postings, &body.positions, grouping, leaf_count, &mut self.positions.bytes);
        let middle = self.positions.bytes.len();
        let blocks = Grouping::Blocks;
        encode_positions(
            &heading.postings,
            &heading.positions,
            blocks,
            inner_count,
            &mut self.positions.bytes,
        );
        let end = self.positions.bytes.len();

        let entry = TermEntry {
            body_count: body.count(),
            heading_count: heading.count(),
            body_bytes: length(body_bytes)?,
            heading_bytes: length(heading_bytes)?,
            full_count: self.tally.full_count(&body.postings, &heading.postings),
            positions_offset,
            body_positions_bytes: length(middle - start)?,
            heading_positions_bytes: length(end - middle)?,
        };
        entry.encode(&mut self.postings.bytes);
        self.postings.bytes.append(&mut self.lists);
        self.postings.send(self.sink, false)?;
        self.positions.send(self.sink, false)
    }

    fn insert(&mut self, key: &[u8], place: Place) -> Result<()> {
        let value = place.value().ok_or_else(|| Error::invalid("the lists of a segment are too long"))?;
        self.dictionary.insert(key, value).map_err(unsorted)?;
        self.list_count += 1;
        Ok(())
    }

    /// Sends what is left; gives the header.
    pub fn finish(mut self) -> Result<SegmentHeader> {
        let (postings_bytes, positions_bytes) = (self.postings.len(), self.positions.len());
        self.postings.send(self.sink, true)?;
        self.positions.send(self.sink, true)?;
        let mut stream = Stream::new(Part::Dictionary);
        stream.bytes = self.dictionary.into_inner().map_err(unsorted)?;
        let dictionary_bytes = stream.len();
        stream.send(self.sink, true)?;
        let mut stream = Stream::new(Part::Leaves);
        for leaf in self.leaves {
            leaf.encode(&mut stream.bytes);
            stream.send(self.sink, false)?;
        }
        stream.send(self.sink, true)?;
        let mut stream = Stream::new(Part::Inner);
        for node in self.inner {
            node.encode(&mut stream.bytes);
            stream.send(self.sink, false)?;
        }
        stream.send(self.sink, true)?;
        let ids = || self.leaves.iter().map(|leaf| leaf.node).chain(self.inner.iter().map(|node| node.node));
        Ok(SegmentHeader {
            first_node: ids().min().unwrap_or(0),
            last_node: ids().max().unwrap_or(0),
            leaf_count: count(self.leaves.len()),
            inner_count: count(self.inner.len()),
            section_count: self.tally.section_count,
            document_count: self.tally.document_count,
            own_terms: self.tally.own_terms,
            full_terms: self.tally.full_terms,
            list_count: self.list_count,
            dictionary_bytes,
            postings_bytes,
            positions_bytes,
        })
    }
}

/// A number of nodes. Nodes have 32-bit ids.
fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn length(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| Error::invalid("a posting list would have 4 GiB or more"))
}

fn unsorted(error: fst::Error) -> Error {
    Error::invalid("the terms of a segment cannot be made a dictionary").with_source(error)
}
