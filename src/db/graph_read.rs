//! The graph of a snapshot: in memory as a whole, names and texts by id.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use roaring::RoaringBitmap;

use super::graph_segments;
use super::read::ReadTransaction;
use crate::error::Error;
use crate::error::ErrorKind;
use crate::error::Result;
use crate::format::codec;
use crate::format::graph::ENTITY;
use crate::format::graph::ENTITY_KEY;
use crate::format::graph::EntityRecord;
use crate::format::graph::GRAPH_COUNTERS_KEY;
use crate::format::graph::GRAPH_MANIFEST_KEY;
use crate::format::graph::GRAPH_NAME;
use crate::format::graph::GraphCounters;
use crate::format::graph::GraphManifest;
use crate::format::graph::HYPEREDGE;
use crate::format::graph::HyperedgeRecord;
use crate::format::identity::META;
use crate::format::key;
use crate::format::manifest::MANIFEST;
use crate::graph::Graph;
use crate::graph::GraphRows;
use crate::graph::GraphSegment;
use crate::graph::NameIndex;
use crate::graph::Object;
use crate::graph::entity_key;
use crate::graph::normalise;
use crate::ids::DocumentId;
use crate::ids::EntityId;
use crate::ids::HyperedgeId;
use crate::ids::NodeId;
use crate::ids::Span;
use crate::storage::Snapshot;
use crate::tree::Document;
use crate::tree::Node;

/// What a state keeps of the graph.
pub(super) struct GraphState {
    pub(super) counters: Option<GraphCounters>,
    pub(super) manifest: GraphManifest,
    /// Made on first use.
    graph: Mutex<Option<Arc<Graph>>>,
    /// Made on first use.
    names: Mutex<Option<Arc<NameIndex>>>,
}

/// The graph made last, and of what: commits that leave it as it is need not make it again.
pub(super) struct LastGraph {
    manifest: GraphManifest,
    deleted: RoaringBitmap,
    graph: Arc<Graph>,
}

impl GraphState {
    pub(super) fn open(snapshot: &Snapshot) -> Result<Self> {
        let counters: Option<GraphCounters> =
            snapshot.get(&META, GRAPH_COUNTERS_KEY, |p| codec::decode(&META, GRAPH_COUNTERS_KEY, p))?;
        let manifest: Option<GraphManifest> = snapshot
            .get(&MANIFEST, GRAPH_MANIFEST_KEY, |p| codec::decode(&MANIFEST, GRAPH_MANIFEST_KEY, p))?;
        if counters.is_some() != manifest.is_some() {
            let why = "counters and manifest of the graph are not there both";
            return Err(MANIFEST.malformed(GRAPH_MANIFEST_KEY, "key", 0, why));
        }
        let manifest = manifest.unwrap_or_default();
        Ok(Self { counters, manifest, graph: Mutex::default(), names: Mutex::default() })
    }
}

/// An entity, with all that the documents of the state say of it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct EntityInfo {
    /// Its id.
    pub id: EntityId,
    /// Normalised name.
    pub name: String,
    /// Normalised kind.
    pub kind: String,
    /// Other names, ascending.
    pub aliases: Vec<String>,
    /// Attributes, each with its values ascending.
    pub attributes: BTreeMap<String, Vec<String>>,
}

/// A hyperedge.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct HyperedgeInfo {
    /// Its id.
    pub id: HyperedgeId,
    /// Its kind.
    pub kind: String,
    /// Normalised label; may be empty.
    pub label: String,
    /// Its own text, or the text at its place.
    pub text: Option<String>,
    /// Where its text lies: a node, and a span of the text of the node's document.
    pub place: Option<(NodeId, Span)>,
    /// Sum of the weights of its supports.
    pub weight: f32,
    /// Role and member, in order.
    pub members: Vec<(String, Object)>,
}

impl ReadTransaction {
    /// All rows of the graph that are live.
    pub(super) fn graph_rows(&self) -> Result<GraphSegment> {
        let state = &self.state;
        let deleted = self.text_index().deleted();
        let mut segments = Vec::with_capacity(state.graph.manifest.segments.len());
        for entry in &state.graph.manifest.segments {
            segments.push(graph_segments::read(&state.snapshot, entry)?);
        }
        if segments.len() == 1
            && let Some(only) = segments.pop_if(|segment| !segment.meets(deleted))
        {
            return Ok(only);
        }
        let mut rows = GraphRows::default();
        for segment in &segments {
            rows.add_segment(segment);
        }
        Ok(rows.finish(deleted))
    }

    /// Kinds and roles by their ids.
    pub(super) fn graph_names(&self) -> Result<BTreeMap<u32, String>> {
        let mut names = BTreeMap::new();
        self.state.snapshot.scan(&GRAPH_NAME, &[], |key, payload| {
            let id = key::parse_one(key).ok_or_else(|| GRAPH_NAME.malformed(key, "key", 0, "it is no id"))?;
            names.insert(id, codec::decode(&GRAPH_NAME, key, payload)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(names)
    }

    /// The graph of this state. Made on first use, in time linear in its size, and kept for as long as commits
    /// leave it as it is.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn graph(&self) -> Result<Arc<Graph>> {
        let mut own = self.state.graph.graph.lock();
        if let Some(graph) = &*own {
            return Ok(Arc::clone(graph));
        }
        let deleted = self.text_index().deleted();
        let manifest = &self.state.graph.manifest;
        let mut last = self.shared().caches.graph.lock();
        let graph = match &*last {
            Some(last) if last.manifest == *manifest && last.deleted == *deleted => Arc::clone(&last.graph),
            _ => Arc::new(Graph::new(&self.graph_rows()?, self.graph_names()?)?),
        };
        let (manifest, deleted) = (manifest.clone(), deleted.clone());
        *last = Some(LastGraph { manifest, deleted, graph: Arc::clone(&graph) });
        *own = Some(Arc::clone(&graph));
        Ok(graph)
    }

    /// An entity's name, kind, aliases and attributes.
    ///
    /// # Errors
    ///
    /// `NotFound` if no document mentions it; `Corrupt`; `Io`.
    pub fn entity(&self, id: EntityId) -> Result<EntityInfo> {
        if self.graph()?.index_of(Object::Entity(id)).is_none() {
            return Err(Error::not_found(format!("there is no entity {id}")));
        }
        let key = key::one(id.0);
        let record: Option<EntityRecord> =
            self.state.snapshot.get(&ENTITY, &key, |p| codec::decode(&ENTITY, &key, p))?;
        let record = record.ok_or_else(|| ENTITY.malformed(&key, "key", 0, "the record is missing"))?;
        Ok(self.entity_info(id, record))
    }

    fn entity_info(&self, id: EntityId, record: EntityRecord) -> EntityInfo {
        let deleted = self.text_index().deleted();
        let mut info = EntityInfo {
            id,
            name: record.name,
            kind: record.kind,
            aliases: Vec::new(),
            attributes: BTreeMap::new(),
        };
        for fact in record.facts.into_iter().filter(|fact| !deleted.contains(fact.root)) {
            let list = if fact.key.is_empty() {
                &mut info.aliases
            } else {
                info.attributes.entry(fact.key).or_default()
            };
            list.push(fact.value);
        }
        for list in std::iter::once(&mut info.aliases).chain(info.attributes.values_mut()) {
            list.sort();
            list.dedup();
        }
        info
    }

    /// Hands every entity to `visit`, by id.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`, whatever `visit` returns.
    pub fn for_each_entity(&self, mut visit: impl FnMut(EntityInfo) -> Result<()>) -> Result<()> {
        let graph = self.graph()?;
        let mut live = graph.entities().peekable();
        self.state.snapshot.scan(&ENTITY, &[], |key, payload| {
            let id = key::parse_one(key).ok_or_else(|| ENTITY.malformed(key, "key", 0, "it is no id"))?;
            if live.next_if_eq(&EntityId(id)).is_some() {
                let record = codec::decode(&ENTITY, key, payload)?;
                visit(self.entity_info(EntityId(id), record))?;
            }
            Ok(if live.peek().is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        match live.next() {
            None => Ok(()),
            Some(id) => Err(ENTITY.malformed(&key::one(id.0), "key", 0, "the record is missing")),
        }
    }

    /// Hands the place of the text of every hyperedge that has one to `visit`, by id.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`, whatever `visit` returns.
    pub fn for_each_place(
        &self,
        mut visit: impl FnMut(HyperedgeId, NodeId, Span) -> Result<()>,
    ) -> Result<()> {
        let graph = self.graph()?;
        self.state.snapshot.scan(&HYPEREDGE, &[], |key, payload| {
            let id = key::parse_one(key).ok_or_else(|| HYPEREDGE.malformed(key, "key", 0, "it is no id"))?;
            let record: HyperedgeRecord = codec::decode(&HYPEREDGE, key, payload)?;
            let live = graph.kind(HyperedgeId(id)).is_some();
            if let Some((node, start, end)) = record.place.filter(|(_, start, end)| live && start <= end) {
                visit(HyperedgeId(id), NodeId(node), Span::new(start, end))?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The entity of that name and kind, which are normalised first.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn entity_by_key(&self, name: &str, kind: &str) -> Result<Option<EntityId>> {
        let key = entity_key(&normalise(name), &normalise(kind));
        let id: Option<u32> =
            self.state.snapshot.get(&ENTITY_KEY, &key, |p| codec::decode(&ENTITY_KEY, &key, p))?;
        let Some(id) = id.map(EntityId) else { return Ok(None) };
        Ok(self.graph()?.index_of(Object::Entity(id)).map(|_| id))
    }

    /// Up to `limit` entities whose normalised names begin with `start`, which is normalised but for a blank at its
    /// end, by name and kind; or, if `whole`, of just that name.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn entities_by_name(&self, start: &str, whole: bool, limit: usize) -> Result<Vec<EntityId>> {
        let graph = self.graph()?;
        let mut prefix = normalise(start).into_bytes();
        if whole {
            prefix.push(0);
        } else if start.ends_with(char::is_whitespace) && !prefix.is_empty() {
            prefix.push(b' ');
        }
        let mut found = Vec::new();
        self.state.snapshot.scan(&ENTITY_KEY, &prefix, |key, payload| {
            let id = EntityId(codec::decode(&ENTITY_KEY, key, payload)?);
            if found.len() < limit && graph.index_of(Object::Entity(id)).is_some() {
                found.push(id);
            }
            Ok(if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(found)
    }

    /// Entities by the words of their names and aliases, in the terms of the file's analyzer. Made on first use,
    /// in time linear in the entities.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn entity_names(&self) -> Result<Arc<NameIndex>> {
        let mut kept = self.state.graph.names.lock();
        if let Some(names) = &*kept {
            return Ok(Arc::clone(names));
        }
        let mut names = NameIndex::default();
        self.for_each_entity(|entity| {
            let mut terms = Vec::new();
            for name in std::iter::once(&entity.name).chain(&entity.aliases) {
                self.analyzers().body().terms(name, &mut |term| terms.push(term.to_owned()));
            }
            names.add(entity.id, &terms);
            Ok(())
        })?;
        let names = Arc::new(names);
        *kept = Some(Arc::clone(&names));
        Ok(names)
    }

    /// The document of id `id` as it was inserted, for whoever makes a graph of it.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Corrupt`, `Io`.
    pub fn load_document(&self, id: DocumentId) -> Result<Document> {
        let info = self.document(id)?;
        let tree = self.tree(id)?;
        let nodes = tree.nodes().map(|node| Node {
            parent: node.parent().map(|parent| parent.id().0 - info.nodes.first.0),
            kind: node.kind(),
            title: node.title().to_owned(),
            summary: node.summary().to_owned(),
            span: if node.is_leaf() { node.span() } else { Span::default() },
            page: node.page(),
            attributes: node.attributes().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            vector_row: None,
        });
        let nodes = nodes.collect();
        let mut document = Document::new(info.key, info.title);
        document.source = info.source;
        document.language = info.language;
        document.attributes = info.attributes;
        document.text = self.text(id, Span::new(0, info.text_bytes))?;
        document.nodes = nodes;
        Ok(document)
    }

    /// A hyperedge with its text.
    ///
    /// # Errors
    ///
    /// `NotFound` if no document supports it; `Corrupt`; `Io`.
    pub fn hyperedge(&self, id: HyperedgeId) -> Result<HyperedgeInfo> {
        let graph = self.graph()?;
        let Some(kind) = graph.kind(id) else {
            return Err(Error::not_found(format!("there is no hyperedge {id}")));
        };
        let key = key::one(id.0);
        let record: Option<HyperedgeRecord> =
            self.state.snapshot.get(&HYPEREDGE, &key, |p| codec::decode(&HYPEREDGE, &key, p))?;
        let record = record.ok_or_else(|| HYPEREDGE.malformed(&key, "key", 0, "the record is missing"))?;
        let place = record.place.map(|(node, start, end)| (NodeId(node), Span::new(start, end)));
        let text = match place {
            None => record.text,
            Some((node, span)) if span.start <= span.end => {
                let text = self.document_of(node).and_then(|document| self.text(document.id, span));
                Some(text.map_err(|error| match error.kind() {
                    ErrorKind::NotFound | ErrorKind::InvalidInput => {
                        HYPEREDGE.malformed(&key, "place", 0, error)
                    }
                    _ => error,
                })?)
            }
            Some(_) => return Err(HYPEREDGE.malformed(&key, "place", 0, "the span ends before it starts")),
        };
        let members = graph.members(id).map(|member| (member.role.to_owned(), member.object)).collect();
        let weight = graph.weight(id);
        Ok(HyperedgeInfo { id, kind: kind.to_owned(), label: record.label, text, place, weight, members })
    }
}
