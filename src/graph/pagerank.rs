//! Personalised PageRank: where a walk is that returns to its seeds now and then.

use std::sync::Arc;

use super::view::Graph;
use super::view::Object;
use super::walk::Walk;
use super::walk::WalkOn;
use super::walk::Workspace;
use crate::error::Error;
use crate::error::Result;

/// What a push begins with: mass left at a vertex for each unit of its degree.
const COARSE: f64 = 1e-3;
/// By what a push is refined until its result is sure.
const REFINE: f64 = 4.0;
/// What is left of a mass of 1 by rounding, and so not worth a push.
const LEAST: f64 = 1e-15;
/// Sweeps after which an iteration ends in any case.
const MOST_SWEEPS: u64 = 10_000;

/// Personalised PageRank over the hypergraph.
///
/// A walker starts at a seed, chosen by weight. At each step it goes on with probability `damping`, to a neighbour
/// chosen by weight, and else returns to a seed. The rank of an object is the share of time the walker is there;
/// ranks sum to 1. A walker that can go nowhere returns to a seed.
///
/// # Source
///
/// Andersen, Chung, Lang: Local graph partitioning using PageRank vectors, FOCS 2006, for the push. Golub, Varga:
/// Chebyshev semi-iterative methods, Numerische Mathematik 3, 1961, for the iteration: the walk is reversible, so
/// its eigenvalues are real and lie in -1 to 1.
/// Departure: what the push leaves at a vertex when it ends is counted there, so that ranks sum to 1.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct PageRank {
    /// What the walk walks on.
    pub on: WalkOn,
    /// Kinds of the hyperedges it uses; `None` for all.
    pub kinds: Option<Vec<String>>,
    /// Weight of a step between an entity and a node that mentions it, times the weight of the mention; 0 for no
    /// such steps.
    pub mention_weight: f32,
    /// Probability to go on, at least 0 and below 1. Hyperedges of weight 0 are not walked.
    pub damping: f64,
    /// How exact.
    pub precision: Precision,
}

/// How exact ranks are.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Forward push: the rank of an object of degree `d` (sum of the weights of its steps) is at most `d` times
    /// this off. Work does not depend on the size of the graph. Above 0.
    Push(f64),
    /// Forward push, refined until the best `limit` objects are surely the best, or tied with the next within
    /// this. Above 0.
    Best(f64),
    /// Power iteration, accelerated: all ranks together are at most this off. Above 0.
    Full(f64),
}

impl Default for PageRank {
    fn default() -> Self {
        Self {
            on: WalkOn::Incidence,
            kinds: None,
            mention_weight: 0.0,
            damping: 0.85,
            precision: Precision::Best(1e-7),
        }
    }
}

/// What a walk found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Ranks {
    /// The best objects with their ranks, best first, ties by kind (entities, nodes, hyperedges) and id. Without
    /// a seed of positive weight that is in the graph there are none.
    pub best: Vec<(Object, f64)>,
    /// Seeds that are not in the graph; they take no part.
    pub unknown: Vec<Object>,
    /// The rank of an object of degree `d` is at most `d` times this off; 0 for [`Precision::Full`].
    pub off_by_degree: f64,
    /// All ranks together are at most this off.
    pub off: f64,
    /// Vertices pushed, or sweeps.
    pub steps: u64,
}

/// Seeds as a distribution over indices.
struct Seeds {
    list: Vec<(u32, f64)>,
    unknown: Vec<Object>,
}

impl PageRank {
    /// The best `limit` objects for `seeds`, each with its weight, which need not sum to 1.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a weight is negative or not finite, or a setting out of its bounds. A seed that is not in
    /// the graph is no error.
    ///
    /// # Complexity
    ///
    /// A push: O(1 / (precision x (1 - damping))) steps, in memory that is kept between walks. An iteration: O(n +
    /// steps of the graph) a sweep, about 25 sweeps for 1e-6 at the default damping.
    pub fn run(&self, graph: &Graph, seeds: &[(Object, f64)], limit: usize) -> Result<Ranks> {
        let (walk, seeds) = self.prepare(graph, seeds)?;
        let mut ranks =
            Ranks { best: Vec::new(), unknown: seeds.unknown, off_by_degree: 0.0, off: 0.0, steps: 0 };
        if seeds.list.is_empty() {
            return Ok(ranks);
        }
        let (finest, tie) = match self.precision {
            Precision::Full(off) => {
                let (all, off, sweeps) = self.iterate(&walk, &seeds.list, off);
                (ranks.off, ranks.steps) = (off, sweeps);
                let all = (0_u32..).zip(all).filter(|(_, rank)| *rank > 0.0).collect();
                ranks.best = best(graph, all, limit);
                return Ok(ranks);
            }
            Precision::Push(finest) => (finest.max(LEAST), None),
            Precision::Best(tie) => (LEAST, Some(tie.max(LEAST))),
        };
        let mut workspace = Workspace::take(graph, walk.len());
        let mut push =
            Push { walk: &walk, damping: self.damping, workspace: &mut workspace, settled: 0.0, steps: 0 };
        let idle = push.start(&seeds.list);
        let mut level = finest.max(COARSE);
        ranks.off_by_degree = loop {
            push.settle(level);
            let worst = push.worst();
            let done = level <= finest || tie.is_some_and(|tie| push.is_sure(limit, worst, tie));
            if done || worst == 0.0 {
                break worst;
            }
            level = (level / REFINE).max(finest);
        };
        // Whatever is left may be anywhere, and is counted where it is.
        ranks.off = 2.0 * (1.0 - idle - push.settled).max(0.0);
        ranks.steps = push.steps;
        let cells = &push.workspace.cells;
        let all = push.workspace.touched.iter().map(|vertex| {
            let cell = cells[*vertex as usize];
            (*vertex, cell.settled + cell.residual)
        });
        let all = all.filter(|(_, rank)| *rank > 0.0).collect();
        ranks.best = best(graph, all, limit);
        workspace.give_back(graph);
        Ok(ranks)
    }

    /// Ranks of all objects by their [index](Graph::object_at), together at most `off` off; empty without seeds.
    /// They sum to 1. On [`WalkOn::Members`] hyperedges have rank 0.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn distribution(&self, graph: &Graph, seeds: &[(Object, f64)], off: f64) -> Result<Vec<f64>> {
        let (walk, seeds) = self.prepare(graph, seeds)?;
        if seeds.list.is_empty() {
            return Ok(Vec::new());
        }
        let (mut all, ..) = self.iterate(&walk, &seeds.list, off);
        all.resize(graph.object_count(), 0.0);
        Ok(all)
    }

    fn prepare(&self, graph: &Graph, seeds: &[(Object, f64)]) -> Result<(Arc<Walk>, Seeds)> {
        if !(0.0..1.0).contains(&self.damping) {
            return Err(Error::invalid(format!(
                "the damping is {}; it must be in 0 to 1, below 1",
                self.damping
            )));
        }
        let (Precision::Push(off) | Precision::Best(off) | Precision::Full(off)) = self.precision;
        if off.is_nan() || off <= 0.0 {
            return Err(Error::invalid(format!("the precision is {off}; it must be above 0")));
        }
        if !(self.mention_weight >= 0.0 && self.mention_weight.is_finite()) {
            return Err(Error::invalid(format!(
                "the weight of mentions is {}, not from 0",
                self.mention_weight
            )));
        }
        let kinds = self.kinds.as_ref().map(|kinds| graph.kind_ids(kinds));
        let walk = graph.walk(self.on, kinds, self.mention_weight);
        let mut known = std::collections::BTreeMap::new();
        let mut unknown = Vec::new();
        for (object, weight) in seeds {
            if !(*weight >= 0.0 && weight.is_finite()) {
                return Err(Error::invalid(format!(
                    "a seed has the weight {weight}; it must be finite and not below 0"
                )));
            }
            match graph.index_of(*object).filter(|at| *at < walk.len()) {
                Some(at) => *known.entry(super::view::index(at)).or_insert(0.0) += weight,
                None => unknown.push(*object),
            }
        }
        let total: f64 = known.values().sum();
        let list = known.into_iter().filter(|(_, weight)| *weight > 0.0);
        // Divided twice, so that the shares of tiny and of huge weights are numbers too.
        let list: Vec<(u32, f64)> = if total.is_finite() {
            list.map(|(at, weight)| (at, weight / total)).collect()
        } else {
            let most = f64::MAX;
            let scaled: Vec<(u32, f64)> = list.map(|(at, weight)| (at, weight.min(most) / most)).collect();
            let total: f64 = scaled.iter().map(|(_, weight)| weight).sum();
            scaled.into_iter().map(|(at, weight)| (at, weight / total)).collect()
        };
        Ok((walk, Seeds { list, unknown }))
    }

    /// Ranks by vertex, how much they are off together at most, and sweeps.
    fn iterate(&self, walk: &Walk, seeds: &[(u32, f64)], off: f64) -> (Vec<f64>, f64, u64) {
        let n = walk.len();
        let (moving, idle) = parted(walk, seeds, self.damping);
        let restart = 1.0 - self.damping;
        let mut start = vec![0.0; n];
        for (vertex, share) in &moving.list {
            start[*vertex as usize] += share;
        }
        let (mut now, mut before) = (start.clone(), vec![0.0; n]);
        let mut next = vec![0.0; n];
        let mut per_degree = vec![0.0; n];
        let mut hub_sums = vec![0.0; walk.hub_weights.len()];
        let (mut omega, mut sweeps, mut left) = (1.0, 0, 0.0);
        while !moving.list.is_empty() {
            sweeps += 1;
            for ((out, x), degree) in per_degree.iter_mut().zip(&now).zip(&walk.degrees) {
                *out = if *degree > 0.0 { x / degree } else { 0.0 };
            }
            for (hub, sum) in hub_sums.iter_mut().enumerate() {
                *sum = walk.hub_members.row(hub).iter().map(|v| per_degree[*v as usize]).sum();
            }
            left = 0.0;
            for (vertex, out) in next.iter_mut().enumerate() {
                let arcs = walk.arcs.row(vertex).iter();
                let mut sum: f64 = arcs.map(|(v, weight)| f64::from(*weight) * per_degree[*v as usize]).sum();
                for hub in walk.hubs.row(vertex) {
                    let (hub, own) = (*hub as usize, per_degree[vertex]);
                    sum += f64::from(walk.hub_weights[hub]) * (hub_sums[hub] - own);
                }
                *out = restart * start[vertex] + self.damping * sum;
                left += (*out - now[vertex]).abs();
            }
            left *= self.damping / restart;
            // Sums of this many numbers are no more exact.
            if left <= off || left < 1e-15 || sweeps >= MOST_SWEEPS {
                now.swap_with_slice(&mut next);
                break;
            }
            // Chebyshev: omega is 1, then 1 / (1 - c^2/2), then 1 / (1 - c^2 omega / 4).
            let half = if sweeps == 2 { 2.0 } else { 4.0 };
            omega = if sweeps == 1 { 1.0 } else { 1.0 / (1.0 - self.damping * self.damping * omega / half) };
            for ((next, before), now) in next.iter_mut().zip(&mut before).zip(&mut now) {
                let accelerated = omega * (*next - *before) + *before;
                *before = *now;
                *now = accelerated;
            }
        }
        let total: f64 = now.iter().map(|x| x.max(0.0)).sum();
        let scale = if total > 0.0 { moving.mass / total } else { 0.0 };
        for x in &mut now {
            *x = x.max(0.0) * scale;
        }
        for (vertex, mass) in idle {
            now[vertex as usize] = mass;
        }
        (now, left, sweeps)
    }
}

/// Seeds that lead somewhere, as a distribution, and the mass of the walk that begins there.
struct Moving {
    list: Vec<(u32, f64)>,
    mass: f64,
}

/// Parts seeds that lead somewhere from those that do not; of the latter the rank is known at once.
///
/// With `a` the share of the idle seeds and `c` the damping, a walker is at them `(1 - c) a / (1 - c a)` of the
/// time: it comes there by `a` of all returns, and each visit is one return.
fn parted(walk: &Walk, seeds: &[(u32, f64)], damping: f64) -> (Moving, Vec<(u32, f64)>) {
    let leads = |(vertex, _): &&(u32, f64)| walk.degrees[*vertex as usize] > 0.0;
    let (list, idle): (Vec<_>, Vec<_>) = seeds.iter().partition(leads);
    let share: f64 = list.iter().map(|(_, share)| share).sum();
    if list.is_empty() {
        return (Moving { list, mass: 0.0 }, idle);
    }
    let idle_share = (1.0 - share).max(0.0);
    let idle_mass =
        if idle.is_empty() { 0.0 } else { (1.0 - damping) * idle_share / (1.0 - damping * idle_share) };
    let list = list.into_iter().map(|(vertex, own)| (vertex, own / share)).collect();
    let total: f64 = idle.iter().map(|(_, share)| share).sum();
    let idle = idle.into_iter().map(|(vertex, own)| (vertex, own / total * idle_mass)).collect();
    (Moving { list, mass: 1.0 - idle_mass }, idle)
}

struct Push<'a> {
    walk: &'a Walk,
    damping: f64,
    workspace: &'a mut Workspace,
    settled: f64,
    steps: u64,
}

impl Push<'_> {
    /// Puts the seeds' mass where it begins; how much of it stays there.
    fn start(&mut self, seeds: &[(u32, f64)]) -> f64 {
        let (moving, idle) = parted(self.walk, seeds, self.damping);
        for (vertex, share) in moving.list {
            self.workspace.add(vertex, share * moving.mass);
        }
        let mut still = 0.0;
        for (vertex, mass) in idle {
            let cell = self.workspace.add(vertex, mass);
            (cell.settled, cell.residual) = (mass, 0.0);
            still += mass;
        }
        still
    }

    /// Pushes until no vertex has more than `level` for each unit of its degree.
    fn settle(&mut self, level: f64) {
        let Self { walk, damping, workspace, .. } = self;
        let degrees = &walk.degrees;
        for at in 0..workspace.touched.len() {
            let vertex = workspace.touched[at];
            let cell = &mut workspace.cells[vertex as usize];
            if cell.residual > level * degrees[vertex as usize] {
                cell.queued = true;
                workspace.queue.push_back(vertex);
            }
        }
        while let Some(vertex) = workspace.queue.pop_front() {
            let cell = &mut workspace.cells[vertex as usize];
            cell.queued = false;
            let mass = std::mem::replace(&mut cell.residual, 0.0);
            let stays = (1.0 - *damping) * mass;
            cell.settled += stays;
            self.settled += stays;
            self.steps += 1;
            let spread = *damping * mass / degrees[vertex as usize];
            let mut give = |to: u32, weight: f32| {
                let cell = workspace.add(to, spread * f64::from(weight));
                if !cell.queued && cell.residual > level * degrees[to as usize] {
                    cell.queued = true;
                    workspace.queue.push_back(to);
                }
            };
            for (to, weight) in walk.arcs.row(vertex as usize) {
                give(*to, *weight);
            }
            for hub in walk.hubs.row(vertex as usize) {
                let weight = walk.hub_weights[*hub as usize];
                for to in walk.hub_members.row(*hub as usize).iter().filter(|to| **to != vertex) {
                    give(*to, weight);
                }
            }
        }
    }

    /// The most that is left at a vertex for each unit of its degree.
    fn worst(&self) -> f64 {
        let left = self.workspace.touched.iter().map(|vertex| {
            let residual = self.workspace.cells[*vertex as usize].residual;
            let degree = self.walk.degrees[*vertex as usize];
            if residual > 0.0 { residual / degree } else { 0.0 }
        });
        left.fold(0.0, f64::max)
    }

    /// Whether the best `limit` vertices are so whatever becomes of what is left.
    ///
    /// What reaches a vertex of degree `d` is at most `d` times the worst, for the walk is reversible; and it is at
    /// most all that is left.
    fn is_sure(&self, limit: usize, worst: f64, tie: f64) -> bool {
        let cells = &self.workspace.cells;
        let left: f64 = self.workspace.touched.iter().map(|vertex| cells[*vertex as usize].residual).sum();
        let reach = |vertex: u32| (worst * self.walk.degrees[vertex as usize]).min(left);
        let least = |vertex: u32| {
            let cell = cells[vertex as usize];
            cell.settled + (1.0 - self.damping) * cell.residual
        };
        let is_clean = |vertex: &&u32| !cells[**vertex as usize].touched;
        // Of vertices not met, the one of the greatest degree; or one that none of them exceeds.
        let greatest = &self.walk.greatest;
        let stranger =
            greatest.iter().find(is_clean).or(greatest.last().filter(|_| self.walk.len() > greatest.len()));
        let stranger = stranger.map_or(0.0, |vertex| reach(*vertex));
        let mut order: Vec<u32> = self.workspace.touched.clone();
        if order.len() <= limit {
            return stranger <= tie;
        }
        if limit == 0 {
            return true;
        }
        order.select_nth_unstable_by(limit - 1, |a, b| least(*b).total_cmp(&least(*a)).then(a.cmp(b)));
        let bar = least(order[limit - 1]);
        let rival = order[limit..].iter().map(|vertex| cells[*vertex as usize].settled + reach(*vertex));
        rival.fold(stranger, f64::max) <= bar + tie
    }
}

/// The best `limit` of `all`, best first.
fn best(graph: &Graph, mut all: Vec<(u32, f64)>, limit: usize) -> Vec<(Object, f64)> {
    let order = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if limit < all.len() {
        all.select_nth_unstable_by(limit, order);
        all.truncate(limit);
    }
    all.sort_unstable_by(order);
    all.into_iter().map(|(at, rank)| (graph.object_at(at as usize), rank)).collect()
}
