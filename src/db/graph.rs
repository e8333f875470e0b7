//! Changing the graph: what a document supports, put and removed with it.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::ops::ControlFlow;

use roaring::RoaringBitmap;

use super::write::WriteTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::format::codec;
use crate::format::graph::DOCUMENT_PART_ENTRIES;
use crate::format::graph::DocumentPart;
use crate::format::graph::ENTITY;
use crate::format::graph::ENTITY_KEY;
use crate::format::graph::EntityRecord;
use crate::format::graph::Fact;
use crate::format::graph::GRAPH_COUNTERS_KEY;
use crate::format::graph::GRAPH_DOCUMENT;
use crate::format::graph::GRAPH_MANIFEST_KEY;
use crate::format::graph::GRAPH_NAME;
use crate::format::graph::GraphCounters;
use crate::format::graph::GraphManifest;
use crate::format::graph::HYPEREDGE;
use crate::format::graph::HYPEREDGE_KEY;
use crate::format::graph::HyperedgeRecord;
use crate::format::graph::MemberRecord;
use crate::format::graph::Support;
use crate::format::identity::GRAPH_FEATURE;
use crate::format::identity::IDENTITY_KEY;
use crate::format::identity::Identity;
use crate::format::identity::META;
use crate::format::key;
use crate::format::manifest::MANIFEST;
use crate::graph::EdgeText;
use crate::graph::EntityDraft;
use crate::graph::GraphCounts;
use crate::graph::GraphPatch;
use crate::graph::GraphRows;
use crate::graph::HyperedgeDraft;
use crate::graph::MAX_NAME_BYTES;
use crate::graph::MAX_TEXT_BYTES;
use crate::graph::RELATION;
use crate::graph::Target;
use crate::graph::UNKNOWN;
use crate::graph::entity_key;
use crate::graph::hyperedge_key;
use crate::graph::normalise;
use crate::ids::DocumentId;
use crate::storage::Batch;
use crate::tree::Document;

/// Rows kept in memory before they become a segment: some 60 MB.
const PENDING_ROWS: usize = 4 << 20;

/// The graph as a write transaction changes it; `None` until it does.
#[derive(Default)]
pub(super) struct GraphWriter {
    open: Option<Open>,
}

pub(super) struct Open {
    pub(super) counters: GraphCounters,
    pub(super) manifest: GraphManifest,
    names: HashMap<String, u32>,
    /// Ids of entities met in this transaction, by their keys.
    entities: HashMap<Vec<u8>, u32>,
    rows: GraphRows,
}

impl GraphWriter {
    pub(super) fn open(&mut self, batch: &Batch) -> Result<&mut Open> {
        if self.open.is_none() {
            self.open = Some(Open::load(batch)?);
        }
        self.open.as_mut().ok_or_else(|| Error::invalid("the graph is closed"))
    }

    /// Forgets what a document supports.
    pub(super) fn remove(&mut self, batch: &Batch, document: DocumentId) -> Result<()> {
        if batch.remove_prefix(&GRAPH_DOCUMENT, &key::one(document.0))? > 0 {
            self.open(batch)?;
        }
        Ok(())
    }

    /// Writes what waits, and brings segments, counters and feature bit up to date.
    pub(super) fn finish(&mut self, batch: &Batch, deleted: &RoaringBitmap) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        open.flush(batch, deleted)?;
        open.tidy(batch, deleted)?;
        let sealed = codec::seal(&META, GRAPH_COUNTERS_KEY, &open.counters)?;
        batch.put_value(&META, GRAPH_COUNTERS_KEY, &sealed)?;
        let sealed = codec::seal(&MANIFEST, GRAPH_MANIFEST_KEY, &open.manifest)?;
        batch.put_value(&MANIFEST, GRAPH_MANIFEST_KEY, &sealed)?;
        let identity: Option<Identity> =
            batch.get(&META, IDENTITY_KEY, |payload| codec::decode(&META, IDENTITY_KEY, payload))?;
        match identity {
            Some(mut identity) if identity.write_features & GRAPH_FEATURE == 0 => {
                identity.write_features |= GRAPH_FEATURE;
                batch.put_value(&META, IDENTITY_KEY, &codec::seal(&META, IDENTITY_KEY, &identity)?)
            }
            _ => Ok(()),
        }
    }
}

impl Open {
    fn load(batch: &Batch) -> Result<Self> {
        let counters =
            batch.get(&META, GRAPH_COUNTERS_KEY, |p| codec::decode(&META, GRAPH_COUNTERS_KEY, p))?;
        let manifest =
            batch.get(&MANIFEST, GRAPH_MANIFEST_KEY, |p| codec::decode(&MANIFEST, GRAPH_MANIFEST_KEY, p))?;
        let mut names = HashMap::new();
        batch.scan_raw(GRAPH_NAME.table, &[], |key, value| {
            let id = key::parse_one(key).ok_or_else(|| GRAPH_NAME.malformed(key, "key", 0, "it is no id"))?;
            names.insert(codec::open(&GRAPH_NAME, key, value)?, id);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Self {
            counters: counters.unwrap_or_default(),
            manifest: manifest.unwrap_or_default(),
            names,
            entities: HashMap::new(),
            rows: GraphRows::default(),
        })
    }

    /// Makes a segment of the rows that wait.
    fn flush(&mut self, batch: &Batch, deleted: &RoaringBitmap) -> Result<()> {
        let segment = std::mem::take(&mut self.rows).finish(deleted);
        if segment.is_empty() { Ok(()) } else { self.put_segment(batch, &segment) }
    }

    fn name(&mut self, batch: &Batch, name: &str) -> Result<u32> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        let id = take(&mut self.counters.next_name, "names of kinds and roles")?;
        let key = key::one(id);
        batch.put_value(&GRAPH_NAME, &key, &codec::seal(&GRAPH_NAME, &key, &name.to_owned())?)?;
        self.names.insert(name.to_owned(), id);
        Ok(id)
    }

    /// The entity of that name and kind, both normalised, made if there is none; whether it was.
    fn entity(&mut self, batch: &Batch, name: &str, kind: &str) -> Result<(u32, bool)> {
        let key = entity_key(name, kind);
        if let Some(id) = self.entities.get(&key) {
            return Ok((*id, false));
        }
        let known: Option<u32> = batch.get(&ENTITY_KEY, &key, |p| codec::decode(&ENTITY_KEY, &key, p))?;
        let id = if let Some(id) = known {
            id
        } else {
            let id = take(&mut self.counters.next_entity, "entities")?;
            let record = EntityRecord { name: name.to_owned(), kind: kind.to_owned(), facts: Vec::new() };
            put_entity(batch, id, &record)?;
            batch.put_value(&ENTITY_KEY, &key, &codec::seal(&ENTITY_KEY, &key, &id)?)?;
            id
        };
        self.entities.insert(key, id);
        Ok((id, known.is_none()))
    }
}

fn put_entity(batch: &Batch, id: u32, record: &EntityRecord) -> Result<()> {
    let key = key::one(id);
    batch.put_value(&ENTITY, &key, &codec::seal(&ENTITY, &key, record)?)
}

fn take(counter: &mut u32, what: &str) -> Result<u32> {
    let id = *counter;
    *counter = id.checked_add(1).ok_or_else(|| Error::invalid(format!("the file is full of {what}")))?;
    Ok(id)
}

/// What a document supports already, and what it is to support: object and node, and the weight.
#[derive(Default)]
struct Links {
    there: BTreeMap<(u32, u32), f32>,
    wanted: BTreeMap<(u32, u32), f32>,
}

impl Links {
    fn want(&mut self, object: u32, node: u32, weight: f32) {
        let own = self.wanted.entry((object, node)).or_insert(weight);
        *own = own.max(weight);
    }

    /// Where nothing else is said.
    fn imply(&mut self, object: u32, node: u32) {
        if !self.there.contains_key(&(object, node)) {
            self.wanted.entry((object, node)).or_insert(1.0);
        }
    }

    /// What is not there yet, or not as heavy; and how many were not there.
    fn new_ones(&self) -> (Vec<Support>, u64) {
        let mut new = 0;
        let mut out = Vec::new();
        for ((object, node), weight) in &self.wanted {
            let there = self.there.get(&(*object, *node));
            if there.is_none_or(|there| there < weight) {
                new += u64::from(there.is_none());
                out.push(Support { object: *object, node: *node, weight: *weight });
            }
        }
        (out, new)
    }
}

impl WriteTransaction {
    /// Adds what `document` supports to the graph. Doing it again changes nothing; another patch for the same
    /// document adds to the first. All of it goes when the document goes.
    ///
    /// * `id`: of the document, which is in the file. `document`: as it was inserted; indices and spans are its.
    ///
    /// Entities are one if their normalised names and kinds are; hyperedges, if kind, label, members with their
    /// roles, and the place of their text are. A node that supports a hyperedge mentions its members that are
    /// entities. The weight of a hyperedge counts at the first node that supports it.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such document; `InvalidInput`, before anything is changed, if `document` is
    /// another, an index or span is not in it, a name is empty or above 1,000 bytes, a label, text, or value
    /// above 65,535, a hyperedge has no member, or a weight is negative or not finite; `Corrupt`; `Io`.
    pub fn put_graph(
        &mut self,
        id: DocumentId,
        document: &Document,
        patch: &GraphPatch,
    ) -> Result<GraphCounts> {
        let record = self.record(id)?;
        if record.key != document.key || record.nodes as usize != document.nodes.len() {
            return Err(Error::invalid(format!(
                "document {id} is {:?} with {} nodes, not {:?} with {}",
                record.key,
                record.nodes,
                document.key,
                document.nodes.len()
            )));
        }
        check(document, patch, self.next_node())
            .map_err(|error| error.context(format_args!("the graph of document {:?}", document.key)))?;
        let (batch, deleted, graph) = self.graph_parts();
        let open = graph.open(batch)?;
        let mut put = Put {
            batch,
            deleted,
            open,
            first: record.first_node,
            counts: GraphCounts::default(),
            mentions: Links::default(),
            supports: Links::default(),
            placed: HashMap::new(),
        };
        let parts = put.read_parts(id)?;
        // What is said of a mention comes before what a hyperedge implies.
        let mut drafted = Vec::with_capacity(patch.entities.len());
        for draft in &patch.entities {
            drafted.push(put.entity(draft)?);
        }
        for draft in &patch.hyperedges {
            put.hyperedge(draft)?;
        }
        for id in drafted {
            put.rest_on_root(id);
        }
        put.write_parts(id, parts)?;
        let counts = put.counts;
        if open.rows.len() > PENDING_ROWS {
            open.flush(batch, deleted)?;
        }
        Ok(counts)
    }
}

struct Put<'a> {
    batch: &'a Batch,
    deleted: &'a RoaringBitmap,
    open: &'a mut Open,
    /// The document's root.
    first: u32,
    counts: GraphCounts,
    mentions: Links,
    supports: Links,
    /// Hyperedges of the document whose text has a place, by what tells them apart.
    placed: HashMap<[u8; 16], u32>,
}

impl Put<'_> {
    /// Takes in what the document supports already; in how many parts.
    fn read_parts(&mut self, id: DocumentId) -> Result<u32> {
        let mut parts = 0;
        let mut edges = Vec::new();
        self.batch.scan_raw(GRAPH_DOCUMENT.table, &key::one(id.0), |key, value| {
            let part: DocumentPart = codec::open(&GRAPH_DOCUMENT, key, value)?;
            for (links, own) in [(&mut self.mentions, &part.mentions), (&mut self.supports, &part.supports)] {
                for link in own {
                    let weight = links.there.entry((link.object, link.node)).or_insert(link.weight);
                    *weight = weight.max(link.weight);
                }
            }
            edges.extend(part.supports.iter().map(|support| support.object));
            parts += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        edges.sort_unstable();
        edges.dedup();
        let names: HashMap<u32, String> = if edges.is_empty() {
            HashMap::new()
        } else {
            self.open.names.iter().map(|(name, id)| (*id, name.clone())).collect()
        };
        let name = |id: u32| names.get(&id).map(String::as_str).unwrap_or_default();
        for edge in edges {
            let key = key::one(edge);
            let record: Option<HyperedgeRecord> =
                self.batch.get(&HYPEREDGE, &key, |p| codec::decode(&HYPEREDGE, &key, p))?;
            if let Some(record) = record.filter(|record| record.place.is_some()) {
                let members = record.members.iter().map(|m| (name(m.role), m.is_node, m.target));
                let key = hyperedge_key(name(record.kind), &record.label, record.place, members);
                self.placed.insert(key, edge);
            }
        }
        Ok(parts)
    }

    /// An entity that nothing else mentions is mentioned by the root.
    fn rest_on_root(&mut self, id: u32) {
        let is_there =
            |links: &BTreeMap<(u32, u32), f32>| links.range((id, 0)..=(id, u32::MAX)).next().is_some();
        if !is_there(&self.mentions.wanted) && !is_there(&self.mentions.there) {
            self.mentions.want(id, self.first, 1.0);
        }
    }

    fn entity(&mut self, draft: &EntityDraft) -> Result<u32> {
        let (name, kind) = (normalise(&draft.name), normalise_or(&draft.kind, UNKNOWN));
        let (id, is_new) = self.open.entity(self.batch, &name, &kind)?;
        self.counts.new_entities += u64::from(is_new);
        for (node, weight) in &draft.mentions {
            self.mentions.want(id, self.first + node, *weight);
        }
        let aliases = draft.aliases.iter().map(|alias| (String::new(), normalise(alias)));
        let aliases = aliases.filter(|(_, alias)| !alias.is_empty() && *alias != name);
        let values = draft
            .attributes
            .iter()
            .flat_map(|(key, values)| values.iter().map(|value| (normalise(key), value.trim().to_owned())));
        let values = values.filter(|(key, value)| !key.is_empty() && !value.is_empty());
        let root = self.first;
        let facts: Vec<Fact> = aliases.chain(values).map(|(key, value)| Fact { key, value, root }).collect();
        if facts.is_empty() {
            return Ok(id);
        }
        let key = key::one(id);
        let record: Option<EntityRecord> =
            self.batch.get(&ENTITY, &key, |p| codec::decode(&ENTITY, &key, p))?;
        let mut record = record.unwrap_or(EntityRecord { name, kind, facts: Vec::new() });
        let before = record.facts.clone();
        record.facts.retain(|fact| !self.deleted.contains(fact.root));
        record.facts.extend(facts);
        record.facts.sort();
        record.facts.dedup();
        if record.facts != before {
            put_entity(self.batch, id, &record)?;
        }
        Ok(id)
    }

    fn hyperedge(&mut self, draft: &HyperedgeDraft) -> Result<()> {
        let (kind, label) = (normalise_or(&draft.kind, RELATION), normalise(&draft.label));
        let first = self.first;
        let mut members = Vec::with_capacity(draft.members.len());
        let mut roles = Vec::with_capacity(draft.members.len());
        for member in &draft.members {
            let role = normalise(&member.role);
            let (is_node, target) = match &member.target {
                Target::Node(index) => (true, first + index),
                Target::Place(node) => (true, node.0),
                Target::Entity(name, kind) => {
                    let kind = normalise_or(kind, UNKNOWN);
                    let (id, is_new) = self.open.entity(self.batch, &normalise(name), &kind)?;
                    self.counts.new_entities += u64::from(is_new);
                    (false, id)
                }
            };
            members.push(MemberRecord { role: self.open.name(self.batch, &role)?, is_node, target });
            roles.push(role);
        }
        let (text, place) = match &draft.text {
            EdgeText::None => (None, None),
            EdgeText::Own(text) => (Some(text.clone()).filter(|text| !text.is_empty()), None),
            EdgeText::Span { node, start, end } => (None, Some((first + node, *start, *end))),
        };
        let named = roles.iter().zip(&members).map(|(role, m)| (role.as_str(), m.is_node, m.target));
        let own_key = hyperedge_key(&kind, &label, place, named);
        let kind = self.open.name(self.batch, &kind)?;
        let known = match place {
            Some(_) => self.placed.get(&own_key).copied(),
            None => {
                self.batch.get(&HYPEREDGE_KEY, &own_key, |p| codec::decode(&HYPEREDGE_KEY, &own_key, p))?
            }
        };
        let id = if let Some(id) = known {
            id
        } else {
            let id = take(&mut self.open.counters.next_hyperedge, "hyperedges")?;
            let key = key::one(id);
            let record = HyperedgeRecord { kind, label, text, place, members: members.clone() };
            self.batch.put_value(&HYPEREDGE, &key, &codec::seal(&HYPEREDGE, &key, &record)?)?;
            if place.is_some() {
                self.placed.insert(own_key, id);
            } else {
                let sealed = codec::seal(&HYPEREDGE_KEY, &own_key, &id)?;
                self.batch.put_value(&HYPEREDGE_KEY, &own_key, &sealed)?;
            }
            self.counts.new_hyperedges += 1;
            id
        };
        let mut support = draft.support.clone();
        if support.is_empty() {
            support.push(0);
        }
        let entities: Vec<u32> = members.iter().filter(|m| !m.is_node).map(|m| m.target).collect();
        for (at, node) in support.iter().enumerate() {
            let node = first + node;
            self.supports.want(id, node, if at == 0 { draft.weight } else { 0.0 });
            for entity in &entities {
                self.mentions.imply(*entity, node);
            }
        }
        self.open.rows.add_edge(id, kind, &members);
        Ok(())
    }

    /// Stores what is new of the document's supports, as parts from number `part` on.
    fn write_parts(&mut self, id: DocumentId, mut part: u32) -> Result<()> {
        let (mentions, new_mentions) = self.mentions.new_ones();
        let (supports, new_supports) = self.supports.new_ones();
        self.counts.new_mentions = new_mentions;
        self.counts.new_supports = new_supports;
        for mention in &mentions {
            self.open.rows.add_mention(*mention);
        }
        for support in &supports {
            self.open.rows.add_support(*support);
        }
        let mentions = mentions.chunks(DOCUMENT_PART_ENTRIES).map(|own| (own.to_vec(), Vec::new()));
        let supports = supports.chunks(DOCUMENT_PART_ENTRIES).map(|own| (Vec::new(), own.to_vec()));
        let mut parts: Vec<(Vec<Support>, Vec<Support>)> = mentions.chain(supports).collect();
        // Most documents have one part of both.
        if let [(mentions, _), (_, supports)] = parts.as_mut_slice()
            && mentions.len() + supports.len() <= DOCUMENT_PART_ENTRIES
        {
            parts = vec![(std::mem::take(mentions), std::mem::take(supports))];
        }
        for (mentions, supports) in parts {
            let key = key::two(id.0, part);
            let own = DocumentPart { mentions, supports };
            self.batch.put_value(&GRAPH_DOCUMENT, &key, &codec::seal(&GRAPH_DOCUMENT, &key, &own)?)?;
            part += 1;
        }
        Ok(())
    }
}

fn normalise_or(text: &str, default: &str) -> String {
    let normal = normalise(text);
    if normal.is_empty() { default.to_owned() } else { normal }
}

/// Fails if `patch` cannot be put whole.
fn check(document: &Document, patch: &GraphPatch, next_node: u32) -> Result<()> {
    let nodes = document.nodes.len();
    let node = |index: u32| match document.nodes.get(index as usize) {
        Some(_) => Ok(()),
        None => Err(Error::invalid(format!("there is no node {index}; the document has {nodes}"))),
    };
    let weight = |weight: f32| {
        let is_sound = weight >= 0.0 && weight.is_finite();
        if is_sound {
            Ok(())
        } else {
            Err(Error::invalid(format!("a weight is {weight}; it must be finite, from 0")))
        }
    };
    let short = |text: &str| within(text, MAX_NAME_BYTES);
    let named = |name: &str, kind: &str| {
        if normalise(name).is_empty() {
            return Err(Error::invalid("an entity has no name"));
        }
        short(name).and_then(|()| short(kind))
    };
    for entity in &patch.entities {
        named(&entity.name, &entity.kind)?;
        entity.aliases.iter().try_for_each(|alias| short(alias))?;
        for (key, values) in &entity.attributes {
            within(key, MAX_TEXT_BYTES)?;
            values.iter().try_for_each(|value| within(value, MAX_TEXT_BYTES))?;
        }
        for (index, own) in &entity.mentions {
            node(*index).and_then(|()| weight(*own))?;
        }
    }
    for edge in &patch.hyperedges {
        short(&edge.kind).and_then(|()| within(&edge.label, MAX_TEXT_BYTES))?;
        weight(edge.weight)?;
        if edge.members.is_empty() {
            return Err(Error::invalid(format!("hyperedge {:?} has no member", edge.label)));
        }
        edge.support.iter().try_for_each(|index| node(*index))?;
        for member in &edge.members {
            short(&member.role)?;
            match &member.target {
                Target::Entity(name, kind) => named(name, kind)?,
                Target::Node(index) => node(*index)?,
                Target::Place(id) if (1..next_node).contains(&id.0) => {}
                Target::Place(id) => return Err(Error::invalid(format!("there never was a node {id}"))),
            }
        }
        match &edge.text {
            EdgeText::None => {}
            EdgeText::Own(text) => within(text, MAX_TEXT_BYTES)?,
            EdgeText::Span { node: index, start, end } => {
                node(*index)?;
                if document.text.get(*start as usize..*end as usize).is_none() {
                    return Err(Error::invalid(format!(
                        "the span {start}..{end} leaves the text of {} bytes or cuts a character",
                        document.text.len()
                    )));
                }
            }
        }
    }
    Ok(())
}

/// Fails if `text`, normalised, has over `limit` bytes.
fn within(text: &str, limit: usize) -> Result<()> {
    // Normalising makes a text longer by a factor at most, so that most need not be normalised to know.
    let len =
        if text.len() <= limit / 20 { text.len() } else { normalise(text).len().max(text.trim().len()) };
    if len <= limit {
        return Ok(());
    }
    let start: String = text.chars().take(40).collect();
    Err(Error::invalid(format!("{start:?}... has {len} bytes, over {limit}")))
}
