//! Where terms stand in the texts of nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::support::Memory;
use super::support::WORDS;
use super::support::forest;
use super::support::groups;
use super::support::live;
use super::support::merged;
use super::support::open;
use super::support::steps;
use crate::error::ErrorKind;
use crate::ids::NodeId;
use crate::ids::SegmentId;
use crate::text::Analyzer;
use crate::text::NodeTerms;
use crate::text::SegmentBuilder;
use crate::text::SegmentReader;
use crate::text::live::Live;
use crate::text::reader::In;

/// Node, and the positions of `term` in its own text.
fn places(reader: &SegmentReader, memory: &Memory, term: &str) -> BTreeMap<u32, Vec<u32>> {
    let mut found = BTreeMap::new();
    let Some(postings) = reader.postings(memory, term).unwrap() else { return found };
    let mut leaf = |ordinal: u32, positions: &[u32]| {
        found.insert(reader.leaves()[ordinal as usize].node, positions.to_vec());
    };
    reader.occurrences(memory, &postings, In::Bodies, &mut leaf).unwrap();
    let mut inner = |ordinal: u32, positions: &[u32]| {
        found.insert(reader.inner()[ordinal as usize].node, positions.to_vec());
    };
    reader.occurrences(memory, &postings, In::Headings, &mut inner).unwrap();
    found
}

proptest! {
    #[test]
    fn every_position_comes_back_and_survives_a_merge(
        steps in steps(),
        deleted in prop::collection::btree_set(1_u32..60, 0..4),
    ) {
        let nodes = forest(&steps);
        let deleted: RoaringBitmap = deleted.into_iter().collect();
        let (readers, memory) = open(&groups(&nodes));
        let readers: Vec<&SegmentReader> = readers.iter().map(|reader| &**reader).collect();

        let merged = merged(&readers, &memory, &deleted).unwrap();

        let mut one = Memory::default();
        one.put(1, &merged);
        let reader = SegmentReader::open(SegmentId(1), &merged.header, &one).unwrap();
        reader.check(&one).unwrap();
        let all_of = |term: &str| -> BTreeMap<u32, Vec<u32>> {
            readers.iter().flat_map(|reader| places(reader, &memory, term)).collect()
        };
        let alive = live(&nodes, &deleted);
        for term in WORDS {
            for (texts, found) in [(&nodes, all_of(term)), (&alive, places(&reader, &one, term))] {
                let with = |node: &super::support::Node| {
                    let hits = (0_u32..).zip(&node.terms).filter(|(_, word)| **word == term);
                    (node.at.node.0, hits.map(|(at, _)| at).collect::<Vec<_>>())
                };
                let expected: BTreeMap<u32, Vec<u32>> =
                    texts.iter().map(with).filter(|(_, positions)| !positions.is_empty()).collect();
                prop_assert_eq!(found, expected, "{}", term);
            }
        }
    }

    #[test]
    fn full_counts_are_the_leaves_with_the_term_in_their_own_text_or_above(steps in steps()) {
        let nodes = forest(&steps);
        let (readers, memory) = open(&[&nodes]);
        let reader = &readers[0];

        for term in WORDS {
            let has = |node: &super::support::Node| node.terms.contains(&term);
            let above = |leaf: NodeId| {
                nodes.iter().any(|node| node.at.node <= leaf && leaf <= node.at.last && has(node))
            };
            let expected = nodes.iter().filter(|node| node.at.is_leaf && above(node.at.node)).count();
            let postings = reader.postings(&memory, term).unwrap();
            let found = postings.map_or(0, |postings| postings.full_count());
            prop_assert_eq!(found as usize, expected, "{}", term);
        }
    }

    #[test]
    fn the_live_nodes_of_a_segment_are_those_below_no_deleted_one(
        steps in steps(),
        deleted in prop::collection::btree_set(1_u32..60, 0..4),
    ) {
        let nodes = forest(&steps);
        let deleted: RoaringBitmap = deleted.into_iter().collect();
        let (readers, _) = open(&[&nodes]);

        let alive = Live::of(&readers[0], &deleted);

        let expected: RoaringBitmap = live(&nodes, &deleted).iter().map(|node| node.at.node.0).collect();
        let Some(alive) = alive else { return Ok(prop_assert_eq!(expected.len() as usize, nodes.len())) };
        for (at, leaf) in (0..).zip(readers[0].leaves()) {
            prop_assert_eq!(alive.has_leaf(at), expected.contains(leaf.node));
        }
        for (at, node) in (0..).zip(readers[0].inner()) {
            prop_assert_eq!(alive.has_inner(at), expected.contains(node.node));
        }
        let lens = readers[0].full_lens();
        let of_alive = (0..).zip(lens).filter(|(at, _)| alive.has_leaf(*at)).map(|(_, len)| u64::from(*len));
        prop_assert_eq!(alive.full_terms(), of_alive.sum::<u64>());
        let own_lens = readers[0].leaves().iter().map(|leaf| leaf.own_len);
        let own = (0..).zip(own_lens).filter(|(at, _)| alive.has_leaf(*at)).map(|(_, len)| u64::from(len));
        prop_assert_eq!(alive.own_terms(), own.sum::<u64>());
        let bits: u32 = alive.leaf_words().iter().map(|word| word.count_ones()).sum();
        prop_assert_eq!(alive.leaf_count(), bits);
    }
}

#[test]
fn the_texts_of_a_node_are_32_positions_apart_and_an_empty_one_takes_none() {
    let mut builder = SegmentBuilder::new();
    let root =
        NodeTerms { node: NodeId(1), parent: NodeId(0), last: NodeId(3), kind: 1, level: 0, is_leaf: false };
    let leaf = |node| {
        let (node, parent) = (NodeId(node), NodeId(1));
        NodeTerms { node, parent, last: node, kind: 3, level: 1, is_leaf: true }
    };
    let analyzer = Analyzer::new(crate::text::AnalyzerConfig::plain());
    builder.add_text(root, &analyzer, &["some title"]).unwrap();
    builder.add_text(leaf(2), &analyzer, &["one two", "two three two"]).unwrap();
    builder.add_text(leaf(3), &analyzer, &["", "two"]).unwrap();
    let parts = builder.finish().unwrap();
    let mut memory = Memory::default();
    memory.put(1, &parts);
    let reader = SegmentReader::open(SegmentId(1), &parts.header, &memory).unwrap();

    let two = places(&reader, &memory, "two");

    // "one two" takes positions 0 and 1: the next text begins at 2 + 32.
    assert_eq!(two, BTreeMap::from([(2, vec![1, 34, 36]), (3, vec![0])]));
    assert_eq!(places(&reader, &memory, "title"), BTreeMap::from([(1, vec![1])]));
    assert_eq!(places(&reader, &memory, "three"), BTreeMap::from([(2, vec![35])]));
}

#[test]
fn a_term_that_occurs_once_takes_no_byte_of_lists_or_positions() {
    let nodes = forest(&[(8, vec![]), (0, vec![0, 1]), (0, vec![1])]);
    let (readers, memory) = open(&[&nodes]);

    let alpha = readers[0].postings(&memory, "alpha").unwrap().unwrap();

    assert_eq!((alpha.body_count(), alpha.heading_count(), alpha.full_count()), (1, 0, 1));
    assert_eq!(places(&readers[0], &memory, "alpha"), BTreeMap::from([(2, vec![0])]));
    // Positions 1 and 0 of "beta" take a width and two bits.
    assert_eq!(readers[0].header().positions_bytes, 2);
}

#[test]
fn a_lone_posting_of_a_leaf_that_is_not_there_is_corrupt() {
    let nodes = forest(&[(8, vec![]), (0, vec![0])]);
    let (readers, memory) = open(&[&nodes]);
    let reader = Arc::clone(&readers[0]);

    let error = reader.postings_at(&memory, (1 << 1) | 1).expect_err("leaf 1 of 1");

    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.corruption().map(|at| at.table.as_str()), Some("text_parts"));
}
