//! The live graph of a state in memory: compressed rows both ways.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::segment::GraphSegment;
use super::segment::Link;
use super::walk::Walk;
use super::walk::WalkOn;
use super::walk::Workspace;
use crate::error::Result;
use crate::format::graph::GRAPH_PART;
use crate::format::graph::MemberRecord;
use crate::ids::EntityId;
use crate::ids::HyperedgeId;
use crate::ids::NodeId;

/// Rows of different lengths, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Csr<T> {
    ends: Vec<u32>,
    items: Vec<T>,
}

impl<T> Csr<T> {
    pub(super) fn row(&self, at: usize) -> &[T] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.items[start..self.ends[at] as usize]
    }
}

impl<T: Copy + Default> Csr<T> {
    /// `rows` rows of the pairs that `pairs` gives, twice the same; a row keeps their order.
    pub(super) fn gather<I: Iterator<Item = (u32, T)>>(rows: usize, pairs: impl Fn() -> I) -> Self {
        Self::visit(rows, |add: &mut dyn FnMut(u32, T)| pairs().for_each(|(row, item)| add(row, item)))
    }

    /// As [`gather`](Self::gather), with pairs that are handed over.
    pub(super) fn visit(rows: usize, pairs: impl Fn(&mut dyn FnMut(u32, T))) -> Self {
        let mut ends = vec![0_u32; rows];
        pairs(&mut |row, _| ends[row as usize] += 1);
        let mut total = 0;
        for end in &mut ends {
            // The place where the row begins, which filling moves to its end.
            total += std::mem::replace(end, total);
        }
        let mut items = vec![T::default(); total as usize];
        pairs(&mut |row, item| {
            let at = &mut ends[row as usize];
            items[*at as usize] = item;
            *at += 1;
        });
        Self { ends, items }
    }
}

/// Anything the graph is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Object {
    /// An entity.
    Entity(EntityId),
    /// A node of a document.
    Node(NodeId),
    /// A hyperedge.
    Hyperedge(HyperedgeId),
}

/// A member of a hyperedge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Member<'a> {
    /// What it does there; may be empty.
    pub role: &'a str,
    /// The entity or node.
    pub object: Object,
}

/// The live entities and hyperedges of one state, and what supports them.
///
/// Objects have indices, for algorithms: entities first, then nodes, then hyperedges, each by ascending id.
pub struct Graph {
    names: BTreeMap<u32, String>,
    pub(super) entities: Vec<u32>,
    pub(super) nodes: Vec<u32>,
    pub(super) edges: Vec<u32>,
    pub(super) kinds: Vec<u32>,
    /// Sum of the weights of its supports, of each hyperedge.
    pub(super) weights: Vec<f32>,
    /// Hyperedge -> members, in their order.
    members: Csr<MemberRecord>,
    /// Hyperedge -> indices of its members, ascending, each once.
    pub(super) distinct: Csr<u32>,
    /// Entity or node -> hyperedges it is a member of, the heaviest first, then by id.
    pub(super) incident: Csr<u32>,
    /// Memberships of each entity or node; twice in a hyperedge counts twice.
    degrees: Vec<u32>,
    /// Hyperedge -> nodes.
    supports: Csr<Link>,
    /// Entity -> nodes.
    pub(super) mentions: Csr<Link>,
    /// Node -> hyperedges it supports, by id.
    supported: Csr<u32>,
    /// Node -> entities it mentions, by id.
    mentioned: Csr<u32>,
    /// Memory of walks that have ended.
    pub(super) spare: Mutex<Vec<Workspace>>,
    /// What walks were made on last.
    walks: Mutex<Vec<(WalkKey, Arc<Walk>)>>,
}

/// On what, along which kinds, and the bits of the weight of mentions.
type WalkKey = (WalkOn, Option<Vec<u32>>, u32);

/// Walks kept for the next one.
const KEPT_WALKS: usize = 4;

impl Graph {
    /// The graph of all rows of a state.
    ///
    /// * `names`: kinds and roles by their ids.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a hyperedge has an entity as a member that nothing mentions.
    pub fn new(rows: &GraphSegment, names: BTreeMap<u32, String>) -> Result<Self> {
        let entities: Vec<u32> = rows.entities().collect();
        let edges: Vec<u32> = rows.hyperedges().collect();
        let links = rows.supports.iter().chain(&rows.mentions).map(|link| link.node);
        let places = rows.members.iter().filter(|member| member.is_node).map(|member| member.target);
        let mut nodes: Vec<u32> = links.chain(places).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let (entity_at, node_at) = (Lookup::new(&entities), Lookup::new(&nodes));
        let first_node = entities.len();
        let mut vertices = Vec::with_capacity(rows.members.len());
        for member in &rows.members {
            let at = if member.is_node { node_at.find(member.target) } else { entity_at.find(member.target) };
            let at = at.ok_or_else(|| {
                let why =
                    format!("entity {} is a member of a hyperedge and nothing mentions it", member.target);
                GRAPH_PART.malformed(b"*", "target", 0, why)
            })?;
            vertices.push(if member.is_node { at + index(first_node) } else { at });
        }
        let member_ends = || rows.edges.iter().map(|edge| edge.member_end);
        let support_ends = || rows.edges.iter().map(|edge| edge.support_end);
        let mention_ends = || rows.entities.iter().map(|(_, end)| *end);
        let supports = Csr { ends: support_ends().collect(), items: rows.supports.clone() };
        let weights: Vec<f32> =
            (0..edges.len()).map(|edge| supports.row(edge).iter().map(|link| link.weight).sum()).collect();
        let mut distinct = Csr { ends: Vec::with_capacity(edges.len()), items: Vec::new() };
        let mut start = 0;
        for end in member_ends() {
            let mut own = vertices[start..end as usize].to_vec();
            own.sort_unstable();
            own.dedup();
            distinct.items.extend(own);
            distinct.ends.push(index(distinct.items.len()));
            start = end as usize;
        }
        let vertex_count = entities.len() + nodes.len();
        let pairs =
            || (0..index(edges.len())).flat_map(|e| distinct.row(e as usize).iter().map(move |v| (*v, e)));
        let mut incident: Csr<u32> = Csr::gather(vertex_count, pairs);
        for at in 0..vertex_count {
            let start = at.checked_sub(1).map_or(0, |before| incident.ends[before] as usize);
            let own = &mut incident.items[start..incident.ends[at] as usize];
            let heavier = |a: &u32, b: &u32| weights[*b as usize].total_cmp(&weights[*a as usize]);
            if !own.is_sorted_by(|a, b| heavier(a, b).is_le()) {
                own.sort_by(heavier);
            }
        }
        let mut degrees = vec![0; vertex_count];
        for vertex in &vertices {
            degrees[*vertex as usize] += 1;
        }
        let by_node = |ends: &dyn Fn() -> Vec<u32>, links: &[Link]| {
            let ends = ends();
            Csr::gather(nodes.len(), || owners(&ends, links, &node_at))
        };
        let supported = by_node(&|| support_ends().collect(), &rows.supports);
        let mentioned = by_node(&|| mention_ends().collect(), &rows.mentions);
        let mentions = Csr { ends: mention_ends().collect(), items: rows.mentions.clone() };
        let members = Csr { ends: member_ends().collect(), items: rows.members.clone() };
        let kinds = rows.edges.iter().map(|edge| edge.kind).collect();
        let (spare, walks) = Default::default();
        Ok(Self {
            names,
            entities,
            nodes,
            edges,
            kinds,
            weights,
            members,
            distinct,
            incident,
            degrees,
            supports,
            mentions,
            supported,
            mentioned,
            spare,
            walks,
        })
    }

    /// How many entities there are.
    #[must_use]
    pub fn entity_count(&self) -> usize {
        self.entities.len()
    }

    /// How many hyperedges there are.
    #[must_use]
    pub fn hyperedge_count(&self) -> usize {
        self.edges.len()
    }

    /// How many objects there are: entities, nodes that are members or support something, hyperedges.
    #[must_use]
    pub fn object_count(&self) -> usize {
        self.entities.len() + self.nodes.len() + self.edges.len()
    }

    /// How many supports of hyperedges, and how many mentions of entities there are.
    #[must_use]
    pub fn link_counts(&self) -> (usize, usize) {
        (self.supports.items.len(), self.mentions.items.len())
    }

    /// The entities, ascending.
    pub fn entities(&self) -> impl ExactSizeIterator<Item = EntityId> {
        self.entities.iter().copied().map(EntityId)
    }

    /// The hyperedges, ascending.
    pub fn hyperedges(&self) -> impl ExactSizeIterator<Item = HyperedgeId> {
        self.edges.iter().copied().map(HyperedgeId)
    }

    /// Index of `object`; `None` if it is not in the graph.
    #[must_use]
    pub fn index_of(&self, object: Object) -> Option<usize> {
        let (list, id, before) = match object {
            Object::Entity(id) => (&self.entities, id.0, 0),
            Object::Node(id) => (&self.nodes, id.0, self.entities.len()),
            Object::Hyperedge(id) => (&self.edges, id.0, self.entities.len() + self.nodes.len()),
        };
        list.binary_search(&id).ok().map(|at| at + before)
    }

    /// The object of an index below [`object_count`](Self::object_count).
    ///
    /// # Panics
    ///
    /// If it is not below.
    #[must_use]
    pub fn object_at(&self, index: usize) -> Object {
        if let Some(id) = self.entities.get(index) {
            return Object::Entity(EntityId(*id));
        }
        let index = index - self.entities.len();
        match self.nodes.get(index) {
            Some(id) => Object::Node(NodeId(*id)),
            None => Object::Hyperedge(HyperedgeId(self.edges[index - self.nodes.len()])),
        }
    }

    /// The walk of these settings, made once.
    pub(super) fn walk(&self, on: WalkOn, kinds: Option<Vec<u32>>, mention_weight: f32) -> Arc<Walk> {
        let key = (on, kinds, mention_weight.to_bits());
        let mut kept = self.walks.lock();
        if let Some((_, walk)) = kept.iter().find(|(other, _)| *other == key) {
            return Arc::clone(walk);
        }
        let walk = Arc::new(Walk::new(self, on, key.1.as_deref(), mention_weight));
        if kept.len() >= KEPT_WALKS {
            kept.remove(0);
        }
        kept.push((key, Arc::clone(&walk)));
        walk
    }

    pub(super) fn vertex_count(&self) -> usize {
        self.entities.len() + self.nodes.len()
    }

    pub(super) fn edge_at(&self, edge: HyperedgeId) -> Option<usize> {
        self.edges.binary_search(&edge.0).ok()
    }

    pub(super) fn edge_id(&self, at: u32) -> HyperedgeId {
        HyperedgeId(self.edges[at as usize])
    }

    /// Kind of a hyperedge; `None` if it is not in the graph.
    #[must_use]
    pub fn kind(&self, edge: HyperedgeId) -> Option<&str> {
        self.name(*self.kinds.get(self.edge_at(edge)?)?)
    }

    /// The name of an id.
    fn name(&self, id: u32) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// Id of a kind; `None` if the file does not know it.
    pub(super) fn kind_id(&self, kind: &str) -> Option<u32> {
        self.names.iter().find(|(_, name)| *name == kind).map(|(id, _)| *id)
    }

    /// Ids of kinds by their names, ascending; names that the file does not know are left out.
    pub(super) fn kind_ids(&self, kinds: &[String]) -> Vec<u32> {
        let mut ids: Vec<u32> = kinds.iter().filter_map(|kind| self.kind_id(kind)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Weight of a hyperedge, summed over its supports; 0 if it is not in the graph.
    #[must_use]
    pub fn weight(&self, edge: HyperedgeId) -> f32 {
        self.edge_at(edge).map_or(0.0, |at| self.weights[at])
    }

    /// Members of a hyperedge, in their order.
    pub fn members(&self, edge: HyperedgeId) -> impl Iterator<Item = Member<'_>> {
        let members = self.edge_at(edge).map(|at| self.members.row(at)).unwrap_or_default();
        members.iter().map(|member| Member {
            role: self.name(member.role).unwrap_or_default(),
            object: if member.is_node {
                Object::Node(NodeId(member.target))
            } else {
                Object::Entity(EntityId(member.target))
            },
        })
    }

    /// Hyperedges that an entity or a node is a member of, the heaviest first, then by id.
    pub fn incident(&self, object: Object) -> impl ExactSizeIterator<Item = HyperedgeId> {
        let at = self.index_of(object).filter(|at| *at < self.vertex_count());
        at.map(|at| self.incident.row(at)).unwrap_or_default().iter().map(|edge| self.edge_id(*edge))
    }

    /// Nodes that support a hyperedge, ascending, each with its weight.
    pub fn supports(&self, edge: HyperedgeId) -> impl ExactSizeIterator<Item = (NodeId, f32)> {
        let links = self.edge_at(edge).map(|at| self.supports.row(at)).unwrap_or_default();
        links.iter().map(|link| (NodeId(link.node), link.weight))
    }

    /// Nodes that mention an entity, ascending, each with its weight.
    pub fn mentions(&self, entity: EntityId) -> impl ExactSizeIterator<Item = (NodeId, f32)> {
        let at = self.entities.binary_search(&entity.0);
        let links = at.map(|at| self.mentions.row(at)).unwrap_or_default();
        links.iter().map(|link| (NodeId(link.node), link.weight))
    }

    /// Hyperedges that a node supports, ascending.
    pub fn supported_by(&self, node: NodeId) -> impl ExactSizeIterator<Item = HyperedgeId> {
        let at = self.nodes.binary_search(&node.0);
        let edges = at.map(|at| self.supported.row(at)).unwrap_or_default();
        edges.iter().map(|edge| self.edge_id(*edge))
    }

    /// Entities that a node mentions, ascending.
    pub fn mentioned_by(&self, node: NodeId) -> impl ExactSizeIterator<Item = EntityId> {
        let at = self.nodes.binary_search(&node.0);
        let entities = at.map(|at| self.mentioned.row(at)).unwrap_or_default();
        entities.iter().map(|entity| EntityId(self.entities[*entity as usize]))
    }

    /// How often an entity or node is a member of a hyperedge, counted by places: twice in one counts twice.
    /// O(log n) to find it, O(1) to count.
    #[must_use]
    pub fn degree(&self, object: Object) -> u32 {
        self.index_of(object).and_then(|at| self.degrees.get(at)).copied().unwrap_or_default()
    }
}

/// Node index and owner of each link; link `i` belongs to the first owner that ends after `i`.
fn owners<'a>(
    ends: &'a [u32],
    links: &'a [Link],
    node_at: &'a Lookup<'_>,
) -> impl Iterator<Item = (u32, u32)> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    (0..index(ends.len())).zip(starts.zip(ends)).flat_map(move |(owner, (start, end))| {
        let own = &links[start as usize..*end as usize];
        own.iter().map(move |link| (node_at.find(link.node).unwrap_or_default(), owner))
    })
}

pub(super) fn index(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Places of ascending ids: a table where they are dense, else a search.
struct Lookup<'a> {
    ids: &'a [u32],
    first: u32,
    table: Vec<u32>,
}

impl<'a> Lookup<'a> {
    fn new(ids: &'a [u32]) -> Self {
        let (first, last) = (ids.first().copied().unwrap_or(0), ids.last().copied().unwrap_or(0));
        let span = (last - first) as usize + 1;
        let mut table = Vec::new();
        if span <= ids.len().saturating_mul(8) {
            table = vec![u32::MAX; span];
            for (at, id) in ids.iter().enumerate() {
                table[(id - first) as usize] = index(at);
            }
        }
        Self { ids, first, table }
    }

    fn find(&self, id: u32) -> Option<u32> {
        if self.table.is_empty() {
            return self.ids.binary_search(&id).ok().map(index);
        }
        let at = self.table.get(id.checked_sub(self.first)? as usize)?;
        (*at != u32::MAX).then_some(*at)
    }
}
