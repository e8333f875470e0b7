use super::*;

use std::time::Instant;

use crate::ids::Span;
use crate::ingest::split::tests::Words;

const TOPICS: [&str; 4] = [
    "The harbour lease runs until spring and the landlord pays.",
    "Dividends rose again because quarterly earnings grew strongly.",
    "Our orchestra rehearses Mahler symphonies every Thursday evening.",
    "Glaciers retreat while meltwater feeds alpine rivers below.",
];

/// A document of `n` leaves whose subject changes with every `run` leaves.
fn flat(n: usize, run: usize) -> Document {
    let mut document = Document::new("k", "t");
    for number in 0..n {
        let start = document.text.len();
        document.text.push_str(TOPICS[number / run % TOPICS.len()]);
        let mut leaf = Node::new(Some(0), NodeKind::Text);
        leaf.span = Span::new(u32::try_from(start).unwrap(), u32::try_from(document.text.len()).unwrap());
        leaf.vector_row = Some(u32::try_from(number).unwrap());
        document.nodes.push(leaf);
        document.text.push_str("\n\n");
    }
    document
}

fn balanced(mut document: Document) -> Document {
    balance(&mut document, &Words::default(), None).expect("a valid document");
    document.validate().expect("still valid");
    document
}

/// The number of leaves of each group, in order.
fn sizes(document: &Document) -> Vec<usize> {
    let mut sizes = Vec::new();
    for node in &document.nodes {
        if node.kind == NodeKind::Section {
            sizes.push(0);
        } else if let (true, Some(last)) = (node.kind.is_leaf(), sizes.last_mut()) {
            *last += 1;
        }
    }
    sizes.retain(|size| *size > 0);
    sizes
}

fn level(document: &Document, at: usize) -> usize {
    std::iter::successors(document.nodes[at].parent, |up| document.nodes[*up as usize].parent).count()
}

#[test]
fn six_leaves_stay_below_the_root_and_twenty_are_grouped_by_subject() {
    let six = balanced(flat(6, 2));
    let twenty = balanced(flat(20, 5));

    assert!(six.nodes[1..].iter().all(|node| node.kind == NodeKind::Text && node.parent == Some(0)));
    assert_eq!(sizes(&twenty), [5, 5, 5, 5]);
    let first = &twenty.nodes[1];
    assert_eq!(
        (first.kind, first.parent, first.title.as_str()),
        (NodeKind::Section, Some(0), "harbour, lease, runs, until")
    );
    assert_eq!(first.summary, TOPICS[0]);
}

#[test]
fn no_leaf_is_lost_or_moved_and_none_lies_below_level_three() {
    for n in [7, 8, 60, 61, 400, 3_000] {
        let before = flat(n, 4);
        let after = balanced(before.clone());

        let rows = |document: &Document| {
            document.nodes.iter().filter_map(|node| node.vector_row).collect::<Vec<_>>()
        };
        assert_eq!(rows(&after), rows(&before));
        assert!((0..after.nodes.len()).all(|at| level(&after, at) <= 3));
        assert!(sizes(&after).iter().all(|size| *size <= 8));
    }
}

#[test]
fn vectors_decide_over_words() {
    let mut document = flat(10, 1);
    let rows: Vec<Vec<f32>> = (0..10).map(|n| if n < 3 { vec![1.0, 0.0] } else { vec![0.0, 1.0] }).collect();
    let lookup = |_: usize, leaf: &Node| Some(rows[leaf.vector_row? as usize].as_slice());

    balance(&mut document, &Words::default(), Some(&lookup)).expect("rows of one length");

    assert_eq!(sizes(&document), [3, 7]);
}

#[test]
fn a_vector_of_another_length_is_refused_and_the_document_left_alone() {
    let before = flat(10, 1);
    let mut document = before.clone();
    let rows: Vec<Vec<f32>> = (0..10).map(|n| vec![1.0; if n == 4 { 3 } else { 2 }]).collect();
    let lookup = |number: usize, _: &Node| rows.get(number).map(Vec::as_slice);

    let error = balance(&mut document, &Words::default(), Some(&lookup)).expect_err("row 4 is longer");

    assert!(error.to_string().contains("leaf 4 has 3 values"), "{error}");
    assert_eq!(document, before);
}

#[test]
fn a_second_run_changes_nothing() {
    let once = balanced(flat(200, 7));

    assert_eq!(balanced(once.clone()), once);
    assert_eq!(balanced(flat(200, 7)), once);
}

#[test]
fn every_section_of_two_leaves_has_a_short_summary_and_every_section_a_title() {
    let document = balanced(flat(100, 3));

    for node in document.nodes.iter().filter(|node| node.kind == NodeKind::Section) {
        assert!(!node.title.is_empty());
        assert!((1..=300).contains(&node.summary.chars().count()), "{:?}", node.summary);
    }
    assert!(!document.nodes[0].summary.is_empty());
}

#[test]
fn ten_thousand_leaves_take_a_moment() {
    let start = Instant::now();

    let document = balanced(flat(10_000, 5));

    assert!(document.nodes.len() > 12_000);
    assert!(start.elapsed().as_secs() < 10, "took {:?}", start.elapsed());
}

#[test]
fn halves_are_rounded_to_even_as_the_measured_prototype_did() {
    assert_eq!([wanted(0, 5), wanted(12, 5), wanted(13, 5), wanted(5, 2), wanted(7, 2)], [1, 2, 3, 2, 4]);
}
