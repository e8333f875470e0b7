//! The graph of a file: put, found, gone with what supported it, the same after reopening and after a merge.

mod support;

use evdb::db::{RowsOf, VerifyOptions};
use evdb::graph::{
    EdgeText, EntityDraft, Expand, GraphCounts, GraphPatch, HyperedgeDraft, Object, PageRank, Target,
};
use evdb::query::{EntityQuery, Pooling, expand, find_entities, page_rank, project, projected};
use evdb::vector::Metric;
use evdb::{Database, Document, EntityId, ErrorKind, NodeId, WriteTransaction};
use proptest::prelude::*;
use support::{Random, assert_clean, builder, document, dump, dump_raw};

fn entity(name: &str) -> Target {
    Target::entity(name, "place")
}

/// "a" and "b" are neighbours, says leaf 2; "a" has an alias and an attribute.
fn neighbours(a: &str, b: &str) -> GraphPatch {
    let edge =
        HyperedgeDraft::new("relation", "borders").member("subject", entity(a)).member("object", entity(b));
    let mut draft = EntityDraft::new(a, "place");
    draft.aliases.push(format!("old {a}"));
    draft.attributes.insert("area".into(), vec!["12".into(), "13".into()]);
    GraphPatch { entities: vec![draft], hyperedges: vec![edge.supported_by(2)] }
}

/// A document of one section with two leaves, 2 and 3, and its graph.
fn put(write: &mut WriteTransaction, key: &str, patch: &GraphPatch) -> GraphCounts {
    let document = document(key, key.len() as u64, 1, 2, 6);
    let id = write.upsert_document(&document).expect("sound").document();
    write.put_graph(id, &document, patch).expect("a sound patch")
}

fn with(documents: &[(&str, GraphPatch)]) -> Database {
    let db = builder().in_memory().expect("memory");
    for (key, patch) in documents {
        let mut write = db.begin_write().expect("one writer");
        put(&mut write, key, patch);
        write.commit().expect("it is written");
    }
    db
}

fn names(db: &Database) -> Vec<String> {
    let read = db.begin_read().expect("a state");
    let graph = read.graph().expect("sound");
    graph.entities().map(|id| read.entity(id).expect("it is there").name).collect()
}

fn remove(db: &Database, key: &str) {
    let mut write = db.begin_write().expect("one writer");
    assert!(write.remove_document(key).expect("sound"));
    write.commit().expect("it is written");
}

#[test]
fn entities_are_one_by_normalised_name_and_kind() {
    let db =
        with(&[("one", neighbours("Mali", "Niger")), ("two", neighbours(" \u{201c}Mali\u{201d},", "Chad"))]);

    let read = db.begin_read().expect("a state");
    assert_eq!(names(&db), ["Mali", "Niger", "Chad"]);
    let mali = read.entity_by_key("Mali", "place").expect("sound").expect("it is there");
    let info = read.entity(mali).expect("it is there");
    assert_eq!((info.aliases.len(), info.attributes["area"].len()), (2, 2));
    assert_eq!(read.entity_by_key("Mali", "person").expect("sound"), None);
    assert_eq!(read.entity_by_key("mali", "place").expect("sound"), None);
    assert_clean(&db, "two documents");
}

#[test]
fn a_hyperedge_that_two_documents_support_weighs_two_and_survives_one() {
    let db = with(&[("one", neighbours("Mali", "Niger")), ("two", neighbours("Mali", "Niger"))]);
    let read = db.begin_read().expect("a state");
    let graph = read.graph().expect("sound");
    let edge = graph.hyperedges().next().expect("one");
    assert_eq!((graph.hyperedge_count(), graph.supports(edge).len()), (1, 2));
    assert!((graph.weight(edge) - 2.0).abs() < 1e-6);

    remove(&db, "one");

    let after = db.begin_read().expect("a state");
    assert!((after.graph().expect("sound").weight(edge) - 1.0).abs() < 1e-6);
    assert_eq!(after.hyperedge(edge).expect("it is there").label, "borders");
    assert!((read.graph().expect("sound").weight(edge) - 2.0).abs() < 1e-6, "a snapshot does not change");
    remove(&db, "two");
    assert_eq!(names(&db), Vec::<String>::new());
    let error = db.begin_read().expect("a state").hyperedge(edge).expect_err("it is gone");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_clean(&db, "all removed");
}

#[test]
fn facts_go_with_the_document_that_said_them() {
    let mut other = neighbours("Mali", "Niger");
    other.entities[0].attributes = [("capital".to_owned(), vec!["Bamako".to_owned()])].into();
    other.entities[0].aliases.clear();
    let db = with(&[("one", neighbours("Mali", "Niger")), ("two", other)]);

    remove(&db, "one");

    let read = db.begin_read().expect("a state");
    let mali = read.entity_by_key("Mali", "place").expect("sound").expect("it is there");
    let info = read.entity(mali).expect("it is there");
    assert_eq!(
        (info.aliases, info.attributes.keys().cloned().collect::<Vec<_>>()),
        (vec![], vec!["capital".to_owned()])
    );
}

#[test]
fn putting_the_same_again_changes_nothing() {
    let db = with(&[("one", neighbours("Mali", "Niger"))]);
    let before = dump(&db).expect("whole");
    let mut write = db.begin_write().expect("one writer");

    let again = put(&mut write, "one", &neighbours("Mali", "Niger"));
    write.commit().expect("it is written");

    assert_eq!(again, GraphCounts::default());
    assert_eq!(dump(&db).expect("whole"), before);
    remove(&db, "one");
    let mut write = db.begin_write().expect("one writer");
    let counts = put(&mut write, "one", &neighbours("Mali", "Niger"));
    write.commit().expect("it is written");
    assert!(counts.new_mentions == 2 && counts.new_supports == 1, "{counts:?}");
    assert_eq!(names(&db), ["Mali", "Niger"]);
    assert_clean(&db, "removed and put again");
}

/// The text of a hyperedge with a place is the document's; equal sentences at two places are two hyperedges.
#[test]
fn a_sentence_is_stored_once_as_a_place_in_its_document() {
    let document = document("one", 3, 1, 2, 6);
    let span = document.nodes[2].span;
    let sentence = HyperedgeDraft {
        text: EdgeText::Span { node: 2, start: span.start, end: span.end },
        ..HyperedgeDraft::new("sentence", "").member("mention", entity("Mali")).supported_by(2)
    };
    let again = HyperedgeDraft {
        text: EdgeText::Span { node: 3, start: span.start, end: span.end },
        ..sentence.clone()
    };
    let patch = GraphPatch { hyperedges: vec![sentence.clone(), again, sentence], ..GraphPatch::default() };
    let db = builder().in_memory().expect("memory");
    for _ in 0..2 {
        let mut write = db.begin_write().expect("one writer");
        let id = write.upsert_document(&document).expect("sound").document();
        write.put_graph(id, &document, &patch).expect("a sound patch");
        write.commit().expect("it is written");
    }

    let read = db.begin_read().expect("a state");
    let graph = read.graph().expect("sound");
    assert_eq!(graph.hyperedge_count(), 2);
    let info = read.hyperedge(graph.hyperedges().next().expect("two")).expect("it is there");
    assert_eq!(info.text.as_deref(), document.text.get(span.as_range()));
    assert_clean(&db, "sentences");
}

#[test]
fn a_patch_that_is_not_sound_changes_nothing_and_says_why() {
    let db = builder().in_memory().expect("memory");
    let document = document("one", 3, 1, 2, 6);
    let edge = || HyperedgeDraft::new("", "x").member("", entity("a"));
    let with_edge = |edge| GraphPatch { hyperedges: vec![edge], ..GraphPatch::default() };
    let with_entity = |entity| GraphPatch { entities: vec![entity], ..GraphPatch::default() };
    let long = "x".repeat(1_001);
    let bad = [
        (with_edge(HyperedgeDraft::new("", "x")), "no member"),
        (with_edge(edge().supported_by(99)), "no node 99"),
        (with_edge(edge().member("", Target::Node(99))), "no node 99"),
        (with_edge(edge().member("", Target::Place(NodeId(9_999)))), "never was a node 9999"),
        (with_edge(edge().member(&long, entity("b"))), "over 1000"),
        (with_edge(HyperedgeDraft { weight: f32::NAN, ..edge() }), "weight is NaN"),
        (
            with_edge(HyperedgeDraft { text: EdgeText::Span { node: 0, start: 3, end: 1 }, ..edge() }),
            "leaves the text",
        ),
        (with_entity(EntityDraft::new(" ", "x")), "no name"),
        (with_entity(EntityDraft { mentions: vec![(0, -1.0)], ..EntityDraft::new("a", "") }), "weight is -1"),
        (with_entity(EntityDraft::new(&long, "")), "over 1000"),
    ];
    let mut write = db.begin_write().expect("one writer");
    let id = write.insert_document(&document).expect("sound");

    for (patch, why) in bad {
        let error = write.put_graph(id, &document, &patch).expect_err(why);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{why}");
        assert!(error.to_string().contains(why) && error.to_string().contains("\"one\""), "{error}");
    }
    let other = Document::new("one", "another");
    assert!(write.put_graph(id, &other, &GraphPatch::default()).is_err());
    write.commit().expect("it is written");
    assert_eq!(names(&db), Vec::<String>::new());
    assert_clean(&db, "nothing was put");
}

/// Without mentions and support the document's root stands for what it says; self loops and members twice are kept.
#[test]
fn what_no_node_supports_rests_on_the_root_and_projects_to_its_leaves() {
    let edge = HyperedgeDraft::new("", "is").member("", entity("a")).member("", entity("a"));
    let patch = GraphPatch { entities: vec![EntityDraft::new("b", "")], hyperedges: vec![edge] };
    let db = with(&[("one", patch)]);

    let read = db.begin_read().expect("a state");
    let graph = read.graph().expect("sound");
    let b = read.entity_by_key("b", "unknown").expect("sound").expect("it is there");
    assert_eq!(graph.mentions(b).collect::<Vec<_>>(), [(NodeId(1), 1.0)]);
    assert_eq!(projected(&read, Object::Entity(b)).expect("sound"), [NodeId(3), NodeId(4)]);
    let edge = graph.hyperedges().next().expect("one");
    assert_eq!(graph.members(edge).count(), 2);
    assert_eq!(graph.kind(edge), Some("relation"));
    assert_clean(&db, "a self loop");
}

/// Documents joined by a hyperedge among their nodes: it goes with either.
#[test]
fn a_hyperedge_among_nodes_goes_with_any_of_their_documents() {
    for gone in ["one", "two"] {
        let db = with(&[("one", GraphPatch::default())]);
        let edge = HyperedgeDraft::new("similar", "")
            .member("", Target::Node(2))
            .member("", Target::Place(NodeId(3)));
        let mut write = db.begin_write().expect("one writer");
        put(
            &mut write,
            "two",
            &GraphPatch { hyperedges: vec![edge.supported_by(2)], ..GraphPatch::default() },
        );
        write.commit().expect("it is written");
        let around = |db: &Database| {
            let read = db.begin_read().expect("a state");
            expand(&read, &Expand::default(), &[Object::Node(NodeId(3))]).expect("sound").reached.len()
        };
        assert_eq!(around(&db), 1);

        remove(&db, gone);

        assert_eq!(around(&db), 0, "{gone}");
        assert_clean(&db, gone);
    }
}

#[test]
fn entities_are_found_by_key_prefix_and_words() {
    let db =
        with(&[("one", neighbours("New York", "New Jersey")), ("two", neighbours("New Yorker", "York"))]);
    let read = db.begin_read().expect("a state");
    let found = |query| {
        let found = find_entities(&read, query, 9).expect("sound");
        found.into_iter().map(|(id, _)| read.entity(id).expect("it is there").name).collect::<Vec<_>>()
    };

    assert_eq!(found(EntityQuery::Key("New  York!", None)), ["New York"]);
    assert_eq!(found(EntityQuery::Key("New York", Some("person"))), Vec::<String>::new());
    assert_eq!(found(EntityQuery::Prefix("New Y")), ["New York", "New Yorker"]);
    assert_eq!(found(EntityQuery::Prefix("New ")).len(), 3);
    assert_eq!(found(EntityQuery::Prefix("")).len(), 4);
    assert_eq!(found(EntityQuery::Text("york"))[0], "York");
    assert_eq!(found(EntityQuery::Text("zeppelin")), Vec::<String>::new());
    assert_eq!(find_entities(&read, EntityQuery::Prefix(""), 2).expect("sound").len(), 2);
}

#[test]
fn entities_are_found_by_their_vectors_while_they_live() {
    let db = with(&[("one", neighbours("a", "b")), ("two", neighbours("b", "c"))]);
    let mut write = db.begin_write().expect("one writer");
    let space =
        write.open_object_space("s", RowsOf::Entities, 2, Metric::Cosine, "by hand").expect("a new space");
    let rows: [(u32, &[f32]); 3] = [(1, &[1.0, 0.0]), (2, &[0.0, 1.0]), (3, &[0.8, 0.6])];
    write.put_object_vectors(space, &rows).expect("three entities");
    for (bad, why) in
        [((3, &[1.0, 0.0][..]), "again"), ((4, &[1.0, 0.0][..]), "never"), ((9, &[1.0][..]), "short")]
    {
        assert!(write.put_object_vectors(space, &[bad]).is_err(), "{why}");
    }
    assert!(write.open_space("s#entities", 2, Metric::Cosine, "by hand").is_err());
    write.commit().expect("it is written");
    assert_clean(&db, "vectors of entities");
    let found = |db: &Database| {
        let read = db.begin_read().expect("a state");
        let found = find_entities(&read, EntityQuery::Vector("s", &[1.0, 0.1]), 2).expect("sound");
        found.into_iter().map(|(id, _)| id.0).collect::<Vec<_>>()
    };
    assert_eq!(found(&db), [1, 3]);
    let read = db.begin_read().expect("a state");
    assert!(
        read.space("s").is_none()
            && read.space("s#entities").is_none()
            && read.space_names().next().is_none()
    );
    assert!(find_entities(&read, EntityQuery::Vector("t", &[1.0, 0.1]), 2).is_err());

    remove(&db, "one");

    assert_eq!(found(&db), [3, 2]);
    assert_clean(&db, "an entity that is gone keeps its row");
}

#[test]
fn ranks_and_projections_lead_from_an_entity_to_leaves() {
    let db = with(&[("one", neighbours("a", "b")), ("two", neighbours("b", "c"))]);
    let read = db.begin_read().expect("a state");
    let a = read.entity_by_key("a", "place").expect("sound").expect("it is there");

    let ranks = page_rank(&read, &PageRank::default(), &[(Object::Entity(a), 1.0)], 9).expect("sound");
    let objects: Vec<(Object, f32)> = ranks.best.iter().map(|(object, _)| (*object, 1.0)).collect();
    let leaves = project(&read, &objects, Pooling::Sum).expect("sound");

    assert!(ranks.best.iter().any(|(object, _)| matches!(object, Object::Entity(EntityId(3)))), "{ranks:?}");
    assert!(leaves.contains(NodeId(3)) && leaves.contains(NodeId(7)), "{leaves:?}");
}

#[test]
fn a_graph_is_the_same_after_reopening_and_makes_older_writers_stay_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("g.evdb");
    let db = builder().create(&path).expect("a new file");
    assert!(dump(&db).expect("whole").contains("\"write_features\":0"));
    let mut write = db.begin_write().expect("one writer");
    put(&mut write, "one", &neighbours("a", "b"));
    write.commit().expect("it is written");
    let before = dump(&db).expect("whole");
    drop(db);

    let again = builder().open(&path).expect("it opens");

    assert_eq!(dump(&again).expect("whole"), before);
    assert!(before.contains("\"write_features\":1"));
    assert!(dump(&again).expect("whole").contains("\"type\":\"hyperedge\""));
    let stats = again.begin_read().expect("a state").stats().expect("whole").graph;
    assert_eq!(
        (stats.entities, stats.hyperedges, stats.supports, stats.mentions, stats.segments),
        (2, 1, 1, 2, 1)
    );
}

/// Twenty documents one by one, then half of them gone: segments merge, and records of what is gone go.
#[test]
fn segments_merge_and_what_nothing_supports_is_taken_away() {
    let rows = |db: &Database, table: &str| {
        let raw = dump_raw(db).expect("whole");
        raw.lines().filter(|line| line.contains(&format!("\"table\":\"{table}\""))).count()
    };
    let db = builder().in_memory().expect("memory");
    for at in 0..20 {
        let mut write = db.begin_write().expect("one writer");
        let key = format!("document {at}");
        put(&mut write, &key, &neighbours(&format!("e{at}"), &format!("e{}", at + 1)));
        write.commit().expect("it is written");
    }
    let stats = db.begin_read().expect("a state").stats().expect("whole").graph;
    assert!(stats.segments < 8, "{stats:?}");
    for at in 0..10 {
        remove(&db, &format!("document {at}"));
    }
    let before = dump(&db).expect("whole");
    let entities = rows(&db, "entities");

    for at in 20..28 {
        let mut write = db.begin_write().expect("one writer");
        put(&mut write, &format!("document {at}"), &neighbours("x", "y"));
        write.commit().expect("it is written");
        assert_clean(&db, &format!("document {at}"));
    }
    for at in 20..28 {
        remove(&db, &format!("document {at}"));
    }

    assert!(rows(&db, "entities") < entities, "{entities}");
    let graph_of = |dump: &str| {
        dump.lines()
            .filter(|line| !line.contains("\"document\""))
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(graph_of(&dump(&db).expect("whole")), graph_of(&before));
    assert_clean(&db, "merged");
}

#[test]
fn a_segment_that_is_not_what_the_documents_support_is_found_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("g.evdb");
    let db = builder().create(&path).expect("a new file");
    let mut write = db.begin_write().expect("one writer");
    put(&mut write, "one", &neighbours("a", "b"));
    write.commit().expect("it is written");
    assert!(
        db.begin_read().expect("a state").verify(VerifyOptions::default()).expect("it is read").is_clean()
    );
    drop(db);
    let store = evdb::storage::Store::open(
        &path,
        evdb::storage::Options { cache_bytes: 1 << 20, check_on_open: false },
    );
    let store = store.expect("it opens");
    let batch = store.begin_write().expect("one writer");
    // The document forgets what it supports; the segments do not.
    assert!(
        batch.remove(&evdb::format::graph::GRAPH_DOCUMENT, &[0, 0, 0, 1, 0, 0, 0, 0]).expect("it is there")
    );
    batch.commit().expect("it is written");
    drop(store);

    let faults = support::faults(&builder().open(&path).expect("it opens")).expect("it is read");

    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].to_string().contains("not what the documents support"), "{}", faults[0]);
}

/// Random puts, replacements and removals, against a file made anew of what is left.
fn run(seed: u64) {
    let mut random = Random(seed);
    let db = builder().in_memory().expect("memory");
    let mut model: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    let patch_of = |seed: u64| {
        let mut random = Random(seed);
        let mut patch = GraphPatch::default();
        for _ in 0..random.below(5) {
            let mut edge = HyperedgeDraft::new(["a", "b"][random.below(2)], ["", "x"][random.below(2)]);
            edge.weight = [0.0, 0.5, 2.0][random.below(3)];
            for _ in 0..=random.below(3) {
                edge = edge.member(["", "r"][random.below(2)], entity(&format!("e{}", random.below(8))));
            }
            for _ in 0..random.below(3) {
                edge = edge.supported_by(u32::try_from(random.below(4)).expect("small"));
            }
            patch.hyperedges.push(edge);
        }
        let mut draft = EntityDraft::new(format!("e{}", random.below(8)), "place");
        draft.aliases.push(format!("alias {}", random.below(3)));
        draft.mentions.push((3, 0.25));
        patch.entities.push(draft);
        patch
    };
    for step in 0..12 {
        let mut write = db.begin_write().expect("one writer");
        for _ in 0..=random.below(2) {
            let key = format!("d{}", random.below(5));
            if random.below(3) == 0 {
                assert_eq!(write.remove_document(&key).expect("sound"), model.remove(&key).is_some());
            } else {
                let seed = random.next();
                let document = document(&key, seed, 1, 2, 4);
                let id = write.upsert_document(&document).expect("sound").document();
                write.put_graph(id, &document, &patch_of(seed)).expect("sound");
                model.insert(key, seed);
            }
        }
        write.commit().expect("it is written");
        assert_clean(&db, &format!("seed {seed}, step {step}"));
    }
    let anew = builder().in_memory().expect("memory");
    let mut write = anew.begin_write().expect("one writer");
    for (key, seed) in &model {
        let document = document(key, *seed, 1, 2, 4);
        let id = write.upsert_document(&document).expect("sound").document();
        write.put_graph(id, &document, &patch_of(*seed)).expect("sound");
    }
    write.commit().expect("it is written");
    assert_eq!(told(&db), told(&anew), "seed {seed}");
}

/// The graph by names and keys, without ids.
fn told(db: &Database) -> Vec<String> {
    let read = db.begin_read().expect("a state");
    let graph = read.graph().expect("sound");
    let place = |node: NodeId| {
        let document = read.document_of(node).expect("it is there");
        format!("{}:{}", document.key, node.0 - document.nodes.first.0)
    };
    let links = |links: &mut dyn Iterator<Item = (NodeId, f32)>| {
        let mut all: Vec<String> = links.map(|(node, weight)| format!("{}*{weight}", place(node))).collect();
        all.sort();
        all.join(" ")
    };
    let mut out = Vec::new();
    for id in graph.entities() {
        let info = read.entity(id).expect("it is there");
        out.push(format!("{} {:?} {}", info.name, info.aliases, links(&mut graph.mentions(id))));
    }
    for id in graph.hyperedges() {
        let info = read.hyperedge(id).expect("it is there");
        let members: Vec<String> = info
            .members
            .iter()
            .map(|(role, object)| match object {
                Object::Entity(id) => format!("{role}={}", read.entity(*id).expect("it is there").name),
                other => format!("{role}={other:?}"),
            })
            .collect();
        out.push(format!("{} {} {members:?} {}", info.kind, info.label, links(&mut graph.supports(id))));
    }
    out.sort();
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_changed_file_has_the_graph_of_one_made_anew(seed in any::<u64>()) {
        run(seed);
    }
}
