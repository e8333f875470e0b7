//! Where nodes are among the leaves of a segment.

use std::ops::Range;

use roaring::RoaringBitmap;

use crate::format::text::LeafRecord;
use crate::kernels;

/// Ids of a container of a Roaring bitmap.
const CONTAINER: usize = 1 << 16;

/// Words of a container.
const WORDS: usize = CONTAINER / 64;

/// A segment that spans more ids for each of its leaves has its sets looked up leaf by leaf.
const SPAN: usize = 64;

/// Which nodes of a segment are leaves, so that a set of nodes becomes one of leaf ordinals word by word.
/// 12 bytes for each 64 node ids that the segment spans.
#[derive(Debug)]
pub struct Places {
    /// The first id, the first of a container.
    base: u32,
    /// Bits of the leaves from `base` on, whole containers.
    is_leaf: Vec<u64>,
    /// For each word how many leaves lie before it.
    ranks: Vec<u32>,
    leaves: usize,
}

impl Places {
    /// The places of `leaves`, which ascend.
    pub fn of(leaves: &[LeafRecord]) -> Self {
        let (first, last) = match leaves {
            [first, .., last] => (first.node, last.node),
            [one] => (one.node, one.node),
            [] => (0, 0),
        };
        let base = first & !0xffff;
        let containers = ((last - base) >> 16) as usize + 1;
        // A segment that lost most of its nodes may span many ids.
        if containers > 1 + leaves.len() * SPAN / CONTAINER {
            return Self { base, is_leaf: Vec::new(), ranks: Vec::new(), leaves: leaves.len() };
        }
        let mut is_leaf = vec![0_u64; containers * WORDS];
        for leaf in leaves {
            let at = (leaf.node - base) as usize;
            is_leaf[at / 64] |= 1 << (at % 64);
        }
        let mut before = 0;
        let mut ranks = Vec::with_capacity(is_leaf.len());
        for word in &is_leaf {
            ranks.push(before);
            before += word.count_ones();
        }
        Self { base, is_leaf, ranks, leaves: leaves.len() }
    }

    /// Bits of the leaves, those the places were made of, that are in `nodes`, 64 a word, lowest first.
    ///
    /// The set is read in its portable form (format-spec.md, appendix B), whose containers are words already
    /// where it is dense; its iterators give one id after another.
    pub fn bits(&self, nodes: &RoaringBitmap, leaves: &[LeafRecord]) -> Vec<u64> {
        let mut out = vec![0; self.leaves.div_ceil(64)];
        if self.is_leaf.is_empty() {
            for (word, leaves) in out.iter_mut().zip(leaves.chunks(64)) {
                let bits = leaves.iter().enumerate();
                *word = bits.fold(0, |word, (at, leaf)| word | u64::from(nodes.contains(leaf.node)) << at);
            }
            return out;
        }
        let mut bytes = Vec::with_capacity(nodes.serialized_size());
        // A vector takes every byte: writing to it cannot fail.
        let _ = nodes.serialize_into(&mut bytes);
        if self.add_portable(&bytes, &mut out).is_none() {
            debug_assert!(false, "the portable form of a set cannot be read");
            out.fill(0);
            for node in nodes {
                self.add_node(node, &mut out);
            }
        }
        out
    }

    fn add_portable(&self, bytes: &[u8], out: &mut [u64]) -> Option<()> {
        const NO_RUNS: u32 = 12_346;
        const RUNS: u32 = 12_347;
        let (cookie, mut rest) = take_u32(bytes)?;
        let (count, runs) = if cookie & 0xffff == RUNS {
            let count = (cookie >> 16) as usize + 1;
            let (runs, after) = rest.split_at_checked(count.div_ceil(8))?;
            rest = after;
            (count, runs)
        } else if cookie == NO_RUNS {
            let (count, after) = take_u32(rest)?;
            rest = after;
            (count as usize, &[][..])
        } else {
            return None;
        };
        let (heads, mut rest) = rest.split_at_checked(4 * count)?;
        if runs.is_empty() || count >= 4 {
            // Offsets, which follow from what the containers hold.
            rest = rest.get(4 * count..)?;
        }
        for (at, [k0, k1, c0, c1]) in heads.as_chunks::<4>().0.iter().enumerate() {
            let first = u32::from(u16::from_le_bytes([*k0, *k1])) << 16;
            let cardinality = usize::from(u16::from_le_bytes([*c0, *c1])) + 1;
            let is_run = runs.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
            let size = match (is_run, cardinality) {
                (true, _) => {
                    let (low, _) = rest.split_first_chunk()?;
                    2 + 4 * usize::from(u16::from_le_bytes(*low))
                }
                (false, 0..=4096) => 2 * cardinality,
                (false, _) => CONTAINER / 8,
            };
            let (container, after) = rest.split_at_checked(size)?;
            rest = after;
            // Containers that hold no leaf of the segment are passed over.
            let Some(from) = first.checked_sub(self.base).map(|from| from as usize / 64) else { continue };
            let Some(is_leaf) = self.is_leaf.get(from..from + WORDS) else { continue };
            let ranks = self.ranks.get(from..from + WORDS)?;
            if is_run {
                for run in container.get(2..)?.as_chunks::<4>().0 {
                    let [s0, s1, l0, l1] = *run;
                    let start = usize::from(u16::from_le_bytes([s0, s1]));
                    let end = start + usize::from(u16::from_le_bytes([l0, l1])) + 1;
                    self.add_range(from * 64 + start..from * 64 + end, out);
                }
            } else if cardinality <= 4096 {
                for low in container.as_chunks::<2>().0 {
                    self.add_node(first | u32::from(u16::from_le_bytes(*low)), out);
                }
            } else {
                let mut words = [0; WORDS];
                for (word, bytes) in words.iter_mut().zip(container.as_chunks::<8>().0) {
                    *word = u64::from_le_bytes(*bytes);
                }
                kernels::rank_bits(&words, is_leaf, ranks, out);
            }
        }
        Some(())
    }

    fn add_node(&self, node: u32, out: &mut [u64]) {
        let Some(at) = node.checked_sub(self.base).map(|at| at as usize) else { return };
        let below = (1_u64 << (at % 64)) - 1;
        if let (Some(word), Some(rank)) = (self.is_leaf.get(at / 64), self.ranks.get(at / 64)) {
            let place = (rank + (word & below).count_ones()) as usize;
            if let Some(out) = out.get_mut(place / 64) {
                *out |= (word >> (at % 64) & 1) << (place % 64);
            }
        }
    }

    /// Adds the leaves at places `nodes` behind the base.
    fn add_range(&self, nodes: Range<usize>, out: &mut [u64]) {
        let rank = |at: usize| match (self.is_leaf.get(at / 64), self.ranks.get(at / 64)) {
            (Some(word), Some(rank)) => (rank + (word & ((1_u64 << (at % 64)) - 1)).count_ones()) as usize,
            _ => self.leaves,
        };
        set_bits(out, rank(nodes.start)..rank(nodes.end));
    }
}

fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*number), rest))
}

fn set_bits(words: &mut [u64], range: Range<usize>) {
    for place in range.start / 64..range.end.div_ceil(64) {
        if let Some(word) = words.get_mut(place) {
            *word |= mask(place, &range);
        }
    }
}

/// How many of the bits of `range` are ones in `words`.
pub fn ones(words: &[u64], range: Range<u32>) -> u32 {
    let range = range.start as usize..range.end as usize;
    let places = range.start / 64..range.end.div_ceil(64);
    let word = |place: usize| words.get(place).copied().unwrap_or(0) & mask(place, &range);
    places.map(|place| word(place).count_ones()).sum()
}

/// The bits of word `place` that are in `range`.
fn mask(place: usize, range: &Range<usize>) -> u64 {
    let below = |bit: usize| match bit.saturating_sub(place * 64) {
        0 => 0,
        bits @ 1..64 => (1 << bits) - 1,
        _ => u64::MAX,
    };
    below(range.end) & !below(range.start)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_of_nodes_becomes_the_bits_of_its_leaves(
            first in prop_oneof![1_u32..10, 60_000_u32..140_000],
            gaps in prop::collection::vec(prop_oneof![20 => 1_u32..4, 1 => 1_u32..70_000], 0..3000),
            picks in prop::collection::vec(0_u32..400_000, 0..200),
            runs in prop::collection::vec((0_u32..400_000, 0_u32..30_000), 0..5),
            one_in in prop::option::of(2_u32..9),
            is_packed in any::<bool>(),
        ) {
            let mut next = first;
            let mut leaves = Vec::new();
            for gap in gaps {
                leaves.push(LeafRecord { node: next, own_len: 0, kind: 0, level: 0 });
                next += gap;
            }
            let mut set: RoaringBitmap = picks.into_iter().collect();
            for (start, len) in runs {
                set.insert_range(start..start + len);
            }
            set.extend(one_in.into_iter().flat_map(|one_in| (0..300_000).filter(move |node| node % one_in == 0)));
            if is_packed {
                set.optimize();
            }

            let bits = Places::of(&leaves).bits(&set, &leaves);

            prop_assert_eq!(bits.len(), leaves.len().div_ceil(64));
            for (at, leaf) in leaves.iter().enumerate() {
                prop_assert_eq!(bits[at / 64] >> (at % 64) & 1 == 1, set.contains(leaf.node), "{}", at);
            }
            let count = bits.iter().map(|word| word.count_ones()).sum::<u32>();
            prop_assert_eq!(ones(&bits, 0..u32::try_from(leaves.len()).unwrap()), count);
        }
    }
}
