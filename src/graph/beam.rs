//! The best paths from some objects, by a score of their steps.

use std::collections::BTreeSet;

use super::view::Graph;
use super::view::Object;
use super::view::index;
use crate::error::Result;
use crate::ids::HyperedgeId;

/// A beam search over hyperedges: paths grow a hyperedge at a time, the best go on.
///
/// The score of a path is the mean of the scores of its hyperedges. A path meets no object and no hyperedge twice,
/// so that a cycle ends.
///
/// # Source
///
/// PRoH (arXiv 2510.12434), its path search with the embedding score alone.
/// Departure: a hyperedge is scored by itself, not by the members it shares with the one before; `Aggregate` is the
/// mean, which the paper leaves open.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct BeamPaths {
    /// Most hyperedges of a path; from 1.
    pub depth: usize,
    /// Paths that go on at each depth; from 1.
    pub beam: usize,
    /// Score below which a hyperedge is not followed; NaN is below all.
    pub least: f32,
    /// Most hyperedges scored from one object, the heaviest first.
    pub per_object: usize,
    /// Most paths returned.
    pub limit: usize,
}

impl Default for BeamPaths {
    fn default() -> Self {
        Self { depth: 3, beam: 4, least: 0.4, per_object: 256, limit: 16 }
    }
}

/// A path: an anchor, then hyperedges and what each leads to.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Path {
    /// Where it begins: an entity or a node.
    pub anchor: Object,
    /// The hyperedges, each with the member it leads to and its score.
    pub steps: Vec<(HyperedgeId, Object, f32)>,
    /// Mean of the steps' scores.
    pub score: f32,
}

/// A path as it grows: vertices and hyperedges by index.
struct Growing {
    vertices: Vec<u32>,
    edges: Vec<(u32, f32)>,
    sum: f32,
}

impl Growing {
    fn mean(&self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "a path is short")]
        let steps = self.edges.len().max(1) as f32;
        self.sum / steps
    }
}

impl BeamPaths {
    /// The best paths from `anchors`, of every length up to the depth, best first; ties to the shorter, then to the
    /// one of lower ids. Anchors that are not in the graph, and hyperedges as anchors, lead nowhere.
    ///
    /// * `score`: how well a hyperedge fits, such as the cosine of its vector and the question's. Asked once for each
    ///   hyperedge that is met.
    ///
    /// # Errors
    ///
    /// Whatever `score` returns.
    pub fn run(
        &self,
        graph: &Graph,
        anchors: &[Object],
        mut score: impl FnMut(HyperedgeId) -> Result<f32>,
    ) -> Result<Vec<Path>> {
        let starts: BTreeSet<u32> =
            anchors.iter().filter_map(|anchor| graph.index_of(*anchor)).map(index).collect();
        let starts = starts.into_iter().filter(|at| (*at as usize) < graph.vertex_count());
        let mut open: Vec<Growing> =
            starts.map(|at| Growing { vertices: vec![at], edges: Vec::new(), sum: 0.0 }).collect();
        let mut scores = std::collections::HashMap::new();
        let mut done: Vec<Growing> = Vec::new();
        for _ in 0..self.depth {
            let mut grown = Vec::new();
            for path in &open {
                let Some(last) = path.vertices.last() else { continue };
                for edge in graph.incident.row(*last as usize).iter().take(self.per_object) {
                    let known = scores.get(edge).copied();
                    let own = match known {
                        Some(own) => own,
                        None => *scores.entry(*edge).or_insert(score(graph.edge_id(*edge))?),
                    };
                    if own.is_nan() || own < self.least || path.edges.iter().any(|(met, _)| met == edge) {
                        continue;
                    }
                    for member in graph.distinct.row(*edge as usize).iter().take(self.per_object) {
                        if path.vertices.contains(member) {
                            continue;
                        }
                        let mut vertices = path.vertices.clone();
                        vertices.push(*member);
                        let mut edges = path.edges.clone();
                        edges.push((*edge, own));
                        grown.push(Growing { vertices, edges, sum: path.sum + own });
                    }
                }
                // The beam needs no more than its width; what is worse is forgotten as it comes.
                if grown.len() > self.beam.saturating_mul(64).max(4_096) {
                    sort(&mut grown);
                    grown.truncate(self.beam);
                }
            }
            sort(&mut grown);
            grown.truncate(self.beam);
            done.append(&mut open);
            open = grown;
            if open.is_empty() {
                break;
            }
        }
        done.append(&mut open);
        done.retain(|path| !path.edges.is_empty());
        sort(&mut done);
        done.truncate(self.limit);
        Ok(done.into_iter().map(|path| finished(graph, &path)).collect())
    }
}

/// Best first; ties to the shorter, then by ids.
fn sort(paths: &mut [Growing]) {
    paths.sort_by(|a, b| {
        let by_length = a.edges.len().cmp(&b.edges.len());
        let ids = |path: &Growing| path.edges.iter().map(|(edge, _)| *edge).collect::<Vec<_>>();
        let by_ids = || a.vertices.cmp(&b.vertices).then_with(|| ids(a).cmp(&ids(b)));
        b.mean().total_cmp(&a.mean()).then(by_length).then_with(by_ids)
    });
}

fn finished(graph: &Graph, path: &Growing) -> Path {
    let object = |at: &u32| graph.object_at(*at as usize);
    let steps = path.edges.iter().zip(path.vertices.iter().skip(1));
    let steps = steps.map(|((edge, score), vertex)| (graph.edge_id(*edge), object(vertex), *score));
    Path { anchor: object(&path.vertices[0]), steps: steps.collect(), score: path.mean() }
}
