//! Index segments in the file: where their chunks come from, when they are merged.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use roaring::RoaringBitmap;

use crate::error::Result;
use crate::format::manifest::{Manifest, SegmentEntry};
use crate::format::text::{CHUNK_BYTES, PART, SEGMENT, SegmentHeader};
use crate::format::{codec, key};
use crate::ids::SegmentId;
use crate::storage::{Batch, Snapshot};
use crate::text::{PartSink, PartSource, SegmentReader, merge};

/// Segments of about one size that may stand side by side before they become one.
const FAN_OUT: usize = 8;
/// Bytes below which segments count as equally small.
const SMALLEST_TIER_BYTES: u64 = 256 << 10;
/// Segments are not merged beyond this size: it bounds how long a commit can take, and a merge's dictionary.
const LARGEST_MERGE_BYTES: u64 = 256 << 20;

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

fn missing(segment: SegmentId, part: u8, index: u32) -> crate::error::Error {
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

/// Chunks of a write transaction. A merge reads each part from front to back, so the last chunk of each segment
/// and part is at hand.
struct BatchChunks<'a> {
    batch: &'a Batch,
    last: Mutex<BTreeMap<(u32, u8), (u32, Arc<[u8]>)>>,
}

impl PartSource for BatchChunks<'_> {
    fn part(&self, segment: SegmentId, part: u8, index: u32) -> Result<Arc<[u8]>> {
        let mut last = self.last.lock();
        if let Some((at, chunk)) = last.get(&(segment.0, part))
            && *at == index
        {
            return Ok(Arc::clone(chunk));
        }
        let key = key::three(segment.0, part, index);
        let chunk = self.batch.get(&PART, &key, |payload| Ok(Arc::<[u8]>::from(payload)))?;
        let chunk = chunk.ok_or_else(|| missing(segment, part, index))?;
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

/// Stores the chunks of a segment as they come, and counts them.
struct Stored<'a> {
    batch: &'a Batch,
    segment: SegmentId,
    chunks: u32,
    bytes: u64,
}

impl PartSink for Stored<'_> {
    fn chunk(&mut self, part: u8, index: u32, payload: &[u8]) -> Result<()> {
        self.batch.put(&PART, &key::three(self.segment.0, part, index), payload)?;
        self.chunks += 1;
        self.bytes += payload.len() as u64;
        Ok(())
    }
}

/// Stores the segment that `write` sends to its sink; `None` if it holds nothing.
pub(super) fn put(
    batch: &Batch,
    segment: SegmentId,
    write: impl FnOnce(&mut dyn PartSink) -> Result<SegmentHeader>,
) -> Result<Option<SegmentEntry>> {
    let mut stored = Stored { batch, segment, chunks: 0, bytes: 0 };
    let header = write(&mut stored)?;
    if header.is_empty() {
        remove(batch, segment.0)?;
        return Ok(None);
    }
    let key = key::one(segment.0);
    batch.put_value(&SEGMENT, &key, &codec::seal(&SEGMENT, &key, &header)?)?;
    Ok(Some(SegmentEntry {
        segment: segment.0,
        first_node: header.first_node,
        last_node: header.last_node,
        chunks: stored.chunks,
        bytes: stored.bytes,
    }))
}

/// Takes a segment out of the file.
fn remove(batch: &Batch, segment: u32) -> Result<()> {
    batch.remove(&SEGMENT, &key::one(segment))?;
    batch.remove_prefix(&PART, &key::one(segment))?;
    Ok(())
}

fn tier(entry: &SegmentEntry) -> u32 {
    let times = (entry.bytes / SMALLEST_TIER_BYTES).max(1);
    times.ilog2() / FAN_OUT.ilog2()
}

/// Drops segments without a live node and merges runs of [`FAN_OUT`] segments of about one size, the newest
/// first. Each byte of the index is so written a number of times that is logarithmic in the file's size.
pub(super) fn tidy(
    batch: &Batch,
    manifest: &mut Manifest,
    deleted: &RoaringBitmap,
    next_segment: &mut u32,
) -> Result<()> {
    let mut kept = Vec::with_capacity(manifest.segments.len());
    for entry in manifest.segments.drain(..) {
        let nodes = u64::from(entry.last_node - entry.first_node) + 1;
        if deleted.range_cardinality(entry.first_node..=entry.last_node) == nodes {
            remove(batch, entry.segment)?;
        } else {
            kept.push(entry);
        }
    }
    manifest.segments = kept;
    while let Some(run) = run_to_merge(&manifest.segments) {
        let entries: Vec<SegmentEntry> = manifest.segments.drain(run..).collect();
        let chunks = BatchChunks { batch, last: Mutex::default() };
        let mut readers = Vec::with_capacity(entries.len());
        for entry in &entries {
            let key = key::one(entry.segment);
            let header = batch.get(&SEGMENT, &key, |payload| codec::decode(&SEGMENT, &key, payload))?;
            let header: SegmentHeader =
                header.ok_or_else(|| SEGMENT.malformed(&key, "key", 0, "the segment is missing"))?;
            readers.push(SegmentReader::open(SegmentId(entry.segment), &header, &chunks)?);
        }
        let readers: Vec<&SegmentReader> = readers.iter().collect();
        let id = SegmentId(*next_segment);
        *next_segment += 1;
        let merged = put(batch, id, |sink| merge(&readers, &chunks, deleted, sink))?;
        for entry in &entries {
            remove(batch, entry.segment)?;
        }
        manifest.segments.extend(merged);
    }
    Ok(())
}

/// Where the run of segments at the end begins that is to become one; `None` if there is no such run.
fn run_to_merge(segments: &[SegmentEntry]) -> Option<usize> {
    let top = tier(segments.last()?);
    let run = segments.iter().rev().take_while(|entry| tier(entry) <= top).count();
    let start = segments.len() - run;
    let bytes: u64 = segments.iter().skip(start).map(|entry| entry.bytes).sum();
    (run >= FAN_OUT && bytes <= LARGEST_MERGE_BYTES).then_some(start)
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

    fn entry(segment: u32, bytes: u64) -> SegmentEntry {
        SegmentEntry { segment, first_node: segment, last_node: segment, chunks: 1, bytes }
    }

    /// Eight small ones become one; a large one before them stays.
    #[test]
    fn a_run_of_small_segments_is_merged_and_a_large_one_is_left() {
        let mut segments = vec![entry(1, 100 << 20)];
        segments.extend((2..9).map(|id| entry(id, 1 << 10)));
        assert_eq!(run_to_merge(&segments), None);

        segments.push(entry(9, 1 << 10));

        assert_eq!(run_to_merge(&segments), Some(1));
    }

    #[test]
    fn a_merge_beyond_the_bound_is_not_begun() {
        let segments: Vec<_> = (1..20).map(|id| entry(id, 100 << 20)).collect();

        assert_eq!(run_to_merge(&segments), None);
    }
}
