//! Scores against the oracle; deletes, several segments and merges against an index built anew.

use std::sync::Arc;

use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::oracle::Oracle;
use super::oracle::bm25;
use super::support::Memory;
use super::support::Node;
use super::support::WORDS;
use super::support::build;
use super::support::forest;
use super::support::groups;
use super::support::index;
use super::support::live;
use super::support::merged;
use super::support::open;
use super::support::placed;
use super::support::steps;
use crate::ids::NodeId;
use crate::ids::NodeRange;
use crate::ids::SegmentId;
use crate::text::Bm25;
use crate::text::Field;
use crate::text::Scorer;
use crate::text::SegmentReader;
use crate::text::TextIndex;
use crate::text::View;

/// All scores of all kinds, with their doc freqs, so that two indexes can be compared bit by bit.
fn everything(view: &View, index: &TextIndex, question: &[&str]) -> (Vec<Vec<f32>>, Vec<Vec<u32>>) {
    let hits = index.hits(view, question).unwrap();
    let scorer = Scorer::new(view, &hits, Bm25::default());
    let ranges: Vec<NodeRange> = view.sections().iter().map(|section| section.range).collect();
    let scores = vec![
        scorer.leaf_scores(),
        scorer.leaf_scores_by_document(),
        scorer.section_scores(),
        scorer.window_scores(2),
        scorer.window_scores(0),
        scorer.document_scores(),
        scorer.range_scores(&ranges),
    ];
    let fields = [Field::Leaf, Field::Section, Field::Window(2), Field::Document];
    (scores, fields.map(|field| scorer.doc_freqs(field)).to_vec())
}

fn close(found: &[f32], expected: &[f64]) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        prop_assert!((f64::from(*found) - expected).abs() < 1e-5 * expected.max(1.0), "{found} {expected}");
    }
    Ok(())
}

/// Cuts some nodes out: a deleted node, with its subtree named or not.
fn delete(nodes: &[Node], picks: &[(prop::sample::Index, bool)]) -> RoaringBitmap {
    let mut deleted = RoaringBitmap::new();
    for (pick, whole) in picks {
        let node = &nodes[pick.index(nodes.len())].at;
        deleted.insert_range(node.node.0..=if *whole { node.last.0 } else { node.node.0 });
    }
    deleted
}

/// Ranges of a scope: subtrees, or anything between two nodes.
fn scope(nodes: &[Node], picks: &[(prop::sample::Index, u32)]) -> Vec<NodeRange> {
    let mut set = RoaringBitmap::new();
    for (pick, more) in picks {
        let node = &nodes[pick.index(nodes.len())].at;
        let last = if *more > 4 { node.last.0 } else { node.node.0 + more };
        set.insert_range(node.node.0..=last);
    }
    let mut out = Vec::new();
    let mut rest = set.iter();
    while let Some(range) = rest.next_range() {
        out.push(NodeRange::new(NodeId(*range.start()), NodeId(*range.end())));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_score_is_the_oracle_s_in_every_scope_with_deletes_and_segments(
        steps in steps(),
        deletes in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..4),
        scopes in prop::collection::vec((any::<prop::sample::Index>(), 0_u32..9), 0..4),
        question in prop::collection::vec(0_usize..6, 0..5),
    ) {
        let nodes = forest(&steps);
        let question: Vec<&str> = question.into_iter().map(|word| WORDS[word]).collect();
        let deleted = delete(&nodes, &deletes);
        let index = index(&groups(&nodes), &deleted);
        let ranges = scope(&nodes, &scopes);
        let whole = [NodeRange::new(NodeId(1), NodeId(u32::MAX))];
        let (view, oracle) = if ranges.is_empty() {
            (index.everything(), Oracle::new(&live(&nodes, &deleted), &whole))
        } else {
            (Arc::new(index.view(&ranges).unwrap()), Oracle::new(&live(&nodes, &deleted), &ranges))
        };

        let hits = index.hits(&view, &question).unwrap();
        let scorer = Scorer::new(&view, &hits, Bm25::default());

        let ids = |nodes: &[Node]| nodes.iter().map(|node| node.at.node).collect::<Vec<_>>();
        prop_assert_eq!(view.leaves(), ids(&oracle.leaves));
        prop_assert_eq!(view.sections().iter().map(|s| s.range.first).collect::<Vec<_>>(), ids(&oracle.sections));
        prop_assert_eq!(view.documents().iter().map(|d| d.range.first).collect::<Vec<_>>(), ids(&oracle.documents));
        for (at, leaf) in (0..).zip(&oracle.leaves) {
            let section = &view.sections()[view.section_of(at).unwrap() as usize];
            prop_assert_eq!(section.range.first, leaf.at.parent);
            prop_assert!(section.leaves.contains(&at));
            let document = view.documents_of_leaves()[at as usize];
            prop_assert_eq!(view.documents()[document as usize].range.first, oracle.root_of(leaf));
        }
        close(&scorer.leaf_scores(), &bm25(&oracle.leaf_texts(), &question))?;
        close(&scorer.leaf_scores_by_document(), &oracle.by_document(&question))?;
        close(&scorer.section_scores(), &bm25(&oracle.section_texts(), &question))?;
        close(&scorer.document_scores(), &bm25(&oracle.document_texts(), &question))?;
        for radius in [0, 1, 2, 7] {
            let texts = oracle.window_texts(radius as usize);
            close(&scorer.window_scores(radius), &bm25(&texts, &question))?;
        }
        let own: Vec<NodeRange> = view.sections().iter().map(|section| section.range).collect();
        prop_assert_eq!(scorer.range_scores(&own), scorer.section_scores());
    }

    #[test]
    fn an_index_with_deletes_and_segments_is_equal_to_one_built_anew_and_to_its_merge(
        steps in steps(),
        deletes in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..4),
        question in prop::collection::vec(0_usize..6, 1..5),
    ) {
        let nodes = forest(&steps);
        let question: Vec<&str> = question.into_iter().map(|word| WORDS[word]).collect();
        let deleted = delete(&nodes, &deletes);
        let (readers, memory) = open(&groups(&nodes));
        let anew = build(&live(&nodes, &deleted));
        let readers: Vec<&SegmentReader> = readers.iter().map(|reader| &**reader).collect();

        let merged = merged(&readers, &memory, &deleted).unwrap();

        prop_assert_eq!(&merged, &anew);
        let mut memory = Memory::default();
        memory.put(1, &merged);
        let reader = SegmentReader::open(SegmentId(1), &merged.header, &memory).unwrap();
        let merged = TextIndex::new(vec![Arc::new(reader)], Arc::default(), Arc::new(memory)).unwrap();
        let split = index(&groups(&nodes), &deleted);
        let (one, other) = (merged.everything(), split.everything());
        prop_assert_eq!(everything(&one, &merged, &question), everything(&other, &split, &question));
        for set in [TextIndex::nodes_of_kind, TextIndex::nodes_at_level] {
            for byte in 0..5 {
                let ids = set(&split, byte).unwrap() & live_ids(&nodes, &deleted);
                prop_assert_eq!(set(&merged, byte).unwrap(), ids);
            }
        }
    }

    #[test]
    fn search_gives_the_best_of_all_scores_within_the_filter(
        steps in steps(),
        deletes in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..3),
        filter in prop::option::of(prop::collection::btree_set(1_u32..70, 0..40)),
        limit in 0_usize..8,
    ) {
        let nodes = forest(&steps);
        let deleted = delete(&nodes, &deletes);
        let index = index(&groups(&nodes), &deleted);
        let question = [WORDS[0], WORDS[3], "absent"];
        let filter: Option<RoaringBitmap> = filter.map(|nodes| nodes.into_iter().collect());

        let found = index.search(&question, filter.as_ref(), limit).unwrap();

        let view = index.everything();
        let hits = index.hits(&view, &question).unwrap();
        let scores = Scorer::new(&view, &hits, Bm25::default()).leaf_scores();
        let mut expected: Vec<(NodeId, f32)> = view.leaves().iter().copied().zip(scores).collect();
        expected.retain(|(node, score)| *score > 0.0 && filter.as_ref().is_none_or(|f| f.contains(node.0)));
        expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        expected.truncate(limit);
        let found: Vec<(NodeId, f32)> = found.into_iter().map(|scored| (scored.node, scored.score)).collect();
        prop_assert_eq!(found, expected);
    }
}

fn live_ids(nodes: &[Node], deleted: &RoaringBitmap) -> RoaringBitmap {
    live(nodes, deleted).iter().map(|node| node.at.node.0).collect()
}

/// duckdb#12330, smile#682, Michael-JB/bm25 PR#20: a term that all leaves have.
#[test]
fn a_term_in_every_leaf_still_scores_above_zero() {
    let nodes = forest(&[(8, vec![]), (0, vec![0]), (0, vec![0, 1])]);
    let index = index(&[&nodes], &RoaringBitmap::new());

    let found = index.search(&["alpha"], None, 9).unwrap();

    // n = df = 2: idf = ln(1 + 0.5 / 2.5) = ln 1.2 = 0.18232. Lengths 1 and 2, mean 1.5.
    // Leaf 2: 0.18232 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 1.5)) = 0.40111 / 1.9 = 0.21111
    // Leaf 3: 0.18232 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 1.5)) = 0.40111 / 2.5 = 0.16044
    let rounded: Vec<(u32, String)> = found.iter().map(|s| (s.node.0, format!("{:.5}", s.score))).collect();
    assert_eq!(rounded, [(2, "0.21111".to_owned()), (3, "0.16044".to_owned())]);
}

/// xerj PR#192: the same text written anew must not change its rank.
#[test]
fn a_document_deleted_and_written_anew_scores_as_before() {
    let first = [(8, vec![]), (0, vec![0]), (0, vec![0, 1]), (8, vec![2]), (0, vec![0, 0])];
    let again: Vec<(u8, Vec<u8>)> = first.iter().chain(&first[..3]).cloned().collect();
    let before = index(&groups(&forest(&first)), &RoaringBitmap::new());
    let after = index(&groups(&forest(&again)), &(1..=3).collect());

    let scores = |index: &TextIndex| {
        let found = index.search(&["alpha"], None, 9).unwrap();
        found.iter().map(|found| found.score).collect::<Vec<_>>()
    };

    assert_eq!(scores(&before), scores(&after));
}

#[test]
fn headings_apply_to_the_leaves_below_and_to_no_others() {
    // Document 1 "delta" > section 2 "alpha" > leaf 3 "beta"; section 4 (closed, opened) "beta" > leaf 5 "eps".
    let nodes = forest(&[(8, vec![3]), (7, vec![0]), (0, vec![1]), (6, vec![1]), (0, vec![4])]);
    let index = index(&[&nodes], &RoaringBitmap::new());

    let leaves = |term: &str| {
        let mut found: Vec<u32> = index.search(&[term], None, 9).unwrap().iter().map(|s| s.node.0).collect();
        found.sort_unstable();
        found
    };

    assert_eq!(leaves("delta"), [3, 5]);
    assert_eq!(leaves("alpha"), [3]);
    assert_eq!(leaves("beta"), [3, 5]);
    assert_eq!(leaves("eps"), [5]);
}

#[test]
fn sets_terms_and_attributes_are_found_by_name() {
    let nodes = forest(&[(8, vec![3]), (0, vec![0]), (1, vec![1, 0]), (8, vec![]), (0, vec![5])]);
    let index = index(&groups(&nodes), &[2].into());

    // One term: color=red. Nodes 1, 2 and 5; 2 is deleted.
    assert_eq!(index.nodes_with_attribute("color=red").unwrap(), [1, 5].into());
    assert_eq!(index.nodes_with_attribute("color=blue").unwrap(), RoaringBitmap::new());
    assert_eq!(index.nodes_at_level(0).unwrap(), [1, 4].into());
    // In all segments, the deleted leaf 2 included: alpha in 2 and 3.
    assert_eq!(index.terms_with_prefix("a", 9).unwrap(), [("alpha".to_owned(), 2)]);
    assert_eq!(index.terms_with_prefix("", 2).unwrap(), [("alpha".to_owned(), 2), ("beta".to_owned(), 1)]);
}

#[test]
fn nodes_out_of_order_or_place_are_refused_and_leave_the_builder_as_it_was() {
    let nodes = forest(&[(8, vec![3]), (7, vec![0]), (0, vec![1])]);
    let mut builder = crate::text::SegmentBuilder::new();
    let none: [(&str, u32); 0] = [];
    let at = |at: usize| nodes[at].at;

    assert!(builder.add_node(at(2), placed(["x"])).is_err());
    builder.add_node(at(0), placed(&nodes[0].terms)).unwrap();
    assert!(builder.add_node(at(0), none).is_err());
    assert!(builder.add_node(crate::text::NodeTerms { parent: NodeId(7), ..at(1) }, none).is_err());
    assert!(builder.add_node(crate::text::NodeTerms { last: NodeId(9), ..at(1) }, none).is_err());
    builder.add_node(at(1), placed(&nodes[1].terms)).unwrap();
    assert!(builder.add_node(crate::text::NodeTerms { last: NodeId(4), ..at(2) }, none).is_err());
    builder.add_node(at(2), placed(&nodes[2].terms)).unwrap();
    assert!(builder.add_set(NodeRange::new(NodeId(1), NodeId(1)), &"k".repeat(70_000)).is_err());

    let mut expected = crate::text::SegmentBuilder::new();
    for node in &nodes {
        expected.add_node(node.at, placed(&node.terms)).unwrap();
    }
    assert_eq!(builder.finish().unwrap(), expected.finish().unwrap());
}

#[test]
fn an_empty_index_answers_with_nothing() {
    let index = index(&[], &RoaringBitmap::new());

    assert_eq!(index.search(&["alpha"], None, 9).unwrap(), []);
    assert_eq!(everything(&index.everything(), &index, &["alpha"]).0, vec![Vec::<f32>::new(); 7]);
    assert!(crate::text::SegmentBuilder::new().finish().unwrap().header.is_empty());
    assert!(merged(&[], &Memory::default(), &RoaringBitmap::new()).unwrap().header.is_empty());
}

#[test]
fn lists_that_cross_chunks_come_back() {
    // 60,000 leaves; "alpha" in each with a frequency of 1 or 2, so that its list is long; 60,000 terms of two
    // leaves each make entries and dictionary cross chunks too.
    let mut builder = crate::text::SegmentBuilder::new();
    let count = 60_000;
    let rare = |node: u32| format!("rare{:08x}", (node / 2).wrapping_mul(2_654_435_761).reverse_bits());
    let root = forest(&[(8, vec![])])[0].at;
    let root = crate::text::NodeTerms { last: NodeId(count + 1), ..root };
    builder.add_node(root, placed(["alpha"])).unwrap();
    for node in 2..=count + 1 {
        let (node, parent) = (NodeId(node), NodeId(1));
        let at = crate::text::NodeTerms { node, parent, last: node, kind: 3, level: 1, is_leaf: true };
        let third = if node.0 % 3 == 0 { "alpha" } else { "beta" };
        builder.add_node(at, placed(["alpha", &rare(node.0), third, &rare(node.0 + 1_000_000)])).unwrap();
    }
    assert!(builder.memory_bytes() > 1 << 20);
    let parts = builder.finish().unwrap();
    assert!(parts.chunks.iter().all(|(_, _, bytes)| bytes.len() <= crate::format::text::CHUNK_BYTES));
    for crossing in [1, 5] {
        assert!(parts.chunks.iter().any(|(part, index, _)| *part == crossing && *index > 0), "{crossing}");
    }
    let mut memory = Memory::default();
    memory.put(1, &parts);
    let reader = SegmentReader::open(SegmentId(1), &parts.header, &memory).unwrap();
    reader.check(&memory).unwrap();
    let index = TextIndex::new(vec![Arc::new(reader)], Arc::default(), Arc::new(memory)).unwrap();

    let view = index.view(&[NodeRange::new(NodeId(30_000), NodeId(30_005))]).unwrap();
    let hits = index.hits(&view, &["alpha", &rare(30_002)]).unwrap();

    assert_eq!(hits[0].leaves, [0, 1, 2, 3, 4, 5]);
    assert_eq!(hits[0].term_freqs, [2, 1, 1, 2, 1, 1]);
    assert_eq!(hits[1].leaves, [2, 3]);
    for node in (2..=count + 1).step_by(1_994) {
        let found = index.search(&[rare(node)], None, 3).unwrap();
        assert_eq!(found.iter().map(|found| found.node.0).collect::<Vec<_>>(), [node, node + 1]);
    }
}
