//! What a user of a file does, one story a test.

mod support;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evdb::db::Upsert;
use evdb::model::TokenCounter;
use evdb::text::AnalyzerConfig;
use evdb::tree::{Node, NodeKind};
use evdb::vector::Metric;
use evdb::{Database, Document, ErrorKind, Span};
use support::{ask, assert_clean, builder, document, dump, put, text_search, vectors};

fn file(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    (folder, path)
}

fn insert(db: &Database, document: &Document) {
    let mut write = db.begin_write().expect("writable");
    write.insert_document(document).expect("sound");
    write.commit().expect("committed");
}

#[test]
fn the_same_content_is_no_work() {
    let db = builder().in_memory().expect("memory");
    insert(&db, &document("k", 1, 2, 2, 8));
    let before = db.begin_read().expect("whole").document_by_key("k").expect("whole").expect("there");

    let mut write = db.begin_write().expect("writable");
    let done = write.upsert_document(&document("k", 1, 2, 2, 8)).expect("sound");
    write.commit().expect("committed");

    assert_eq!(done, Upsert::Unchanged(before.id));
    let read = db.begin_read().expect("whole");
    assert_eq!(read.document_by_key("k").expect("whole"), Some(before));
    assert_eq!(read.stats().expect("whole").segments, 1, "nothing was indexed again");
}

/// lancedb#2463, #3377: two upserts of one key, one document remains.
#[test]
fn a_document_is_replaced_by_its_key() {
    let db = builder().in_memory().expect("memory");
    let mut write = db.begin_write().expect("writable");
    put(&mut write, &document("k", 1, 2, 2, 8), 4, 1).expect("sound");
    // Twice in one transaction: the vectors that wait for the first go with it.
    put(&mut write, &document("k", 2, 2, 2, 8), 4, 2).expect("sound");
    write.commit().expect("committed");
    let mut write = db.begin_write().expect("writable");
    put(&mut write, &document("k", 3, 1, 1, 8), 4, 3).expect("sound");
    write.commit().expect("committed");

    let read = db.begin_read().expect("whole");
    assert_eq!(read.document_count(), 1);
    let space = read.space("s").expect("made");
    assert_eq!(space.record().live, 1, "of the last version");
    assert_eq!(space.all_context_norms().expect("whole").len(), 1);
    assert_clean(&db, "replaced");
}

#[test]
fn a_second_insert_of_a_key_is_refused_and_the_transaction_goes_on() {
    let db = builder().in_memory().expect("memory");
    let mut write = db.begin_write().expect("writable");
    write.insert_document(&document("k", 1, 1, 1, 8)).expect("sound");

    let error = write.insert_document(&document("k", 2, 1, 1, 8)).expect_err("taken");
    write.insert_document(&document("l", 3, 1, 1, 8)).expect("sound");
    write.commit().expect("committed");

    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("\"k\"") && error.to_string().contains("upsert"), "{error}");
    assert_eq!(db.begin_read().expect("whole").document_count(), 2);
    assert_clean(&db, "a refused insert");
}

/// mem0#3849: a key that is not there is no error, and changes nothing.
#[test]
fn removing_what_is_not_there_says_so() {
    let db = builder().in_memory().expect("memory");
    insert(&db, &document("k", 1, 1, 1, 8));
    let mut write = db.begin_write().expect("writable");

    assert!(!write.remove_document("other").expect("whole"));
    assert!(write.remove_document("k").expect("whole"));
    assert!(!write.remove_document("k").expect("whole"));
    write.commit().expect("committed");

    assert_clean(&db, "empty again");
    assert_eq!(text_search(&db, "river treaty border").expect("whole"), "");
}

/// milvus-lite#195, hermes-agent#58705: a second handle is told who is in the way; after closing, it opens.
#[test]
fn a_second_open_is_locked_until_the_first_is_closed() {
    let (_folder, path) = file("one.evdb");
    let db = builder().create(&path).expect("new");
    insert(&db, &document("k", 1, 1, 1, 8));

    for result in [builder().open(&path), builder().open_read_only(&path)] {
        let error = result.err().expect("the first handle has it");
        assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
        assert!(error.to_string().contains("one.evdb") && error.to_string().contains("close"), "{error}");
    }
    drop(db);

    let readers = [builder().open_read_only(&path), builder().open_read_only(&path)];
    assert!(readers.iter().all(Result::is_ok), "readers share a file");
    assert_eq!(builder().open(&path).err().map(|error| error.kind()), Some(ErrorKind::Locked));
    drop(readers);
    assert!(builder().open(&path).is_ok());
    assert_eq!(builder().create(&path).err().map(|error| error.kind()), Some(ErrorKind::AlreadyExists));
}

#[test]
fn a_file_that_is_not_there_is_not_found_and_not_made() {
    let (_folder, path) = file("none.evdb");
    for result in [builder().open(&path), builder().open_read_only(&path)] {
        let error = result.err().expect("there is none");
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.to_string().contains("none.evdb"), "{error}");
    }
    assert!(!path.exists());
}

/// kuzu#2276, zvec-rust#6: `chmod 444`. And reading never changes the bytes, checked or not.
#[test]
fn a_read_only_open_reads_a_read_only_file_and_never_changes_it() {
    let (_folder, path) = file("ro.evdb");
    let db = builder().create(&path).expect("new");
    insert(&db, &document("k", 1, 3, 3, 8));
    drop(db);
    let before = std::fs::read(&path).expect("ours");
    let mut permissions = path.metadata().expect("ours").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).expect("ours");

    for check in [false, true] {
        let db = builder().check_on_open(check).open_read_only(&path).expect("readable");
        assert_clean(&db, "read only");
        ask(&db, "river", 100).expect("whole");
        dump(&db).expect("whole");
        let error = db.begin_write().err().expect("read only");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }

    assert!(std::fs::read(&path).expect("ours") == before);
}

struct Ones;

impl TokenCounter for Ones {
    fn count(&self, _: &str) -> usize {
        1
    }

    fn fingerprint(&self) -> &'static str {
        "ones"
    }
}

#[test]
fn another_counter_or_analyzer_than_the_files_is_refused_by_both_names() {
    let (_folder, path) = file("units.evdb");
    drop(builder().create(&path).expect("new"));

    let counter = Database::builder().token_counter(Arc::new(Ones)).open(&path).err().expect("another");
    let analyzer = builder().analyzer(AnalyzerConfig::plain()).open(&path).err().expect("another");
    let none = Database::open(&path).err().expect("the file's counter is not built in");

    assert_eq!(counter.kind(), ErrorKind::InvalidInput);
    assert!(counter.to_string().contains("quarters") && counter.to_string().contains("ones"), "{counter}");
    assert_eq!(analyzer.kind(), ErrorKind::InvalidInput);
    let plain = AnalyzerConfig::plain().fingerprint();
    assert!(analyzer.to_string().contains(&format!("{plain:?}")), "{analyzer}");
    assert!(none.to_string().contains("quarters"), "{none}");
}

/// cognee#3547, zeph#3029, mem0#1575: a vector that does not fit is refused, and nothing that is stored is lost.
#[test]
fn a_vector_that_does_not_fit_is_refused_by_name_and_nothing_is_lost() {
    let db = builder().in_memory().expect("memory");
    let first = document("k", 1, 1, 2, 8);
    let mut write = db.begin_write().expect("writable");
    put(&mut write, &first, 4, 1).expect("sound");
    write.commit().expect("committed");
    let before = dump(&db).expect("whole");

    let second = document("l", 2, 1, 2, 8);
    for (at, value) in [(5, f32::NAN), (0, f32::INFINITY), (7, f32::NEG_INFINITY)] {
        let mut write = db.begin_write().expect("writable");
        let id = write.insert_document(&second).expect("sound");
        let space = write.open_space("s", 4, Metric::Cosine, "made by a seed").expect("made before");
        let mut rows = vectors(&second, 4, 2);
        rows[at] = value;
        let error = write.put_leaf_vectors(space, &second, id, &rows).expect_err("not finite");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let leaf = format!("leaf {}", at / 4);
        assert!(error.to_string().contains(&leaf) && error.to_string().contains("\"l\""), "{error}");
    }
    let mut write = db.begin_write().expect("writable");
    let id = write.insert_document(&second).expect("sound");
    let space = write.open_space("s", 4, Metric::Cosine, "made by a seed").expect("made before");
    let short = write.put_leaf_vectors(space, &second, id, &[0.0; 7]).expect_err("7 floats");
    let dimension = write.open_space("s", 5, Metric::Cosine, "made by a seed").expect_err("of 4");
    let model = write.open_space("s", 4, Metric::Cosine, "another model").expect_err("another model");
    let metric = write.open_space("s", 4, Metric::Dot, "made by a seed").expect_err("cosine");
    drop(write);

    assert_eq!(short.kind(), ErrorKind::InvalidInput, "{short}");
    assert_eq!(dimension.kind(), ErrorKind::InvalidInput, "{dimension}");
    assert!(dimension.to_string().contains('4') && dimension.to_string().contains('5'), "{dimension}");
    assert_eq!(model.kind(), ErrorKind::Model, "{model}");
    assert!(model.to_string().contains("another model") && model.to_string().contains("made by a seed"));
    assert_eq!(metric.kind(), ErrorKind::InvalidInput, "{metric}");
    assert_eq!(dump(&db).expect("whole"), before);
    assert_clean(&db, "refused vectors");
    let read = db.begin_read().expect("whole");
    let space = read.space("s").expect("made");
    for bad in [&[1.0, 2.0][..], &[], &[f32::NAN; 4]] {
        let flat = space.flat().expect("whole");
        assert_eq!(flat.query(bad).err().map(|error| error.kind()), Some(ErrorKind::InvalidInput));
    }
}

#[test]
fn a_reader_sees_one_state_while_a_writer_commits() {
    let (_folder, path) = file("snapshot.evdb");
    let db = builder().create(&path).expect("new");
    insert(&db, &document("old", 1, 1, 2, 8));
    let read = db.begin_read().expect("whole");

    let mut write = db.begin_write().expect("writable");
    write.insert_document(&document("new", 2, 1, 2, 8)).expect("sound");
    write.remove_document("old").expect("whole");
    let while_writing = db.begin_read().expect("whole");
    write.commit().expect("committed");

    for old in [&read, &while_writing] {
        assert!(old.document_by_key("old").expect("whole").is_some());
        assert!(old.document_by_key("new").expect("whole").is_none());
        let id = old.document_by_key("old").expect("whole").expect("there").id;
        assert_eq!(old.tree(id).expect("whole").nodes().len(), 4);
        assert!(!old.text(id, Span::new(0, 5)).expect("whole").is_empty());
    }
    let new = db.begin_read().expect("whole");
    assert!(new.document_by_key("old").expect("whole").is_none());
    assert!(new.document_by_key("new").expect("whole").is_some());
}

/// redb#970: many readers while committing and freeing.
#[test]
fn readers_on_threads_see_whole_states_while_commits_go_on() {
    let (_folder, path) = file("threads.evdb");
    let db = builder().create(&path).expect("new");
    insert(&db, &document("0", 0, 1, 2, 8));
    let done = AtomicBool::new(false);

    let seen = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = 0;
                    while !done.load(Ordering::Relaxed) {
                        // Every commit leaves one document, whose key is its seed.
                        let read = db.begin_read().expect("whole");
                        let mut keys = Vec::new();
                        read.for_each_document(|info| {
                            let seed = info.key.parse().expect("a number");
                            let text = read.text(info.id, Span::new(0, info.text_bytes))?;
                            assert_eq!(text, document(&info.key, seed, 1, 2, 8).text);
                            keys.push(info.key);
                            Ok(std::ops::ControlFlow::Continue(()))
                        })
                        .expect("whole");
                        assert_eq!(keys.len(), 1);
                        text_search(&db, "river treaty").expect("whole");
                        seen += 1;
                    }
                    seen
                })
            })
            .collect();
        for seed in 1..60_u64 {
            let mut write = db.begin_write().expect("writable");
            write.remove_document(&(seed - 1).to_string()).expect("whole");
            write.insert_document(&document(&seed.to_string(), seed, 1, 2, 8)).expect("sound");
            write.commit().expect("committed");
        }
        done.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().expect("no panic")).sum::<usize>()
    });

    assert!(seen > 0);
    assert_clean(&db, "after the readers");
}

#[test]
fn a_document_of_a_hundred_thousand_nodes_is_stored_and_found() {
    let mut large = Document::new("large", "large");
    for section in 0..1_000_u32 {
        let parent = section * 100 + 1;
        large.nodes.push(Node { title: format!("s{section}"), ..Node::new(Some(0), NodeKind::Section) });
        for leaf in 0..99 {
            let start = u32::try_from(large.text.len()).expect("short");
            large.text.push_str(["w", &section.to_string(), "x", &leaf.to_string(), " "].concat().as_str());
            let end = u32::try_from(large.text.len()).expect("short");
            large.nodes.push(Node { span: Span::new(start, end), ..Node::new(Some(parent), NodeKind::Text) });
        }
    }
    assert_eq!(large.nodes.len(), 100_001);
    let (_folder, path) = file("large.evdb");
    let db = builder().create(&path).expect("new");

    insert(&db, &large);

    assert_eq!(text_search(&db, "w512x77").expect("whole").split_whitespace().count(), 1);
    let read = db.begin_read().expect("whole");
    let info = read.document_by_key("large").expect("whole").expect("there");
    let tree = read.tree(info.id).expect("whole");
    assert_eq!(tree.children(tree.root()).expect("the root").count(), 1_000);
    assert_clean(&db, "large");
}

/// turso#1617: large values in a fresh file.
#[test]
fn a_document_of_five_megabytes_in_one_leaf_comes_back() {
    let mut large = Document::new("5 MB", "");
    large.text = "a few words, always the same, and ünïcode. ".repeat(5_000_000 / 44);
    let end = u32::try_from(large.text.len()).expect("5 MB");
    large.nodes.push(Node { span: Span::new(0, end), ..Node::new(Some(0), NodeKind::Text) });
    let (_folder, path) = file("text.evdb");
    let db = builder().create(&path).expect("new");

    insert(&db, &large);

    drop(db);
    let db = builder().open(&path).expect("closed");
    let read = db.begin_read().expect("whole");
    let info = read.document_by_key("5 MB").expect("whole").expect("there");
    assert!(read.text(info.id, Span::new(0, end)).expect("whole") == large.text);
    assert_eq!(
        ask(&db, "words", 50).map(|json| json.contains("\"items\":[]")).ok(),
        Some(true),
        "it does not fit"
    );
}

#[test]
fn an_empty_document_and_an_empty_file_answer_with_nothing() {
    let db = builder().in_memory().expect("memory");
    for _ in 0..2 {
        assert_eq!(text_search(&db, "anything").expect("whole"), "");
        let found = ask(&db, "anything", 100).expect("nothing is no error");
        assert!(found.contains("\"items\":[]"), "{found}");
        assert_clean(&db, "empty");
        let mut write = db.begin_write().expect("writable");
        write.upsert_document(&Document::new("empty", "")).expect("a root is a document");
        write.commit().expect("committed");
    }
    assert_eq!(db.begin_read().expect("whole").document_count(), 1);
}

#[test]
fn a_transaction_that_is_dropped_never_was() {
    let (_folder, path) = file("drop.evdb");
    let db = builder().create(&path).expect("new");
    insert(&db, &document("kept", 1, 1, 1, 8));
    let before = dump(&db).expect("whole");

    let mut write = db.begin_write().expect("writable");
    put(&mut write, &document("gone", 2, 3, 3, 8), 4, 2).expect("sound");
    write.remove_document("kept").expect("whole");
    drop(write);

    assert_eq!(dump(&db).expect("whole"), before);
    drop(db);
    let db = builder().open(&path).expect("closed");
    assert_eq!(dump(&db).expect("whole"), before);
    insert(&db, &document("next", 3, 1, 1, 8));
    assert_clean(&db, "after a dropped transaction");
}

/// memvid#230: sixteen varied documents, one commit each; closed and reopened each time.
#[test]
fn a_file_reopens_after_each_of_many_commits() {
    let (_folder, path) = file("reopen.evdb");
    drop(builder().create(&path).expect("new"));
    for seed in 0..16_usize {
        let db = builder().open(&path).expect("closed");
        assert_eq!(db.begin_read().expect("whole").document_count() as usize, seed);
        let mut write = db.begin_write().expect("writable");
        let document = document(&format!("d{seed}"), seed as u64, seed % 4, seed % 5, 1 + seed * 3);
        put(&mut write, &document, 4, seed as u64).expect("sound");
        write.commit().expect("committed");
        assert_clean(&db, "after a commit");
    }
    let db = builder().open_read_only(&path).expect("closed");
    assert_clean(&db, "after all commits");
}

/// Two thousand commits of one small document each: segments are merged, pages are reused.
#[test]
fn tiny_commits_leave_few_segments_and_a_small_file() {
    const COMMITS: u64 = 2_000;
    let (_folder, path) = file("tiny.evdb");
    let db = builder().create(&path).expect("new");
    let mut most = 0;

    for seed in 0..COMMITS {
        let mut write = db.begin_write().expect("writable");
        write.insert_document(&document(&format!("d{seed}"), seed, 0, 0, 0)).expect("sound");
        write.commit().expect("committed");
        if seed % 50 == 0 {
            most = most.max(db.begin_read().expect("whole").stats().expect("whole").segments);
        }
    }

    let stats = db.begin_read().expect("whole").stats().expect("whole");
    assert!(most.max(stats.segments) <= 16, "{most} segments");
    assert_eq!(u64::from(stats.documents), COMMITS);
    assert_clean(&db, "after tiny commits");
    drop(db);
    let bytes = path.metadata().expect("ours").len();
    println!(
        "{COMMITS} commits: at most {most} segments, {bytes} bytes, {} of them tables",
        stats.table_bytes
    );
    assert!(bytes < 4 * stats.table_bytes + (1 << 20), "{bytes} bytes for {} of tables", stats.table_bytes);
}
