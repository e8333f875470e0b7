//! Which segments a commit joins, and which it writes anew.
//!
//! Segments stand in the order of their nodes, the newest last. A segment's *tier* says how often eight times
//! 4 KiB go into it: below 32 KiB it is 0, below 256 KiB 1, and so on.
//!
//! * *Joining.* As long as eight or more segments at the end have no higher tier than the last one, they become
//!   one. All that a commit joins it joins in one pass, whatever number of steps that stands for.
//! * *Cleaning.* A segment with a dead share of over a quarter is written anew without it, if it has at most
//!   64 MiB; one with over a half whatever its size. One without a live node goes.
//!
//! What follows, and is tested below:
//!
//! * *Segments*: at most seven a tier, thus at most `7 * (tier of the whole index + 1)`.
//! * *Writing*: joining writes a byte at most once a tier that it climbs, and in between not above eight times
//!   without climbing, for each such time the segment it lies in gains another one of its own tier; about once
//!   a tier when commits are alike. Cleaning writes at most three bytes for each one that has been deleted.
//! * *Space*: at most half of a segment is dead.

use std::ops::Range;

/// Segments of about one size that become one.
const FAN_OUT: usize = 8;
/// Size from which tiers are counted.
const TIER_BYTES: u64 = 4 << 10;
/// Largest segment that is cleaned as soon as a quarter of it is dead: what any commit can afford.
const CLEANED_EARLY_BYTES: u64 = 64 << 20;

/// A segment, or what is to become the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: u64,
    /// Nodes it holds.
    pub(super) nodes: u64,
    /// Of these, deleted ones.
    pub(super) dead: u64,
}

impl Size {
    /// Of a segment without a deleted node.
    pub(super) const fn live(bytes: u64) -> Self {
        Self { bytes, nodes: 1, dead: 0 }
    }

    fn is_to_be_cleaned(self) -> bool {
        let affordable = self.bytes <= CLEANED_EARLY_BYTES;
        (affordable && self.dead.saturating_mul(4) > self.nodes) || self.dead.saturating_mul(2) > self.nodes
    }

    /// Bytes of what lives, about.
    fn live_bytes(self) -> u64 {
        let live = u128::from(self.nodes.saturating_sub(self.dead));
        let bytes = u128::from(self.bytes) * live / u128::from(self.nodes.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// How often eight times the smallest tier's bytes go into `bytes`.
fn tier(bytes: u64) -> u32 {
    (bytes / TIER_BYTES).max(1).ilog2() / FAN_OUT.ilog2()
}

/// The stretches of segments that are each to become one, ascending: several are joined, a single one is
/// cleaned.
///
/// * `sizes`: of all segments, each with a live node.
pub(super) fn plan(sizes: &[Size]) -> Vec<Range<usize>> {
    let start = joined_from(sizes);
    let cleaned = sizes.iter().take(start).enumerate().filter(|(_, size)| size.is_to_be_cleaned());
    let mut plan: Vec<Range<usize>> = cleaned.map(|(at, _)| at..at + 1).collect();
    let is_joined = sizes.len() - start > 1;
    if is_joined || sizes.get(start).is_some_and(|last| last.is_to_be_cleaned()) {
        plan.push(start..sizes.len());
    }
    plan
}

/// The first of the segments that become one at the end; the last one, if none is joined with it.
fn joined_from(sizes: &[Size]) -> usize {
    let mut start = sizes.len().saturating_sub(1);
    let mut bytes = sizes.last().map_or(0, |last| last.live_bytes());
    loop {
        let before = sizes.iter().take(start).rev();
        let run = before.take_while(|size| tier(size.live_bytes()) <= tier(bytes)).count();
        if run + 1 < FAN_OUT {
            return start;
        }
        let joined = sizes.iter().take(start).skip(start - run).map(|size| size.live_bytes());
        bytes = joined.fold(bytes, u64::saturating_add);
        start -= run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(bytes: u64) -> Size {
        Size { bytes, nodes: 100, dead: 0 }
    }

    /// An index as commits leave it, and what they wrote.
    #[derive(Default)]
    struct Index {
        sizes: Vec<Size>,
        added: u64,
        deleted: u64,
        written: u64,
        most_segments: usize,
    }

    impl Index {
        fn commit(&mut self, bytes: u64) {
            self.sizes.push(live(bytes));
            self.added += bytes;
            self.settle();
        }

        /// Deletes `nodes` of the hundred of segment `at`.
        fn delete(&mut self, at: usize, nodes: u64) {
            let size = &mut self.sizes[at];
            let nodes = nodes.min(size.nodes - size.dead);
            self.deleted += size.bytes * nodes / size.nodes.max(1);
            size.dead += nodes;
            self.sizes.retain(|size| size.dead < size.nodes);
            self.settle();
        }

        fn settle(&mut self) {
            for range in plan(&self.sizes).into_iter().rev() {
                let bytes = self.sizes[range.clone()].iter().map(|size| size.live_bytes()).sum();
                self.sizes.splice(range, [live(bytes)]);
                self.written += bytes;
            }
            self.most_segments = self.most_segments.max(self.sizes.len());
            assert!(plan(&self.sizes).is_empty(), "one pass settles it: {:?}", self.sizes);
            assert!(self.sizes.iter().all(|size| size.dead * 2 <= size.nodes));
        }

        fn bytes(&self) -> u64 {
            self.sizes.iter().map(|size| size.bytes).sum()
        }

        fn tiers(&self) -> u64 {
            u64::from(tier(self.bytes().max(self.added))) + 1
        }

        fn assert_segments_are_bounded(&self) {
            let bound = 7 * self.tiers();
            assert!(self.most_segments as u64 <= bound, "{} segments, over {bound}", self.most_segments);
        }
    }

    /// SplitMix64.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[test]
    fn the_eighth_small_segment_joins_the_others_and_a_large_one_is_left() {
        let mut sizes = vec![live(100 << 20)];
        sizes.extend([live(1 << 10); 7]);
        assert!(plan(&sizes).is_empty());

        sizes.push(live(1 << 10));

        assert_eq!(plan(&sizes), [1..9]);
    }

    #[test]
    fn what_is_joined_joins_the_next_tier_in_the_same_pass() {
        let mut sizes = vec![live(40 << 10); 7];
        sizes.extend([live(5 << 10); 8]);

        assert_eq!(plan(&sizes), [0..15]);
    }

    #[test]
    fn a_segment_is_cleaned_when_a_quarter_is_dead_and_a_large_one_when_half_is() {
        let dead = |bytes, dead| Size { bytes, nodes: 100, dead };

        assert_eq!(plan(&[dead(1 << 20, 26), dead(100 << 20, 50), live(1)]), [0..1]);
        assert_eq!(plan(&[dead(1 << 20, 25), dead(100 << 20, 51), live(1)]), [1..2]);
        assert_eq!(plan(&[live(100 << 20), dead(1, 26)]), [1..2]);
    }

    #[test]
    fn thousands_of_like_commits_write_a_byte_once_a_tier() {
        for bytes in [700, 6 << 10, 300 << 10] {
            let mut index = Index::default();

            (0..20_000).for_each(|_| index.commit(bytes));

            index.assert_segments_are_bounded();
            // The lowest tier takes in some more commits than eight, if they are small.
            let bound = index.tiers() + (8 * TIER_BYTES).div_ceil(7 * bytes);
            assert!(index.written <= bound * index.added, "{} of {}", index.written, index.added);
        }
    }

    #[test]
    fn thousands_of_commits_of_any_size_keep_both_bounds() {
        for seed in 0..20 {
            let mut state = seed;
            let mut index = Index::default();

            for _ in 0..5_000 {
                let scale = random(&mut state) % 18;
                index.commit((512 << scale) + random(&mut state) % 512);
            }

            index.assert_segments_are_bounded();
            let bound = 9 * index.tiers();
            assert!(index.written <= bound * index.added, "{} of {}", index.written, index.added);
        }
    }

    /// Six small ones before each large one: the worst order for the rule.
    #[test]
    fn large_commits_between_small_ones_keep_both_bounds() {
        let mut index = Index::default();

        for _ in 0..2_000 {
            (0..6).for_each(|_| index.commit(700));
            index.commit(64 << 20);
        }

        index.assert_segments_are_bounded();
        assert!(index.written <= 9 * index.tiers() * index.added);
    }

    #[test]
    fn cleaning_writes_at_most_three_times_what_was_deleted() {
        let mut state = 1;
        let mut index = Index::default();
        // Each eight times the one behind it, so that none is joined.
        (0..6).rev().for_each(|tier| index.commit(TIER_BYTES << (3 * tier)));
        assert_eq!(index.written, 0);

        for _ in 0..3_000 {
            let at = usize::try_from(random(&mut state) % 6).expect("small").min(index.sizes.len() - 1);
            let size = index.sizes[at];
            if size.nodes - size.dead > 1 {
                index.delete(at, 1 + random(&mut state) % 20);
            }
            if index.sizes.is_empty() {
                break;
            }
        }

        assert!(
            index.written > 0 && index.written <= 3 * index.deleted,
            "{} {}",
            index.written,
            index.deleted
        );
    }
}
