//! Files that are not ours, not whole, or from another version.

use super::*;

fn with_identity(sample: &Sample, change: impl FnOnce(&mut Identity)) -> PathBuf {
    let copy = sample.path.with_extension("copy");
    std::fs::copy(&sample.path, &copy).expect("ours");
    let all = rows(&copy, "meta");
    let (_, value) = all.iter().find(|(key, _)| key == IDENTITY_KEY).expect("an identity");
    let mut identity: Identity = codec::open(&META, IDENTITY_KEY, value).expect("whole");
    change(&mut identity);
    let value = codec::seal(&META, IDENTITY_KEY, &identity).expect("small");
    set_row(&copy, "meta", IDENTITY_KEY, Some(&value));
    copy
}

fn refusal(result: Result<Database>) -> (ErrorKind, String) {
    match result {
        Ok(_) => panic!("it opened"),
        Err(error) => (error.kind(), error.to_string()),
    }
}

/// Opened for writing, it is refused before a byte is changed. spec. memvid#225, qdrant#3278: a newer library's file.
#[test]
fn a_file_from_a_newer_version_is_refused_by_what_it_needs() {
    let sample = sample();

    let copy = with_identity(&sample, |identity| identity.format_version += 1);
    let before = std::fs::read(&copy).expect("ours");
    for result in [builder().open_read_only(&copy), builder().open(&copy)] {
        let (kind, message) = refusal(result);
        assert!(kind == ErrorKind::Unsupported && message.contains("version 2"), "{message}");
    }
    assert!(std::fs::read(&copy).expect("ours") == before, "it was changed");

    let copy = with_identity(&sample, |identity| identity.read_features = 1 << 9);
    let (kind, message) = refusal(builder().open_read_only(&copy));
    assert!(kind == ErrorKind::Unsupported && message.contains("read feature 9"), "{message}");

    let copy = with_identity(&sample, |identity| identity.write_features = 1 << 3);
    let (kind, message) = refusal(builder().open(&copy));
    assert!(kind == ErrorKind::Unsupported && message.contains("write feature 3"), "{message}");
    let db = builder().open_read_only(&copy).expect("readable all the same");
    support::assert_clean(&db, "an unknown write feature");
    drop(db);

    let copy = with_identity(&sample, |identity| identity.sealed = true);
    let (kind, message) = refusal(builder().open(&copy));
    assert!(kind == ErrorKind::InvalidInput && message.contains("sealed"), "{message}");
}

/// A text index from before positions is whole, but cannot be read: the message says what to do.
#[test]
fn a_file_with_a_text_index_of_the_first_version_is_refused_with_advice() {
    for table in ["text_segments", "text_parts"] {
        let sample = sample();
        let copy = sample.path.with_extension("copy");
        std::fs::copy(&sample.path, &copy).expect("ours");
        for (key, mut value) in rows(&copy, table) {
            assert_eq!(value[4..6], [2, 0], "{table}");
            value[4] = 1;
            set_row(&copy, table, &key, Some(&refit(table, &key, value)));
        }

        let db = builder().open_read_only(&copy).expect("the rest is as ever");
        let error = db.begin_read().map(drop).expect_err("an older index");

        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        let message = error.to_string();
        assert!(message.contains(table) && message.contains("build the file anew"), "{message}");
    }
}

/// spec: R-4.3.1 (a table that this version does not know is kept)
#[test]
fn an_unknown_table_is_kept() {
    let sample = sample();
    let copy = sample.path.with_extension("copy");
    std::fs::copy(&sample.path, &copy).expect("ours");
    {
        let db = redb::Database::open(&copy).expect("a redb file");
        let write = db.begin_write().expect("a redb file");
        write.open_table(raw("tomorrow")).expect("new").insert(&b"k"[..], &b"v"[..]).expect("written");
        write.commit().expect("committed");
    }

    let db = builder().open(&copy).expect("it opens");
    let mut write = db.begin_write().expect("writable");
    put(&mut write, &document("new", 500, 1, 1, 5), DIMENSION, 500).expect("sound");
    write.commit().expect("committed");
    support::assert_clean(&db, "an unknown table");
    drop(db);

    assert_eq!(rows(&copy, "tomorrow"), [(b"k".to_vec(), b"v".to_vec())]);
}

#[test]
fn a_file_that_is_not_ours_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("ours");
        path
    };
    let plain = folder.path().join("plain.redb");
    {
        let db = redb::Database::create(&plain).expect("new");
        let write = db.begin_write().expect("new");
        write.open_table(raw("theirs")).expect("new").insert(&b"k"[..], &b"v"[..]).expect("written");
        write.commit().expect("committed");
    }
    let not_ours = [
        plain,
        at("empty", b""),
        at("text", &b"This is a letter, and no database at all.\n".repeat(200)),
        at("short", b"hi"),
        at("zeros", &[0; 8_192]),
    ];
    for path in not_ours {
        let before = std::fs::read(&path).expect("ours");
        for (mode, result) in [
            ("read-only", quietly(|| builder().open_read_only(&path))),
            ("checked", quietly(|| builder().check_on_open(true).open_read_only(&path))),
            ("writing", quietly(|| builder().open(&path))),
        ] {
            let (kind, message) = refusal(result);
            let sensible = matches!(kind, ErrorKind::Corrupt | ErrorKind::NotFound | ErrorKind::InvalidInput);
            assert!(sensible, "{mode} {}: {kind:?} {message}", path.display());
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            assert!(message.contains(&name), "{mode}: the message names {name}: {message}");
        }
        assert!(std::fs::read(&path).expect("ours") == before, "{} was changed", path.display());
    }
}

/// chroma#7238: a truncated file.
#[test]
fn a_truncated_file_gives_errors_or_right_answers() {
    let sample = sample();
    let bytes = std::fs::read(&sample.path).expect("ours");
    let copy = sample.path.with_extension("copy");
    let mut outcomes = Outcomes::default();
    for len in
        [1, 9, 64, 320, 4_095, 4_096, 8_192, 100_000, bytes.len() / 2, bytes.len() - 4_096, bytes.len() - 1]
    {
        std::fs::write(&copy, &bytes[..len]).expect("ours");
        judge(&format!("{len} bytes left"), &copy, false, &sample.keys, &sample.sound, &mut outcomes);
        let reopened = quietly(|| catch_unwind(AssertUnwindSafe(|| builder().open(&copy).map(drop))));
        assert!(reopened.is_ok(), "{len} bytes left: a panic when opened for writing");
    }
    println!("{:#?}", outcomes.classes);
    assert!(outcomes.wrong.is_empty(), "{:#?}", outcomes.wrong);
}
