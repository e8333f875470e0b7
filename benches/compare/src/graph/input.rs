//! The graph, the seeds, and what is right by plain means.

use serde::{Deserialize, Serialize};

/// Chance to go on.
pub const DAMPING: f64 = 0.85;
/// Objects of a short list.
pub const TOP: usize = 20;
/// Seeds of a walk, anchors of an expansion.
pub const SEEDS: usize = 10;
/// Bounds of an expansion: edges followed from one node, nodes reached.
pub const PER_NODE: usize = 16;
pub const REACHED: usize = 256;

/// How uneven degrees are: node `i` has edges by `(i + 1)^-0.7`, so that degrees fall as `d^-2.4`.
const UNEVEN: f64 = 0.7;

/// An undirected graph without loops or double edges, and sets of seeds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Input {
    pub nodes: u32,
    pub edges: Vec<(u32, u32)>,
    pub queries: Vec<Vec<u32>>,
}

impl Input {
    /// The same for the same seed.
    pub fn make(nodes: u32, edges: usize, queries: usize, seed: u64) -> Self {
        let mut random = oorandom::Rand64::new((u128::from(seed) << 64) | 1);
        let mut seen = std::collections::HashSet::new();
        let mut list = Vec::with_capacity(edges);
        // Numbers are mixed, so that a low one says nothing about the degree.
        let mixed = |rank: u64| u32::try_from(rank * 7_919 % u64::from(nodes)).unwrap_or(0);
        let mut end = || {
            #[expect(clippy::cast_possible_truncation, reason = "a share of a 32-bit number")]
            #[expect(clippy::cast_sign_loss, reason = "a share is not negative")]
            let rank = (f64::from(nodes) * random.rand_float().powf(1.0 / (1.0 - UNEVEN))) as u64;
            mixed(rank.min(u64::from(nodes) - 1))
        };
        // A graph that is too small for so many edges gets fewer.
        for _ in 0..edges.saturating_mul(20) {
            if list.len() == edges {
                break;
            }
            let (a, b) = (end(), end());
            let edge = (a.min(b), a.max(b));
            if a != b && seen.insert(edge) {
                list.push(edge);
            }
        }
        let mut queries_of = oorandom::Rand64::new((u128::from(seed) << 64) | 2);
        let ends = list.len() as u64;
        let queries = (0..queries)
            .map(|_| {
                let mut seeds: Vec<u32> = Vec::new();
                while seeds.len() < SEEDS && ends > 0 {
                    let at = usize::try_from(queries_of.rand_range(0..ends)).unwrap_or(0);
                    // One end of an edge, so that it leads somewhere; twice the same does no harm to end the loop.
                    let node = list.get(at).map_or(0, |edge| edge.0);
                    if !seeds.contains(&node) || ends < 100 {
                        seeds.push(node);
                    }
                }
                seeds
            })
            .collect();
        Self { nodes, edges: list, queries }
    }

    pub fn neighbours(&self) -> Vec<Vec<u32>> {
        let mut lists = vec![Vec::new(); self.nodes as usize];
        for (a, b) in &self.edges {
            for (from, to) in [(a, b), (b, a)] {
                if let Some(list) = lists.get_mut(*from as usize) {
                    list.push(*to);
                }
            }
        }
        lists
    }
}

/// Ranks of all nodes by plain power iteration, all together off by less than 1e-11.
#[expect(clippy::cast_precision_loss, reason = "degrees are far below 2^53")]
pub fn ranks(neighbours: &[Vec<u32>], seeds: &[u32]) -> Vec<f64> {
    let share = 1.0 / seeds.len().max(1) as f64;
    let mut start = vec![0.0; neighbours.len()];
    for seed in seeds {
        if let Some(slot) = start.get_mut(*seed as usize) {
            *slot += share;
        }
    }
    let mut now = start.clone();
    for _ in 0..200 {
        let mut next: Vec<f64> = start.iter().map(|mass| (1.0 - DAMPING) * mass).collect();
        for (list, mass) in neighbours.iter().zip(&now) {
            let part = DAMPING * mass / list.len().max(1) as f64;
            for to in list {
                if let Some(slot) = next.get_mut(*to as usize) {
                    *slot += part;
                }
            }
        }
        let moved: f64 = next.iter().zip(&now).map(|(a, b)| (a - b).abs()).sum();
        now = next;
        if moved < 1e-12 {
            break;
        }
    }
    now
}

/// Hops from any of `anchors` to each node, up to 2; 3 for those beyond.
pub fn hops(neighbours: &[Vec<u32>], anchors: &[u32]) -> Vec<u8> {
    let mut hops = vec![3_u8; neighbours.len()];
    let mut open: Vec<u32> = anchors.to_vec();
    for hop in 0..=2 {
        let mut next = Vec::new();
        for node in open {
            let Some(slot) = hops.get_mut(node as usize).filter(|slot| **slot == 3) else { continue };
            *slot = hop;
            next.extend(neighbours.get(node as usize).into_iter().flatten());
        }
        open = next;
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_the_same_for_a_seed_and_uneven() {
        let one = Input::make(1_000, 1_500, 5, 7);
        let again = Input::make(1_000, 1_500, 5, 7);

        assert_eq!((&one.edges, &one.queries), (&again.edges, &again.queries));
        assert_eq!((one.edges.len(), one.queries.len()), (1_500, 5));
        assert!(one.queries.iter().all(|seeds| seeds.len() == SEEDS));
        let mut degrees: Vec<usize> = one.neighbours().iter().map(Vec::len).collect();
        degrees.sort_unstable();
        assert!(degrees[999] > 50 && degrees[500] < 5, "{} {}", degrees[999], degrees[500]);
    }

    /// A path 0 - 1 - 2 - 3 from 0: 1 gets .85 of 0, and so on; ranks sum to 1.
    #[test]
    fn ranks_and_hops_of_a_path() {
        let lists = vec![vec![1], vec![0, 2], vec![1, 3], vec![2]];

        let ranks = ranks(&lists, &[0]);

        assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-10);
        assert!((ranks[0] - (0.15 + 0.85 * ranks[1] / 2.0)).abs() < 1e-10);
        assert_eq!(hops(&lists, &[0]), [0, 1, 2, 3]);
    }
}
