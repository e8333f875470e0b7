//! ConRAG over a file: texts and vectors of views, consensus, paths, plans, threads.

use evdb::graph::{EntityDraft, GraphPatch, HyperedgeDraft, Target};
use evdb::ingest::extract::{NameRules, extract};
use evdb::methods::conrag::{
    ConRag, PathShape, Paths, Recalled, RelationTexts, Request, Structure, SuppliedPlan, embed_views,
    for_each_entity_text, for_each_relation_text,
};
use evdb::methods::knowforge::KnowForge;
use evdb::model::Embedder;
use evdb::query::{Budget, Format, Question, QuestionVector};
use evdb::tree::{Node, NodeKind};
use evdb::vector::Metric;
use evdb::{Database, Document, ErrorKind, ReadTransaction, Result, Span};

/// Counts three words.
struct Counts;

impl Embedder for Counts {
    fn dimensions(&self) -> usize {
        3
    }

    fn fingerprint(&self) -> &'static str {
        "counts"
    }

    fn embed(&self, texts: &[&str], out: &mut [f32]) -> Result<()> {
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(3)) {
            for (word, slot) in ["kite", "lee", "york"].iter().zip(row) {
                let count = text.to_lowercase().matches(word).count();
                *slot = f32::from(u8::try_from(count).expect("few"));
            }
        }
        Ok(())
    }
}

fn page(title: &str, text: &str) -> Document {
    let mut document = Document::new(title, title);
    document.text = text.into();
    let end = u32::try_from(text.len()).expect("a short text");
    document.nodes.push(Node { span: Span::new(0, end), ..Node::new(Some(0), NodeKind::Text) });
    document
}

fn entity(name: &str, kind: &str) -> EntityDraft {
    EntityDraft { mentions: vec![(1, 1.0)], ..EntityDraft::new(name, kind) }
}

fn states(from: Target, label: &str, to: Target) -> HyperedgeDraft {
    HyperedgeDraft::new("relation", label).supported_by(1).member("subject", from).member("object", to)
}

/// Three pages, each of one leaf: Kite (1950) directed by Lee, Lee born in York, York.
fn three() -> Database {
    let [kite, lee, york] = [("Kite", "film"), ("Lee", "person"), ("York", "city")];
    let target = |(name, kind): (&str, &str)| Target::entity(name, kind);
    let draft = |(name, kind): (&str, &str)| entity(name, kind);
    let mut film = draft(kite);
    film.attributes.insert("year".into(), vec!["1950".into()]);
    let patches = [
        (vec![film, draft(lee)], vec![states(target(kite), "directed by", target(lee))]),
        (vec![draft(lee), draft(york)], vec![states(target(lee), "born in", target(york))]),
        (vec![draft(york)], Vec::new()),
    ];
    let database = Database::in_memory().expect("memory");
    let mut write = database.begin_write().expect("a writer");
    let space = write.open_space("counts", 3, Metric::Cosine, "counts").expect("a new space");
    for (title, (entities, hyperedges)) in ["Kite", "Lee", "York"].into_iter().zip(patches) {
        let document = page(title, title);
        let id = write.insert_document(&document).expect("a sound document");
        let mut row = [0.0; 3];
        Counts.embed(&[title], &mut row).expect("counted");
        write.put_leaf_vectors(space, &document, id, &row).expect("one row");
        let patch = GraphPatch { entities, hyperedges };
        write.put_graph(id, &document, &patch).expect("a sound patch");
    }
    write.commit().expect("memory");
    database
}

fn entity_texts(read: &ReadTransaction) -> Vec<String> {
    let mut texts = Vec::new();
    for_each_entity_text(read, 0, |_, text| {
        texts.push(text);
        Ok(())
    })
    .expect("a whole file");
    texts
}

#[test]
fn texts_of_entities_and_relations_are_as_the_first_release_writes_them() {
    let database = three();
    let read = database.begin_read().expect("a state");

    let kite = "Kite::film\nAttributes:\nyear::1950\nRelations:\nLee::person [out] directed by";
    let lee = "Lee::person\nRelations:\nKite::film [in] directed by\nYork::city [out] born in";
    assert_eq!(entity_texts(&read), [kite, lee, "York::city\nRelations:\nLee::person [in] born in"]);
    let mut texts = Vec::new();
    for_each_relation_text(&read, RelationTexts::Statements, 0, |_, text| {
        texts.push(text);
        Ok(())
    })
    .expect("a whole file");
    assert_eq!(texts, ["Kite::film [directed by] Lee::person", "Lee::person [born in] York::city"]);
}

#[test]
fn an_entity_names_four_neighbours_the_heaviest_first() {
    let database = three();
    let mut write = database.begin_write().expect("a writer");
    let document = page("More", "More of York");
    let id = write.insert_document(&document).expect("a sound document");
    let edges = (1_u8..=5).map(|weight| {
        let other = Target::entity(format!("P{weight}"), "person");
        let mut edge = states(other, "lives in", Target::entity("York", "city"));
        edge.weight = f32::from(weight) + 1.0;
        edge
    });
    let patch = GraphPatch { hyperedges: edges.collect(), ..GraphPatch::default() };
    write.put_graph(id, &document, &patch).expect("a sound patch");
    write.commit().expect("memory");

    let texts = entity_texts(&database.begin_read().expect("a state"));

    let york = "York::city\nRelations:\nP5::person [in] lives in\nP4::person [in] lives in\n\
                P3::person [in] lives in\nP2::person [in] lives in";
    assert!(texts.iter().any(|text| text == york), "{texts:#?}");
}

fn ask(read: &ReadTransaction, method: &ConRag, threads: usize) -> Recalled {
    let vector = [1.0, 0.0, 0.0];
    let vector = Some(QuestionVector { space: "counts", vector: &vector });
    let format = Format::default();
    let request =
        Request { threads, ..Request::new(Question { text: "kite", vector }, Budget::tokens(500), &format) };
    method.retrieve(read, &request).expect("a sound question")
}

#[track_caller]
fn near(found: &[(&'static str, f32)], wanted: &[(&'static str, f32)]) {
    let same = found.len() == wanted.len()
        && found.iter().zip(wanted).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-4);
    assert!(same, "{found:?}, not {wanted:?}");
}

/// Text: Kite 1, others 0. Entities: Kite (1, 1, 0) .7071, Lee (1, 1, 1) .5774, York (0, 1, 1) 0; leaf Kite has the first
/// two, Lee's penalty is 1 / (1 + ln 2) = .5906; leaf Lee has Lee alone: 1 and 0. Relations: .7071 on Kite, 0 on Lee: 1
/// and 0. Gate of Kite: .8. Kite: .6 + .2 * .8 + .2 = .96, times 1.05.
#[test]
fn the_first_release_s_views_worked_by_hand_over_a_file() {
    let database = three();
    let made = embed_views(&database, "counts", &Counts, RelationTexts::Statements).expect("embedded");
    assert_eq!((made.entities, made.relations), (3, 2));
    let read = database.begin_read().expect("a state");

    let found = ask(&read, &ConRag::g1(), 1);

    let scores: Vec<f32> = found.hits.iter().map(|hit| hit.score).collect();
    assert!((scores[0] - 1.008).abs() < 1e-4, "{scores:?}");
    assert!(scores[1..] == [0.0, 0.0], "{scores:?}");
    near(
        &found.hits[0].parts,
        &[("text", 0.6), ("entities", 0.16), ("relations", 0.2), ("agreement", 0.048)],
    );
    let supports: Vec<&str> = found.hits[0].supports.iter().map(|support| support.text.as_str()).collect();
    assert_eq!(supports, ["Kite::film", "Lee::person", "Kite::film [directed by] Lee::person"]);
    assert_eq!(found.retrieved.evidence.items.len(), 3);
    let later = ask(&read, &ConRag::g3(), 1);
    // A = (1 + 1) / 2; 1 + 1 / 2.
    near(&later.hits[0].parts, &[("text", 1.0), ("structure", 0.5)]);
    for method in [ConRag::g1(), ConRag::g3()] {
        assert_eq!(ask(&read, &method, 1), ask(&read, &method, 8));
    }
}

#[test]
fn vectors_of_views_are_made_once_and_for_what_is_new() {
    let database = three();
    let make = || embed_views(&database, "counts", &Counts, RelationTexts::Statements).expect("embedded");

    make();
    assert_eq!(make(), evdb::methods::conrag::ViewCounts::default());
    let mut write = database.begin_write().expect("a writer");
    let document = page("Leeds", "Leeds");
    let id = write.insert_document(&document).expect("a sound document");
    let patch = GraphPatch { entities: vec![entity("Leeds", "city")], ..GraphPatch::default() };
    write.put_graph(id, &document, &patch).expect("a sound patch");
    write.commit().expect("memory");

    let made = make();
    assert_eq!((made.entities, made.relations), (1, 0));
    let empty = Database::in_memory().expect("memory");
    let none = embed_views(&empty, "counts", &Counts, RelationTexts::Sentences).expect("nothing to do");
    assert_eq!(none, evdb::methods::conrag::ViewCounts::default());
}

#[test]
fn views_that_a_file_lacks_are_empty_and_the_trace_says_so() {
    let database = three();
    let read = database.begin_read().expect("a state");

    let found = ask(&read, &ConRag::g1(), 1);

    near(&found.hits[0].parts, &[("text", 0.6), ("entities", 0.0), ("relations", 0.0), ("agreement", 0.0)]);
    let note = &found.retrieved.trace.steps[0].note;
    assert!(note.contains("entities: the file has no vectors"), "{note}");
    assert!(note.contains("relations: the file has no vectors"), "{note}");
    let by_words = ConRag::g3().ask(&read, "Lee", Budget::tokens(100)).expect("words alone");
    assert_eq!(by_words.retrieved.evidence.items[0].key, "Lee");
    assert_eq!(by_words.hits[0].supports[0].text, "Lee::person");
    let empty = Database::in_memory().expect("memory");
    let nothing = ConRag::g1().ask(&empty.begin_read().expect("a state"), "Lee", Budget::tokens(100));
    assert_eq!(nothing.expect("no error").hits, []);
}

#[test]
fn vectors_of_two_models_are_not_mixed() {
    let database = three();
    let mut write = database.begin_write().expect("a writer");
    let space = write
        .open_object_space("counts", evdb::db::RowsOf::Entities, 3, Metric::Cosine, "another")
        .expect("a new space");
    write.put_object_vectors(space, &[(1, &[1.0, 0.0, 0.0])]).expect("one row");
    write.commit().expect("memory");

    let vector = [1.0, 0.0, 0.0];
    let question = Question { text: "", vector: Some(QuestionVector { space: "counts", vector: &vector }) };
    let format = Format::default();
    let request = Request::new(question, Budget::tokens(10), &format);
    let read = database.begin_read().expect("a state");
    let refused = ConRag::g1().retrieve(&read, &request).expect_err("two models");

    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert!(refused.to_string().contains("\"another\""), "{refused}");
    assert!(embed_views(&database, "counts", &Counts, RelationTexts::Statements).is_err());
}

const PAGES: [(&str, &str); 5] = [
    ("The Red Kite (1950 film)", "The Red Kite is a drama. It was directed by Ann F. Lee."),
    ("Ann Lee", "Ann Lee was a painter. She was born in York."),
    ("York", "York is a city on the Ouse. It has walls."),
    ("Blue Door", "Blue Door is a novel. Ann F. Lee wrote a preface."),
    ("Bread", "Bread is made of flour, water and salt."),
];
const QUESTION: &str = "Where was the director of The Red Kite born?";
const STEPS: &str = r#"[{"id": 0, "sub_question": "Who directed The Red Kite?"},
    {"id": 1, "sub_question": "Where was <dep:0> born?", "dependencies": [0]},
    {"id": 2, "sub_question": "What is bread made of?"}]"#;

fn pages() -> Database {
    let database = Database::in_memory().expect("memory");
    let mut write = database.begin_write().expect("a writer");
    for (title, text) in PAGES {
        let document = page(title, text);
        let id = write.insert_document(&document).expect("a sound document");
        let patch = extract(&document, &NameRules::default()).expect("rules do not fail").patch(&document);
        write.put_graph(id, &document, &patch).expect("a sound patch");
    }
    write.commit().expect("memory");
    database
}

/// [`pages`] with vectors of their leaves, and a statement beside what rules read off them.
fn pages_with_vectors() -> Database {
    let database = Database::in_memory().expect("memory");
    let mut write = database.begin_write().expect("a writer");
    let space = write.open_space("counts", 3, Metric::Cosine, "counts").expect("a new space");
    for (title, text) in PAGES {
        let document = page(title, text);
        let id = write.insert_document(&document).expect("a sound document");
        let mut row = [0.0; 3];
        Counts.embed(&[text], &mut row).expect("counted");
        write.put_leaf_vectors(space, &document, id, &row).expect("one row");
        let mut patch =
            extract(&document, &NameRules::default()).expect("rules do not fail").patch(&document);
        let (lee, york) = (Target::entity("Ann Lee", "person"), Target::entity("York", "city"));
        patch.hyperedges.push(states(lee, "born in", york));
        write.put_graph(id, &document, &patch).expect("a sound patch");
    }
    write.commit().expect("memory");
    database
}

#[test]
fn statements_and_sentences_are_not_mixed_in_one_space() {
    for (first, second) in [
        (RelationTexts::Statements, RelationTexts::Sentences),
        (RelationTexts::Sentences, RelationTexts::Statements),
    ] {
        let database = pages_with_vectors();
        let made = embed_views(&database, "counts", &Counts, first).expect("embedded");
        assert!(made.relations > 0);

        let refused = embed_views(&database, "counts", &Counts, second).expect_err("the other kind");

        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        assert!(refused.to_string().contains("as its relations"), "{refused}");
        embed_views(&database, "counts", &Counts, first).expect("the same kind again");
    }
}

/// Vectors of statements are none of sentences: paths compare sentences as if they were not there.
#[test]
fn vectors_of_statements_change_no_path() {
    let database = pages_with_vectors();
    let vector = [1.0, 1.0, 1.0];
    let question =
        Question { text: QUESTION, vector: Some(QuestionVector { space: "counts", vector: &vector }) };
    let found = || {
        let read = database.begin_read().expect("a state");
        KnowForge { topk: 1, ..KnowForge::default() }.search(&read, question).expect("a sound question")
    };
    let before = found();
    assert!(before.hits().any(|hit| !hit.path.is_empty()), "a path leads on: {before:#?}");

    embed_views(&database, "counts", &Counts, RelationTexts::Statements).expect("embedded");
    assert_eq!(found(), before);

    let other = pages_with_vectors();
    embed_views(&other, "counts", &Counts, RelationTexts::Sentences).expect("embedded");
    let read = other.begin_read().expect("a state");
    let after = KnowForge { topk: 1, ..KnowForge::default() }.search(&read, question).expect("as before");
    assert_ne!(after, before, "vectors of sentences do count");
}

fn planned(read: &ReadTransaction, plan: &str, threads: usize) -> Recalled {
    let plan = SuppliedPlan::parse(plan, QUESTION).expect("JSON");
    let format = Format::default();
    let question = Question { text: QUESTION, vector: None };
    let request =
        Request { plan: Some(&plan), threads, ..Request::new(question, Budget::tokens(500), &format) };
    ConRag::default().retrieve(read, &request).expect("a sound question")
}

fn titles(read: &ReadTransaction, found: &Recalled) -> Vec<String> {
    found.hits.iter().map(|hit| read.document_of(hit.node).expect("a leaf").title).collect()
}

fn notes(found: &Recalled, name: &str) -> Vec<String> {
    let steps = found.retrieved.trace.steps.iter().filter(|step| step.name == name);
    steps.map(|step| step.note.clone()).collect()
}

#[test]
fn steps_with_answers_are_interleaved() {
    let database = pages();
    let read = database.begin_read().expect("a state");
    let plan = format!("{{\"plan\": {STEPS}, \"answers\": [\"Ann Lee\"]}}");

    let found = planned(&read, &plan, 1);

    assert_eq!(titles(&read, &found)[..3], ["The Red Kite (1950 film)", "Ann Lee", "Bread"]);
    assert_eq!(notes(&found, "step")[1], "1: Where was Ann Lee born?");
    assert_eq!(notes(&found, "step")[0], "0: Who directed The Red Kite?; answer given: Ann Lee");
    assert_eq!(found.hits[1].parts, [("place", 0.5)]);
    assert_eq!(
        found.hits[2].steps.iter().map(|place| (place.step, place.rank)).collect::<Vec<_>>(),
        [(2, 1)]
    );
    assert_eq!(found, planned(&read, &plan, 8));
}

#[test]
fn steps_without_answers_take_names_and_add_to_the_question() {
    let database = pages();
    let read = database.begin_read().expect("a state");

    let found = planned(&read, STEPS, 1);

    let steps = notes(&found, "step");
    assert!(steps[0].contains("answer by name: ann"), "{steps:?}");
    // 0 and 2 wait for nothing.
    assert!(steps[2].starts_with("1: Where was ann"), "{steps:?}");
    assert_eq!(titles(&read, &found)[..2], ["The Red Kite (1950 film)", "Ann Lee"]);
    for hit in &found.hits {
        let sum: f32 = hit.parts.iter().map(|(_, part)| part).sum();
        assert!((sum - hit.score).abs() < 1e-5, "{hit:?}");
    }
    let bread = found.hits.iter().find(|hit| hit.parts == [("best step", 1.0)]).expect("of a step alone");
    assert_eq!(read.document_of(bread.node).expect("a leaf").title, "Bread");
    assert_eq!(found, planned(&read, STEPS, 8));
}

#[test]
fn a_step_whose_leaf_is_not_found_has_no_answer() {
    let database = pages();
    let read = database.begin_read().expect("a state");
    let plan = r#"[{"id": 0, "sub_question": "Zzz?"},
        {"id": 1, "sub_question": "Who is <dep:0>?", "dependencies": [0]}]"#;

    let found = planned(&read, plan, 2);

    assert_eq!(notes(&found, "step")[1], "1: Who is Information not found?");
}

#[test]
fn a_plan_with_a_cycle_is_the_question_as_it_is() {
    let database = pages();
    let read = database.begin_read().expect("a state");
    let plan = r#"[{"id": 0, "sub_question": "a <dep:1>", "dependencies": [1]},
        {"id": 1, "sub_question": "b <dep:0>", "dependencies": [0]}]"#;

    let found = planned(&read, plan, 1);

    assert!(notes(&found, "plan")[0].contains("wait for each other"));
    let plain = ConRag::default().ask(&read, QUESTION, Budget::tokens(500)).expect("a sound question");
    assert_eq!(found.hits, plain.hits);
    assert_eq!(found.retrieved.evidence, plain.retrieved.evidence);
}

#[test]
fn the_consensus_shape_of_paths_sums_its_parts() {
    let database = pages();
    let read = database.begin_read().expect("a state");
    let paths = Paths { shape: PathShape::Consensus, ..Paths::default() };
    let method = ConRag { structure: Structure::Path(paths), ..ConRag::default() };

    let found = method.ask(&read, QUESTION, Budget::tokens(500)).expect("a sound question");

    assert_eq!(titles(&read, &found)[..2], ["The Red Kite (1950 film)", "Ann Lee"]);
    // The best of the text has 1 of it, the best path 1 / 2.
    assert_eq!(found.hits[0].parts[0], ("text", 1.0));
    assert!(found.hits.iter().any(|hit| hit.parts[1] == ("path", 0.5)), "{:?}", found.hits);
    assert!(found.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn the_budget_is_kept_whatever_the_plan() {
    let database = pages();
    let read = database.begin_read().expect("a state");
    for tokens in [0, 1, 20, 40] {
        let plan = SuppliedPlan::parse(STEPS, QUESTION).expect("JSON");
        let format = Format::default();
        let question = Question { text: QUESTION, vector: None };
        let request =
            Request { plan: Some(&plan), ..Request::new(question, Budget::tokens(tokens), &format) };
        let found = ConRag::default().retrieve(&read, &request).expect("a sound question");
        assert!(found.retrieved.evidence.spent <= tokens);
    }
}
