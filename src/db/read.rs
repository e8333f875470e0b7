//! One committed state of the file, and how it is read.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use roaring::RoaringBitmap;

use super::database::Shared;
use super::graph_read::GraphState;
use super::graph_read::LastGraph;
use super::paths::LastPaths;
use super::segments::{self, ChunkCache, SnapshotChunks};
use super::texts;
use super::write::read_deleted;
use crate::error::{Error, Result};
use crate::format::document::{DOCUMENT, DOCUMENT_KEY, DocumentRecord, ROOT};
use crate::format::identity::{COUNTERS_KEY, Counters, META};
use crate::format::manifest::{DELETED, DELETED_KEY, MANIFEST, MANIFEST_KEY, Manifest};
use crate::format::vector::{BLOCK, CONTEXT, SPACE};
use crate::format::{codec, key};
use crate::graph::paths::PathIndex;
use crate::ids::{DocumentId, NodeId, NodeRange, SegmentId, SpaceId, Span};
use crate::model::TokenCounter;
use crate::storage::Snapshot;
use crate::text::{Analyzers, PartSource, SegmentReader, TextIndex};
use crate::tree::Tree;
use crate::vector::{BlockSource, ContextNorms, Flat, SpaceRecord};

/// Trees kept decoded.
const CACHED_TREES: usize = 4_096;

/// What stays in memory between read transactions: immutable things, by ids that are never reused.
pub(super) struct Caches {
    chunks: Arc<ChunkCache>,
    trees: Cache<DocumentId, Arc<Tree>>,
    segments: Mutex<BTreeMap<SegmentId, Arc<SegmentReader>>>,
    pub(super) graph: Mutex<Option<LastGraph>>,
    pub(super) paths: Mutex<Option<LastPaths>>,
}

impl Caches {
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            chunks: Arc::new(segments::chunk_cache(bytes)),
            trees: Cache::new(CACHED_TREES),
            segments: Mutex::default(),
            graph: Mutex::default(),
            paths: Mutex::default(),
        }
    }
}

/// A committed state, opened once and shared by all read transactions that see it.
pub(super) struct State {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) counters: Counters,
    pub(super) manifest: Manifest,
    index: TextIndex,
    spaces: Vec<(SpaceId, SpaceRecord)>,
    /// Whether every key in `document_keys` has been read once and found whole.
    keys_checked: OnceLock<()>,
    /// Made on first use: every root and its document.
    roots: Mutex<Option<Arc<Roots>>>,
    /// Made on first use: the context norms of a space.
    norms: Mutex<BTreeMap<SpaceId, Arc<Norms>>>,
    pub(super) graph: GraphState,
    /// Made on first use.
    pub(super) paths: Mutex<Option<Arc<PathIndex>>>,
}

/// Root of each document, ascending, and the document.
pub type Roots = Vec<(NodeId, DocumentId)>;

/// Context norms of each document that has vectors.
pub type Norms = BTreeMap<DocumentId, ContextNorms>;

impl State {
    fn open(shared: &Shared) -> Result<Self> {
        let snapshot = Arc::new(shared.store.begin_read()?);
        let counters: Option<Counters> =
            snapshot.get(&META, COUNTERS_KEY, |payload| codec::decode(&META, COUNTERS_KEY, payload))?;
        let counters =
            counters.ok_or_else(|| META.malformed(COUNTERS_KEY, "key", 0, "the counters are missing"))?;
        let manifest =
            snapshot.get(&MANIFEST, MANIFEST_KEY, |p| codec::decode(&MANIFEST, MANIFEST_KEY, p))?;
        let deleted = snapshot.get(&DELETED, DELETED_KEY, read_deleted)?;
        if counters.commits > 0 && (manifest.is_none() || deleted.is_none()) {
            return Err(MANIFEST.malformed(MANIFEST_KEY, "key", 0, "the record is missing"));
        }
        let manifest: Manifest = manifest.unwrap_or_default();
        let chunks =
            SnapshotChunks { snapshot: Arc::clone(&snapshot), cache: Arc::clone(&shared.caches.chunks) };
        let mut readers = Vec::with_capacity(manifest.segments.len());
        {
            let mut cached = shared.caches.segments.lock();
            for entry in &manifest.segments {
                let id = SegmentId(entry.segment);
                let reader = if let Some(reader) = cached.get(&id) {
                    Arc::clone(reader)
                } else {
                    let header = segments::read_header(&snapshot, id)?;
                    let reader = Arc::new(SegmentReader::open(id, &header, &chunks)?);
                    cached.insert(id, Arc::clone(&reader));
                    reader
                };
                readers.push(reader);
            }
            cached.retain(|id, _| manifest.segments.iter().any(|entry| entry.segment == id.0));
        }
        let graph = GraphState::open(&snapshot)?;
        let mut spaces = Vec::new();
        snapshot.scan_raw(SPACE.table, &[], |key, value| {
            let id =
                key::parse_one(key).ok_or_else(|| SPACE.malformed(key, "key", 0, "it is no space id"))?;
            spaces.push((SpaceId(id), SpaceRecord::open(SpaceId(id), value)?));
            Ok(ControlFlow::Continue(()))
        })?;
        if spaces.len() + 1 != counters.next_space as usize {
            let why = format!("{} are there, {} were made", spaces.len(), counters.next_space - 1);
            return Err(SPACE.malformed(b"*", "rows", 0, why));
        }
        let deleted: RoaringBitmap = deleted.unwrap_or_default();
        let source: Arc<dyn PartSource> = Arc::new(chunks);
        let index = TextIndex::new(readers, Arc::new(deleted), source)
            .map_err(|error| MANIFEST.malformed(MANIFEST_KEY, "segments", 0, error))?;
        Ok(Self {
            snapshot,
            counters,
            manifest,
            index,
            spaces,
            keys_checked: OnceLock::new(),
            roots: Mutex::default(),
            norms: Mutex::default(),
            graph,
            paths: Mutex::default(),
        })
    }
}

/// One committed state of the file. Commits that come later do not show; drop it soon all the same, since
/// pages it can see are not reused while it lives.
#[must_use]
pub struct ReadTransaction {
    shared: Arc<Shared>,
    pub(super) state: Arc<State>,
}

/// A document, without its tree and text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DocumentInfo {
    /// Its id.
    pub id: DocumentId,
    /// The caller's name for it.
    pub key: String,
    /// Title.
    pub title: String,
    /// Where it came from.
    pub source: Option<String>,
    /// BCP 47 language tag.
    pub language: Option<String>,
    /// Attributes in ascending order of their keys.
    pub attributes: BTreeMap<String, String>,
    /// Ids of its nodes, the root first.
    pub nodes: NodeRange,
    /// How many of them are leaves.
    pub leaves: u32,
    /// Tokens of all leaves.
    pub tokens: u64,
    /// Bytes of text.
    pub text_bytes: u32,
    /// SHA-256 of what was inserted.
    #[serde(skip)]
    pub content_hash: [u8; 32],
}

impl DocumentInfo {
    fn new(id: DocumentId, record: DocumentRecord) -> Result<Self> {
        let last = record.nodes.checked_sub(1).and_then(|nodes| record.first_node.checked_add(nodes));
        let Some(last) = last.filter(|_| record.first_node > 0) else {
            return Err(DOCUMENT.malformed(&key::one(id.0), "nodes", 0, "they are no range of ids"));
        };
        Ok(Self {
            id,
            key: record.key,
            title: record.title,
            source: record.source,
            language: record.language,
            attributes: record.attributes.into_iter().collect(),
            nodes: NodeRange::new(NodeId(record.first_node), NodeId(last)),
            leaves: record.leaves,
            tokens: record.tokens,
            text_bytes: record.text_bytes,
            content_hash: record.content_hash,
        })
    }
}

impl ReadTransaction {
    pub(super) fn begin(shared: &Arc<Shared>) -> Result<Self> {
        let mut cached = shared.state.lock();
        let state = if let Some(state) = &*cached {
            Arc::clone(state)
        } else {
            let state = Arc::new(State::open(shared)?);
            *cached = Some(Arc::clone(&state));
            state
        };
        Ok(Self { shared: Arc::clone(shared), state })
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// How many documents there are.
    #[must_use]
    pub fn document_count(&self) -> u32 {
        self.state.counters.documents
    }

    /// How many leaves there are.
    #[must_use]
    pub fn leaf_count(&self) -> u32 {
        self.state.counters.leaves
    }

    /// Mean tokens of a leaf; 0 in an empty file.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
    pub fn mean_leaf_tokens(&self) -> f64 {
        let counters = &self.state.counters;
        counters.leaf_tokens as f64 / f64::from(counters.leaves.max(1))
    }

    /// The counter whose tokens are the unit of this file.
    #[must_use]
    pub fn token_counter(&self) -> &dyn TokenCounter {
        self.shared.counter.as_ref()
    }

    /// What turns text into the terms of this file.
    #[must_use]
    pub fn analyzers(&self) -> &Analyzers {
        &self.shared.analyzers
    }

    fn record(&self, document: DocumentId) -> Result<DocumentRecord> {
        if let Some(record) = texts::get_record(&self.state.snapshot, document)? {
            return Ok(record);
        }
        if self.roots()?.iter().any(|(_, id)| *id == document) {
            return Err(DOCUMENT.malformed(&key::one(document.0), "key", 0, "the record is missing"));
        }
        Err(Error::not_found(format!("there is no document {document}")))
    }

    /// Fails if the table of keys is not whole, so that a key which is not in it may be somewhere all the same.
    fn check_keys(&self) -> Result<()> {
        if self.state.keys_checked.get().is_some() {
            return Ok(());
        }
        let mut keys = 0_u32;
        self.state.snapshot.scan(&DOCUMENT_KEY, &[], |_, _| {
            keys += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        if keys != self.document_count() {
            let why = format!("{keys} keys are there, {} documents", self.document_count());
            return Err(DOCUMENT_KEY.malformed(b"*", "rows", 0, why));
        }
        let _ = self.state.keys_checked.set(());
        Ok(())
    }

    /// The document of id `document`.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Corrupt`, `Io`.
    pub fn document(&self, document: DocumentId) -> Result<DocumentInfo> {
        DocumentInfo::new(document, self.record(document)?)
    }

    /// The document that has `key`, if there is one.
    ///
    /// The first time that there is none, all keys are read: a damaged file must not hide a document.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn document_by_key(&self, key: &str) -> Result<Option<DocumentInfo>> {
        let name = key.as_bytes();
        let id: Option<u32> =
            self.state.snapshot.get(&DOCUMENT_KEY, name, |p| codec::decode(&DOCUMENT_KEY, name, p))?;
        let Some(id) = id.map(DocumentId) else { return self.check_keys().map(|()| None) };
        let info = self.document(id).map_err(|error| dangling(error, &DOCUMENT_KEY, name))?;
        if info.key == key {
            return Ok(Some(info));
        }
        let why = format!("it names document {id}, whose key is {:?}", info.key);
        Err(DOCUMENT_KEY.malformed(name, "document", 16, why))
    }

    /// The document that `node` belongs to.
    ///
    /// # Errors
    ///
    /// `NotFound` if no document has it; `Corrupt`; `Io`.
    pub fn document_of(&self, node: NodeId) -> Result<DocumentInfo> {
        let found = self.state.snapshot.get_at_or_below(&ROOT, &key::one(node.0), |key, payload| {
            Ok((key.to_vec(), codec::decode::<u32>(&ROOT, key, payload)?))
        })?;
        if let Some((root, id)) = found {
            let info = self.document(DocumentId(id)).map_err(|error| dangling(error, &ROOT, &root))?;
            if key::parse_one(&root) != Some(info.nodes.first.0) {
                return Err(ROOT.malformed(&root, "document", 16, "the document has another root"));
            }
            if info.nodes.contains(node) {
                return Ok(info);
            }
        }
        // Every id that was handed out is of a document, or deleted.
        let handed_out = (1..self.state.counters.next_node).contains(&node.0);
        if handed_out && !self.state.index.deleted().contains(node.0) {
            let why = format!("no root leads to node {node}, which was not deleted");
            return Err(ROOT.malformed(b"*", "key", 0, why));
        }
        Err(Error::not_found(format!("there is no node {node}")))
    }

    /// Every document's root, ascending. Kept for as long as this state is.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn roots(&self) -> Result<Arc<Roots>> {
        let mut kept = self.state.roots.lock();
        if let Some(roots) = &*kept {
            return Ok(Arc::clone(roots));
        }
        let mut roots = Vec::with_capacity(self.document_count() as usize);
        self.state.snapshot.scan(&ROOT, &[], |key, payload| {
            let root =
                key::parse_one(key).ok_or_else(|| ROOT.malformed(key, "key", 0, "it is no node id"))?;
            roots.push((NodeId(root), DocumentId(codec::decode(&ROOT, key, payload)?)));
            Ok(ControlFlow::Continue(()))
        })?;
        if roots.len() != self.document_count() as usize {
            let why = format!("{} roots are there, {} documents", roots.len(), self.document_count());
            return Err(ROOT.malformed(b"*", "rows", 0, why));
        }
        let roots = Arc::new(roots);
        *kept = Some(Arc::clone(&roots));
        Ok(roots)
    }

    /// Hands every document to `visit`, in id order, until it breaks.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a record is damaged or missing; `Io`; whatever `visit` returns.
    pub fn for_each_document(
        &self,
        mut visit: impl FnMut(DocumentInfo) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (mut seen, mut broken) = (0, false);
        texts::scan_records(&self.state.snapshot, |id, record| {
            seen += 1;
            let flow = visit(DocumentInfo::new(id, record)?)?;
            broken = flow.is_break();
            Ok(flow)
        })?;
        if !broken && seen != self.document_count() {
            let why = format!("{seen} documents are there, the counters say {}", self.document_count());
            return Err(META.malformed(COUNTERS_KEY, "documents", 16, why));
        }
        Ok(())
    }

    /// The tree of `document`.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Corrupt`, `Io`.
    pub fn tree(&self, document: DocumentId) -> Result<Arc<Tree>> {
        let cached = self.shared.caches.trees.get(&document);
        // A tree stays the same for ever, its document may have been removed.
        let known = self.state.roots.lock().as_ref().map(Arc::clone);
        let there = known.map(|roots| roots.binary_search_by_key(&document, |(_, id)| *id).is_ok());
        if let (Some(tree), Some(true)) = (&cached, there) {
            return Ok(Arc::clone(tree));
        }
        let record = self.record(document)?;
        if let Some(tree) = cached {
            return Ok(tree);
        }
        let tree = Arc::new(texts::get_tree(&self.state.snapshot, document, &record)?);
        self.shared.caches.trees.insert(document, Arc::clone(&tree));
        Ok(tree)
    }

    /// The text at `span` of `document`.
    ///
    /// # Errors
    ///
    /// `NotFound`; `InvalidInput` if the span leaves the text; `Corrupt`; `Io`.
    pub fn text(&self, document: DocumentId, span: Span) -> Result<String> {
        texts::get_text(&self.state.snapshot, document, &self.record(document)?, span)
    }

    /// The text index of this state.
    #[must_use]
    pub fn text_index(&self) -> &TextIndex {
        &self.state.index
    }

    /// Names of the vector spaces of leaves, in the order they were made.
    pub fn space_names(&self) -> impl Iterator<Item = &str> {
        self.all_space_names().filter(|name| !name.contains('#'))
    }

    pub(super) fn all_space_names(&self) -> impl Iterator<Item = &str> {
        self.state.spaces.iter().map(|(_, record)| record.name.as_str())
    }

    /// The vector space of leaves called `name`, if there is one.
    #[must_use]
    pub fn space(&self, name: &str) -> Option<VectorSpace<'_>> {
        self.any_space(name).filter(|_| !name.contains('#'))
    }

    /// The vector space of leaves called `name`.
    ///
    /// # Errors
    ///
    /// `NotFound`, listing the spaces there are, if there is none.
    pub fn expect_space(&self, name: &str) -> Result<VectorSpace<'_>> {
        self.space(name).ok_or_else(|| {
            let known: Vec<&str> = self.space_names().collect();
            Error::not_found(format!("there is no vector space {name:?}; the file has {known:?}"))
        })
    }

    pub(super) fn any_space(&self, name: &str) -> Option<VectorSpace<'_>> {
        let (id, record) = self.state.spaces.iter().find(|(_, record)| record.name == name)?;
        Some(VectorSpace { transaction: self, id: *id, record })
    }
}

/// An index that points at something that is not there is damage, not a wrong question.
fn dangling(error: Error, kind: &crate::format::frame::RecordKind, key: &[u8]) -> Error {
    if error.kind() == crate::error::ErrorKind::NotFound {
        return kind.malformed(key, "document", 16, error);
    }
    error
}

/// One vector space of a snapshot.
#[derive(Clone, Copy)]
pub struct VectorSpace<'a> {
    transaction: &'a ReadTransaction,
    id: SpaceId,
    record: &'a SpaceRecord,
}

impl<'a> VectorSpace<'a> {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> SpaceId {
        self.id
    }

    /// Name, dimension, metric, fingerprint, rows.
    #[must_use]
    pub fn record(&self) -> &'a SpaceRecord {
        self.record
    }

    /// A reader of its rows.
    ///
    /// # Errors
    ///
    /// `Corrupt` if blocks are missing.
    pub fn flat(&'a self) -> Result<Flat<'a>> {
        Flat::new(self.id, self.record, self)
    }

    /// The norms for context-mixed scores of the leaves of `document`; `None` if it has no vectors here.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn context_norms(&self, document: DocumentId) -> Result<Option<ContextNorms>> {
        let key = key::two(self.id.0, document.0);
        self.transaction
            .state
            .snapshot
            .get_block(&CONTEXT, &key, |value| ContextNorms::open(self.id, document, value))
    }

    /// The error for a document whose leaves have vectors here, and which has no norms.
    #[must_use]
    pub fn missing_norms(&self, document: DocumentId) -> Error {
        let key = key::two(self.id.0, document.0);
        CONTEXT.malformed(&key, "key", 0, "the norms of a document with vectors are missing")
    }

    /// The norms of every document that has vectors here. Kept for as long as this state is.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn all_context_norms(&self) -> Result<Arc<Norms>> {
        let state = &self.transaction.state;
        let mut kept = state.norms.lock();
        if let Some(norms) = kept.get(&self.id) {
            return Ok(Arc::clone(norms));
        }
        let mut all = Norms::new();
        state.snapshot.scan_raw(CONTEXT.table, &key::one(self.id.0), |key, value| {
            let (_, document) = key::parse_two(key)
                .ok_or_else(|| CONTEXT.malformed(key, "key", 0, "it is no pair of ids"))?;
            let document = DocumentId(document);
            all.insert(document, ContextNorms::open(self.id, document, value)?);
            Ok(ControlFlow::Continue(()))
        })?;
        let leaves: usize = all.values().map(|norms| norms.leaf_norms.len()).sum();
        if leaves != self.record.live as usize {
            let why = format!("they are of {leaves} leaves, the space has {} live rows", self.record.live);
            return Err(CONTEXT.malformed(&key::one(self.id.0), "rows", 0, why));
        }
        let all = Arc::new(all);
        kept.insert(self.id, Arc::clone(&all));
        Ok(all)
    }
}

impl BlockSource for VectorSpace<'_> {
    fn block_count(&self) -> u32 {
        u32::try_from(self.record.last_nodes.len()).unwrap_or(u32::MAX)
    }

    fn with_block(&self, index: u32, read: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let key = key::two(self.id.0, index);
        let found = self.transaction.state.snapshot.get_block(&BLOCK, &key, read)?;
        found.ok_or_else(|| BLOCK.malformed(&key, "key", 0, "the block is missing"))
    }
}
