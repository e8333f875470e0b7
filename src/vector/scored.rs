//! Nodes with scores, in one total order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::ids::NodeId;

/// A node and its score; higher is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The node.
    pub node: NodeId,
    /// Its score under the space's metric.
    pub score: f32,
}

impl Scored {
    /// The better of two first: the higher score, then the lower node.
    #[must_use]
    pub fn best_first(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.node.cmp(&other.node))
    }
}

/// Ordered so that the worst kept is at the top of the heap.
#[derive(Debug, Clone, Copy)]
struct Kept(Scored);

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.best_first(&other.0)
    }
}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Kept {}

/// The best `limit` of what was offered, whatever the order of offers.
#[derive(Debug, Clone)]
pub struct Top {
    limit: usize,
    kept: BinaryHeap<Kept>,
}

impl Top {
    /// Nothing yet, at most `limit` later.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, kept: BinaryHeap::new() }
    }

    /// Takes `scored` if it is among the best so far.
    pub fn offer(&mut self, scored: Scored) {
        if self.kept.len() < self.limit {
            self.kept.push(Kept(scored));
        } else if let Some(mut worst) = self.kept.peek_mut()
            && Kept(scored) < *worst
        {
            *worst = Kept(scored);
        }
    }

    /// The score below which nothing is taken any more; `None` until `limit` are kept.
    #[must_use]
    pub fn threshold(&self) -> Option<f32> {
        (self.kept.len() >= self.limit).then(|| self.kept.peek().map_or(f32::INFINITY, |worst| worst.0.score))
    }

    /// The best, best first.
    #[must_use]
    pub fn into_sorted(self) -> Vec<Scored> {
        self.kept.into_sorted_vec().into_iter().map(|kept| kept.0).collect()
    }
}

impl Extend<Scored> for Top {
    fn extend<I: IntoIterator<Item = Scored>>(&mut self, scored: I) {
        for one in scored {
            self.offer(one);
        }
    }
}
