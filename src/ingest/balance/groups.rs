//! Neighbours that are alike, joined into groups.

use std::cmp::Ordering;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::lexical::Sparse;
use super::lexical::add;
use super::lexical::dot;
use super::lexical::norm;
use super::lexical::real;

/// A vector that groups add up.
pub(super) trait Sum {
    /// Cosine of the angle to `other`; 0 if either is zero.
    fn cosine(&self, other: &Self) -> f32;

    /// Adds `other`.
    fn merge(&mut self, other: Self);
}

impl Sum for Sparse {
    fn cosine(&self, other: &Self) -> f32 {
        let norms = norm(self) * norm(other);
        if norms > 0.0 { dot(self, other) / norms } else { 0.0 }
    }

    fn merge(&mut self, other: Self) {
        *self = add(self, &other);
    }
}

/// A dense vector.
pub(super) struct Dense(pub Vec<f32>);

impl Sum for Dense {
    fn cosine(&self, other: &Self) -> f32 {
        let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        let norms = (product(&self.0, &self.0) * product(&other.0, &other.0)).sqrt();
        if norms > 0.0 { product(&self.0, &other.0) / norms } else { 0.0 }
    }

    fn merge(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, value)| *sum += value);
    }
}

/// How far to join.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Groups wanted.
    pub want: usize,
    /// Most items of a group.
    pub max_items: usize,
    /// Most tokens of a group.
    pub max_tokens: usize,
    /// Taken off the cosine for each item of the group to be.
    pub penalty: f32,
}

/// A stretch of items and the sum of their vectors.
pub(super) struct Group<V> {
    pub items: Range<usize>,
    pub sum: V,
}

struct Slot<V> {
    group: Group<V>,
    tokens: usize,
    before: Option<usize>,
    after: Option<usize>,
    /// Raised at each change, so that offers made before are known to be stale.
    stamp: u32,
}

/// Two neighbours that might be joined; the greatest is the one to join.
#[derive(PartialEq)]
struct Offer {
    score: f32,
    left: Reverse<usize>,
    right: usize,
    stamps: (u32, u32),
}

impl Eq for Offer {}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| self.left.cmp(&other.left))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Joins the two most similar neighbouring groups, ties to the first, until there are as many as wanted or no
/// two may be joined. `tokens` has one entry an item.
///
/// # Complexity
///
/// `O(n log n)` joins and comparisons; each costs as much as the two vectors are long.
pub(super) fn group<V: Sum>(items: Vec<V>, tokens: &[usize], limits: Limits) -> Vec<Group<V>> {
    let mut count = items.len();
    let last = count.checked_sub(1);
    let mut slots: Vec<Option<Slot<V>>> = items
        .into_iter()
        .enumerate()
        .map(|(at, sum)| {
            Some(Slot {
                group: Group { items: at..at + 1, sum },
                tokens: tokens.get(at).copied().unwrap_or(0),
                before: at.checked_sub(1),
                after: (Some(at) != last).then_some(at + 1),
                stamp: 0,
            })
        })
        .collect();
    let mut offers: BinaryHeap<Offer> =
        (1..count).filter_map(|right| offer(&slots, right - 1, right, limits)).collect();
    while count > limits.want.max(1) {
        let Some(Offer { left: Reverse(left), right, stamps, .. }) = offers.pop() else { break };
        let stamp = |at: usize| slots[at].as_ref().map(|slot| slot.stamp);
        if (stamp(left), stamp(right)) != (Some(stamps.0), Some(stamps.1)) {
            continue;
        }
        let Some(gone) = slots[right].take() else { continue };
        let Some(kept) = slots[left].as_mut() else { continue };
        kept.group.items.end = gone.group.items.end;
        kept.group.sum.merge(gone.group.sum);
        kept.tokens += gone.tokens;
        kept.after = gone.after;
        kept.stamp += 1;
        let before = kept.before;
        count -= 1;
        if let Some(after) = gone.after {
            if let Some(slot) = slots[after].as_mut() {
                slot.before = Some(left);
            }
            offers.extend(offer(&slots, left, after, limits));
        }
        if let Some(before) = before {
            offers.extend(offer(&slots, before, left, limits));
        }
    }
    slots.into_iter().flatten().map(|slot| slot.group).collect()
}

fn offer<V: Sum>(slots: &[Option<Slot<V>>], left: usize, right: usize, limits: Limits) -> Option<Offer> {
    let (a, b) = (slots.get(left)?.as_ref()?, slots.get(right)?.as_ref()?);
    let size = a.group.items.len() + b.group.items.len();
    if size > limits.max_items || a.tokens.saturating_add(b.tokens) > limits.max_tokens {
        return None;
    }
    let score = a.group.sum.cosine(&b.group.sum) - limits.penalty * real(size);
    Some(Offer { score, left: Reverse(left), right, stamps: (a.stamp, b.stamp) })
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    /// The definition: looks at every pair of neighbours before each join.
    fn by_definition(items: &[Vec<f32>], tokens: &[usize], limits: Limits) -> Vec<Range<usize>> {
        let mut groups: Vec<(Range<usize>, Dense)> =
            items.iter().enumerate().map(|(at, v)| (at..at + 1, Dense(v.clone()))).collect();
        while groups.len() > limits.want.max(1) {
            let mut best: Option<(f32, usize)> = None;
            for at in 0..groups.len() - 1 {
                let (a, b) = (&groups[at], &groups[at + 1]);
                let size = a.0.len() + b.0.len();
                let sum: usize = tokens[a.0.start..b.0.end].iter().sum();
                if size > limits.max_items || sum > limits.max_tokens {
                    continue;
                }
                let score = a.1.cosine(&b.1) - limits.penalty * real(size);
                if best.is_none_or(|(highest, _)| score > highest) {
                    best = Some((score, at));
                }
            }
            let Some((_, at)) = best else { break };
            let (range, sum) = groups.remove(at + 1);
            groups[at].0.end = range.end;
            groups[at].1.merge(sum);
        }
        groups.into_iter().map(|(range, _)| range).collect()
    }

    proptest! {
        #[test]
        fn the_heap_joins_as_the_definition_does(
            items in prop::collection::vec((prop::collection::vec(-1.0_f32..1.0, 3), 1_usize..400), 0..40),
        ) {
            let (vectors, tokens): (Vec<_>, Vec<_>) = items.into_iter().unzip();
            let limits = Limits { want: vectors.len() / 5, max_items: 8, max_tokens: 800, penalty: 0.02 };

            let found = group(vectors.iter().cloned().map(Dense).collect(), &tokens, limits);

            let found: Vec<_> = found.into_iter().map(|group| group.items).collect();
            prop_assert_eq!(found, by_definition(&vectors, &tokens, limits));
        }
    }

    #[test]
    fn like_neighbours_join_first_and_equal_ones_from_the_left() {
        let items = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]].map(|v| Dense(v.to_vec()));
        let limits = Limits { want: 2, max_items: 8, max_tokens: 800, penalty: 0.02 };

        let groups = group(items.into(), &[1; 4], limits);

        assert_eq!(groups.iter().map(|group| group.items.clone()).collect::<Vec<_>>(), [0..2, 2..4]);
        let equal = (0..5).map(|_| Dense(vec![1.0])).collect();
        let groups = group(equal, &[1; 5], Limits { want: 3, ..limits });
        assert_eq!(groups.iter().map(|group| group.items.clone()).collect::<Vec<_>>(), [0..2, 2..4, 4..5]);
    }

    #[test]
    fn groups_stay_within_their_items_and_tokens() {
        let equal = (0..30).map(|_| Dense(vec![1.0])).collect();
        let limits = Limits { want: 1, max_items: 8, max_tokens: 800, penalty: 0.02 };

        let groups = group(equal, &[160; 30], limits);

        // 5 x 160 = 800.
        assert!(groups.iter().all(|group| group.items.len() <= 5));
    }
}
