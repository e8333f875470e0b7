//! Index segments in the file: where their chunks come from, and what a commit does with them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use roaring::RoaringBitmap;

use super::spill::{Spill, Spilled, SpilledChunks};
use super::tiers::{Size, plan};
use crate::error::Result;
use crate::format::manifest::{Manifest, SegmentEntry};
use crate::format::text::{CHUNK_BYTES, PART, SEGMENT, SegmentHeader};
use crate::format::{codec, key};
use crate::ids::SegmentId;
use crate::storage::{Batch, Snapshot};
use crate::text::{PartSink, PartSource, SegmentReader, merge};

/// What of a segment is kept decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kept {
    /// A chunk: segment, part, index.
    Chunk(u32, u8, u32),
    /// A list that was put together from several chunks: segment, part, offset.
    List(u32, u8, u64),
}

/// Chunks and lists of segments, at most a number of bytes of them.
pub(super) type ChunkCache = Cache<Kept, Arc<[u8]>, Bytes>;

/// Weighs what is kept by its length.
#[derive(Clone)]
pub(super) struct Bytes;

impl Weighter<Kept, Arc<[u8]>> for Bytes {
    fn weight(&self, _: &Kept, bytes: &Arc<[u8]>) -> u64 {
        bytes.len() as u64 + 64
    }
}

/// A cache that holds at most `bytes`. Chunks and lists share the room: what is used stays.
pub(super) fn chunk_cache(bytes: usize) -> ChunkCache {
    // The cache is cut into shards by the number of items, and a list must fit into one shard.
    let capacity = (bytes / CHUNK_BYTES).max(16);
    Cache::with_weighter(capacity, bytes as u64, Bytes)
}

/// That a chunk is not there.
pub(super) fn missing(segment: SegmentId, part: u8, index: u32) -> crate::error::Error {
    PART.malformed(&key::three(segment.0, part, index), "key", 0, "the chunk is missing")
}

/// Chunks of a snapshot, kept in a cache.
pub(super) struct SnapshotChunks {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) cache: Arc<ChunkCache>,
}

impl SnapshotChunks {
    fn read(&self, segment: SegmentId, part: u8, index: u32) -> Result<Arc<[u8]>> {
        let key = key::three(segment.0, part, index);
        let chunk = self.snapshot.get(&PART, &key, |payload| Ok(Arc::<[u8]>::from(payload)))?;
        chunk.ok_or_else(|| missing(segment, part, index))
    }
}

impl PartSource for SnapshotChunks {
    fn part(&self, segment: SegmentId, part: u8, index: u32) -> Result<Arc<[u8]>> {
        let id = Kept::Chunk(segment.0, part, index);
        if let Some(chunk) = self.cache.get(&id) {
            return Ok(chunk);
        }
        let chunk = self.read(segment, part, index)?;
        self.cache.insert(id, Arc::clone(&chunk));
        Ok(chunk)
    }

    fn list(
        &self,
        segment: SegmentId,
        part: u8,
        offset: u64,
        read: &mut dyn FnMut(&dyn PartSource) -> Result<Arc<[u8]>>,
    ) -> Result<Arc<[u8]>> {
        let id = Kept::List(segment.0, part, offset);
        if let Some(list) = self.cache.get(&id) {
            return Ok(list);
        }
        let list = read(&PassingChunks(self))?;
        self.cache.insert(id, Arc::clone(&list));
        Ok(list)
    }
}

/// Chunks that are needed to put a list together: the list is kept, so they need not be.
struct PassingChunks<'a>(&'a SnapshotChunks);

impl PartSource for PassingChunks<'_> {
    fn part(&self, segment: SegmentId, part: u8, index: u32) -> Result<Arc<[u8]>> {
        let kept = self.0.cache.get(&Kept::Chunk(segment.0, part, index));
        kept.map_or_else(|| self.0.read(segment, part, index), Ok)
    }

    fn list(
        &self,
        _: SegmentId,
        _: u8,
        _: u64,
        read: &mut dyn FnMut(&dyn PartSource) -> Result<Arc<[u8]>>,
    ) -> Result<Arc<[u8]>> {
        read(self)
    }
}

/// Chunks of a write transaction and of what it has spilled. A merge reads each part from front to back, so the
/// last chunk of each segment and part is at hand.
struct CommitChunks<'a> {
    batch: &'a Batch,
    spilled: SpilledChunks<'a>,
    last: Mutex<BTreeMap<(u32, u8), (u32, Arc<[u8]>)>>,
}

impl PartSource for CommitChunks<'_> {
    fn part(&self, segment: SegmentId, part: u8, index: u32) -> Result<Arc<[u8]>> {
        let mut last = self.last.lock();
        if let Some((at, chunk)) = last.get(&(segment.0, part))
            && *at == index
        {
            return Ok(Arc::clone(chunk));
        }
        let chunk = if self.spilled.holds(segment) {
            self.spilled.part(segment, part, index)?
        } else {
            let key = key::three(segment.0, part, index);
            let chunk = self.batch.get(&PART, &key, |payload| Ok(Arc::<[u8]>::from(payload)))?;
            chunk.ok_or_else(|| missing(segment, part, index))?
        };
        last.insert((segment.0, part), (index, Arc::clone(&chunk)));
        Ok(chunk)
    }

    fn list(
        &self,
        _: SegmentId,
        _: u8,
        _: u64,
        read: &mut dyn FnMut(&dyn PartSource) -> Result<Arc<[u8]>>,
    ) -> Result<Arc<[u8]>> {
        read(self)
    }
}

/// The header of a live segment.
pub(super) fn read_header(snapshot: &Snapshot, segment: SegmentId) -> Result<SegmentHeader> {
    let key = key::one(segment.0);
    let header = snapshot.get(&SEGMENT, &key, |payload| codec::decode(&SEGMENT, &key, payload))?;
    header.ok_or_else(|| SEGMENT.malformed(&key, "key", 0, "the manifest names a segment that is missing"))
}

/// What a commit adds to the index: runs of whole documents, ascending, finished but not in the file yet.
pub(super) struct Fresh {
    pub(super) spill: Spill,
    pub(super) segments: Vec<Spilled>,
}

/// The index of a file during a commit.
struct Commit<'a> {
    batch: &'a Batch,
    deleted: &'a RoaringBitmap,
    next_segment: &'a mut u32,
    chunks: CommitChunks<'a>,
    fresh: &'a [Spilled],
}

/// Puts `fresh` into the file as one segment, joined with others where it is their turn; see [`plan`].
///
/// * `has_removed`: whether nodes have been deleted since the last commit.
pub(super) fn commit(
    batch: &Batch,
    manifest: &mut Manifest,
    deleted: &RoaringBitmap,
    has_removed: bool,
    next_segment: &mut u32,
    fresh: &Fresh,
) -> Result<()> {
    let spilled = SpilledChunks { spill: &fresh.spill, segments: &fresh.segments };
    let chunks = CommitChunks { batch, spilled, last: Mutex::default() };
    let mut commit = Commit { batch, deleted, next_segment, chunks, fresh: &fresh.segments };
    let mut kept = Vec::with_capacity(manifest.segments.len() + 1);
    let mut sizes = Vec::with_capacity(manifest.segments.len() + 1);
    for entry in manifest.segments.drain(..) {
        let size = if has_removed { commit.measure(&entry)? } else { Size::live(entry.bytes) };
        if size.dead == size.nodes {
            commit.remove(&entry)?;
        } else {
            kept.push(entry);
            sizes.push(size);
        }
    }
    let added = commit.measure_fresh();
    sizes.extend(added);
    let mut plan = plan(&sizes);
    if added.is_some() && plan.last().is_none_or(|last| last.end < sizes.len()) {
        plan.push(kept.len()..sizes.len());
    }
    let mut before = 0;
    for range in plan {
        manifest.segments.extend(kept.get(before..range.start).unwrap_or_default());
        before = range.end.min(kept.len());
        let old = kept.get(range.start..before).unwrap_or_default();
        let fresh = if range.end > kept.len() { commit.fresh } else { &[] };
        manifest.segments.extend(commit.join(old, fresh)?);
    }
    manifest.segments.extend(kept.get(before..).unwrap_or_default());
    Ok(())
}

impl Commit<'_> {
    fn header(&self, entry: &SegmentEntry) -> Result<SegmentHeader> {
        let key = key::one(entry.segment);
        let header = self.batch.get(&SEGMENT, &key, |payload| codec::decode(&SEGMENT, &key, payload))?;
        header.ok_or_else(|| SEGMENT.malformed(&key, "key", 0, "the segment is missing"))
    }

    /// The size of a segment of the file.
    fn measure(&self, entry: &SegmentEntry) -> Result<Size> {
        if self.deleted.range_cardinality(entry.first_node..=entry.last_node) == 0 {
            return Ok(Size::live(entry.bytes));
        }
        Ok(self.size(&self.header(entry)?, entry.bytes))
    }

    fn size(&self, header: &SegmentHeader, bytes: u64) -> Size {
        let nodes = u64::from(header.leaf_count) + u64::from(header.inner_count);
        let range = u64::from(header.last_node.saturating_sub(header.first_node)) + 1;
        // Ids of the range that the segment does not hold were deleted before it was written.
        let gone = self.deleted.range_cardinality(header.first_node..=header.last_node);
        let dead = gone.saturating_sub(range.saturating_sub(nodes)).min(nodes);
        Size { bytes, nodes, dead }
    }

    /// The size of what is added, taken together; `None` if none of it lives.
    fn measure_fresh(&self) -> Option<Size> {
        let sizes = self.fresh.iter().map(|one| self.size(&one.header, one.bytes()));
        let sum = |a: Size, b: Size| Size {
            bytes: a.bytes + b.bytes,
            nodes: a.nodes + b.nodes,
            dead: a.dead + b.dead,
        };
        sizes.reduce(sum).filter(|size| size.dead < size.nodes)
    }

    /// One segment in place of `old` ones and what is `fresh`, without what is dead.
    fn join(&mut self, old: &[SegmentEntry], fresh: &[Spilled]) -> Result<Option<SegmentEntry>> {
        let id = SegmentId(*self.next_segment);
        *self.next_segment += 1;
        let mut sink = BatchSink { batch: self.batch, segment: id, chunks: 0, bytes: 0 };
        let header = match (old, fresh) {
            ([], [one]) if self.size(&one.header, 0).dead == 0 => {
                for (part, index) in one.chunks() {
                    let chunk = self.chunks.spilled.part(SpilledChunks::id(0), part, index)?;
                    sink.chunk(part, index, &chunk)?;
                }
                one.header.clone()
            }
            _ => {
                let mut readers = Vec::with_capacity(old.len() + fresh.len());
                for entry in old {
                    let header = self.header(entry)?;
                    readers.push(SegmentReader::open(SegmentId(entry.segment), &header, &self.chunks)?);
                }
                for (at, one) in fresh.iter().enumerate() {
                    readers.push(SegmentReader::open(SpilledChunks::id(at), &one.header, &self.chunks)?);
                }
                let readers: Vec<&SegmentReader> = readers.iter().collect();
                merge(&readers, &self.chunks, self.deleted, &mut sink)?
            }
        };
        for entry in old {
            self.remove(entry)?;
        }
        sink.finish(&header)
    }

    /// Takes a segment out of the file.
    fn remove(&self, entry: &SegmentEntry) -> Result<()> {
        self.batch.remove(&SEGMENT, &key::one(entry.segment))?;
        self.batch.remove_prefix(&PART, &key::one(entry.segment))?;
        Ok(())
    }
}

/// A segment on its way into the file.
struct BatchSink<'a> {
    batch: &'a Batch,
    segment: SegmentId,
    chunks: u32,
    bytes: u64,
}

impl PartSink for BatchSink<'_> {
    fn chunk(&mut self, part: u8, index: u32, payload: &[u8]) -> Result<()> {
        self.batch.put(&PART, &key::three(self.segment.0, part, index), payload)?;
        self.chunks += 1;
        self.bytes += payload.len() as u64;
        Ok(())
    }
}

impl BatchSink<'_> {
    /// Stores the header; `None` for a segment that holds nothing.
    fn finish(self, header: &SegmentHeader) -> Result<Option<SegmentEntry>> {
        if header.is_empty() {
            self.batch.remove_prefix(&PART, &key::one(self.segment.0))?;
            return Ok(None);
        }
        let key = key::one(self.segment.0);
        self.batch.put_value(&SEGMENT, &key, &codec::seal(&SEGMENT, &key, header)?)?;
        Ok(Some(SegmentEntry {
            segment: self.segment.0,
            first_node: header.first_node,
            last_node: header.last_node,
            chunks: self.chunks,
            bytes: self.bytes,
        }))
    }
}

/// Chunks stored under a segment, for `verify`.
pub(super) fn count_chunks(snapshot: &Snapshot, segment: u32) -> Result<(u32, u64)> {
    let (mut chunks, mut bytes) = (0, 0);
    snapshot.scan(&PART, &key::one(segment), |_, payload| {
        chunks += 1;
        bytes += payload.len() as u64;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((chunks, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::tables::TABLES;
    use crate::storage::{Options, Store};

    /// A store with chunks 0 and 1 of part 5 of segment 1.
    fn stored_chunks() -> Store {
        let store = Store::in_memory(Options { cache_bytes: 1 << 20, check_on_open: false }).unwrap();
        let batch = store.begin_write().unwrap();
        // A snapshot opens every table.
        for table in TABLES {
            batch
                .remove_prefix(&crate::format::frame::RecordKind { table: table.name, ..PART }, b"x")
                .unwrap();
        }
        for (index, payload) in [(0, b"abc"), (1, b"def")] {
            batch.put(&PART, &key::three(1, 5, index), payload).unwrap();
        }
        batch.commit().unwrap();
        store
    }

    #[test]
    fn a_list_of_several_chunks_is_put_together_once_and_its_chunks_are_not_kept() {
        let store = stored_chunks();
        let snapshot = Arc::new(store.begin_read().unwrap());
        let cache = Arc::new(chunk_cache(1 << 20));
        let chunks = SnapshotChunks { snapshot, cache: Arc::clone(&cache) };
        let mut reads = 0;
        let mut read = |source: &dyn PartSource| {
            reads += 1;
            let parts = [source.part(SegmentId(1), 5, 0)?, source.part(SegmentId(1), 5, 1)?];
            Ok(parts.concat().into())
        };

        let lists = [2, 2, 4].map(|offset| chunks.list(SegmentId(1), 5, offset, &mut read).unwrap());

        assert!(lists.iter().all(|list| **list == *b"abcdef"));
        assert_eq!(reads, 2, "offset 2 once, offset 4 once");
        assert_eq!(cache.len(), 2);
        assert_eq!(*chunks.part(SegmentId(1), 5, 0).unwrap(), *b"abc");
        assert_eq!(cache.len(), 3, "a chunk that is asked for itself is kept");
    }
}
