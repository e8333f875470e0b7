//! Lists of scores made one.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::error::Error;
use crate::error::Result;
use crate::ids::NodeId;
use crate::tree::expansion::best_first;

/// A node and its score, higher is better.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Scored {
    /// The node.
    pub node: NodeId,
    /// Its score.
    pub score: f32,
}

/// Reciprocal rank fusion: merges ranked lists whose scores do not share a scale.
///
/// score(d) = sum over the lists that hold d of `1 / (k + rank(d))`, ranks counted from 1.
///
/// # Source
///
/// Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning
/// methods, SIGIR 2009; `k` = 60 as there.
/// Departure: ties, which the paper leaves open, go to the lower [`NodeId`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Rrf {
    /// Damping of the first ranks, in ranks, from 0; less, or NaN, counts as 0. The larger it is, the less
    /// rank 1 stands out.
    pub k: f32,
}

impl Default for Rrf {
    fn default() -> Self {
        Self { k: 60.0 }
    }
}

impl Rrf {
    /// The best `limit` nodes of `lists` taken together, best first.
    ///
    /// * `lists`: any number, of any lengths, each best first. Only the order is read. A node counts where it
    ///   first stands in a list.
    /// * returns: scores in `(0, lists / (k + 1)]`.
    ///
    /// # Complexity
    ///
    /// `O(M log M)` time and `O(M)` memory for `M` = the lengths' sum.
    #[must_use]
    pub fn fuse(&self, lists: &[&[NodeId]], limit: usize) -> Vec<Scored> {
        let k = self.k.max(0.0);
        let mut total: BTreeMap<NodeId, f32> = BTreeMap::new();
        for list in lists {
            let mut seen = BTreeSet::new();
            let mut rank = 0.0;
            for node in *list {
                rank += 1.0;
                if seen.insert(*node) {
                    *total.entry(*node).or_default() += 1.0 / (k + rank);
                }
            }
        }
        let mut fused: Vec<Scored> = total.into_iter().map(|(node, score)| Scored { node, score }).collect();
        // The sort is stable and the map was in node order, so ties fall to the lower id.
        fused.sort_by(|a, b| best_first(a.score, b.score));
        fused.truncate(limit);
        fused
    }
}

/// `scores` brought to `[0, 1]` by their least and greatest; all 0 if they are all equal.
///
/// The list is the scope: a single positive score among zeros becomes 1. A value that is not finite takes no
/// part and becomes 0.
#[must_use]
pub fn min_max(scores: &[f32]) -> Vec<f32> {
    // Halves, so that the difference of two finite numbers is finite.
    let finite = || scores.iter().filter(|score| score.is_finite()).map(|score| score * 0.5);
    let (low, high) = finite().fold((f32::MAX, f32::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let range = (high - low).max(0.5e-9);
    scores.iter().map(|score| if score.is_finite() { (score * 0.5 - low) / range } else { 0.0 }).collect()
}

/// The weighted sum of several scores of the same `n` things.
///
/// * `lists`: pairs of a weight and `n` scores; the scores as they are, so bring them to one scale first.
/// * returns: `n`; empty without lists. A score that is not finite counts 0.
///
/// # Errors
///
/// `InvalidInput` if the lists differ in length or a weight is not finite.
pub fn weighted(lists: &[(f32, &[f32])]) -> Result<Vec<f32>> {
    let n = lists.first().map_or(0, |(_, scores)| scores.len());
    let mut sum = vec![0.0; n];
    for (weight, scores) in lists {
        if scores.len() != n {
            return Err(Error::invalid(format!("a list of {} scores beside one of {n}", scores.len())));
        }
        if !weight.is_finite() {
            return Err(Error::invalid(format!("a weight is {weight}")));
        }
        for (sum, score) in sum.iter_mut().zip(*scores) {
            *sum += if score.is_finite() { weight * score } else { 0.0 };
        }
    }
    Ok(sum)
}

/// `lexical_weight` x min-max of the lexical scores + the rest x min-max of the dense ones.
///
/// * `lexical`: `n`, such as BM25. `dense`: `n`, such as cosines; without it the result is min-max of `lexical`.
/// * returns: `n` in `[0, 1]`.
///
/// # Errors
///
/// `InvalidInput` if the lists differ in length or the weight is outside `[0, 1]`.
pub fn hybrid(lexical: &[f32], dense: Option<&[f32]>, lexical_weight: f32) -> Result<Vec<f32>> {
    if !(0.0..=1.0).contains(&lexical_weight) {
        return Err(Error::invalid(format!("the lexical weight is {lexical_weight}, not in 0 to 1")));
    }
    let lexical = min_max(lexical);
    match dense {
        None => Ok(lexical),
        Some(dense) => weighted(&[(lexical_weight, &lexical), (1.0 - lexical_weight, &min_max(dense))]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(list: &[u32]) -> Vec<NodeId> {
        list.iter().copied().map(NodeId).collect()
    }

    #[test]
    fn a_node_that_two_lists_agree_on_beats_either_list_s_first() {
        let (text, vectors) = (ids(&[1, 7, 3]), ids(&[2, 7, 4]));

        let fused = Rrf::default().fuse(&[&text, &vectors], 2);

        // 2/62 = 0.0323 beats 1/61 = 0.0164; nodes 1 and 2 tie, 1 is lower.
        assert_eq!(fused.iter().map(|hit| hit.node.0).collect::<Vec<_>>(), [7, 1]);
    }

    #[test]
    fn a_node_twice_in_one_list_counts_once() {
        let list = ids(&[5, 5]);

        let fused = Rrf { k: f32::NAN }.fuse(&[&list], 9);

        // k counts as 0: 1/1.
        assert_eq!(fused, [Scored { node: NodeId(5), score: 1.0 }]);
    }

    #[test]
    fn a_constant_list_becomes_zero_and_one_positive_among_zeros_one() {
        assert_eq!(min_max(&[3.0, 3.0]), [0.0, 0.0]);
        assert_eq!(min_max(&[0.0, 0.7, 0.0]), [0.0, 1.0, 0.0]);
        assert_eq!(min_max(&[f32::NAN, 1.0, 2.0, f32::INFINITY]), [0.0, 0.0, 1.0, 0.0]);
        assert_eq!(min_max(&[]), [0.0; 0]);
    }

    #[test]
    fn without_vectors_a_hybrid_is_the_lexical_part_alone() {
        // min-max of 2, 6, 4 = 0, 1, .5; of .9, .1, .5 = 1, 0, .5; .3 and .7 of them.
        let both = hybrid(&[2.0, 6.0, 4.0], Some(&[0.9, 0.1, 0.5]), 0.3).expect("equal lengths");
        let lexical = hybrid(&[2.0, 6.0, 4.0], None, 0.3).expect("equal lengths");

        for (got, want) in both.iter().zip([0.7, 0.3, 0.5]) {
            assert!((got - want).abs() < 1e-6, "{both:?}");
        }
        assert_eq!(lexical, [0.0, 1.0, 0.5]);
        assert!(hybrid(&[1.0], Some(&[]), 0.3).is_err());
        assert!(hybrid(&[1.0], None, f32::NAN).is_err());
    }

    proptest! {
        #[test]
        fn min_max_is_finite_in_range_and_keeps_order(scores in proptest::collection::vec(any::<f32>(), 0..50)) {
            let scaled = min_max(&scores);

            for (i, a) in scaled.iter().enumerate() {
                prop_assert!((0.0..=1.0).contains(a));
                for (j, b) in scaled.iter().enumerate() {
                    if scores[i].is_finite() && scores[j].is_finite() && scores[i] <= scores[j] {
                        prop_assert!(a <= b);
                    }
                }
            }
        }
    }
}
