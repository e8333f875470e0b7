//! The graph as a random walk sees it.

use super::view::Csr;
use super::view::Graph;
use super::view::index;

/// Members up to which every pair of a hyperedge's members is an arc of its own; above, it is a hub.
const MOST_PAIRED: usize = 16;
/// Vertices of the greatest degree that are known by name.
const GREATEST: usize = 256;

/// What a walk walks on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WalkOn {
    /// From a member to a hyperedge, chosen by weight, and from it to any of its members, itself included.
    #[default]
    Incidence,
    /// From a member to another member of a hyperedge, which is chosen by weight. A hyperedge of one member leads
    /// nowhere.
    Members,
}

/// A symmetric weighted graph: what goes from `u` to `v` goes from `v` to `u`.
#[derive(Debug)]
pub(super) struct Walk {
    pub arcs: Csr<(u32, f32)>,
    /// Vertex -> hubs.
    pub hubs: Csr<u32>,
    /// Hub -> its members.
    pub hub_members: Csr<u32>,
    /// Weight of each arc of a hub.
    pub hub_weights: Vec<f32>,
    /// Sum of the weights of the arcs of each vertex.
    pub degrees: Vec<f64>,
    /// The vertices of the greatest degrees, these first.
    pub greatest: Vec<u32>,
}

impl Walk {
    /// * `kinds`: name ids of the hyperedges that count; `None` for all.
    /// * `mention_weight`: weight of an arc between an entity and a node that mentions it, times that of the
    ///   mention; 0 for no such arcs.
    pub(super) fn new(graph: &Graph, on: WalkOn, kinds: Option<&[u32]>, mention_weight: f32) -> Self {
        let vertices = graph.vertex_count();
        let counts = |edge: usize| {
            let kind = kinds.is_none_or(|kinds| kinds.contains(&graph.kinds[edge]));
            kind && graph.weights[edge] > 0.0 && graph.weights[edge].is_finite()
        };
        let chosen: Vec<u32> = (0..index(graph.edges.len())).filter(|edge| counts(*edge as usize)).collect();
        let members = |edge: u32| graph.distinct.row(edge as usize);
        let is_hub = |edge: &u32| on == WalkOn::Members && members(*edge).len() > MOST_PAIRED;
        let (hub_edges, paired): (Vec<u32>, Vec<u32>) = chosen.into_iter().partition(is_hub);
        let size = match on {
            WalkOn::Incidence => vertices + graph.edges.len(),
            WalkOn::Members => vertices,
        };
        let share = |edge: u32| {
            let others = members(edge).len().saturating_sub(1);
            graph.weights[edge as usize] / as_f32(others.max(1))
        };
        let arcs = Csr::visit(size, |arc: &mut dyn FnMut(u32, (u32, f32))| {
            for edge in &paired {
                let own = members(*edge);
                if on == WalkOn::Incidence {
                    let (hyperedge, weight) = (index(vertices) + *edge, graph.weights[*edge as usize]);
                    for vertex in own {
                        arc(*vertex, (hyperedge, weight));
                        arc(hyperedge, (*vertex, weight));
                    }
                    continue;
                }
                let weight = share(*edge);
                for (at, vertex) in own.iter().enumerate() {
                    let others = own[..at].iter().chain(&own[at + 1..]);
                    others.for_each(|other| arc(*vertex, (*other, weight)));
                }
            }
            mention_arcs(graph, mention_weight, arc);
        });
        let hub_pairs = || {
            (0..index(hub_edges.len()))
                .flat_map(|h| members(hub_edges[h as usize]).iter().map(move |v| (h, *v)))
        };
        let hub_members = Csr::gather(hub_edges.len(), hub_pairs);
        let hubs = Csr::gather(size, || hub_pairs().map(|(hub, vertex)| (vertex, hub)));
        let hub_weights: Vec<f32> = hub_edges.iter().map(|edge| share(*edge)).collect();
        let degree = |vertex: usize| {
            let arcs = Csr::row(&arcs, vertex).iter().map(|(_, weight)| f64::from(*weight)).sum::<f64>();
            let of_hub = |hub: &u32| {
                let others = Csr::row(&hub_members, *hub as usize).len() - 1;
                f64::from(hub_weights[*hub as usize]) * f64::from(index(others))
            };
            arcs + Csr::row(&hubs, vertex).iter().map(of_hub).sum::<f64>()
        };
        let degrees: Vec<f64> = (0..size).map(degree).collect();
        let mut greatest: Vec<u32> = (0..index(size)).collect();
        let order = |a: &u32, b: &u32| degrees[*b as usize].total_cmp(&degrees[*a as usize]).then(a.cmp(b));
        if greatest.len() > GREATEST {
            greatest.select_nth_unstable_by(GREATEST, order);
            greatest.truncate(GREATEST);
        }
        greatest.sort_by(order);
        Self { arcs, hubs, hub_members, hub_weights, degrees, greatest }
    }

    pub(super) fn len(&self) -> usize {
        self.degrees.len()
    }
}

fn mention_arcs(graph: &Graph, weight: f32, arc: &mut dyn FnMut(u32, (u32, f32))) {
    let entities = if weight > 0.0 { graph.entities.len() } else { 0 };
    for entity in 0..index(entities) {
        for link in graph.mentions.row(entity as usize).iter().filter(|link| link.weight > 0.0) {
            let at = graph.nodes.binary_search(&link.node).unwrap_or_default();
            let node = index(graph.entities.len() + at);
            let weight = weight * link.weight;
            arc(entity, (node, weight));
            arc(node, (entity, weight));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of members; its nearest f32 serves")]
fn as_f32(count: usize) -> f32 {
    count as f32
}

/// What a push has at a vertex.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    /// What has come to stay.
    pub settled: f64,
    /// What is still to be pushed.
    pub residual: f64,
    pub queued: bool,
    /// Whether it is not clean.
    pub touched: bool,
}

/// Memory of one walk, clean between walks: nothing is allocated for a vertex that is met.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(super) cells: Vec<Cell>,
    /// Vertices whose cell is not clean.
    pub(super) touched: Vec<u32>,
    pub(super) queue: std::collections::VecDeque<u32>,
}

impl Workspace {
    /// A workspace for `len` vertices, one that was used before if there is one.
    pub(super) fn take(graph: &Graph, len: usize) -> Self {
        let mut workspace = graph.spare.lock().pop().unwrap_or_default();
        if workspace.cells.len() < len {
            workspace.cells = vec![Cell::default(); len];
        }
        workspace
    }

    /// Adds `mass` to what is to be pushed at `vertex`.
    pub(super) fn add(&mut self, vertex: u32, mass: f64) -> &mut Cell {
        let cell = &mut self.cells[vertex as usize];
        if !cell.touched {
            cell.touched = true;
            self.touched.push(vertex);
        }
        cell.residual += mass;
        cell
    }

    /// Gives the memory back, clean.
    pub(super) fn give_back(mut self, graph: &Graph) {
        for vertex in self.touched.drain(..) {
            self.cells[vertex as usize] = Cell::default();
        }
        self.queue.clear();
        let mut spare = graph.spare.lock();
        if spare.len() < 8 {
            spare.push(self);
        }
    }
}
