//! What is around some objects, within bounds.

use std::collections::HashSet;

use super::view::Graph;
use super::view::Object;
use super::view::index;
use crate::ids::HyperedgeId;

/// A bounded expansion: from anchors along hyperedges to their members, hop by hop.
///
/// Bounds hold before anything is followed, not after. From each anchor and each object reached, at most
/// `per_anchor` hyperedges are followed, the heaviest first, ties by id. Each hyperedge is followed once and each
/// object reached once, so that a cycle ends; an object is reached by the fewest hops.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Expand {
    /// Most hyperedges between an anchor and what is reached; from 0.
    pub hops: usize,
    /// Kinds of the hyperedges that are followed, those named first followed first; `None` for all, by weight
    /// alone.
    pub kinds: Option<Vec<String>>,
    /// Most hyperedges followed from one object.
    pub per_anchor: usize,
    /// Most objects reached.
    pub total: usize,
    /// Most hyperedges and members looked at: what the expansion may cost.
    pub visits: usize,
}

impl Default for Expand {
    fn default() -> Self {
        Self { hops: 2, kinds: None, per_anchor: 16, total: 256, visits: 10_000 }
    }
}

/// An object that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Reached {
    /// An entity or a node.
    pub object: Object,
    /// Hyperedges between an anchor and it.
    pub hops: usize,
    /// The hyperedge that led to it.
    pub via: HyperedgeId,
    /// The object it was reached from: an anchor, or one reached before.
    pub from: Object,
    /// The anchor it all began with.
    pub anchor: Object,
}

/// What is around some anchors.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Expansion {
    /// In the order they were reached.
    pub reached: Vec<Reached>,
    /// Hyperedges followed, in that order; each reaches something new or joins what was reached already.
    pub followed: Vec<HyperedgeId>,
    /// Anchors that are not in the graph.
    pub unknown: Vec<Object>,
    /// Hyperedges and members looked at.
    pub visits: usize,
    /// Whether a bound other than `hops` left something out.
    pub cut: bool,
}

impl Expand {
    /// What is around `anchors`: entities, nodes or hyperedges. An anchor is never reached itself; one named twice
    /// counts once.
    ///
    /// # Complexity
    ///
    /// O(visits), whatever the degrees.
    #[must_use]
    pub fn run(&self, graph: &Graph, anchors: &[Object]) -> Expansion {
        let mut run = Run {
            graph,
            bounds: self,
            kinds: self
                .kinds
                .as_ref()
                .map(|kinds| kinds.iter().filter_map(|kind| graph.kind_id(kind)).collect()),
            out: Expansion::default(),
            met: HashSet::new(),
            followed: HashSet::new(),
        };
        let vertices = graph.vertex_count();
        let mut open = Vec::new();
        for anchor in anchors {
            match graph.index_of(*anchor) {
                None => run.out.unknown.push(*anchor),
                Some(at) => {
                    if run.met.insert(index(at)) {
                        open.push((index(at), *anchor));
                    }
                }
            }
        }
        for hop in 1..=self.hops {
            let mut next = Vec::new();
            for (at, anchor) in std::mem::take(&mut open) {
                if (at as usize) < vertices {
                    run.from(at, anchor, hop, &mut next);
                } else if run.followed.insert(at - index(vertices)) {
                    // An anchor that is a hyperedge reaches its members by itself.
                    run.follow(at, at - index(vertices), anchor, hop, &mut next);
                }
            }
            open = next;
            if open.is_empty() {
                break;
            }
        }
        run.out
    }
}

struct Run<'a> {
    graph: &'a Graph,
    bounds: &'a Expand,
    /// Name ids of kinds, those that are followed first before others.
    kinds: Option<Vec<u32>>,
    out: Expansion,
    /// Indices of anchors and of what was reached.
    met: HashSet<u32>,
    followed: HashSet<u32>,
}

impl Run<'_> {
    /// Whether one more may be looked at.
    fn visit(&mut self) -> bool {
        if self.out.visits >= self.bounds.visits {
            self.out.cut = true;
            return false;
        }
        self.out.visits += 1;
        true
    }

    /// Follows the hyperedges of the object at `at`.
    fn from(&mut self, at: u32, anchor: Object, hop: usize, next: &mut Vec<(u32, Object)>) {
        let graph = self.graph;
        let mut left = self.bounds.per_anchor;
        // One pass for each kind, or one for all.
        let passes = self.kinds.as_ref().map_or(1, Vec::len);
        for pass in 0..passes {
            let kind = self.kinds.as_ref().and_then(|kinds| kinds.get(pass).copied());
            for edge in graph.incident.row(at as usize) {
                if !self.visit() {
                    return;
                }
                if kind.is_some_and(|kind| kind != graph.kinds[*edge as usize])
                    || self.followed.contains(edge)
                {
                    continue;
                }
                if left == 0 || self.out.reached.len() >= self.bounds.total {
                    self.out.cut = true;
                    return;
                }
                left -= 1;
                self.followed.insert(*edge);
                self.follow(at, *edge, anchor, hop, next);
            }
        }
    }

    /// Reaches the members of a hyperedge.
    fn follow(&mut self, from: u32, edge: u32, anchor: Object, hop: usize, next: &mut Vec<(u32, Object)>) {
        let graph = self.graph;
        let via = graph.edge_id(edge);
        self.out.followed.push(via);
        for member in graph.distinct.row(edge as usize) {
            if !self.visit() {
                return;
            }
            if self.met.contains(member) {
                continue;
            }
            if self.out.reached.len() >= self.bounds.total {
                self.out.cut = true;
                return;
            }
            self.met.insert(*member);
            let (object, from) = (graph.object_at(*member as usize), graph.object_at(from as usize));
            self.out.reached.push(Reached { object, hops: hop, via, from, anchor });
            next.push((*member, anchor));
        }
    }
}
