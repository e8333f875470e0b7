//! Which nodes of a segment live.

use roaring::RoaringBitmap;

use super::reader::SegmentReader;
use super::tally::NONE;

/// The live nodes of a segment, by ordinal: neither they nor an ancestor are deleted.
#[derive(Debug)]
pub struct Live {
    leaves: Vec<u64>,
    inner: Vec<u64>,
    leaf_count: u32,
    own_terms: u64,
    full_terms: u64,
}

impl Live {
    /// The live nodes of `reader`; `None` if all are.
    pub fn of(reader: &SegmentReader, deleted: &RoaringBitmap) -> Option<Self> {
        let header = reader.header();
        if header.is_empty() || deleted.range_cardinality(header.first_node..=header.last_node) == 0 {
            return None;
        }
        let mut live = Self {
            leaves: vec![0; reader.leaves().len().div_ceil(64)],
            inner: vec![0; reader.inner().len().div_ceil(64)],
            leaf_count: 0,
            own_terms: 0,
            full_terms: 0,
        };
        for (at, (node, parent)) in (0..).zip(reader.inner().iter().zip(reader.inner_parents())) {
            if (*parent == NONE || live.has_inner(*parent)) && !deleted.contains(node.node) {
                set(&mut live.inner, at);
            }
        }
        let lens = reader.full_lens().iter();
        let leaves = reader.leaves().iter().zip(reader.leaf_parents()).zip(lens);
        for (at, ((leaf, parent), full_len)) in (0..).zip(leaves) {
            if live.has_inner(*parent) && !deleted.contains(leaf.node) {
                set(&mut live.leaves, at);
                live.leaf_count += 1;
                live.own_terms += u64::from(leaf.own_len);
                live.full_terms += u64::from(*full_len);
            }
        }
        Some(live)
    }

    /// Whether leaf `ordinal` lives.
    pub fn has_leaf(&self, ordinal: u32) -> bool {
        has(&self.leaves, ordinal)
    }

    /// Whether inner node `ordinal` lives.
    pub fn has_inner(&self, ordinal: u32) -> bool {
        has(&self.inner, ordinal)
    }

    /// Leaf `i` is bit `i % 64` of word `i / 64`.
    pub fn leaf_words(&self) -> &[u64] {
        &self.leaves
    }

    /// How many leaves live.
    pub const fn leaf_count(&self) -> u32 {
        self.leaf_count
    }

    /// Own terms of the leaves that live.
    pub const fn own_terms(&self) -> u64 {
        self.own_terms
    }

    /// Terms of the full fields of the leaves that live.
    pub const fn full_terms(&self) -> u64 {
        self.full_terms
    }
}

fn has(words: &[u64], at: u32) -> bool {
    words.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

fn set(words: &mut [u64], at: u32) {
    if let Some(word) = words.get_mut(at as usize / 64) {
        *word |= 1 << (at % 64);
    }
}
