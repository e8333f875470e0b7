//! The text index under change: statistics stay exact, and readers see what a serial run would show them.

mod support;

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use evdb::ingest::Loader;
use evdb::{Database, Document};
use proptest::prelude::*;
use support::{Random, assert_clean, builder, document, words};

/// What a search gives, with leaves counted in the order of the live ones: the same in any file of the same
/// documents in the same order.
fn ranks(db: &Database, question: &str) -> Vec<(usize, u32)> {
    let read = db.begin_read().expect("whole");
    let mut leaves = Vec::new();
    for (_, document) in read.roots().expect("whole").iter() {
        let tree = read.tree(*document).expect("whole");
        leaves.extend(tree.nodes().filter(evdb::tree::NodeView::is_leaf).map(|node| node.id()));
    }
    let terms = read.analyzers().body().distinct_terms(question);
    let hits = read.text_index().search(&terms, None, 1_000).expect("whole");
    hits.iter().map(|hit| (leaves.binary_search(&hit.node).expect("live"), hit.score.to_bits())).collect()
}

#[derive(Debug, Clone)]
enum Change {
    /// Puts so many documents, made from a seed, in one transaction, under keys from the second number on.
    Put(u8, u8, u64),
    /// As `Put`, one transaction each: segments are joined.
    PutEach(u8, u8, u64),
    /// As `Put`, by a loader on two threads with memory for little: segments are spilled.
    Load(u8, u8, u64),
    Remove(u8, u8),
    Reopen,
}

fn change() -> impl Strategy<Value = Change> {
    let some = || (1_u8..12, 0_u8..40, 0_u64..1_000);
    prop_oneof![
        3 => some().prop_map(|(count, key, seed)| Change::Put(count, key, seed)),
        2 => some().prop_map(|(count, key, seed)| Change::PutEach(count, key, seed)),
        2 => some().prop_map(|(count, key, seed)| Change::Load(count, key, seed)),
        4 => (1_u8..20, 0_u8..40).prop_map(|(count, key)| Change::Remove(count, key)),
        1 => Just(Change::Reopen),
    ]
}

fn made(key: u8, seed: u64) -> Document {
    let seed = seed + u64::from(key);
    let leaves = usize::try_from(seed % 4).expect("small");
    document(&key.to_string(), seed, 2, leaves, 3 + leaves)
}

/// The live documents, in the order in which they were put there last.
#[derive(Default)]
struct Live(Vec<Document>);

impl Live {
    fn put(&mut self, document: Document) {
        if !self.0.contains(&document) {
            self.0.retain(|other| other.key != document.key);
            self.0.push(document);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scores_after_any_changes_are_those_of_a_file_built_from_scratch(
        changes in proptest::collection::vec(change(), 1..16), seed: u64
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("changed.evdb");
        let small = || builder().write_memory_bytes(2 << 10);
        let mut db = small().create(&path).expect("new");
        let mut live = Live::default();
        for change in changes {
            match change {
                Change::Put(count, first, seed) | Change::PutEach(count, first, seed) => {
                    let mut write = Some(db.begin_write().expect("writable"));
                    for key in first..first + count {
                        let open = write.get_or_insert_with(|| db.begin_write().expect("writable"));
                        open.upsert_document(&made(key, seed)).expect("sound");
                        live.put(made(key, seed));
                        if matches!(change, Change::PutEach(..)) {
                            write.take().expect("open").commit().expect("committed");
                        }
                    }
                    if let Some(write) = write {
                        write.commit().expect("committed");
                    }
                }
                Change::Load(count, first, seed) => {
                    let mut loader = Loader::new(&db).threads(2).batch_bytes(1 << 10).commit_bytes(20 << 10);
                    for key in first..first + count {
                        let mut document = made(key, seed);
                        evdb::ingest::balance(&mut document, db.token_counter().as_ref(), None).expect("sound");
                        loader.add(document.clone()).expect("sound");
                        live.put(document);
                    }
                    loader.finish().expect("committed");
                }
                Change::Remove(count, first) => {
                    let mut write = db.begin_write().expect("writable");
                    for key in first..first + count {
                        write.remove_document(&key.to_string()).expect("whole");
                        live.0.retain(|document| document.key != key.to_string());
                    }
                    write.commit().expect("committed");
                }
                Change::Reopen => {
                    drop(db);
                    db = small().open(&path).expect("it was closed");
                }
            }
        }

        let fresh = builder().in_memory().expect("memory");
        let mut write = fresh.begin_write().expect("writable");
        for document in &live.0 {
            write.insert_document(document).expect("sound");
        }
        write.commit().expect("committed");

        assert_clean(&db, "after the changes");
        let mut random = Random(seed);
        for length in 1..8 {
            let question = words(&mut random, length);
            prop_assert_eq!(ranks(&db, &question), ranks(&fresh, &question), "{}", question);
        }
        let segments = db.begin_read().expect("whole").stats().expect("whole").segments;
        prop_assert!(segments <= 21, "{} segments of a small file", segments);
    }
}

/// One step of a writer that adds, replaces and removes; every eighth commit joins segments.
fn step(db: &Database, number: u64) {
    let mut write = db.begin_write().expect("one writer");
    let key = format!("{}", number % 23);
    write.upsert_document(&document(&key, number, 2, 3, 8)).expect("sound");
    if number % 5 == 4 {
        write.remove_document(&format!("{}", (number * 7) % 23)).expect("whole");
    }
    write.commit().expect("committed");
}

/// The answers of a state, by the number of its commits.
fn seen(db: &Database) -> (u64, Vec<Vec<(u32, u32)>>) {
    let read = db.begin_read().expect("whole");
    let answers = support::QUESTIONS.map(|question| {
        let terms = read.analyzers().body().distinct_terms(question);
        let hits = read.text_index().search(&terms, None, 50).expect("whole");
        hits.iter().map(|hit| (hit.node.0, hit.score.to_bits())).collect()
    });
    (read.stats().expect("whole").commits, answers.into())
}

#[test]
fn readers_beside_a_writer_see_what_a_serial_run_shows() {
    const STEPS: u64 = 150;
    let serial = builder().in_memory().expect("memory");
    let mut expected = vec![seen(&serial)];
    for number in 0..STEPS {
        step(&serial, number);
        expected.push(seen(&serial));
    }
    assert!(expected.iter().any(|(_, answers)| answers.iter().any(|hits| hits.len() > 10)));

    let folder = tempfile::tempdir().expect("a folder");
    let db = builder().create(folder.path().join("read.evdb")).expect("new");
    let done = AtomicBool::new(false);
    let all = Arc::new(Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let state = seen(&db);
                    all.lock().expect("no panic").push(state);
                }
            });
        }
        (0..STEPS).for_each(|number| step(&db, number));
        done.store(true, Ordering::Release);
    });

    let mut all = Arc::into_inner(all).expect("threads are done").into_inner().expect("no panic");
    all.push(seen(&db));
    assert!(all.iter().all(|state| expected.contains(state)));
    assert_eq!(all.last(), expected.last());
}
