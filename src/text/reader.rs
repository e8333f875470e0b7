//! Reading a segment.

use std::ops::Deref;
use std::ops::Range;
use std::sync::Arc;

use fst::Automaton;
use fst::IntoStreamer;
use fst::Streamer;
use roaring::RoaringBitmap;

use super::tally::Tally;
use crate::error::Error;
use crate::error::Result;
use crate::format::frame;
use crate::format::key;
use crate::format::text;
use crate::format::text::CHUNK_BYTES;
use crate::format::text::Damage;
use crate::format::text::InnerRecord;
use crate::format::text::LeafRecord;
use crate::format::text::ListRecord;
use crate::format::text::Part;
use crate::format::text::PostingList;
use crate::format::text::SegmentHeader;
use crate::format::text::prefix;
use crate::ids::SegmentId;

/// Where the chunks of segments are kept. A snapshot: a segment's chunks never change.
pub trait PartSource: Send + Sync {
    /// Payload of chunk `index` of part `part` of `segment`, its frame opened.
    ///
    /// # Errors
    ///
    /// `Corrupt` if there is none or its frame is damaged; `Io` if it cannot be read.
    fn part(&self, segment: SegmentId, part: u8, index: u32) -> Result<Arc<[u8]>>;
}

/// One segment, open: dictionary, list records and node records in memory (about the dictionary's bytes, 24
/// for each of its keys, 16 for each leaf and 24 for each inner node); lists are read when asked for.
///
/// It holds no source, so that it can outlive the snapshot it was opened in; each read names one.
pub struct SegmentReader {
    id: SegmentId,
    header: SegmentHeader,
    dictionary: fst::Map<Vec<u8>>,
    lists: Vec<u8>,
    leaves: Vec<LeafRecord>,
    inner: Vec<InnerRecord>,
    tally: Tally,
}

/// Bytes of a list: part of a chunk, or put together from several.
#[derive(Debug, Clone)]
pub struct ListBytes(Bytes);

#[derive(Debug, Clone)]
enum Bytes {
    Shared(Arc<[u8]>, Range<usize>),
    Owned(Vec<u8>),
}

impl Deref for ListBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Shared(chunk, range) => chunk.get(range.clone()).unwrap_or_default(),
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// The postings of a term in one segment: ordinals among its leaves, and among its inner nodes.
#[derive(Debug, Clone)]
pub struct TermPostings {
    record: ListRecord,
    body: ListBytes,
    heading: ListBytes,
}

impl TermPostings {
    /// Leaves that hold the term in their own text.
    #[must_use]
    pub const fn body_count(&self) -> u32 {
        self.record.body_count
    }

    /// Inner nodes that hold the term in their title.
    #[must_use]
    pub const fn heading_count(&self) -> u32 {
        self.record.heading_count
    }
}

impl std::fmt::Debug for SegmentReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentReader")
            .field("id", &self.id)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl SegmentReader {
    /// Opens segment `id`, whose header has been read, from `source`.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a part is not as long as the header says, the dictionary's checksum is wrong, or the node
    /// records are no forest; and what `source` reports.
    pub fn open(id: SegmentId, header: &SegmentHeader, source: &dyn PartSource) -> Result<Self> {
        let bad = |part: Part, field: &str, offset: usize, why: &dyn std::fmt::Display| {
            damaged(id, part, offset as u64, field, why)
        };
        let dictionary = fst::Map::new(read_part(id, header, Part::Dictionary, source)?)
            .map_err(|error| bad(Part::Dictionary, "dictionary", 0, &error))?;
        // Without this a damaged dictionary panics or answers wrongly; see the notes on crate fst.
        dictionary.as_fst().verify().map_err(|error| bad(Part::Dictionary, "checksum", 0, &error))?;
        if dictionary.len() != header.list_count as usize {
            return Err(bad(Part::Dictionary, "len", 0, &"its keys are not as many as the lists"));
        }
        let lists = read_part(id, header, Part::Lists, source)?;
        let leaf_bytes = read_part(id, header, Part::Leaves, source)?;
        let leaves: Vec<LeafRecord> =
            (0..header.leaf_count as usize).map_while(|at| LeafRecord::decode_at(&leaf_bytes, at)).collect();
        let inner_bytes = read_part(id, header, Part::Inner, source)?;
        let inner: Vec<InnerRecord> = (0..header.inner_count as usize)
            .map_while(|at| InnerRecord::decode_at(&inner_bytes, at))
            .collect();
        let tally = Tally::of(&leaves, &inner).map_err(|Damage { field, offset, why }| {
            let (part, width) = if field.starts_with("leaf") {
                (Part::Leaves, LeafRecord::WIDTH)
            } else {
                (Part::Inner, InnerRecord::WIDTH)
            };
            bad(part, field, offset * width, &why)
        })?;
        let reader = Self { id, header: header.clone(), dictionary, lists, leaves, inner, tally };
        reader.check_header()?;
        Ok(reader)
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> SegmentId {
        self.id
    }

    /// Its header.
    #[must_use]
    pub const fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// Its leaves, in node order.
    #[must_use]
    pub fn leaves(&self) -> &[LeafRecord] {
        &self.leaves
    }

    /// Its inner nodes, in node order.
    #[must_use]
    pub fn inner(&self) -> &[InnerRecord] {
        &self.inner
    }

    /// For each inner node the ordinal of its parent, `u32::MAX` for a root.
    pub(super) fn inner_parents(&self) -> &[u32] {
        &self.tally.inner_parents
    }

    /// For each leaf the ordinal of its parent among the inner nodes.
    pub(super) fn leaf_parents(&self) -> &[u32] {
        &self.tally.leaf_parents
    }

    pub(super) fn dictionary(&self) -> &fst::Map<Vec<u8>> {
        &self.dictionary
    }

    /// The postings of `term`, or `None` if no node has it.
    ///
    /// # Errors
    ///
    /// `Corrupt` if the term's record points out of the stream; and what `source` reports.
    pub fn postings(&self, source: &dyn PartSource, term: &str) -> Result<Option<TermPostings>> {
        let key = [&[prefix::TERM], term.as_bytes()].concat();
        self.dictionary.get(key).map(|rank| self.postings_at(source, rank)).transpose()
    }

    /// The postings of the key of rank `rank`, a term.
    pub(super) fn postings_at(&self, source: &dyn PartSource, rank: u64) -> Result<TermPostings> {
        let record = self.record(rank)?;
        let body = self.list_bytes(source, record.offset, record.body_bytes)?;
        let middle = record.offset.saturating_add(u64::from(record.body_bytes));
        let heading = self.list_bytes(source, middle, record.heading_bytes)?;
        Ok(TermPostings { record, body, heading })
    }

    /// Gives the leaves of `postings` block by block; see [`PostingList::blocks`].
    ///
    /// # Errors
    ///
    /// `Corrupt` if the list is damaged; some blocks may have been given by then.
    pub fn body_blocks(
        &self,
        postings: &TermPostings,
        wanted: impl FnMut(u32, u32) -> bool,
        each: impl FnMut(&[u32], &[u32]),
    ) -> Result<()> {
        PostingList::parse(&postings.body, postings.record.body_count, self.header.leaf_count)
            .and_then(|list| list.blocks(wanted, each))
            .map_err(|damage| self.list_damaged(postings.record.offset, damage))
    }

    /// Gives the inner nodes of `postings` block by block; see [`PostingList::blocks`].
    ///
    /// # Errors
    ///
    /// `Corrupt` if the list is damaged; some blocks may have been given by then.
    pub fn heading_blocks(
        &self,
        postings: &TermPostings,
        wanted: impl FnMut(u32, u32) -> bool,
        each: impl FnMut(&[u32], &[u32]),
    ) -> Result<()> {
        let start = postings.record.offset + u64::from(postings.record.body_bytes);
        PostingList::parse(&postings.heading, postings.record.heading_count, self.header.inner_count)
            .and_then(|list| list.blocks(wanted, each))
            .map_err(|damage| self.list_damaged(start, damage))
    }

    /// The nodes with the attribute `key=value`, deleted ones included.
    ///
    /// # Errors
    ///
    /// `Corrupt` if the set is damaged; and what `source` reports.
    pub fn attribute_set(&self, source: &dyn PartSource, key_value: &str) -> Result<RoaringBitmap> {
        self.set(source, &[&[prefix::ATTRIBUTE], key_value.as_bytes()].concat())
    }

    /// The nodes of kind `kind`, deleted ones included.
    ///
    /// # Errors
    ///
    /// As for [`attribute_set`](Self::attribute_set).
    pub fn kind_set(&self, source: &dyn PartSource, kind: u8) -> Result<RoaringBitmap> {
        self.set(source, &[prefix::KIND, kind])
    }

    /// The nodes at `level`, the root being at 0, deleted ones included.
    ///
    /// # Errors
    ///
    /// As for [`attribute_set`](Self::attribute_set).
    pub fn level_set(&self, source: &dyn PartSource, level: u8) -> Result<RoaringBitmap> {
        self.set(source, &[prefix::LEVEL, level])
    }

    /// At most `limit` terms that begin with `start`, ascending, each with the leaves and the inner nodes that
    /// hold it, deleted ones included.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a term is not UTF-8 or has no record.
    pub fn terms_with_prefix(&self, start: &str, limit: usize) -> Result<Vec<(String, u32, u32)>> {
        self.keys(prefix::TERM, start, limit)
    }

    /// At most `limit` attributes `key=value` that begin with `start`, ascending, each with how many nodes
    /// have it, deleted ones included.
    ///
    /// # Errors
    ///
    /// As for [`terms_with_prefix`](Self::terms_with_prefix).
    pub fn attributes_with_prefix(&self, start: &str, limit: usize) -> Result<Vec<(String, u32)>> {
        let keys = self.keys(prefix::ATTRIBUTE, start, limit)?;
        Ok(keys.into_iter().map(|(key, nodes, _)| (key, nodes)).collect())
    }

    fn keys(&self, kind: u8, start: &str, limit: usize) -> Result<Vec<(String, u32, u32)>> {
        let whole = [char::from(kind).to_string().as_str(), start].concat();
        let mut stream = self.dictionary.search(fst::automaton::Str::new(&whole).starts_with()).into_stream();
        let mut out = Vec::new();
        while out.len() < limit
            && let Some((key, rank)) = stream.next()
        {
            let text = std::str::from_utf8(key).ok().and_then(|key| key.get(1..));
            let text =
                text.ok_or_else(|| damaged(self.id, Part::Dictionary, 0, "key", &"it is not UTF-8"))?;
            let record = self.record(rank)?;
            out.push((text.to_owned(), record.body_count, record.heading_count));
        }
        Ok(out)
    }

    fn set(&self, source: &dyn PartSource, key: &[u8]) -> Result<RoaringBitmap> {
        self.dictionary.get(key).map_or(Ok(RoaringBitmap::new()), |rank| self.set_at(source, rank))
    }

    /// The set of the key of rank `rank`, no term.
    pub(super) fn set_at(&self, source: &dyn PartSource, rank: u64) -> Result<RoaringBitmap> {
        let record = self.record(rank)?;
        let bytes = self.list_bytes(source, record.offset, record.body_bytes)?;
        let set = text::decode_set(&bytes).map_err(|damage| self.list_damaged(record.offset, damage))?;
        let nodes = self.header.first_node..=self.header.last_node;
        if set.min().is_some_and(|first| !nodes.contains(&first))
            || set.max().is_some_and(|last| !nodes.contains(&last))
            || set.len() != u64::from(record.body_count)
        {
            return Err(damaged(
                self.id,
                Part::Postings,
                record.offset,
                "set",
                &"it has other nodes than the segment, or not as many as its record says",
            ));
        }
        Ok(set)
    }

    fn record(&self, rank: u64) -> Result<ListRecord> {
        usize::try_from(rank).ok().and_then(|rank| ListRecord::decode_at(&self.lists, rank)).ok_or_else(
            || damaged(self.id, Part::Dictionary, 0, "rank", &format_args!("key {rank} has no record")),
        )
    }

    /// `len` bytes of the stream of lists from `offset` on.
    fn list_bytes(&self, source: &dyn PartSource, offset: u64, len: u32) -> Result<ListBytes> {
        let out_of = |why: &str| damaged(self.id, Part::Lists, 0, "offset", &why);
        let end = offset.checked_add(u64::from(len)).filter(|end| *end <= self.header.postings_bytes);
        let end = end.ok_or_else(|| out_of("a list lies outside the stream"))?;
        let chunk_bytes = CHUNK_BYTES as u64;
        let mut owned = Vec::new();
        let mut at = offset;
        while at < end {
            let index =
                u32::try_from(at / chunk_bytes).map_err(|_| out_of("a list lies outside any chunk"))?;
            let start = u64::from(index) * chunk_bytes;
            let chunk = chunk(self.id, &self.header, Part::Postings, index, source)?;
            let until = end.min(start + chunk_bytes);
            let (Ok(from), Ok(to)) = (usize::try_from(at - start), usize::try_from(until - start)) else {
                return Err(out_of("a list lies outside the address space"));
            };
            if at == offset && until == end {
                return Ok(ListBytes(Bytes::Shared(chunk, from..to)));
            }
            owned.extend_from_slice(chunk.get(from..to).unwrap_or_default());
            at = until;
        }
        Ok(ListBytes(Bytes::Owned(owned)))
    }

    fn list_damaged(&self, start: u64, Damage { field, offset, why }: Damage) -> Error {
        damaged(self.id, Part::Postings, start.saturating_add(offset as u64), field, &why)
    }

    /// Holds what the header says about the nodes against the nodes.
    fn check_header(&self) -> Result<()> {
        let (leaves, inner) =
            (self.leaves.iter().map(|leaf| leaf.node), self.inner.iter().map(|node| node.node));
        let ids = || leaves.clone().chain(inner.clone());
        let found = (
            [ids().min().unwrap_or(0), ids().max().unwrap_or(0)],
            [self.tally.section_count, self.tally.document_count],
            [self.tally.own_terms, self.tally.full_terms],
        );
        let header = &self.header;
        let claimed = (
            [header.first_node, header.last_node],
            [header.section_count, header.document_count],
            [header.own_terms, header.full_terms],
        );
        if found == claimed {
            return Ok(());
        }
        let why = format!("it claims {claimed:?}, its nodes give {found:?}");
        Err(text::SEGMENT.malformed(&key::one(self.id.0), "header", frame::HEADER_BYTES, why))
    }
}

/// A corruption at byte `offset` of the stream of `part`.
fn damaged(id: SegmentId, part: Part, offset: u64, field: &str, why: &dyn std::fmt::Display) -> Error {
    let index = u32::try_from(offset / CHUNK_BYTES as u64).unwrap_or(u32::MAX);
    let within = usize::try_from(offset % CHUNK_BYTES as u64).unwrap_or(0);
    text::PART.malformed(&key::three(id.0, part as u8, index), field, frame::HEADER_BYTES + within, why)
}

/// Chunk `index` of `part`, as long as the header says it is.
fn chunk(
    id: SegmentId,
    header: &SegmentHeader,
    part: Part,
    index: u32,
    source: &dyn PartSource,
) -> Result<Arc<[u8]>> {
    let start = u64::from(index) * CHUNK_BYTES as u64;
    let chunk = source.part(id, part as u8, index)?;
    let expected = header.size_bytes(part).saturating_sub(start).min(CHUNK_BYTES as u64);
    if chunk.len() as u64 == expected {
        return Ok(chunk);
    }
    let why = format!("the chunk has {} bytes where the header gives it {expected}", chunk.len());
    Err(damaged(id, part, start, "payload", &why))
}

/// All chunks of `part`, one after the other.
fn read_part(id: SegmentId, header: &SegmentHeader, part: Part, source: &dyn PartSource) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut index = 0;
    // Each turn adds a chunk of the length the header gives it or fails: memory follows what is there.
    while (out.len() as u64) < header.size_bytes(part) {
        out.extend_from_slice(&chunk(id, header, part, index, source)?);
        index += 1;
    }
    Ok(out)
}
