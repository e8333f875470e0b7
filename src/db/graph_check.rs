//! The graph in `verify` and in the canonical dump.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde_json::Value;
use serde_json::json;

use super::read::DocumentInfo;
use super::read::ReadTransaction;
use crate::error::Result;
use crate::format::codec;
use crate::format::frame::RecordKind;
use crate::format::graph::DocumentPart;
use crate::format::graph::ENTITY;
use crate::format::graph::ENTITY_KEY;
use crate::format::graph::EntityRecord;
use crate::format::graph::GRAPH_COUNTERS_KEY;
use crate::format::graph::GRAPH_DOCUMENT;
use crate::format::graph::GRAPH_MANIFEST_KEY;
use crate::format::graph::GRAPH_NAME;
use crate::format::graph::GRAPH_PART;
use crate::format::graph::GraphSegmentEntry;
use crate::format::graph::HYPEREDGE;
use crate::format::graph::HYPEREDGE_KEY;
use crate::format::graph::HyperedgeRecord;
use crate::format::graph::Support;
use crate::format::identity::GRAPH_FEATURE;
use crate::format::identity::IDENTITY_KEY;
use crate::format::identity::Identity;
use crate::format::identity::META;
use crate::format::key;
use crate::format::manifest::MANIFEST;
use crate::format::text::CHUNK_BYTES;
use crate::graph::Graph;
use crate::graph::GraphRows;
use crate::graph::Object;
use crate::graph::entity_key;
use crate::graph::hyperedge_key;
use crate::ids::DocumentId;

impl ReadTransaction {
    /// The records of the graph agree with each other, and its segments with the records.
    pub(super) fn check_graph(&self, infos: &BTreeMap<DocumentId, DocumentInfo>) -> Result<()> {
        let snapshot = &self.state.snapshot;
        let identity: Option<Identity> =
            snapshot.get(&META, IDENTITY_KEY, |p| codec::decode(&META, IDENTITY_KEY, p))?;
        let has_bit = identity.is_some_and(|identity| identity.write_features & GRAPH_FEATURE != 0);
        let counters = self.state.graph.counters;
        if has_bit != counters.is_some() {
            let why = "the feature bit and the counters of the graph are not there both";
            return Err(META.malformed(GRAPH_COUNTERS_KEY, "key", 0, why));
        }
        let counters = counters.unwrap_or_default();
        let names = self.graph_names()?;
        if names.keys().copied().ne(1..counters.next_name) {
            return Err(GRAPH_NAME.malformed(b"*", "rows", 0, "there is not a name for each id"));
        }
        let mut entities = 0;
        snapshot.scan(&ENTITY, &[], |key, payload| {
            let id = known_id(&ENTITY, key, counters.next_entity)?;
            let record: EntityRecord = codec::decode(&ENTITY, key, payload)?;
            entities += 1;
            self.check_key(&ENTITY, key, &ENTITY_KEY, &entity_key(&record.name, &record.kind), id)
        })?;
        self.check_rows_of(&ENTITY_KEY, entities)?;
        let (mut edges, mut keys) = (BTreeMap::new(), 0);
        snapshot.scan(&HYPEREDGE, &[], |key, payload| {
            let id = known_id(&HYPEREDGE, key, counters.next_hyperedge)?;
            let record: HyperedgeRecord = codec::decode(&HYPEREDGE, key, payload)?;
            let name = |id: u32| {
                let name = names.get(&id).map(String::as_str);
                name.ok_or_else(|| HYPEREDGE.malformed(key, "role", 0, format!("there is no name {id}")))
            };
            let mut members = Vec::with_capacity(record.members.len());
            for member in &record.members {
                members.push((name(member.role)?, member.is_node, member.target));
            }
            let kind = name(record.kind)?;
            edges.insert(id, (record.kind, record.members));
            if record.place.is_some() {
                return Ok(ControlFlow::Continue(()));
            }
            keys += 1;
            let own = hyperedge_key(kind, &record.label, None, members);
            self.check_key(&HYPEREDGE, key, &HYPEREDGE_KEY, &own, id)
        })?;
        self.check_rows_of(&HYPEREDGE_KEY, keys)?;
        let mut rows = GraphRows::default();
        for (id, (kind, members)) in &edges {
            rows.add_edge(*id, *kind, members);
        }
        snapshot.scan(&GRAPH_DOCUMENT, &[], |key, payload| {
            let part: DocumentPart = codec::decode(&GRAPH_DOCUMENT, key, payload)?;
            let document = key::parse_two(key).and_then(|(document, _)| infos.get(&DocumentId(document)));
            let document = document
                .ok_or_else(|| GRAPH_DOCUMENT.malformed(key, "key", 0, "there is no such document"))?;
            let range = document.nodes.first.0..=document.nodes.last.0;
            let strange = |links: &[Support]| links.iter().any(|link| !range.contains(&link.node));
            if strange(&part.mentions) || strange(&part.supports) {
                return Err(GRAPH_DOCUMENT.malformed(key, "node", 0, "a node is not of the document"));
            }
            part.mentions.into_iter().for_each(|mention| rows.add_mention(mention));
            part.supports.into_iter().for_each(|support| rows.add_support(support));
            Ok(ControlFlow::Continue(()))
        })?;
        if rows.finish(self.text_index().deleted()) != self.graph_rows()? {
            let why = "the segments of the graph are not what the documents support";
            return Err(MANIFEST.malformed(GRAPH_MANIFEST_KEY, "segments", 0, why));
        }
        let parts = self.state.graph.manifest.segments.iter().flat_map(GraphSegmentEntry::parts);
        let chunks = parts.map(|(_, rows, size)| (rows as usize * size).div_ceil(CHUNK_BYTES) as u64).sum();
        self.check_rows_of(&GRAPH_PART, chunks)?;
        let graph = self.graph()?;
        for edge in graph.hyperedges() {
            self.hyperedge(edge)?;
        }
        self.for_each_entity(|_| Ok(()))
    }

    /// The row of `keys` under `own` names the record of `kind` under `key`.
    fn check_key(
        &self,
        kind: &RecordKind,
        key: &[u8],
        keys: &RecordKind,
        own: &[u8],
        id: u32,
    ) -> Result<ControlFlow<()>> {
        let named: Option<u32> = self.state.snapshot.get(keys, own, |p| codec::decode(keys, own, p))?;
        if named == Some(id) {
            return Ok(ControlFlow::Continue(()));
        }
        Err(kind.malformed(key, "key", 0, format!("table {} does not name it", keys.table)))
    }

    fn check_rows_of(&self, kind: &RecordKind, wanted: u64) -> Result<()> {
        let rows = self.state.snapshot.rows(kind.table)?;
        if rows == wanted {
            return Ok(());
        }
        Err(kind.malformed(b"*", "rows", 0, format!("{rows} rows are there, the records ask for {wanted}")))
    }

    /// Lines of the canonical dump: entities by id, then hyperedges by id.
    pub(super) fn dump_graph(&self, mut line: impl FnMut(&Value) -> Result<()>) -> Result<()> {
        let graph = self.graph()?;
        self.for_each_entity(|entity| {
            line(&json!({
                "type": "entity",
                "id": entity.id,
                "name": entity.name,
                "kind": entity.kind,
                "aliases": entity.aliases,
                "attributes": entity.attributes,
                "mentions": links(graph.mentions(entity.id)),
            }))
        })?;
        for id in graph.hyperedges() {
            let edge = self.hyperedge(id)?;
            line(&json!({
                "type": "hyperedge",
                "id": id,
                "kind": edge.kind,
                "label": edge.label,
                "text": edge.text,
                "members": members(&graph, id),
                "supports": links(graph.supports(id)),
            }))?;
        }
        Ok(())
    }
}

fn members(graph: &Graph, edge: crate::ids::HyperedgeId) -> Vec<Value> {
    let members = graph.members(edge).map(|member| match member.object {
        Object::Node(id) => json!({ "role": member.role, "node": id }),
        Object::Entity(id) => json!({ "role": member.role, "entity": id }),
        Object::Hyperedge(id) => json!({ "role": member.role, "hyperedge": id }),
    });
    members.collect()
}

/// Node and weight of each; the weight as the bits of its float, so that it has one spelling.
fn links(links: impl Iterator<Item = (crate::ids::NodeId, f32)>) -> Vec<(u32, u32)> {
    links.map(|(node, weight)| (node.0, weight.to_bits())).collect()
}

fn known_id(kind: &RecordKind, key: &[u8], next: u32) -> Result<u32> {
    let id = key::parse_one(key).filter(|id| (1..next).contains(id));
    id.ok_or_else(|| kind.malformed(key, "key", 0, "it is no id that was given out"))
}
