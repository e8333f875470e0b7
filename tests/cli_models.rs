//! Vectors made in-process, on the command line: what is found by meaning, and what is said when a model is missing.
#![cfg(all(feature = "cli", feature = "static-embedder", feature = "minilm"))]

use std::process::Command;

use tempfile::TempDir;

fn evdb(folder: &TempDir, arguments: &[&str]) -> (i32, String, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_evdb"))
        .current_dir(folder.path())
        .args(arguments)
        .output()
        .expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (done.status.code().expect("it was not killed"), text(done.stdout), text(done.stderr))
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let notes = "# Garage\n\nThe car needs new tyres.\n\n# Garden\n\nThe roses are in bloom.\n\n# Kitchen\n\nThe soup is on the stove.\n";
    std::fs::write(folder.path().join("notes.md"), notes).expect("it is written");
    folder
}

#[test]
fn minilm_finds_what_shares_no_word() {
    let folder = folder();
    let (code, _, error) = evdb(&folder, &["build", "notes.md", "-o", "m.evdb", "--embed=minilm"]);
    assert_eq!(code, 0, "{error}");

    let (code, out, error) =
        evdb(&folder, &["search", "m.evdb", "automobile wheels", "--mode", "dense", "-k", "1", "--json"]);

    assert_eq!(code, 0, "{error}");
    assert!(out.contains("new tyres"), "{out}");
    let (_, info, _) = evdb(&folder, &["info", "m.evdb", "--json"]);
    assert!(info.contains("evdb transformer all-MiniLM-L6-v2 i8"), "{info}");
    let (code, _, error) = evdb(&folder, &["add", "m.evdb", "notes.md"]);
    assert_eq!((code, error.contains("warning")), (0, false), "the model of the file is used again: {error}");
}

#[test]
fn a_file_keeps_to_its_model() {
    let folder = folder();
    evdb(&folder, &["build", "notes.md", "-o", "s.evdb"]);

    let (code, _, error) = evdb(&folder, &["add", "s.evdb", "notes.md", "--embed=minilm"]);

    assert_eq!(code, 1);
    assert!(error.contains("no vectors in space \"minilm\", only in [\"static\"]"), "{error}");
}

#[test]
fn a_missing_model_is_named_with_what_to_do() {
    let folder = folder();

    let (code, _, error) = evdb(&folder, &["build", "notes.md", "-o", "d.evdb", "--embed=no/such"]);

    assert_eq!(code, 1);
    assert!(
        error.contains("no/such/config.json") && error.contains("a model is static, minilm, or a directory"),
        "{error}"
    );

    evdb(&folder, &["build", "notes.md", "-o", "s.evdb"]);
    let (code, _, error) = evdb(&folder, &["search", "s.evdb", "roses", "--model", "minilm"]);
    assert_eq!(code, 1);
    assert!(error.contains("no vector space of the file was made by the model \"minilm\""), "{error}");
}
