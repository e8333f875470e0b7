//! The floors: a module uses only modules on lower floors, and some words stay in one room.

use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up. Modules on one floor do not know each other.
const FLOORS: &[&[&str]] = &[
    &["error", "ids"],
    &["kernels"],
    &["format", "model"],
    &["providers", "storage"],
    &["graph", "text", "tree", "vector"],
    &["db"],
    &["ingest", "query"],
    &["methods"],
];

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&module))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The lines of a file that are code, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// What is wrong with the imports of `text`, the source of module `room`.
fn wrong_imports(room: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let Some(own) = floor(room) else { return vec![format!("module {room} is on no floor")] };
    for (number, line) in code(text) {
        if line.contains("super::super") || line.contains("crate::{") {
            wrong.push(format!("line {number}: one path a `use`, no more than one `super`"));
        }
        for after in line.split("crate::").skip(1) {
            let word: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            match floor(&word) {
                _ if word == room => {}
                Some(used) if used < own => {}
                Some(_) => wrong.push(format!("line {number}: {room} uses {word}, which is not below it")),
                None => wrong.push(format!("line {number}: `crate::{word}` is not the path of a room")),
            }
        }
    }
    wrong
}

fn room_of(path: &Path) -> Option<String> {
    let inside = path.strip_prefix("src").ok()?;
    let first = inside.components().next()?.as_os_str().to_str()?;
    Some(first.trim_end_matches(".rs").to_owned())
}

#[test]
fn no_module_looks_up_or_sideways() {
    let mut wrong = Vec::new();

    for path in sources(Path::new("src")) {
        let room = room_of(&path).expect("a path below src");
        if room != "lib" && room != "bin" {
            let text = fs::read_to_string(&path).expect("a source file");
            wrong.extend(
                wrong_imports(&room, &text).into_iter().map(|what| format!("{}: {what}", path.display())),
            );
        }
    }

    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_import_that_looks_up_is_found() {
    assert_eq!(wrong_imports("format", "use crate::error::Result;"), Vec::<String>::new());
    assert_eq!(wrong_imports("format", "use crate::query::Budget;").len(), 1);
    assert_eq!(wrong_imports("text", "use crate::vector::Space;").len(), 1);
    assert_eq!(wrong_imports("text", "use crate::{error, ids};").len(), 2);
    assert_eq!(wrong_imports("helpers", "").len(), 1);
}

/// Words that belong into one place.
const KEPT_IN: &[(&str, &[&str])] = &[
    ("redb::", &["src/storage"]),
    ("bincode::", &["src/format/codec.rs"]),
    ("simsimd", &["src/kernels"]),
    ("bpe_openai", &["src/providers"]),
    ("rust_stemmers", &["src/text"]),
    ("pulldown_cmark", &["src/ingest"]),
    ("html5gum", &["src/ingest"]),
    ("unsafe ", &["src/kernels"]),
];

#[test]
fn some_words_stay_in_one_room() {
    let mut wrong = Vec::new();

    for path in sources(Path::new("src")) {
        let text = fs::read_to_string(&path).expect("a source file");
        for (word, places) in KEPT_IN {
            let at_home = places.iter().any(|place| path.starts_with(place));
            if !at_home && code(&text).any(|(_, line)| line.contains(word)) {
                wrong.push(format!("{}: {word}", path.display()));
            }
        }
    }

    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_stay_under_600_lines() {
    let long: Vec<_> = ["src", "tests", "benches", "examples"]
        .into_iter()
        .flat_map(|folder| sources(Path::new(folder)))
        .filter(|path| fs::read_to_string(path).expect("a source file").lines().count() > 600)
        .collect();

    assert!(long.is_empty(), "{long:?}");
}
