//! The graph on the command line: imported, shown as text, JSON and drawings, and what is said when it cannot.
#![cfg(all(feature = "cli", feature = "static-embedder"))]

#[path = "support/cli.rs"]
mod cli;

use std::fs;

use tempfile::TempDir;

use cli::evdb;

const HOME: &str =
    "# Home\n\nStart with the [[Reactor|big reactor]].\n\nThen see [[Pumps]] and [[Missing page]].\n";
const REACTOR: &str = "# Reactor\n\nIts water comes from the [[Pumps]].\n";
const PUMPS: &str = "# Pumps\n\nThey feed the [[reactors/Reactor.md#Core]].\n";
const FACTS: &str = r#"{"subject":"Pump \"A\" | x","relation":"part of","object":"Reactor","object_kind":"page","doc":"pumps.md"}
oops
{"members":["Ana","Bo",{"entity":"Reactor","kind":"page","role":"site"}],"kind":"shift","label":"night shift","text":"Ana and Bo watch the reactor."}
"#;

/// `x.evdb` of three linked pages.
fn built() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in
        [("home.md", HOME), ("reactor.md", REACTOR), ("pumps.md", PUMPS), ("facts.jsonl", FACTS)]
    {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    evdb(&folder, &["build", "home.md", "reactor.md", "pumps.md", "-o", "x.evdb", "--no-embed"]).ends(0);
    folder
}

/// [`built`] with its links and facts.
fn linked() -> TempDir {
    let folder = built();
    evdb(&folder, &["import-graph", "x.evdb", "facts.jsonl", "--wiki-links"]).ends(0);
    folder
}

#[test]
fn links_and_statements_are_imported_once_and_bad_lines_are_told() {
    let folder = built();

    let first =
        evdb(&folder, &["import-graph", "x.evdb", "facts.jsonl", "--wiki-links", "--json"]).ends(0).json();
    let again = evdb(&folder, &["import-graph", "x.evdb", "facts.jsonl", "--wiki-links"]).ends(0);

    assert_eq!(
        (&first["statements"], &first["own_leaves"], &first["linking_documents"]),
        (&2.into(), &1.into(), &3.into())
    );
    assert!(first["warnings"][0].as_str().expect("a warning").contains("facts.jsonl:2: "), "{first}");
    again.shows(&[
        "2 statements read",
        "3 documents with links",
        "0 new entities, 0 hyperedges new",
        "warning",
    ]);
    evdb(&folder, &["verify", "x.evdb"]).ends(0);
    evdb(&folder, &["stats", "x.evdb"]).ends(0).shows(&["graph", "entities"]);
    // A statement without a document is text like any other.
    evdb(&folder, &["search", "x.evdb", "who watches the reactor", "--mode", "text"])
        .ends(0)
        .shows(&["Ana and Bo"]);
}

#[test]
fn the_neighbourhood_of_an_entity_is_shown_with_where_it_is_said() {
    let folder = linked();

    let text = evdb(&folder, &["graph", "x.evdb", "Reactor"]).ends(0);
    let json = evdb(&folder, &["graph", "x.evdb", "big REACTOR", "--hops", "2", "--json"]).ends(0).json();
    let few = evdb(&folder, &["graph", "x.evdb", "Reactor", "--per-anchor", "1"]).ends(0);
    let links = evdb(&folder, &["graph", "x.evdb", "Reactor", "--kind", "link", "--json"]).ends(0).json();

    text.shows(&["also big reactor", "night shift", "Ana, Bo, Reactor (site)", "pumps.md", "part of"]);
    let reached: Vec<&str> = json["reached"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["name"].as_str().expect("a name"))
        .collect();
    assert!(reached.contains(&"Ana") && reached.contains(&"Missing page"), "{reached:?}");
    assert_eq!(few.out.matches("facts.jsonl").count() + few.out.matches(".md ").count(), 1, "{}", few.out);
    few.shows(&["more was left out"]);
    let kinds = links["hyperedges"].as_array().expect("a list");
    assert!(!kinds.is_empty() && kinds.iter().all(|edge| edge["kind"] == "link"), "{links}");
}

#[test]
fn drawings_escape_what_their_languages_read() {
    let folder = linked();

    let dot = evdb(&folder, &["graph", "x.evdb", "Reactor", "--dot"]).ends(0).out;
    let mermaid = evdb(&folder, &["graph", "x.evdb", "Reactor", "--mermaid"]).ends(0).out;

    assert!(dot.starts_with("digraph evdb {") && dot.trim_end().ends_with('}'), "{dot}");
    assert!(dot.contains("Pump \\\"A\\\" | x") && dot.contains("shape=ellipse"), "{dot}");
    assert!(mermaid.starts_with("flowchart LR\n"), "{mermaid}");
    assert!(
        mermaid.contains("Pump #34;A#34; #124; x") && mermaid.contains("([\"night shift\"])"),
        "{mermaid}"
    );
}

#[test]
fn what_is_not_there_is_said_with_what_to_do() {
    let folder = built();

    evdb(&folder, &["graph", "x.evdb", "Reactor"]).ends(1).shows(&["has no graph", "--wiki-links"]);
    evdb(&folder, &["import-graph", "x.evdb"]).ends(2).shows(&["nothing to import"]);
    evdb(&folder, &["import-graph", "x.evdb", "missing.jsonl"]).ends(1).shows(&["missing.jsonl"]);
    evdb(&folder, &["import-graph", "x.evdb", "facts.jsonl", "--key", "home.md"])
        .ends(1)
        .shows(&["not made of statements"]);
    evdb(&folder, &["import-graph", "x.evdb", "--wiki-links"]).ends(0);
    evdb(&folder, &["graph", "x.evdb", "Missing"]).ends(4).shows(&["did you mean \"Missing page\"?"]);
    evdb(&folder, &["graph", "x.evdb", "Reactor", "--entity-kind", "person"]).ends(4);
    evdb(&folder, &["graph", "x.evdb", "Reactor", "--dot", "--json"]).ends(2);
    evdb(&folder, &["help", "graph"]).ends(0).shows(&["Examples:", "--per-anchor"]);
    evdb(&folder, &["help", "import-graph"]).ends(0).shows(&["Examples:", "subject"]);
}

#[test]
fn removing_a_page_takes_its_links_away() {
    let folder = linked();

    evdb(&folder, &["remove", "x.evdb", "home.md"]).ends(0);

    evdb(&folder, &["graph", "x.evdb", "Missing page"]).ends(4);
    evdb(&folder, &["graph", "x.evdb", "Pumps"]).ends(0);
    evdb(&folder, &["verify", "x.evdb"]).ends(0);
}
