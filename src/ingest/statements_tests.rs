use super::*;
use crate::graph::Object;
use crate::ingest::Options;
use crate::ingest::jsonl;
use crate::query::EntityQuery;
use crate::query::find_entities;

const PASSAGES: &str = r#"{"doc":"atlas","id":"a1","title":"Atlas","text":"Ulaanbaatar is the capital of Mongolia."}
{"doc":"atlas","id":"a2","title":"Atlas","text":"Mongolia borders China and Russia."}
"#;

fn atlas() -> Database {
    let database = Database::in_memory().expect("memory");
    let mut write = database.begin_write().expect("one writer");
    let counter = database.token_counter().as_ref();
    jsonl(PASSAGES.as_bytes(), "p.jsonl", &Options::default(), counter, &mut |document| {
        write.insert_document(&document).map(drop)
    })
    .expect("sound passages");
    write.commit().expect("it is written");
    database
}

fn import(database: &Database, lines: &str) -> StatementReport {
    import_statements(database, lines.as_bytes(), "facts.jsonl").expect("no line ends it")
}

#[test]
fn triples_and_relations_rest_on_the_leaves_they_name() {
    let database = atlas();

    let done = import(
        &database,
        r#"{"subject":"Ulaanbaatar","relation":"capital of","object":"Mongolia","subject_kind":"city","doc":"atlas","leaf":"a1"}
{"members":[{"entity":"Mongolia","role":"centre"},"China",{"name":"Russia","kind":"country"}],"kind":"border","weight":2,"doc":"atlas","leaf":["a2","a1"]}
{"entity":"Mongolia","aliases":["Mongol Uls"],"attributes":{"area":[1566000,"1.5M km2"]},"doc":"atlas"}
"#,
    );

    assert_eq!((done.statements, done.own_leaves, done.documents), (3, 0, 1));
    assert_eq!(done.report.warnings, []);
    let read = database.begin_read().expect("a state");
    let graph = read.graph().expect("sound");
    assert_eq!((graph.entity_count(), graph.hyperedge_count()), (4, 2));
    let mongolia = read.entity_by_key("Mongolia", "unknown").expect("sound").expect("it is there");
    let info = read.entity(mongolia).expect("it is there");
    assert_eq!(info.aliases, ["Mongol Uls"]);
    assert_eq!(info.attributes["area"], ["1.5M km2", "1566000"]);
    let border = graph.incident(Object::Entity(mongolia)).next().expect("a border");
    assert_eq!((graph.weight(border), graph.supports(border).len()), (2.0, 2));
    assert_eq!(find_entities(&read, EntityQuery::Text("uls mongol"), 9).expect("sound")[0].0, mongolia);
}

#[test]
fn statements_of_no_document_get_leaves_of_their_own_and_are_found_by_words() {
    let database = atlas();
    let lines = "[\"Lisbon\",\"capital of\",\"Portugal\"]\n{\"subject\":\"Madrid\",\"relation\":\"capital of\",\"object\":\"Spain\",\"doc\":\"missing\"}\n";

    let done = import(&database, lines);
    let again = import(&database, lines);

    assert_eq!((done.own_leaves, done.documents, done.report.warnings.len()), (2, 1, 1));
    assert_eq!(done.report.warnings[0].line, 2);
    assert_eq!((again.counts, again.own_leaves), (GraphCounts::default(), 2));
    let read = database.begin_read().expect("a state");
    let terms = read.analyzers().distinct_terms("capital of Portugal");
    let hit = read.text_index().search(&terms, None, 1).expect("sound")[0];
    assert_eq!(read.document_of(hit.node).expect("it is there").key, "facts.jsonl");
    assert!(read.verify(crate::db::VerifyOptions::default()).expect("it is read").is_clean());
}

/// Whatever is wrong with a line is said with its number, and the other lines are read.
#[test]
fn messy_lines_are_told_by_their_numbers_and_take_no_other_with_them() {
    let long = "x".repeat(2_000);
    let lines = format!(
        "\u{feff}\n{{\"subject\":\"a\",\"object\":\"b\"}}\nnot json\n[1,2]\n42\n{{\"subject\":\"a\"}}\n{{\"members\":[]}}\n\
         {{\"members\":[null,\"c\",{{\"role\":\"x\"}}],\"weight\":\"heavy\"}}\n{{\"entity\":\"{long}\"}}\n{{\"entity\":\"  \"}}\n\
         {{\"subject\":7,\"relation\":true,\"object\":\"\u{1f680} \u{4e2d}\u{6587}\",\"weight\":-1,\"doc\":\"atlas\",\"leaf\":\"zz\"}}\n\
         {{\"entity\":\"d\",\"aliases\":[\"{long}\",\"e\"],\"attributes\":{{\"k\":{{}}}}}}\n"
    );

    let done = import(&atlas(), &lines);

    let told: Vec<u64> = done.report.warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(told, [3, 4, 5, 6, 7, 8, 8, 8, 9, 10, 11, 12, 11]);
    assert_eq!((done.statements, done.own_leaves), (4, 3));
}

#[test]
fn a_document_of_the_same_key_is_not_replaced() {
    let database = atlas();

    let refused = import_statements(&database, "[\"a\",\"b\",\"c\"]".as_bytes(), "atlas").expect_err("taken");

    assert_eq!(refused.kind(), crate::error::ErrorKind::AlreadyExists);
    assert_eq!(database.begin_read().expect("a state").graph().expect("sound").entity_count(), 0);
    assert_eq!(import(&database, "").statements, 0);
}
