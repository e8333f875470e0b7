//! The same ranking with less repetition.

use crate::error::Error;
use crate::error::Result;
use crate::query::fuse::min_max;

/// Maximal marginal relevance: the head of a ranking re-ordered so that each next item is good and unlike what
/// was chosen before it.
///
/// next = argmax of `relevance x mm(score) - (1 - relevance) x max(0, greatest similarity to a chosen item)`,
/// `mm` = min-max over the head.
///
/// # Source
///
/// Carbonell, Goldstein: The use of MMR, diversity-based reranking for reordering documents and producing
/// summaries, SIGIR 1998.
/// Departure: scores are min-max normalised so that both terms share a scale; a negative similarity is no merit.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Mmr {
    /// Weight of the score, in `[0, 1]`; at 1 the order stays as it is.
    pub relevance: f32,
    /// Length of the head, in items; the tail keeps its order. Time grows with its square.
    pub limit: usize,
}

impl Default for Mmr {
    fn default() -> Self {
        Self { relevance: 0.9, limit: 120 }
    }
}

impl Mmr {
    /// The new order of `n` ranked items: a permutation of `0..n`, best first.
    ///
    /// * `scores`: `n`, best first, higher is better; what is not finite counts as the head's lowest.
    /// * `rows`: `n x dimensions` floats, row by row, in the same order; at least the head's rows. They need not
    ///   be of unit length; a row of zeros is like nothing.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `dimensions` is 0, a row of the head is missing, or `relevance` is outside `[0, 1]`.
    ///
    /// # Complexity
    ///
    /// `O(h^2 d)` time for a head of `h` = min(`n`, `limit`).
    pub fn reorder(&self, scores: &[f32], rows: &[f32], dimensions: usize) -> Result<Vec<usize>> {
        let head = scores.len().min(self.limit);
        if dimensions == 0 || rows.len() / dimensions < head {
            return Err(Error::invalid(format!(
                "{} floats are fewer than {head} rows of {dimensions}",
                rows.len()
            )));
        }
        let rows: Vec<&[f32]> = rows.chunks_exact(dimensions).take(head).collect();
        let norms: Vec<f32> = rows.iter().map(|row| dot(row, row).sqrt()).collect();
        let cosine = |a: usize, b: usize| {
            let length = norms[a] * norms[b];
            if length > 0.0 { dot(rows[a], rows[b]) / length } else { 0.0 }
        };
        self.reorder_by(scores, cosine)
    }

    /// As [`reorder`](Self::reorder), with any similarity.
    ///
    /// * `similarity(a, b)`: of the items at `a` and `b`, both below `limit`, in `[-1, 1]`; NaN counts 0.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `relevance` is outside `[0, 1]`.
    pub fn reorder_by(&self, scores: &[f32], similarity: impl Fn(usize, usize) -> f32) -> Result<Vec<usize>> {
        if !(0.0..=1.0).contains(&self.relevance) {
            return Err(Error::invalid(format!("the relevance is {}, not in 0 to 1", self.relevance)));
        }
        let head = scores.len().min(self.limit);
        let scaled = min_max(&scores[..head]);
        let mut nearest = vec![0.0_f32; head];
        let mut left: Vec<usize> = (0..head).collect();
        let mut order = Vec::with_capacity(scores.len());
        while !left.is_empty() {
            let (mut best, mut best_value) = (0, f32::NEG_INFINITY);
            for (place, item) in left.iter().enumerate() {
                let value = self.relevance * scaled[*item] - (1.0 - self.relevance) * nearest[*item];
                if value > best_value {
                    (best, best_value) = (place, value);
                }
            }
            // `remove` keeps the rest in rank order, so that the first of equals is the better ranked.
            let chosen = left.remove(best);
            order.push(chosen);
            for item in &left {
                // `max` drops a NaN.
                nearest[*item] = nearest[*item].max(similarity(chosen, *item));
            }
        }
        order.extend(head..scores.len());
        Ok(order)
    }
}

/// Inner product in eight running sums: the same on every machine, and the compiler can use wide registers.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (wide_a, wide_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = wide_a.remainder().iter().zip(wide_b.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in wide_a.zip(wide_b) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_twin_of_the_first_gives_way_to_something_new() {
        let mmr = Mmr { relevance: 0.5, limit: 120 };
        let rows = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0];

        let order = mmr.reorder(&[1.0, 0.8, 0.0], &rows, 2).expect("three rows");

        // After item 0: item 1 .5 * .8 - .5 * 1 = -.1; item 2 .5 * 0 - .5 * 0 = 0.
        assert_eq!(order, [0, 2, 1]);
    }

    #[test]
    fn full_relevance_and_equal_scores_keep_the_order() {
        let mmr = Mmr { relevance: 1.0, limit: 120 };
        assert_eq!(mmr.reorder(&[0.5; 4], &[0.0; 8], 2).expect("four rows"), [0, 1, 2, 3]);
    }

    #[test]
    fn the_tail_keeps_its_order_and_needs_no_rows() {
        let mmr = Mmr { relevance: 0.5, limit: 2 };
        assert_eq!(mmr.reorder(&[0.9, 0.8, 0.7], &[1.0, 1.0], 1).expect("two rows"), [0, 1, 2]);
        assert!(mmr.reorder(&[0.9, 0.8], &[1.0], 1).is_err());
        assert!(mmr.reorder(&[], &[], 0).is_err());
    }

    proptest! {
        #[test]
        fn the_order_is_a_permutation_whatever_the_floats(
            scores in proptest::collection::vec(any::<f32>(), 0..20),
            rows in proptest::collection::vec(any::<f32>(), 60),
        ) {
            let order = Mmr { relevance: 0.7, limit: 15 }.reorder(&scores, &rows, 3).expect("rows enough");

            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..scores.len()).collect::<Vec<_>>());
        }
    }
}
