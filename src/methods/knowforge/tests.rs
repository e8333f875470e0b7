use super::*;

use crate::db::Database;
use crate::graph::GraphPatch;
use crate::graph::HyperedgeDraft;
use crate::graph::Target;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::ids::Span;
use crate::query::Budget;
use crate::query::Format;
use crate::query::PoolKind;
use crate::query::Question;
use crate::query::QuestionVector;
use crate::tree::Document;
use crate::tree::Node;
use crate::tree::NodeKind;
use crate::vector::Metric;

fn document(key: &str, leaves: &[(NodeKind, &str)]) -> Document {
    let mut document = Document::new(key, "");
    for (kind, text) in leaves {
        let start = u32::try_from(document.text.len()).expect("short");
        document.text.push_str(text);
        let end = u32::try_from(document.text.len()).expect("short");
        document.text.push('\n');
        document.nodes.push(Node { span: Span::new(start, end), ..Node::new(Some(0), *kind) });
    }
    document
}

/// Nodes: 1 document a (2 text, 3 table, 4 image, 5 example), 6 document b (7 text, 8 text). Similarity to east: 2 and 4
/// as near as can be, 7 half way, the others not at all. Hyperedges: 2 cites 8, 2 is much like 7.
fn file() -> Database {
    use NodeKind::{Example, Image, Table, Text};

    let a = document(
        "a",
        &[(Text, "the border"), (Table, "a table"), (Image, "map of a border"), (Example, "border = 中文")],
    );
    let b = document("b", &[(Text, "the longest river"), (Text, "nothing of note")]);
    let database = Database::in_memory().expect("memory");
    let mut write = database.begin_write().expect("a writer");
    let space = write.open_space("plane", 2, Metric::Cosine, "by hand").expect("a new space");
    let first = write.insert_document(&a).expect("sound");
    write.put_leaf_vectors(space, &a, first, &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]).expect("four rows");
    let second = write.insert_document(&b).expect("sound");
    write.put_leaf_vectors(space, &b, second, &[1.0, 1.0, 0.0, 1.0]).expect("two rows");
    let edge = |kind: &str, to: u32, weight: f32| {
        let edge = HyperedgeDraft::new(kind, kind)
            .member("from", Target::Node(1))
            .member("to", Target::Place(NodeId(to)))
            .supported_by(1);
        HyperedgeDraft { weight, ..edge }
    };
    let patch = GraphPatch {
        entities: Vec::new(),
        hyperedges: vec![edge("similarity", 7, 9.0), edge("cites", 8, 1.0)],
    };
    write.put_graph(first, &a, &patch).expect("a sound patch");
    write.commit().expect("memory");
    database
}

fn search(options: &KnowForge, text: &str, vector: Option<&[f32]>) -> SearchResponse {
    let vector = vector.map(|vector| QuestionVector { space: "plane", vector });
    let read = file().begin_read().expect("a state");
    options.search(&read, Question { text, vector }).expect("a sound question")
}

fn nodes(list: &[KnowForgeHit]) -> Vec<u32> {
    list.iter().map(|hit| hit.node.0).collect()
}

fn plain(fusion: ScoreFusion) -> KnowForge {
    KnowForge { fusion, edges: None, paths: None, ..KnowForge::default() }
}

#[track_caller]
fn near(found: f32, wanted: f32) {
    assert!((found - wanted).abs() < 1e-4, "{found}, not {wanted}");
}

/// "longest" is in 7 alone, whose BM25 is so the best. Cosines to east: 2 and 4: 1; 7: .7071; others 0.
#[test]
fn halves_are_summed_by_hand_and_lists_are_split_by_kind() {
    let found = search(&plain(ScoreFusion::halves()), "longest", Some(&[1.0, 0.0]));

    assert_eq!((nodes(&found.text), nodes(&found.images)), (vec![7, 2], vec![4]));
    assert_eq!((nodes(&found.tables), nodes(&found.examples)), (vec![], vec![]));
    near(found.text[0].raw, 0.5 + 0.5 * std::f32::consts::FRAC_1_SQRT_2);
    near(found.text[0].score, 8.535_534);
    near(found.text[0].similarity, std::f32::consts::FRAC_1_SQRT_2);
    near(found.text[1].raw, 0.5);
    assert_eq!(found.text[0].parts[0], ("lexical", 0.5));
    assert_eq!((found.text[0].point, found.text[0].document), (NodeId(7), DocumentId(2)));
    assert!(!found.text[1].from_graph && found.text[1].anchor.is_none());
}

#[test]
fn below_two_of_ten_a_hit_is_weak() {
    // To north with a little east 2 has the cosine .1 / sqrt(1.01) = .0995, half of it, times ten.
    let found = search(&plain(ScoreFusion::halves()), "longest", Some(&[0.1, 1.0]));

    let two = found.text.iter().find(|hit| hit.node == NodeId(2)).expect("it is near enough");
    near(two.score, 0.497_518);
    assert!(two.is_weak() && !found.text[0].is_weak());
}

/// By words 7; by vectors 2, 4, 7.
#[test]
fn reciprocal_ranks_are_summed() {
    let found = search(&plain(ScoreFusion::Rrf { k: 60.0 }), "longest", Some(&[1.0, 0.0]));

    assert_eq!(nodes(&found.text), [7, 2]);
    near(found.text[0].raw, 1.0 / 61.0 + 1.0 / 63.0);
    near(found.text[1].raw, 1.0 / 61.0);
    near(found.images[0].raw, 1.0 / 62.0);
}

#[test]
fn without_vectors_words_stand_in() {
    let found = search(&plain(ScoreFusion::default()), "longest", None);

    assert_eq!(nodes(&found.text), [7]);
    near(found.text[0].score, 10.0);
    near(found.text[0].similarity, 0.0);
    let chinese = search(&plain(ScoreFusion::default()), "中文", None);
    assert_eq!(nodes(&chinese.examples), [5]);
}

#[test]
fn expansion_stands_after_the_list_typed_before_heavy_and_within_its_caps() {
    let all = search(&KnowForge::default(), "border", None);

    assert_eq!(nodes(&all.text), [2, 8, 7]);
    let cited = &all.text[1];
    assert_eq!(
        (cited.from_graph, cited.anchor, cited.link.as_deref()),
        (true, Some(NodeId(2)), Some("cites"))
    );
    near(cited.raw, 0.8 * all.text[0].raw);
    assert_eq!((nodes(&all.images), nodes(&all.examples)), (vec![4], vec![5]));

    let with = |edges: EdgeExpansion| KnowForge { edges: Some(edges), ..KnowForge::default() };
    let defaults = EdgeExpansion::default();
    for bounds in [EdgeExpansion { per_anchor: 1, ..defaults }, EdgeExpansion { total: 1, ..defaults }] {
        assert_eq!(nodes(&search(&with(bounds), "border", None).text), [2, 8]);
    }
    let none = EdgeExpansion { anchors: 0, ..defaults };
    assert_eq!(nodes(&search(&with(none), "border", None).text), [2]);
    // What is a hit already is not found again.
    assert_eq!(nodes(&search(&KnowForge::default(), "border longest", None).text).len(), 3);
}

#[test]
fn documents_bound_hits_and_expansion() {
    let read = file().begin_read().expect("a state");
    let question = Question { text: "border river", vector: None };

    let found = KnowForge::default().search_in(&read, question, Some(&[DocumentId(1)]), 1).expect("sound");

    assert_eq!((nodes(&found.text), found.documents()), (vec![2], vec![DocumentId(1)]));
}

#[test]
fn nothing_is_asked_for_and_nothing_is_there() {
    let zero = KnowForge { topk: 0, images: 0, tables: 0, examples: 0, ..KnowForge::default() };
    assert_eq!(search(&zero, "border", Some(&[1.0, 0.0])).hits().count(), 0);
    let no_candidates = KnowForge { candidates: 0, ..KnowForge::default() };
    assert_eq!(search(&no_candidates, "border", Some(&[1.0, 0.0])).hits().count(), 0);
    assert_eq!(search(&KnowForge::default(), "", None), SearchResponse::default());

    let empty = Database::in_memory().expect("memory").begin_read().expect("a state");
    let found = KnowForge::default().ask(&empty, "border", Budget::tokens(100)).expect("sound");
    assert!(found.retrieved.evidence.items.is_empty() && found.pooled.kept.is_empty());
}

#[test]
fn what_cannot_be_is_refused() {
    let read = file().begin_read().expect("a state");
    let question = Question { text: "border", vector: None };
    for share in [f32::NAN, -1.0, f32::INFINITY] {
        let options = KnowForge {
            edges: Some(EdgeExpansion { share, ..EdgeExpansion::default() }),
            ..KnowForge::default()
        };
        assert!(options.search(&read, question).is_err());
    }
    let wrong = QuestionVector { space: "none", vector: &[1.0, 0.0] };
    let question = Question { text: "border", vector: Some(wrong) };
    assert!(KnowForge::default().search(&read, question).is_err());
    let format = Format::default();
    let nothing = Request::new(&[], Budget::tokens(10), &format);
    assert!(KnowForge::default().retrieve(&read, &nothing).is_err());
}

#[test]
fn a_round_of_two_searches_is_pooled_and_packed_in_turns() {
    let read = file().begin_read().expect("a state");
    let queries = ["border", "longest"].map(|text| Question { text, vector: None });
    let format = Format::default();
    let request = Request::new(&queries, Budget::tokens(200), &format);

    let found = KnowForge::default().retrieve(&read, &request).expect("sound");

    let steps: Vec<&str> = found.retrieved.trace.steps.iter().map(|step| step.name).collect();
    assert_eq!(steps, ["search", "search", "pool", "pack"]);
    let ranking: Vec<u32> = found.retrieved.ranking.iter().map(|(node, _)| node.0).collect();
    assert_eq!((ranking.len(), &ranking[..1]), (5, &[2][..]), "{ranking:?}");
    assert!(ranking.iter().position(|node| *node == 7) <= Some(2), "{ranking:?}");
    assert!(found.retrieved.evidence.spent <= 200 && found.retrieved.evidence.items.len() == 5);

    let tight = crate::query::Pool { cap: 0, images: 0, ..crate::query::Pool::default() };
    let found = KnowForge { pool: tight, ..KnowForge::default() }.retrieve(&read, &request).expect("sound");
    assert!(found.retrieved.ranking.iter().all(|(node, _)| *node != NodeId(4)), "images have no room");
    assert!(!found.pooled.nodes.is_empty());
}

#[test]
fn recall_counts_documents_by_their_first_hit() {
    let hit = |document: u32, kind| KnowForgeHit {
        node: NodeId(document),
        document: DocumentId(document),
        kind,
        score: 0.0,
        raw: 0.0,
        similarity: 0.0,
        parts: Vec::new(),
        point: NodeId(document),
        from_graph: false,
        anchor: None,
        link: None,
        path: Vec::new(),
    };
    let found = SearchResponse {
        text: [1, 1, 2].map(|document| hit(document, PoolKind::Text)).to_vec(),
        tables: vec![hit(4, PoolKind::Table)],
        images: vec![hit(3, PoolKind::Image)],
        ..SearchResponse::default()
    };

    assert_eq!(found.documents(), [1, 2, 3, 4].map(DocumentId));
    let recall = document_recall(&found, &[DocumentId(2), DocumentId(4), DocumentId(2)]).expect("gold");
    let wanted = DocumentRecall { at_1: 0.0, at_3: 0.5, at_8: 1.0, all_found: true };
    assert_eq!(recall, wanted);
    assert!(!document_recall(&found, &[DocumentId(9)]).expect("gold").all_found);
    assert_eq!(document_recall(&found, &[]), None);
}

#[test]
fn options_survive_json() {
    let options = KnowForge { fusion: ScoreFusion::Rrf { k: 60.0 }, ..KnowForge::default() };
    let json = serde_json::to_string(&options).expect("plain data");
    assert_eq!(serde_json::from_str::<KnowForge>(&json).expect("the same"), options);
}
