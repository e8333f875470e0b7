//! Sparse scores: a number for some keys, none for others.

use std::collections::BTreeMap;

use crate::query::fuse::Rrf;

/// Scores by key, ascending by key. A key that has none counts 0 wherever scores are added.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ScoreMap<K: Ord>(BTreeMap<K, f32>);

impl<K: Ord> Default for ScoreMap<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// How several scores for one key become one.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The greatest.
    Max,
    /// The sum.
    Sum,
    /// The greatest, and this much of the others' sum: ConRAG's pooling of relations, with 0.02.
    MaxPlus(f32),
}

impl Pooling {
    /// The pooled score of `scores`; those that are not finite are left out. `None` if none is left.
    #[must_use]
    pub fn of(self, scores: impl IntoIterator<Item = f32>) -> Option<f32> {
        let (mut max, mut sum, mut any) = (f32::MIN, 0.0, false);
        for score in scores.into_iter().filter(|score| score.is_finite()) {
            (max, sum, any) = (max.max(score), sum + score, true);
        }
        any.then_some(match self {
            Self::Max => max,
            Self::Sum => sum,
            Self::MaxPlus(share) => max + share * (sum - max),
        })
    }
}

impl<K: Ord + Copy> FromIterator<(K, f32)> for ScoreMap<K> {
    /// Of a key that comes twice, the greater score is kept. Scores that are not finite are left out.
    fn from_iter<I: IntoIterator<Item = (K, f32)>>(scores: I) -> Self {
        Self::pooled(scores, Pooling::Max)
    }
}

impl<K: Ord + Copy> ScoreMap<K> {
    /// Scores by key, those of one key pooled in the order they come. Scores that are not finite are left out.
    #[must_use]
    pub fn pooled(scores: impl IntoIterator<Item = (K, f32)>, pool: Pooling) -> Self {
        let mut lists: BTreeMap<K, Vec<f32>> = BTreeMap::new();
        for (key, score) in scores {
            lists.entry(key).or_default().push(score);
        }
        let pooled = lists.into_iter().filter_map(|(key, list)| Some((key, pool.of(list)?)));
        Self(pooled.filter(|(_, score)| score.is_finite()).collect())
    }

    /// How many keys have a score.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no key has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The score of `key`; 0 without one.
    #[must_use]
    pub fn get(&self, key: K) -> f32 {
        self.0.get(&key).copied().unwrap_or_default()
    }

    /// Whether `key` has a score.
    #[must_use]
    pub fn contains(&self, key: K) -> bool {
        self.0.contains_key(&key)
    }

    /// Keys and scores, ascending by key.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (K, f32)> {
        self.0.iter().map(|(key, score)| (*key, *score))
    }

    /// Keys and scores, best first, ties to the lower key.
    #[must_use]
    pub fn ranked(&self) -> Vec<(K, f32)> {
        let mut list: Vec<(K, f32)> = self.iter().collect();
        list.sort_by(|a, b| b.1.total_cmp(&a.1));
        list
    }

    /// The same keys with scores brought to `[0, 1]`: `(x - lo) / (hi - lo)`; all 1 if they are all equal.
    ///
    /// The lowest becomes 0, and counts like a key without a score from then on.
    ///
    /// # Source
    ///
    /// ConRAG (arXiv 2605.28093), its normalisation of views. [`min_max`](super::min_max) is for dense lists and
    /// makes equal scores 0.
    #[must_use]
    pub fn min_max(&self) -> Self {
        // Halves, so that the difference of two finite numbers is finite.
        let halves = || self.0.values().map(|score| score * 0.5);
        let (low, high) = halves().fold((f32::MAX, f32::MIN), |(low, high), x| (low.min(x), high.max(x)));
        let range = high - low;
        let scaled = |score: f32| if range > 0.0 { (score * 0.5 - low) / range } else { 1.0 };
        Self(self.0.iter().map(|(key, score)| (*key, scaled(*score))).collect())
    }
}

/// Every key of `maps`, ascending, each once.
fn keys<K: Ord + Copy>(maps: &[&ScoreMap<K>]) -> Vec<K> {
    let mut keys: Vec<K> = maps.iter().flat_map(|map| map.0.keys().copied()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// How sparse scores of several views are made one.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fusion {
    /// Sum of the min-max scores over the number of views: a view that does not have a key counts 0.
    EqualMean,
    /// Sum of the min-max scores, times the number of views that have the key.
    ///
    /// # Source
    ///
    /// Fox, Shaw: Combination of multiple searches, TREC-2, 1993.
    CombMnz,
    /// Reciprocal rank fusion, see [`Rrf`].
    Rrf {
        /// As in [`Rrf::k`].
        k: f32,
    },
    /// Robust rank aggregation: `1 - rho`, where `rho` is the least, over the views a key is best in, of the
    /// probability that so many ranks are so good by chance, times the number of views, at most 1. Ranks are divided
    /// by the length of their list; a view that does not have the key gives 1.
    ///
    /// # Source
    ///
    /// Kolde, Laur, Adler, Vilo: Robust rank aggregation for gene list integration and meta-analysis,
    /// Bioinformatics 28, 2012. Departure: lists are as long as they are, the paper has one length for all.
    Rra,
}

impl Fusion {
    /// The fused scores of every key of `maps`. Empty views count as views.
    #[must_use]
    pub fn fuse<K: Ord + Copy>(self, maps: &[&ScoreMap<K>]) -> ScoreMap<K> {
        let keys = keys(maps);
        let views = as_f32(maps.len().max(1));
        let scores: Vec<f32> = match self {
            Self::EqualMean | Self::CombMnz => {
                let scaled: Vec<ScoreMap<K>> = maps.iter().map(|map| map.min_max()).collect();
                let fused = |key: &K| {
                    let sum: f32 = scaled.iter().map(|map| map.get(*key)).sum();
                    let holds = scaled.iter().filter(|map| map.contains(*key)).count();
                    if self == Self::EqualMean { sum / views } else { sum * as_f32(holds) }
                };
                keys.iter().map(fused).collect()
            }
            Self::Rrf { k } => {
                let k = Rrf { k }.k.max(0.0);
                let ranks = ranks(maps);
                let part = |rank: Option<&usize>| rank.map_or(0.0, |rank| 1.0 / (k + as_f32(*rank)));
                keys.iter().map(|key| ranks.iter().map(|ranks| part(ranks.get(key))).sum()).collect()
            }
            Self::Rra => {
                let ranks = ranks(maps);
                let share = |ranks: &BTreeMap<K, usize>, key: &K| {
                    ranks.get(key).map_or(1.0, |rank| as_f64(*rank) / as_f64(ranks.len()))
                };
                let fused = |key: &K| 1.0 - rho(ranks.iter().map(|ranks| share(ranks, key)).collect());
                keys.iter().map(fused).map(narrow).collect()
            }
        };
        ScoreMap(keys.into_iter().zip(scores).collect())
    }
}

/// Rank of each key of each map, from 1.
fn ranks<K: Ord + Copy>(maps: &[&ScoreMap<K>]) -> Vec<BTreeMap<K, usize>> {
    let one = |map: &&ScoreMap<K>| map.ranked().into_iter().map(|(key, _)| key).zip(1..).collect();
    maps.iter().map(one).collect()
}

/// The least probability, over `k`, that `k` of `n` uniform numbers are at most the `k`th of `shares`, times `n`, at
/// most 1.
fn rho(mut shares: Vec<f64>) -> f64 {
    shares.sort_by(f64::total_cmp);
    let n = shares.len();
    let mut least = 1.0_f64;
    for (at, share) in shares.iter().enumerate() {
        // Sum over j > at of C(n, j) share^j (1 - share)^(n - j), by the ratio of one term to the next.
        let mut tail = 0.0;
        for j in at + 1..=n {
            let mut term = 1.0;
            for i in 0..j {
                term *= as_f64(n - i) / as_f64(j - i) * share;
            }
            for _ in j..n {
                term *= 1.0 - share;
            }
            tail += term;
        }
        least = least.min(tail);
    }
    (least * as_f64(n)).min(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "a count or a rank; its nearest f32 serves")]
fn as_f32(count: usize) -> f32 {
    count as f32
}

#[expect(clippy::cast_precision_loss, reason = "a count or a rank, far below 2^53")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest f32, on purpose")]
fn narrow(x: f64) -> f32 {
    x as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn map(scores: &[(u32, f32)]) -> ScoreMap<u32> {
        scores.iter().copied().collect()
    }

    fn fused(fusion: Fusion, maps: &[&[(u32, f32)]]) -> Vec<(u32, f32)> {
        let maps: Vec<ScoreMap<u32>> = maps.iter().map(|scores| map(scores)).collect();
        fusion.fuse(&maps.iter().collect::<Vec<_>>()).iter().collect()
    }

    #[track_caller]
    fn near(found: &[(u32, f32)], wanted: &[(u32, f32)]) {
        let same = found.len() == wanted.len()
            && found.iter().zip(wanted).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-5);
        assert!(same, "{found:?}, not {wanted:?}");
    }

    #[test]
    fn min_max_of_a_sparse_map_is_as_stated() {
        near(
            &map(&[(1, 2.0), (2, 6.0), (3, 4.0)]).min_max().0.into_iter().collect::<Vec<_>>(),
            &[(1, 0.0), (2, 1.0), (3, 0.5)],
        );
        assert_eq!(map(&[(1, -3.0), (2, -3.0)]).min_max(), map(&[(1, 1.0), (2, 1.0)]));
        assert_eq!(map(&[(9, 0.0)]).min_max(), map(&[(9, 1.0)]));
        assert!(map(&[]).min_max().is_empty());
        let odd = map(&[(1, f32::NAN), (2, 1.0), (3, f32::INFINITY), (4, 3.0), (5, f32::NEG_INFINITY)]);
        assert_eq!(odd.min_max(), map(&[(2, 0.0), (4, 1.0)]));
        assert_eq!(map(&[(1, f32::MIN), (2, f32::MAX)]).min_max(), map(&[(1, 0.0), (2, 1.0)]));
    }

    #[test]
    fn scores_of_one_key_are_pooled_by_hand_worked_sums() {
        let scores = [(1, 0.5), (1, 0.9), (1, 0.2), (2, 0.4), (3, f32::NAN)];
        let pooled = |pool| ScoreMap::pooled(scores, pool).iter().collect::<Vec<_>>();

        near(&pooled(Pooling::Max), &[(1, 0.9), (2, 0.4)]);
        near(&pooled(Pooling::Sum), &[(1, 1.6), (2, 0.4)]);
        // 0.9 + 0.02 * (1.6 - 0.9)
        near(&pooled(Pooling::MaxPlus(0.02)), &[(1, 0.914), (2, 0.4)]);
        assert_eq!(Pooling::Max.of([f32::NAN]), None);
        assert_eq!(Pooling::Max.of([-2.0, -1.0]), Some(-1.0));
    }

    /// Views 1: 8, 4, 2 -> 1, 1/3, 0. View 2: key 2 alone -> 1.
    #[test]
    fn mean_and_comb_mnz_of_two_views() {
        let views: [&[(u32, f32)]; 2] = [&[(1, 8.0), (2, 4.0), (3, 2.0)], &[(2, 0.7)]];

        near(&fused(Fusion::EqualMean, &views), &[(1, 0.5), (2, 2.0 / 3.0), (3, 0.0)]);
        near(&fused(Fusion::CombMnz, &views), &[(1, 1.0), (2, 8.0 / 3.0), (3, 0.0)]);
    }

    /// Ranks: view 1: 1, 2, 3; view 2: key 2 first.
    #[test]
    fn reciprocal_ranks_of_two_views() {
        let views: [&[(u32, f32)]; 2] = [&[(1, 8.0), (2, 4.0), (3, 2.0)], &[(2, 0.7)]];

        let found = fused(Fusion::Rrf { k: 60.0 }, &views);

        near(&found, &[(1, 1.0 / 61.0), (2, 1.0 / 62.0 + 1.0 / 61.0), (3, 1.0 / 63.0)]);
    }

    /// Two lists of two: key 1 is first in both, shares 1/2 and 1/2. k = 1: 1 - (1/2)^2 = 3/4; k = 2: (1/2)^2 = 1/4.
    /// rho = 2 * 1/4 = 1/2. Key 2: shares 1 and missing: all 1. Key 3: 1 in the second list alone: 1.
    #[test]
    fn robust_ranks_of_two_views() {
        let views: [&[(u32, f32)]; 2] = [&[(1, 8.0), (2, 4.0)], &[(1, 8.0), (3, 4.0)]];

        near(&fused(Fusion::Rra, &views), &[(1, 0.5), (2, 0.0), (3, 0.0)]);
    }

    /// Three lists of ten, a key first in one and missing in two: shares 0.1, 1, 1. k = 1: 1 - 0.9^3 = 0.271, times 3.
    #[test]
    fn a_key_that_one_of_three_views_has_is_little_by_chance() {
        assert!((rho(vec![1.0, 0.1, 1.0]) - 0.813).abs() < 1e-12);
        assert!((rho(vec![0.1, 0.1, 0.1]) - 3.0 * 0.001).abs() < 1e-12);
        assert!((rho(Vec::new()) - 0.0).abs() < 1e-12);
    }

    #[test]
    fn no_view_and_empty_views_give_nothing() {
        for fusion in [Fusion::EqualMean, Fusion::CombMnz, Fusion::Rrf { k: 60.0 }, Fusion::Rra] {
            assert_eq!(fused(fusion, &[]), []);
            assert_eq!(fused(fusion, &[&[], &[(1, f32::NAN)]]), []);
            assert!(fused(fusion, &[&[], &[(7, 1.0)]])[0].1.is_finite());
        }
    }

    proptest! {
        #[test]
        fn every_fusion_gives_each_key_a_finite_score(
            lists in proptest::collection::vec(proptest::collection::vec((0_u32..20, any::<f32>()), 0..20), 0..5)
        ) {
            let lists: Vec<&[(u32, f32)]> = lists.iter().map(Vec::as_slice).collect();
            for fusion in [Fusion::EqualMean, Fusion::CombMnz, Fusion::Rrf { k: 60.0 }, Fusion::Rra] {
                for (_, score) in fused(fusion, &lists) {
                    prop_assert!(score.is_finite() && score >= 0.0, "{fusion:?} {score}");
                }
            }
        }
    }
}
