//! Files of every released format version are read, whole, as they were when they were made.

use std::fs;
use std::path::{Path, PathBuf};

use evdb::Database;
use evdb::db::{DumpOptions, VerifyOptions};

fn golden_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for version in fs::read_dir("tests/data/golden").expect("the golden files") {
        let version = version.expect("an entry").path();
        if version.is_dir() {
            let files =
                fs::read_dir(version).expect("a folder of files").map(|file| file.expect("an entry").path());
            found.extend(files.filter(|file| file.extension().is_some_and(|extension| extension == "evdb")));
        }
    }
    found.sort();
    found
}

fn dump(file: &Path, raw: bool) -> String {
    let db = Database::open_read_only(file).expect("it opens");
    let mut out = Vec::new();
    db.begin_read().expect("it is read").dump(&mut out, DumpOptions { raw }).expect("it is dumped");
    String::from_utf8(out).expect("a dump is UTF-8")
}

#[test]
fn golden_files_give_the_dumps_beside_them() {
    let files = golden_files();
    assert!(files.len() >= 4, "{files:?}");

    for file in files {
        let expected = fs::read_to_string(file.with_extension("json")).expect("a dump beside it");

        let dump = dump(&file, false);

        let differs = dump.lines().zip(expected.lines()).position(|(is, should)| is != should);
        assert!(dump == expected, "{}: line {:?} differs", file.display(), differs.map(|at| at + 1));
    }
}

/// spec
#[test]
fn golden_files_verify_clean() {
    for file in golden_files() {
        let db = Database::open_read_only(&file).expect("it opens");

        let found =
            db.begin_read().expect("it is read").verify(VerifyOptions::default()).expect("it is verified");

        assert!(found.is_clean(), "{}: {:?}", file.display(), found.faults);
        assert!(found.records >= 16, "{}: {} records", file.display(), found.records);
    }
}

/// Reading changes nothing: golden files are the same bytes after the tests as before.
#[test]
fn a_file_opened_for_reading_is_not_changed() {
    for file in golden_files() {
        let before = fs::read(&file).expect("it is there");

        let rows = dump(&file, true).lines().count();

        assert!(rows >= 16, "{}: {rows} rows", file.display());
        assert!(fs::read(&file).expect("it is there") == before, "{}", file.display());
    }
}
