//! `ask --method` on the command line: which method, its options, its reasons.
#![cfg(all(feature = "cli", feature = "static-embedder"))]

#[path = "support/cli.rs"]
mod cli;

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use cli::{Run, evdb};

const PASSAGES: &str = r#"{"doc":"kite","id":"p0","title":"The Red Kite (1950 film)","text":"The Red Kite is a drama. It was directed by Ann F. Lee."}
{"doc":"lee","id":"p1","title":"Ann Lee","text":"Ann Lee was a painter. She was born in York."}
{"doc":"york","id":"p2","title":"York","text":"York is a city on the Ouse. It has walls."}
{"doc":"door","id":"p3","title":"Blue Door","text":"Blue Door is a novel. Ann F. Lee wrote a preface."}
{"doc":"bread","id":"p4","title":"Bread","text":"Bread is made of flour, water and salt."}
"#;
const QUESTION: &str = "Where was the director of The Red Kite born?";

/// The passages, with their names, in `p.evdb`.
fn folder(build: &[&str]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("p.jsonl"), PASSAGES).expect("written");
    evdb(&folder, &[&["build", "p.jsonl", "-o", "p.evdb"], build].concat()).ends(0);
    folder
}

fn ask(folder: &TempDir, options: &[&str]) -> Run {
    evdb(folder, &[&["ask", "p.evdb", QUESTION], options].concat())
}

/// Keys of the documents of the evidence.
fn documents(answer: &Value) -> Vec<&str> {
    let items = answer["items"].as_array().expect("items");
    items.iter().map(|item| item["key"].as_str().expect("a key")).collect()
}

#[test]
fn paths_lead_to_what_the_question_does_not_name_and_are_shown() {
    let folder = folder(&["--names", "--no-embed"]);

    let answer = ask(&folder, &["--method", "conrag", "--hops", "3", "--json", "--explain"]).ends(0).json();

    assert_eq!(documents(&answer), ["kite", "lee", "door", "york"]);
    let path = &answer["hits"][1]["path"][0];
    assert_eq!((&path["name"], &path["kind"]), (&Value::from("ann lee"), &Value::from("link")));
    let steps: Vec<&str> =
        answer["steps"].as_array().expect("steps").iter().filter_map(|step| step["name"].as_str()).collect();
    assert_eq!(steps, ["find paths", "pack"]);
    let parts = |hit: &Value| -> f64 {
        hit["parts"].as_array().expect("parts").iter().filter_map(|part| part[1].as_f64()).sum()
    };
    for hit in answer["hits"].as_array().expect("hits") {
        assert!((parts(hit) - hit["score"].as_f64().expect("a score")).abs() < 1e-5, "{hit}");
    }
    let text = ask(&folder, &["--method", "conrag", "--explain"]).ends(0);
    text.shows(&["by \"ann lee\"", "It was directed by Ann F. Lee.", "path 0.", "find paths", "pack"]);
}

#[test]
fn passages_and_documents_bound_what_comes_back() {
    let folder = folder(&["--names"]);

    let two = ask(&folder, &["--method", "conrag", "--passages", "2", "--json"]).ends(0).json();
    assert_eq!(documents(&two), ["kite", "lee"]);
    let scoped = ask(&folder, &["--method", "conrag", "--doc", "lee", "--json"]).ends(0).json();
    assert_eq!(documents(&scoped), ["lee"]);
    assert_eq!(scoped["hits"][0]["path"][0]["name"], "ann lee");
}

#[test]
fn a_file_without_names_says_so() {
    let folder = folder(&[]);

    let found = ask(&folder, &["--method", "conrag", "--explain"]).ends(0);

    found.shows(&["the file's graph has no names"]);
}

#[test]
fn bear_is_the_default_and_options_of_another_method_are_refused() {
    let folder = folder(&["--names", "--no-embed"]);

    let (plain, named) =
        (ask(&folder, &["--json"]).ends(0), ask(&folder, &["--method", "bear", "--json"]).ends(0));
    assert_eq!(plain.out, named.out);
    ask(&folder, &["--hops", "3"]).ends(2).shows(&["--hops is an option of --method conrag"]);
    ask(&folder, &["--method", "conrag", "--mmr"]).ends(2).shows(&["--mmr is an option of --method bear"]);
    ask(&folder, &["--method", "conrag", "--hops", "4"]).ends(2).shows(&["--hops"]);
    ask(&folder, &["--method", "doctrace"]).ends(2).shows(&["doctrace"]);
    ask(&folder, &["--explain"]).ends(0).shows(&["how it was found", "pack", "score"]);
}

#[test]
fn views_are_made_by_the_build_and_agree_on_passages() {
    let folder = folder(&["--names", "--views=sentences"]);

    let g1 =
        ask(&folder, &["--method", "conrag", "--structure", "views", "--json", "--explain"]).ends(0).json();

    assert_eq!(documents(&g1).len(), 3);
    assert_eq!(g1["steps"][0]["name"], "consensus g1");
    let note = g1["steps"][0]["note"].as_str().expect("a note");
    assert!(note.contains("entities by vector") && note.contains("relations by vector"), "{note}");
    let text = ask(&folder, &["--method", "conrag", "--generation", "g3", "--explain"]).ends(0);
    text.shows(&["consensus g3", "views: text", "structure 0.", "The Red Kite (1950 film): "]);
    evdb(&folder, &["build", "p.jsonl", "-o", "q.evdb", "--no-embed", "--names", "--views"])
        .ends(1)
        .shows(&["embedder that is built in", "--embed"]);
}

#[test]
fn statements_get_views_when_they_are_imported() {
    let folder = folder(&[]);
    fs::write(folder.path().join("t.jsonl"), "[\"Ann Lee\", \"born in\", \"York\"]\n").expect("written");

    evdb(&folder, &["import-graph", "p.evdb", "t.jsonl", "--views"]).ends(0).shows(&["3 vectors made, 2 of"]);

    let found = ask(&folder, &["--method", "conrag", "--generation", "g1", "--explain"]).ends(0);
    found.shows(&["2 entities by vector, 1 relations by vector", "Ann Lee::unknown [born in] York::unknown"]);
}

#[test]
fn a_plan_is_run_with_and_without_answers() {
    let folder = folder(&["--names"]);
    let steps = r#"[{"id": 0, "sub_question": "Who directed The Red Kite?"},
        {"id": 1, "sub_question": "Where was <dep:0> born?", "dependencies": [0]}]"#;
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("answered.json", &format!("{{\"plan\": {steps}, \"answers\": [\"Ann Lee\", null]}}"));
    write("open.json", steps);
    write("faulty.json", r#"[{"id": 3, "sub_question": "a"}]"#);
    write("bad.json", "{");
    let planned = |plan: &str| ask(&folder, &["--method", "conrag", "--plan", plan, "--json", "--explain"]);

    let answered = planned("answered.json").ends(0).json();
    assert_eq!(documents(&answered)[..2], ["kite", "lee"]);
    assert_eq!(answered["steps"][2]["note"], "1: Where was Ann Lee born?");
    assert_eq!(answered["hits"][0]["parts"][0][0], "place");
    let open = planned("open.json").ends(0).json();
    assert!(open["steps"][1]["note"].as_str().expect("a note").contains("answer by name: ann"), "{open}");
    let faulty = planned("faulty.json").ends(0).json();
    assert!(faulty["plan_fault"].as_str().expect("a reason").contains("step 0 is missing"));
    planned("bad.json").ends(1).shows(&["no JSON"]);
    planned("none.json").ends(1).shows(&["none.json"]);
    let text = ask(&folder, &["--method", "conrag", "--plan", "faulty.json"]).ends(0);
    text.shows(&["the plan is not used", "step 0 is missing"]);
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let folder = folder(&["--names"]);

    ask(&folder, &["--method", "conrag", "--structure", "path", "--generation", "g1"])
        .ends(2)
        .shows(&["g1 has no form for paths"]);
    ask(&folder, &["--method", "conrag", "--structure", "views", "--hops", "3"]).ends(2).shows(&["no hops"]);
    let shaped = ask(&folder, &["--method", "conrag", "--structure", "path", "--generation", "g3", "--json"])
        .ends(0)
        .json();
    assert_eq!(shaped["hits"][0]["parts"][1][0], "path");
    assert_eq!(shaped["hits"][0]["parts"].as_array().expect("parts").len(), 2);
}
