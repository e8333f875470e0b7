//! From documents to paths: names read off texts, kept in the graph, walked for a question.

use std::sync::Arc;

use evdb::graph::paths::{PathIndex, PathKind, PathOptions};
use evdb::ingest::extract::{NameRules, extract, path_index};
use evdb::query::{FindPaths, PathHit, Question, QuestionVector, SentenceVectors};
use evdb::tree::{Node, NodeKind};
use evdb::vector::Metric;
use evdb::{Database, Document, NodeId, ReadTransaction, Result, Span};

const PAGES: [(&str, &str); 5] = [
    ("The Red Kite (1950 film)", "The Red Kite is a drama. It was directed by Ann F. Lee."),
    ("Ann Lee", "Ann Lee was a painter. She was born in York."),
    ("York", "York is a city on the Ouse. It has walls."),
    ("Blue Door", "Blue Door is a novel. Ann F. Lee wrote a preface."),
    ("Bread", "Bread is made of flour, water and salt."),
];

const QUESTION: &str = "Where was the director of The Red Kite born?";

fn page(title: &str, text: &str) -> Document {
    let mut document = Document::new(title, title);
    document.text = text.into();
    let end = u32::try_from(text.len()).expect("a short text");
    document.nodes.push(Node { span: Span::new(0, end), ..Node::new(Some(0), NodeKind::Text) });
    document
}

/// The pages, each with a vector, with or without their names in the graph.
fn database(names: bool) -> Database {
    let database = Database::in_memory().expect("memory");
    let mut write = database.begin_write().expect("a writer");
    let space = write.open_space("plane", 2, Metric::Cosine, "by hand").expect("a new space");
    for (at, (title, text)) in PAGES.iter().enumerate() {
        let document = page(title, text);
        let id = write.insert_document(&document).expect("a sound document");
        let angle = f32::from(u8::try_from(at).expect("few pages")) * 0.4;
        write.put_leaf_vectors(space, &document, id, &[angle.cos(), angle.sin()]).expect("one row");
        if names {
            let patch =
                extract(&document, &NameRules::default()).expect("rules do not fail").patch(&document);
            write.put_graph(id, &document, &patch).expect("a sound patch");
        }
    }
    write.commit().expect("memory");
    database
}

fn from_texts(read: &ReadTransaction) -> PathIndex {
    path_index(read, &NameRules::default()).expect("a whole file")
}

fn titles(read: &ReadTransaction, hits: &[PathHit]) -> Vec<String> {
    hits.iter().map(|hit| read.document_of(hit.node).expect("a leaf").title).collect()
}

fn ask(
    read: &ReadTransaction,
    index: &PathIndex,
    search: &FindPaths,
    vector: Option<&[f32]>,
) -> Vec<PathHit> {
    let vector = vector.map(|vector| QuestionVector { space: "plane", vector });
    search.run(read, index, Question { text: QUESTION, vector }, None).expect("a sound question")
}

#[test]
fn what_answers_a_question_is_found_over_two_pages_it_does_not_name() {
    let database = database(false);
    let read = database.begin_read().expect("a state");
    let three =
        FindPaths { paths: PathOptions { hops: 3, ..PathOptions::default() }, ..FindPaths::default() };

    let hits = ask(&read, &from_texts(&read), &three, None);

    // Blue Door shares a name with the film itself, one hop away: it comes before York, which is two away.
    let found = titles(&read, &hits);
    assert_eq!(found, ["The Red Kite (1950 film)", "Ann Lee", "Blue Door", "York"]);
    let way: Vec<(&str, PathKind)> =
        hits[3].path.iter().map(|step| (step.name.as_str(), step.kind)).collect();
    assert_eq!(way, [("ann lee", PathKind::Link), ("york", PathKind::Link)]);
    let first = &hits[3].path[0];
    let film = read.document_of(first.from).expect("a leaf").id;
    let sentence = read.text(film, first.sentence.expect("a sentence links")).expect("its text");
    assert_eq!(sentence, "It was directed by Ann F. Lee.");
}

#[test]
fn the_kept_graph_gives_the_same_paths_as_the_texts() {
    let database = database(true);
    let read = database.begin_read().expect("a state");
    let (kept, read_off) = (read.path_index().expect("a whole file"), from_texts(&read));

    assert_eq!(kept.leaves(), read_off.leaves());
    assert_eq!(kept.sentences().len(), read_off.sentences().len());
    let spans = |index: &PathIndex| index.sentences().iter().map(|entry| entry.span).collect::<Vec<_>>();
    assert_eq!(spans(&kept), spans(&read_off));
    let search = FindPaths::default();
    assert_eq!(ask(&read, &kept, &search, None), ask(&read, &read_off, &search, None));
}

#[test]
fn a_page_that_goes_is_led_to_no_more() {
    let database = database(true);
    let mut write = database.begin_write().expect("a writer");
    assert!(write.remove_document("Ann Lee").expect("a whole file"));
    write.commit().expect("memory");
    let read = database.begin_read().expect("a state");

    let hits = ask(&read, &read.path_index().expect("whole"), &FindPaths::default(), None);

    assert_eq!(titles(&read, &hits)[0], "The Red Kite (1950 film)");
    let shared = hits.iter().find(|hit| !hit.path.is_empty()).expect("the name is shared still");
    assert_eq!(titles(&read, std::slice::from_ref(shared)), ["Blue Door"]);
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let database = database(false);
    let read = database.begin_read().expect("a state");
    let index = from_texts(&read);
    let with = |threads| {
        let search = FindPaths { threads, ..FindPaths::default() };
        ask(&read, &index, &search, Some(&[0.9, 0.1]))
    };

    let one = with(1);

    assert!(one.len() > 2);
    for threads in [2, 7] {
        assert_eq!(with(threads), one);
    }
}

/// Every sentence matches by the number of its row.
struct ByRow;

impl SentenceVectors for ByRow {
    fn scores(&self, _: &[f32], rows: &[u32]) -> Result<Vec<f32>> {
        Ok(rows.iter().map(|row| if *row == 1 { 0.9 } else { 0.0 }).collect())
    }
}

#[test]
fn vectors_of_sentences_choose_the_link() {
    let database = database(false);
    let read = database.begin_read().expect("a state");
    let vector = Some(QuestionVector { space: "plane", vector: &[1.0, 0.0] });
    let question = Question { text: QUESTION, vector };

    let hits = FindPaths::default().run(&read, &from_texts(&read), question, Some(&ByRow)).expect("sound");

    // Row 1 is "It was directed by Ann F. Lee."
    let ann = hits.iter().find(|hit| hit.node == NodeId(4)).expect("it was found");
    let weights = PathOptions::default().weights;
    let least = weights.link * (0.9 * weights.similarity + weights.constant);
    assert!(ann.into >= least && ann.into < least + weights.link * (0.3 + weights.coverage), "{ann:?}");
}

#[test]
fn a_question_of_unknown_words_and_an_empty_file_find_nothing() {
    let database = database(false);
    let read = database.begin_read().expect("a state");
    let nothing = Question { text: "zzz \u{1f600}", vector: None };
    let found = FindPaths::default().run(&read, &from_texts(&read), nothing, None).expect("sound");
    assert_eq!(found, []);

    let empty = Database::in_memory().expect("memory");
    let read = empty.begin_read().expect("a state");
    let index = from_texts(&read);
    assert_eq!(FindPaths::default().run(&read, &index, nothing, None).expect("sound"), []);
}

#[test]
fn an_index_of_another_state_is_refused() {
    let database = database(false);
    let index = from_texts(&database.begin_read().expect("a state"));
    let mut write = database.begin_write().expect("a writer");
    write.insert_document(&page("New", "New page.")).expect("a sound document");
    write.commit().expect("memory");
    let read = database.begin_read().expect("a state");

    let refused = FindPaths::default().run(&read, &index, Question { text: "?", vector: None }, None);

    assert!(refused.is_err_and(|error| error.to_string().contains("make it anew")));
}

#[test]
fn the_index_is_shared_until_leaves_or_graph_change() {
    let database = database(true);
    let first = database.begin_read().expect("a state").path_index().expect("whole");
    let again = database.begin_read().expect("a state").path_index().expect("whole");
    assert!(Arc::ptr_eq(&first, &again));

    let mut write = database.begin_write().expect("a writer");
    write.open_space("other", 2, Metric::Cosine, "by hand").expect("a new space");
    write.commit().expect("memory");
    let after_a_space = database.begin_read().expect("a state").path_index().expect("whole");
    assert!(Arc::ptr_eq(&first, &after_a_space));

    let mut write = database.begin_write().expect("a writer");
    write.insert_document(&page("Salt", "Salt is in bread.")).expect("a sound document");
    write.commit().expect("memory");
    let read = database.begin_read().expect("a state");
    let after_a_leaf = read.path_index().expect("whole");
    assert_eq!(after_a_leaf.leaf_count(), PAGES.len() + 1);
    assert_eq!(ask(&read, &after_a_leaf, &FindPaths::default(), None).len(), 4);
    assert!(after_a_leaf.size_bytes() > first.size_bytes());
}
