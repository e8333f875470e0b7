//! `evdb toc`, `media`, `table`, and `ask --method knowforge`.
#![cfg(all(feature = "cli", feature = "static-embedder"))]

#[path = "support/cli.rs"]
mod cli;

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use cli::evdb;

const PASSAGES: &str = r#"{"doc":"kite","id":"p0","title":"The Red Kite (1950 film)","text":"The Red Kite is a drama. It was directed by Ann F. Lee."}
{"doc":"lee","id":"p1","title":"Ann Lee","text":"Ann Lee was a painter. She was born in York."}
{"doc":"york","id":"p2","title":"York","text":"York is a city on the Ouse. It has walls."}
"#;
const REPORT: &str = "# Report\n\n## Prices\n\nFigure 5: prices\n\n| Metal | Price |\n|---|---|\n| Copper | 9 |\n\
                      | Tin | 12 |\n\n## 结果\n\n图 3 地图\n\n![map of 中国](map.png)\n";

/// The passages and the report in `p.evdb`.
fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("p.jsonl"), PASSAGES).expect("written");
    fs::write(folder.path().join("report.md"), REPORT).expect("written");
    evdb(&folder, &["build", "p.jsonl", "report.md", "-o", "p.evdb", "--names", "--no-embed"]).ends(0);
    folder
}

#[test]
fn contents_list_documents_and_headings() {
    let folder = folder();

    evdb(&folder, &["toc", "p.evdb"]).ends(0).shows(&["report.md", "kite"]);
    evdb(&folder, &["toc", "p.evdb", "report.md"]).ends(0).shows(&["Prices", "结果"]);
    let one = evdb(&folder, &["toc", "p.evdb", "--find", "REPORT", "--json"]).ends(0).json();
    assert_eq!(one["key"], "report.md");
    evdb(&folder, &["toc", "p.evdb", "--find", "absent"]).ends(4);
    evdb(&folder, &["toc", "p.evdb", "repor"]).ends(1).shows(&["did you mean"]);
}

#[test]
fn media_are_listed_by_heading_and_label() {
    let folder = folder();
    let media = |options: &[&str]| evdb(&folder, &[&["media", "p.evdb", "report.md"], options].concat());

    media(&[]).ends(0).shows(&["table", "map of 中国"]);
    let under = media(&["--heading", "结果", "--json"]).ends(0).json();
    assert_eq!(under["items"][0]["kind"], "image", "{under}");
    media(&["--label", "图3"]).ends(0).shows(&["图 3 地图", "map of"]);
    let label = media(&["--label", "fig. 5", "--json"]).ends(0).json();
    assert_eq!(label["lines"]["items"][0]["line"], "Figure 5: prices");
    media(&["--label", "Figure 9"]).ends(4);
    media(&["--label", "Chapter"]).ends(1).shows(&["is no label"]);
    media(&["--heading", "nowhere"]).ends(0).shows(&["of the whole document"]);
    media(&["--kind", "example"]).ends(4);
    evdb(&folder, &["media", "p.evdb"]).ends(0).shows(&["report.md"]);
    evdb(&folder, &["media", "p.evdb", "--page", "1"]).ends(2);
}

#[test]
fn rows_of_tables_are_found() {
    let folder = folder();

    evdb(&folder, &["table", "p.evdb", "--find", "copper"]).ends(0).shows(&["Metal | Price", "Copper | 9"]);
    let row = evdb(&folder, &["table", "p.evdb", "metal", "--find", "12", "--json"]).ends(0).json();
    assert_eq!(row["rows"]["items"][0]["cells"], serde_json::json!(["Tin", "12"]));
    let node = row["node"].to_string();
    evdb(&folder, &["table", "p.evdb", &node]).ends(0).shows(&["Copper", "Tin"]);
    evdb(&folder, &["table", "p.evdb", "--find", "gold"]).ends(4);
    evdb(&folder, &["table", "p.evdb", "1"]).ends(1).shows(&["is no table"]);
}

#[test]
fn knowforge_finds_by_kind_and_over_paths() {
    let folder = folder();
    let ask = |question: &str, options: &[&str]| {
        evdb(&folder, &[&["ask", "p.evdb", question, "--method", "knowforge"], options].concat())
    };
    let question = "Who directed The Red Kite?";

    let answer = ask(question, &["--json", "--explain"]).ends(0).json();
    let text = answer["searches"][0]["text"].as_array().expect("a list");
    let lee = text.iter().find(|hit| hit["path"][0]["name"] == "ann lee").expect("a path leads to Ann Lee");
    assert_eq!((&lee["from_graph"], &lee["anchor"]), (&Value::from(true), &text[0]["node"]));
    for hit in text {
        let parts: f64 =
            hit["parts"].as_array().expect("parts").iter().filter_map(|part| part[1].as_f64()).sum();
        assert!((parts - hit["raw"].as_f64().expect("a score")).abs() < 1e-5, "{hit}");
    }
    let plain = ask(question, &["--no-expand", "--json"]).ends(0).json();
    let graph = |hit: &Value| hit["from_graph"] == true;
    assert!(!plain["searches"][0]["text"].as_array().expect("a list").iter().any(graph));
    ask(question, &["--explain"]).ends(0).shows(&[
        "of 10",
        "by \"ann lee\"",
        "search",
        "pool",
        "pack",
        "lexical",
    ]);
    let tables = ask("price of copper", &["--also", "York walls", "--json"]).ends(0).json();
    assert_eq!(tables["searches"][0]["tables"].as_array().expect("a list").len(), 1);
    assert_eq!(tables["searches"].as_array().expect("two").len(), 2);
    ask("zzz", &[]).ends(4);
    evdb(&folder, &["ask", "p.evdb", question, "--topk", "3"]).ends(2).shows(&["--method knowforge"]);
}
