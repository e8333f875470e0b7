//! The best found so far, and the bar for all others.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::text::Scored;

/// By score, ties to the lower id; the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry(Scored);

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.score.total_cmp(&self.0.score).then(self.0.node.cmp(&other.0.node))
    }
}

/// The best so many of all that were scored exactly.
#[derive(Debug)]
pub struct Best {
    limit: usize,
    heap: BinaryHeap<Entry>,
    kept: f64,
    lost: f64,
    /// In units: a text whose bound is lower is not among the best.
    pub bar: u32,
}

impl Best {
    /// * `limit`: at least 1.
    /// * `scale`: units of a score of 1.
    /// * `lists`: how many bounds are summed.
    pub fn new(limit: usize, scale: f64, lists: usize) -> Self {
        let sums = f64::from(u32::try_from(lists).unwrap_or(u32::MAX)) + 2.0;
        // Each summand and each sum of 32 bits errs by 6e-8 of it, below the normal range by 1.5e-45.
        let (kept, lost) = (scale * (1.0 - 4e-7 * sums), scale * 1.5e-45 * sums);
        Self { limit, heap: BinaryHeap::new(), kept, lost, bar: 0 }
    }

    /// The same for more that is scored, without what was found.
    pub fn fresh(&self) -> Self {
        Self { heap: BinaryHeap::new(), ..*self }
    }

    /// Whether a text of this score may be among them.
    pub fn admits(&self, score: f32) -> bool {
        self.heap.len() < self.limit || self.heap.peek().is_none_or(|worst| score >= worst.0.score)
    }

    /// Takes in a text that is not among them yet, and raises the bar if that is then higher.
    pub fn push(&mut self, scored: Scored) {
        let entry = Entry(scored);
        if self.heap.len() < self.limit {
            self.heap.push(entry);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        } else {
            return;
        }
        if self.heap.len() == self.limit
            && let Some(Entry(worst)) = self.heap.peek()
        {
            self.bar = self.bar.max(self.units(worst.score));
        }
    }

    /// Units that every text of at least this score reaches.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    fn units(&self, score: f32) -> u32 {
        ((f64::from(score) * self.kept - self.lost) as u32).min(u32::from(u16::MAX))
    }

    /// Raises the bar to what the best `limit` of those kept and of others surely reach, if they are as many.
    /// `lowers` holds what each of the others surely reaches; it is used up.
    pub fn raise(&mut self, lowers: &mut Vec<u32>) {
        lowers.extend(self.heap.iter().map(|entry| self.units(entry.0.score)));
        if let Some(last) = self.limit.checked_sub(1).filter(|last| *last < lowers.len()) {
            let (_, least, _) = lowers.select_nth_unstable_by(last, |a, b| b.cmp(a));
            self.bar = self.bar.max(*least);
        }
        lowers.clear();
    }

    /// How many are asked for.
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// All, best first, ties to the lower id.
    pub fn into_sorted(self) -> Vec<Scored> {
        self.heap.into_sorted_vec().into_iter().map(|entry| entry.0).collect()
    }
}
