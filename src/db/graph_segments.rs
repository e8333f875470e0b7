//! Segments of the graph in the file: written, read, merged.

use std::collections::BTreeSet;

use roaring::RoaringBitmap;

use super::graph::Open;
use crate::error::Error;
use crate::error::Result;
use crate::format::codec;
use crate::format::graph::ENTITY;
use crate::format::graph::ENTITY_KEY;
use crate::format::graph::EntityRecord;
use crate::format::graph::GRAPH_MANIFEST_KEY;
use crate::format::graph::GRAPH_PART;
use crate::format::graph::GraphSegmentEntry;
use crate::format::graph::HYPEREDGE;
use crate::format::graph::HYPEREDGE_KEY;
use crate::format::graph::HyperedgeRecord;
use crate::format::key;
use crate::format::manifest::MANIFEST;
use crate::format::text::CHUNK_BYTES;
use crate::graph::GraphRows;
use crate::graph::GraphSegment;
use crate::graph::entity_key;
use crate::storage::Batch;
use crate::storage::Snapshot;

/// Segments of about one size that may stand side by side before they become one.
const FAN_OUT: usize = 8;
/// Bytes below which segments count as equally small.
const SMALLEST_TIER_BYTES: u64 = 256 << 10;
/// Segments are not merged beyond this size: it bounds the memory of a merge.
const LARGEST_MERGE_BYTES: u64 = 256 << 20;

/// The bytes of `rows` rows of `size` bytes, from chunks that `chunk` gives by number.
fn joined(
    segment: u32,
    part: u8,
    bytes: u64,
    mut chunk: impl FnMut(&[u8], &mut Vec<u8>) -> Result<bool>,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let chunks = bytes.div_ceil(CHUNK_BYTES as u64);
    for at in 0..u32::try_from(chunks).unwrap_or(u32::MAX) {
        let key = key::three(segment, part, at);
        let wanted = bytes.saturating_sub(u64::from(at) * CHUNK_BYTES as u64).min(CHUNK_BYTES as u64);
        let before = out.len() as u64;
        if !chunk(&key, &mut out)? {
            return Err(GRAPH_PART.malformed(&key, "key", 0, "the chunk is missing"));
        }
        let found = out.len() as u64 - before;
        if found != wanted {
            let why = format!("{found} bytes are there, the manifest asks for {wanted}");
            return Err(GRAPH_PART.malformed(&key, "payload", 0, why));
        }
    }
    Ok(out)
}

fn decode(
    entry: &GraphSegmentEntry,
    mut chunk: impl FnMut(&[u8], &mut Vec<u8>) -> Result<bool>,
) -> Result<GraphSegment> {
    GraphSegment::decode(entry, |part| {
        let rows = entry.parts().into_iter().find(|(own, ..)| *own == part);
        let bytes = rows.map_or(0, |(_, rows, size)| u64::from(rows) * size as u64);
        joined(entry.segment, part, bytes, &mut chunk)
    })
}

/// The segment of `entry` in a snapshot.
pub(super) fn read(snapshot: &Snapshot, entry: &GraphSegmentEntry) -> Result<GraphSegment> {
    decode(entry, |key, out| {
        let found = snapshot.get(&GRAPH_PART, key, |payload| {
            out.extend_from_slice(payload);
            Ok(())
        })?;
        Ok(found.is_some())
    })
}

fn read_written(batch: &Batch, entry: &GraphSegmentEntry) -> Result<GraphSegment> {
    decode(entry, |key, out| {
        let found = batch.get(&GRAPH_PART, key, |payload| {
            out.extend_from_slice(payload);
            Ok(())
        })?;
        Ok(found.is_some())
    })
}

fn tier(entry: &GraphSegmentEntry) -> u32 {
    (entry.bytes() / SMALLEST_TIER_BYTES).max(1).ilog2() / FAN_OUT.ilog2()
}

/// Where the run of segments at the end begins that is to become one; `None` if there is no such run.
fn run_to_merge(segments: &[GraphSegmentEntry]) -> Option<usize> {
    let top = tier(segments.last()?);
    let run = segments.iter().rev().take_while(|entry| tier(entry) <= top).count();
    let start = segments.len() - run;
    let bytes: u64 = segments.iter().skip(start).map(GraphSegmentEntry::bytes).sum();
    (run >= FAN_OUT && bytes <= LARGEST_MERGE_BYTES).then_some(start)
}

impl Open {
    /// Stores `segment` and names it in the manifest.
    pub(super) fn put_segment(&mut self, batch: &Batch, segment: &GraphSegment) -> Result<()> {
        let id = self.counters.next_segment;
        self.counters.next_segment =
            id.checked_add(1).ok_or_else(|| Error::invalid("the file is full of graph segments"))?;
        let (entry, parts) = segment.encode(id);
        for (part, bytes) in parts {
            for (at, chunk) in (0..).zip(bytes.chunks(CHUNK_BYTES)) {
                batch.put(&GRAPH_PART, &key::three(id, part, at), chunk)?;
            }
        }
        self.manifest.segments.push(entry);
        Ok(())
    }

    /// Drops segments without a live node and merges runs of [`FAN_OUT`] segments of about one size, the newest
    /// first; then takes entities and hyperedges away that are in no segment any more.
    pub(super) fn tidy(&mut self, batch: &Batch, deleted: &RoaringBitmap) -> Result<()> {
        let mut gone = Objects::default();
        let is_dead = |entry: &GraphSegmentEntry| {
            let nodes = u64::from(entry.last_node.saturating_sub(entry.first_node)) + 1;
            deleted.range_cardinality(entry.first_node..=entry.last_node) == nodes
        };
        let (dead, alive) = std::mem::take(&mut self.manifest.segments).into_iter().partition(is_dead);
        self.manifest.segments = alive;
        for entry in &dead as &Vec<GraphSegmentEntry> {
            gone.add(&read_written(batch, entry)?);
            batch.remove_prefix(&GRAPH_PART, &key::one(entry.segment))?;
        }
        while let Some(run) = run_to_merge(&self.manifest.segments) {
            let mut rows = GraphRows::default();
            let mut before = Objects::default();
            for entry in self.manifest.segments.drain(run..) {
                let segment = read_written(batch, &entry)?;
                rows.add_segment(&segment);
                before.add(&segment);
                batch.remove_prefix(&GRAPH_PART, &key::one(entry.segment))?;
            }
            let merged = rows.finish(deleted);
            before.remove(&merged);
            gone.entities.append(&mut before.entities);
            gone.hyperedges.append(&mut before.hyperedges);
            if !merged.is_empty() {
                self.put_segment(batch, &merged)?;
            }
        }
        if !gone.is_empty() {
            for entry in &self.manifest.segments {
                gone.remove(&read_written(batch, entry)?);
            }
            gone.erase(batch)?;
        }
        Ok(())
    }
}

/// Entities and hyperedges by id.
#[derive(Default)]
struct Objects {
    entities: BTreeSet<u32>,
    hyperedges: BTreeSet<u32>,
}

impl Objects {
    fn is_empty(&self) -> bool {
        self.entities.is_empty() && self.hyperedges.is_empty()
    }

    fn add(&mut self, segment: &GraphSegment) {
        self.entities.extend(segment.entities());
        self.hyperedges.extend(segment.hyperedges());
    }

    fn remove(&mut self, segment: &GraphSegment) {
        for id in segment.entities() {
            self.entities.remove(&id);
        }
        for id in segment.hyperedges() {
            self.hyperedges.remove(&id);
        }
    }

    /// Takes their records away.
    fn erase(&self, batch: &Batch) -> Result<()> {
        for id in &self.entities {
            let key = key::one(*id);
            let record: Option<EntityRecord> =
                batch.get(&ENTITY, &key, |p| codec::decode(&ENTITY, &key, p))?;
            let record = record.ok_or_else(|| missing("entity", *id))?;
            batch.remove(&ENTITY, &key)?;
            batch.remove(&ENTITY_KEY, &entity_key(&record.name, &record.kind))?;
        }
        // A hyperedge's key is a hash: those of hyperedges that are gone are found by what they name.
        let mut keys = Vec::new();
        if !self.hyperedges.is_empty() {
            batch.scan_raw(HYPEREDGE_KEY.table, &[], |key, value| {
                if self.hyperedges.contains(&codec::open(&HYPEREDGE_KEY, key, value)?) {
                    keys.push(key.to_vec());
                }
                Ok(std::ops::ControlFlow::Continue(()))
            })?;
        }
        for key in keys {
            batch.remove(&HYPEREDGE_KEY, &key)?;
        }
        for id in &self.hyperedges {
            let key = key::one(*id);
            let record: Option<HyperedgeRecord> =
                batch.get(&HYPEREDGE, &key, |p| codec::decode(&HYPEREDGE, &key, p))?;
            record.ok_or_else(|| missing("hyperedge", *id))?;
            batch.remove(&HYPEREDGE, &key)?;
        }
        Ok(())
    }
}

fn missing(what: &str, id: u32) -> Error {
    let why = format!("a segment has {what} {id}, which has no record");
    MANIFEST.malformed(GRAPH_MANIFEST_KEY, "segments", 0, why)
}
