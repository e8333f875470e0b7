//! Changing the file: the five structures kept in step, one transaction at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::database::Shared;
use super::graph::GraphWriter;
use super::indexing::Indexing;
use super::prepared::PreparedDocument;
use super::{segments, texts};
use crate::error::{Error, ErrorKind, Result};
use crate::format::document::{DOCUMENT, DOCUMENT_KEY, DocumentRecord, ROOT, TEXT};
use crate::format::frame::HEADER_BYTES;
use crate::format::identity::{COUNTERS_KEY, Counters, META};
use crate::format::manifest::{DELETED, DELETED_KEY, MANIFEST, MANIFEST_KEY, Manifest};
use crate::format::text::decode_set;
use crate::format::tree::TREE;
use crate::format::vector::{BLOCK, CONTEXT, SPACE};
use crate::format::{codec, key};
use crate::ids::{DocumentId, NodeId, SpaceId};
use crate::storage::Batch;
use crate::tree::{Document, Outline};
use crate::vector::{BlockWriter, Metric, SpaceRecord, context_norms, expect_embedder, prepare};

/// Vectors kept in memory before they are written out, in floats.
const PENDING_FLOATS: usize = 1 << 20;

/// Changes to the file that become visible together at [`commit`](Self::commit), or not at all.
#[must_use = "dropping a write transaction forgets its changes"]
pub struct WriteTransaction {
    shared: Arc<Shared>,
    batch: Batch,
    counters: Counters,
    manifest: Manifest,
    deleted: RoaringBitmap,
    has_removed: bool,
    indexing: Indexing,
    spaces: BTreeMap<SpaceId, PendingSpace>,
    graph: GraphWriter,
}

pub(super) struct PendingSpace {
    pub(super) record: SpaceRecord,
    /// Rows to append, by ascending node.
    pub(super) rows: Vec<(NodeId, Vec<f32>)>,
    pub(super) floats: usize,
    pub(super) changed: bool,
}

/// What [`WriteTransaction::upsert_document`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upsert {
    /// There was no document of that key.
    Inserted(DocumentId),
    /// There was one, and it was another: it is gone, this one is there.
    Replaced(DocumentId),
    /// There was one with the same content; nothing was done.
    Unchanged(DocumentId),
}

impl Upsert {
    /// The document that now has the key.
    #[must_use]
    pub const fn document(self) -> DocumentId {
        match self {
            Self::Inserted(id) | Self::Replaced(id) | Self::Unchanged(id) => id,
        }
    }
}

impl WriteTransaction {
    pub(super) fn begin(shared: &Arc<Shared>) -> Result<Self> {
        let batch = shared.store.begin_write()?;
        let counters = batch.get(&META, COUNTERS_KEY, |p| codec::decode(&META, COUNTERS_KEY, p))?;
        let counters =
            counters.ok_or_else(|| META.malformed(COUNTERS_KEY, "key", 0, "the counters are missing"))?;
        let manifest = batch.get(&MANIFEST, MANIFEST_KEY, |p| codec::decode(&MANIFEST, MANIFEST_KEY, p))?;
        let deleted = batch.get(&DELETED, DELETED_KEY, read_deleted)?;
        let mut spaces = BTreeMap::new();
        batch.scan_raw(SPACE.table, &[], |key, value| {
            let id =
                key::parse_one(key).ok_or_else(|| SPACE.malformed(key, "key", 0, "it is no space id"))?;
            let record = SpaceRecord::open(SpaceId(id), value)?;
            spaces.insert(SpaceId(id), PendingSpace { record, rows: Vec::new(), floats: 0, changed: false });
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        Ok(Self {
            shared: Arc::clone(shared),
            batch,
            counters,
            manifest: manifest.unwrap_or_default(),
            deleted: deleted.unwrap_or_default(),
            has_removed: false,
            indexing: Indexing::new(&shared.analyzers, shared.path.as_deref(), shared.write_memory_bytes),
            spaces,
            graph: GraphWriter::default(),
        })
    }

    /// What changing the graph takes.
    pub(super) fn graph_parts(&mut self) -> (&Batch, &RoaringBitmap, &mut GraphWriter) {
        (&self.batch, &self.deleted, &mut self.graph)
    }

    /// The space of id `space`.
    pub(super) fn pending_space(&mut self, space: SpaceId) -> Result<&mut PendingSpace> {
        let pending = self.spaces.get_mut(&space);
        pending.ok_or_else(|| Error::not_found(format!("there is no vector space {space}")))
    }

    /// Writes vectors that wait, if they are many.
    pub(super) fn flush_many_vectors(&mut self) -> Result<()> {
        self.flush_vectors(PENDING_FLOATS)
    }

    /// The next node's id.
    pub(super) fn next_node(&self) -> u32 {
        self.counters.next_node
    }

    /// From now on indexes on `threads` threads, at least 1, by default 1. The file does not depend on it.
    ///
    /// # Errors
    ///
    /// `Io` if what has been indexed so far cannot be laid aside.
    pub fn set_threads(&mut self, threads: usize) -> Result<()> {
        self.indexing.set_threads(threads)
    }

    /// The document that has `key`, if there is one.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn document_by_key(&self, key: &str) -> Result<Option<DocumentId>> {
        let id: Option<u32> = self.batch.get(&DOCUMENT_KEY, key.as_bytes(), |payload| {
            codec::decode(&DOCUMENT_KEY, key.as_bytes(), payload)
        })?;
        Ok(id.map(DocumentId))
    }

    pub(super) fn record(&self, document: DocumentId) -> Result<DocumentRecord> {
        let key = key::one(document.0);
        let record = self.batch.get(&DOCUMENT, &key, |p| codec::decode(&DOCUMENT, &key, p))?;
        record.ok_or_else(|| Error::not_found(format!("there is no document {document}")))
    }

    /// Adds `document`.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if its key is taken; `InvalidInput` as [`Document::validate`], or if the file is full
    /// (2^32 - 1 nodes); `Io`.
    pub fn insert_document(&mut self, document: &Document) -> Result<DocumentId> {
        if let Some(id) = self.document_by_key(&document.key)? {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                format!("there is a document {:?} already ({id}); replace it with an upsert", document.key),
            ));
        }
        self.insert(&self.prepared(document)?)
    }

    /// Whether the document that has `document`'s key has its content too.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn is_unchanged(&self, document: &Document) -> Result<bool> {
        match self.document_by_key(&document.key)? {
            Some(old) => Ok(self.record(old)?.content_hash == texts::content_hash(document)),
            None => Ok(false),
        }
    }

    /// Whether there is a document that has `key` and content of this hash.
    pub(crate) fn has_content(&self, key: &str, hash: &[u8; 32]) -> Result<bool> {
        match self.document_by_key(key)? {
            Some(old) => Ok(self.record(old)?.content_hash == *hash),
            None => Ok(false),
        }
    }

    /// As [`upsert_document`](Self::upsert_document), with counting and packing done before, perhaps on another
    /// thread, by [`Database::prepare`](super::Database::prepare).
    ///
    /// # Errors
    ///
    /// As [`upsert_document`](Self::upsert_document).
    pub fn upsert_prepared(&mut self, prepared: &PreparedDocument) -> Result<Upsert> {
        let old = self.document_by_key(&prepared.document().key)?;
        if let Some(old) = old {
            if self.record(old)?.content_hash == prepared.hash() {
                return Ok(Upsert::Unchanged(old));
            }
            self.remove(old)?;
        }
        let new = self.insert(prepared)?;
        Ok(if old.is_some() { Upsert::Replaced(new) } else { Upsert::Inserted(new) })
    }

    /// Adds `document`, or puts it in place of the one that has its key, or does nothing if that one has the
    /// same content.
    ///
    /// # Errors
    ///
    /// `InvalidInput` as [`Document::validate`], or if the file is full; `Corrupt`; `Io`.
    pub fn upsert_document(&mut self, document: &Document) -> Result<Upsert> {
        if let Some(old) = self.document_by_key(&document.key)?
            && self.is_unchanged(document)?
        {
            return Ok(Upsert::Unchanged(old));
        }
        self.upsert_prepared(&self.prepared(document)?)
    }

    fn prepared(&self, document: &Document) -> Result<PreparedDocument> {
        let hash = texts::content_hash(document);
        PreparedDocument::new(document.clone(), hash, self.shared.counter.as_ref())
    }

    /// Takes the document that has `key` away; whether there was one.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn remove_document(&mut self, key: &str) -> Result<bool> {
        match self.document_by_key(key)? {
            Some(document) => self.remove(document).map(|()| true),
            None => Ok(false),
        }
    }

    fn insert(&mut self, prepared: &PreparedDocument) -> Result<DocumentId> {
        let document = prepared.document();
        let full = || Error::invalid("the file is full: it has handed out 2^32 - 1 node ids");
        let nodes = u32::try_from(document.nodes.len()).map_err(|_| full())?;
        let id = DocumentId(self.counters.next_document);
        let first = NodeId(self.counters.next_node);
        let next_node = first.0.checked_add(nodes).ok_or_else(full)?;
        let leaves = u32::try_from(document.leaf_count()).map_err(|_| full())?;
        let tokens = u64::from(prepared.columns().tokens.first().copied().unwrap_or_default());
        let too_large = |_| Error::invalid(format!("document {:?} is too large", document.key));
        let record = DocumentRecord {
            key: document.key.clone(),
            title: document.title.clone(),
            source: document.source.clone(),
            language: document.language.clone(),
            content_hash: prepared.hash(),
            attributes: document.attributes.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
            first_node: first.0,
            nodes,
            leaves,
            tokens,
            text_bytes: u32::try_from(document.text.len()).map_err(too_large)?,
            tree_bytes: u32::try_from(prepared.archive().len()).map_err(too_large)?,
        };
        let key = key::one(id.0);
        self.batch.put_value(&DOCUMENT, &key, &codec::seal(&DOCUMENT, &key, &record)?)?;
        let name = document.key.as_bytes();
        self.batch.put_value(&DOCUMENT_KEY, name, &codec::seal(&DOCUMENT_KEY, name, &id.0)?)?;
        let root = key::one(first.0);
        self.batch.put_value(&ROOT, &root, &codec::seal(&ROOT, &root, &id.0)?)?;
        texts::put_tree(&self.batch, id, prepared.archive())?;
        texts::put_text(&self.batch, id, prepared.blocks())?;
        self.indexing.add(prepared, first)?;
        self.counters.next_document += 1;
        self.counters.next_node = next_node;
        self.counters.documents += 1;
        self.counters.nodes += nodes;
        self.counters.leaves += leaves;
        self.counters.leaf_tokens += tokens;
        self.counters.text_bytes += u64::from(record.text_bytes);
        Ok(id)
    }

    fn remove(&mut self, document: DocumentId) -> Result<()> {
        let record = self.record(document)?;
        let key = key::one(document.0);
        self.batch.remove(&DOCUMENT, &key)?;
        self.batch.remove(&DOCUMENT_KEY, record.key.as_bytes())?;
        self.batch.remove(&ROOT, &key::one(record.first_node))?;
        self.batch.remove_prefix(&TREE, &key)?;
        self.batch.remove_prefix(&TEXT, &key)?;
        self.graph.remove(&self.batch, document)?;
        let last = record.first_node.saturating_add(record.nodes.saturating_sub(1));
        for (space, pending) in &mut self.spaces {
            let context = key::two(space.0, document.0);
            let removed = self.batch.get(&CONTEXT, &context, |_| Ok(()))?;
            if removed.is_some() {
                self.batch.remove(&CONTEXT, &context)?;
                // Rows of this transaction that still wait are not counted yet, and need not be written.
                let before = pending.rows.len();
                pending.rows.retain(|(node, _)| !(record.first_node..=last).contains(&node.0));
                let waited = before - pending.rows.len();
                pending.floats = pending.floats.saturating_sub(waited * pending.record.dimension as usize);
                let counted = record.leaves.saturating_sub(u32::try_from(waited).unwrap_or(u32::MAX));
                pending.record.live = pending.record.live.saturating_sub(counted);
                pending.changed = true;
            }
        }
        self.deleted.insert_range(record.first_node..=last);
        self.has_removed = true;
        self.counters.documents = self.counters.documents.saturating_sub(1);
        self.counters.nodes = self.counters.nodes.saturating_sub(record.nodes);
        self.counters.leaves = self.counters.leaves.saturating_sub(record.leaves);
        self.counters.leaf_tokens = self.counters.leaf_tokens.saturating_sub(record.tokens);
        self.counters.text_bytes = self.counters.text_bytes.saturating_sub(u64::from(record.text_bytes));
        Ok(())
    }

    /// The vector space called `name`, made if there is none.
    ///
    /// * `dimensions`: length of every vector, from 1.
    /// * `fingerprint`: what makes the vectors; see [`Embedder::fingerprint`](crate::model::Embedder).
    ///
    /// # Errors
    ///
    /// `Model` or `InvalidInput`, naming both sides, if the space is there with another fingerprint, dimension
    /// or metric; `InvalidInput` if the name has a `#`, which tells
    /// [spaces of other things](Self::open_object_space).
    pub fn open_space(
        &mut self,
        name: &str,
        dimensions: usize,
        metric: Metric,
        fingerprint: &str,
    ) -> Result<SpaceId> {
        if name.contains('#') {
            return Err(Error::invalid(format!(
                "space {name:?} has a #, which spaces of entities have; leave it out"
            )));
        }
        self.open_any_space(name, dimensions, metric, fingerprint)
    }

    pub(super) fn open_any_space(
        &mut self,
        name: &str,
        dimensions: usize,
        metric: Metric,
        fingerprint: &str,
    ) -> Result<SpaceId> {
        if let Some((id, space)) = self.spaces.iter().find(|(_, space)| space.record.name == name) {
            expect_embedder(&space.record, fingerprint, dimensions)?;
            if space.record.metric != metric {
                return Err(Error::invalid(format!(
                    "space {name:?} compares by {:?}, not by {metric:?}; use another name",
                    space.record.metric
                )));
            }
            return Ok(*id);
        }
        let id = SpaceId(self.counters.next_space);
        let record = SpaceRecord::new(name, fingerprint, dimensions, metric)?;
        self.counters.next_space += 1;
        self.spaces.insert(id, PendingSpace { record, rows: Vec::new(), floats: 0, changed: true });
        Ok(id)
    }

    /// Stores the vectors of a document's leaves.
    ///
    /// * `document`: inserted in this transaction or since the space's last vectors.
    /// * `rows`: `n x d`, one row for each of the document's `n` leaves in document order.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such document or space; `InvalidInput` if the shape does not fit, a value is
    /// not finite, or the space already has vectors of this or a later document.
    pub fn put_leaf_vectors(
        &mut self,
        space: SpaceId,
        document: &Document,
        id: DocumentId,
        rows: &[f32],
    ) -> Result<()> {
        let record = self.record(id)?;
        let pending = self.pending_space(space)?;
        if pending.record.name.contains('#') {
            return Err(Error::invalid(format!("space {:?} has no rows of leaves", pending.record.name)));
        }
        let dimension = pending.record.dimension as usize;
        let outline = Outline::of(document);
        if outline.leaves.len() != record.leaves as usize || rows.len() != outline.leaves.len() * dimension {
            return Err(Error::invalid(format!(
                "document {:?} has {} leaves; {} floats are not {} vectors of {dimension}",
                record.key,
                record.leaves,
                rows.len(),
                record.leaves
            )));
        }
        let mut stored = Vec::with_capacity(rows.len());
        let mut row_as_stored = Vec::new();
        for (index, row) in rows.chunks_exact(dimension).enumerate() {
            let name = format_args!("the vector of leaf {index} of document {:?}", document.key);
            prepare(&pending.record, row, name, &mut row_as_stored)?;
            stored.extend_from_slice(&row_as_stored);
        }
        for (leaf, row) in outline.leaves.iter().zip(rows.chunks_exact(dimension)) {
            pending.rows.push((NodeId(record.first_node + leaf), row.to_vec()));
            pending.floats += dimension;
        }
        pending.changed = true;
        let norms = context_norms(&stored, dimension, &outline.inner, &outline.parent_of)?;
        self.batch.put_value(&CONTEXT, &key::two(space.0, id.0), &norms.seal(space, id)?)?;
        self.flush_vectors(PENDING_FLOATS)
    }

    /// Writes the vectors of every space that has more than `floats` waiting.
    fn flush_vectors(&mut self, floats: usize) -> Result<()> {
        for (id, pending) in &mut self.spaces {
            if pending.rows.is_empty() || pending.floats <= floats {
                continue;
            }
            let last = pending.record.block_count()?.checked_sub(1);
            let last = match last {
                Some(block) => {
                    let key = key::two(id.0, block);
                    let value = self.batch.get_block(&BLOCK, &key, |value| Ok(value.to_vec()))?;
                    Some(value.ok_or_else(|| BLOCK.malformed(&key, "key", 0, "the block is missing"))?)
                }
                None => None,
            };
            let mut writer = BlockWriter::new(*id, &mut pending.record, last.as_deref())?;
            for (node, row) in pending.rows.drain(..) {
                if let Some(block) = writer.append(node, &row)? {
                    self.batch.put_value(&BLOCK, &block.key, &block.value)?;
                }
            }
            if let Some(block) = writer.finish()? {
                self.batch.put_value(&BLOCK, &block.key, &block.value)?;
            }
            pending.floats = 0;
            pending.changed = true;
        }
        Ok(())
    }

    /// Documents in the file, with those of this transaction.
    #[must_use]
    pub fn document_count(&self) -> u32 {
        self.counters.documents
    }

    /// Makes the changes durable and visible.
    ///
    /// # Errors
    ///
    /// `Io`, `Corrupt`; then none of them is visible. If the very last sync failed, the next open tells whether
    /// they were made.
    pub fn commit(mut self) -> Result<()> {
        self.flush_vectors(0)?;
        self.graph.finish(&self.batch, &self.deleted)?;
        let fresh = self.indexing.finish()?;
        segments::commit(
            &self.batch,
            &mut self.manifest,
            &self.deleted,
            self.has_removed,
            &mut self.counters.next_segment,
            &fresh,
        )?;
        for (id, pending) in self.spaces.iter().filter(|(_, pending)| pending.changed) {
            self.batch.put_value(&SPACE, &key::one(id.0), &pending.record.seal(*id)?)?;
        }
        self.batch.put_value(
            &MANIFEST,
            MANIFEST_KEY,
            &codec::seal(&MANIFEST, MANIFEST_KEY, &self.manifest)?,
        )?;
        if self.has_removed || self.counters.commits == 0 {
            put_deleted(&self.batch, &mut self.deleted)?;
        }
        self.counters.commits += 1;
        self.batch.put_value(&META, COUNTERS_KEY, &codec::seal(&META, COUNTERS_KEY, &self.counters)?)?;
        // A cached state of before must not pin its pages, nor be handed out again.
        let shared = self.shared;
        let mut state = shared.state.lock();
        let done = self.batch.commit();
        *state = None;
        done
    }
}

/// Stores the bitmap of deleted nodes.
fn put_deleted(batch: &Batch, deleted: &mut RoaringBitmap) -> Result<()> {
    deleted.optimize();
    let mut bitmap = Vec::with_capacity(deleted.serialized_size());
    deleted
        .serialize_into(&mut bitmap)
        .map_err(|error| Error::io("encode", "the bitmap of deleted nodes", error))?;
    batch.put(&DELETED, DELETED_KEY, &bitmap)
}

/// The bitmap of deleted nodes in the payload of its record.
pub(super) fn read_deleted(payload: &[u8]) -> Result<RoaringBitmap> {
    decode_set(payload)
        .map_err(|damage| DELETED.malformed(DELETED_KEY, "bitmap", HEADER_BYTES + damage.offset, damage.why))
}
