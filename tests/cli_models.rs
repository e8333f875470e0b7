//! Vectors made in-process, on the command line: what is found by meaning, and what is said when a model is missing.
#![cfg(all(feature = "cli", feature = "static-embedder", feature = "minilm"))]

#[path = "support/cli.rs"]
mod cli;

use tempfile::TempDir;

use cli::evdb;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let notes = "# Garage\n\nThe car needs new tyres.\n\n# Garden\n\nThe roses are in bloom.\n\n# Kitchen\n\nThe soup is on the stove.\n";
    std::fs::write(folder.path().join("notes.md"), notes).expect("it is written");
    folder
}

#[test]
fn minilm_finds_what_shares_no_word() {
    let folder = folder();
    evdb(&folder, &["build", "notes.md", "-o", "m.evdb", "--embed=minilm"]).succeeds();

    let found =
        evdb(&folder, &["search", "m.evdb", "automobile wheels", "--mode", "dense", "-k", "1", "--json"]);

    found.succeeds().shows(&["new tyres"]);
    evdb(&folder, &["info", "m.evdb", "--json"]).shows(&["evdb transformer all-MiniLM-L6-v2 i8"]);
    let again = evdb(&folder, &["add", "m.evdb", "notes.md"]).succeeds();
    assert!(!again.err.contains("warning"), "the model of the file is used again: {}", again.err);
}

#[test]
fn a_file_keeps_to_its_model() {
    let folder = folder();
    evdb(&folder, &["build", "notes.md", "-o", "s.evdb"]).succeeds();

    let other = evdb(&folder, &["add", "s.evdb", "notes.md", "--embed=minilm"]);

    other.fails(1, &["no vectors in space \"minilm\", only in [\"static\"]"]);
}

#[test]
fn a_missing_model_is_named_with_what_to_do() {
    let folder = folder();

    let missing = evdb(&folder, &["build", "notes.md", "-o", "d.evdb", "--embed=no/such"]);
    missing.fails(1, &["no/such/config.json", "a model is static, minilm, or a directory"]);

    evdb(&folder, &["build", "notes.md", "-o", "s.evdb"]).succeeds();
    let other = evdb(&folder, &["search", "s.evdb", "roses", "--model", "minilm"]);
    other.fails(1, &["no vector space of the file was made by the model \"minilm\""]);
}
