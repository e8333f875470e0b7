//! Same file, same question, same bytes out, whatever the threads and the processor.

mod support;

use std::sync::Arc;

use evdb::ingest::{Loader, SpaceEmbedder};
use evdb::kernels::{Level, level, use_level};
use evdb::methods::bear::{Bear, Mode, Request, Scoring};
use evdb::model::Embedder;
use evdb::query::{Format, Mmr, Question, QuestionVector};
use evdb::{Budget, Database, Document, Result};
use support::{QUESTIONS, Random, builder, document, dump_raw, vector_search};

/// 255 rows fill a block: a few thousand leaves are enough blocks for two threads to share.
const DIMENSION: usize = 256;

/// Sums seeded vectors of the words: alike texts get alike vectors.
struct Hashing;

impl Embedder for Hashing {
    fn embed(&self, texts: &[&str], out: &mut [f32]) -> Result<()> {
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(DIMENSION)) {
            row.fill(0.0);
            for word in text.split_whitespace() {
                let seed =
                    word.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
                let mut random = Random(seed);
                for x in row.iter_mut() {
                    *x += random.float();
                }
            }
        }
        Ok(())
    }

    fn dimensions(&self) -> usize {
        DIMENSION
    }

    fn fingerprint(&self) -> &'static str {
        "sums of seeded words"
    }
}

/// The last ones replace the first.
fn documents() -> Vec<Document> {
    (0..36).map(|seed| document(&format!("d{}", seed % 33), seed, 6, 10, 12)).collect()
}

fn build(threads: usize) -> Database {
    build_with(threads, 64 << 20, 64 << 20)
}

/// A file built with `memory` for its index, from batches of `batch` bytes.
fn build_with(threads: usize, memory: usize, batch: usize) -> Database {
    let db = builder().write_memory_bytes(memory).in_memory().expect("memory");
    let embedder = SpaceEmbedder { space: "s".into(), embedder: Arc::new(Hashing) };
    let mut loader = Loader::new(&db).threads(threads).batch_bytes(batch).embedder(embedder);
    for document in documents() {
        loader.add(document).expect("sound");
    }
    loader.finish().expect("written");
    db
}

fn answers(db: &Database, threads: usize) -> Vec<String> {
    let read = db.begin_read().expect("whole");
    let format = Format::default();
    let methods = [
        Bear::default(),
        Bear::paper(),
        Bear { mode: Mode::Nodes, score: Scoring::hybrid(), ..Bear::default() },
        Bear { mode: Mode::Nodes, mmr: Some(Mmr::default()), ..Bear::default() },
    ];
    let mut answers = Vec::new();
    for text in QUESTIONS {
        let mut vector = vec![0.0; DIMENSION];
        Hashing.embed(&[text], &mut vector).expect("words");
        for bear in &methods {
            for vector in [None, Some(QuestionVector { space: "s", vector: &vector })] {
                let request = Request {
                    threads,
                    ..Request::new(Question { text, vector }, Budget::tokens(300), &format)
                };
                let found = bear.retrieve(&read, &request).expect("it finds what there is");
                answers.push(serde_json::to_string(&found).expect("plain data"));
            }
        }
        answers.push(vector_search(db, &vector, threads).expect("whole"));
    }
    answers
}

#[test]
fn one_and_two_threads_build_the_same_rows() {
    let (one, two) = (build(1), build(2));

    assert!(dump_raw(&one).expect("whole") == dump_raw(&two).expect("whole"));
}

/// With little memory the index is built in many parts, which the commit joins.
#[test]
fn the_rows_depend_neither_on_threads_nor_on_memory_nor_on_batches() {
    let expected = dump_raw(&build(1)).expect("whole");

    for (threads, memory, batch) in [(1, 64 << 10, 64 << 20), (2, 128 << 10, 30 << 10), (5, 1, 1 << 10)] {
        let rows = dump_raw(&build_with(threads, memory, batch)).expect("whole");

        assert!(rows == expected, "{threads} threads, {memory} bytes of memory, batches of {batch}");
    }
}

/// A file is built in pieces beside the database; nothing of them is left, not even after an error.
#[test]
fn nothing_is_left_beside_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("only.evdb");
    let db = builder().write_memory_bytes(1 << 10).create(&path).expect("new");
    let mut write = db.begin_write().expect("writable");
    for document in documents() {
        write.upsert_document(&document).expect("sound");
    }
    let names = || -> Vec<_> {
        let entries = std::fs::read_dir(folder.path()).expect("it is there");
        entries.map(|entry| entry.expect("an entry").file_name()).collect()
    };
    assert_eq!(names(), ["only.evdb"]);

    drop(write);

    assert_eq!(names(), ["only.evdb"]);
    assert_eq!(db.begin_read().expect("whole").document_count(), 0);
}

#[test]
fn answers_are_the_same_bytes_with_any_threads_and_any_kernel() {
    let db = build(2);
    let best = level();
    let expected = answers(&db, 1);
    assert!(expected.iter().any(|answer| answer.contains("\"text\"")), "something is found");

    for threads in [2, 5] {
        assert!(answers(&db, threads) == expected, "{threads} threads");
    }
    for kernel in Level::ALL {
        if use_level(kernel) {
            assert!(answers(&db, 2) == expected, "{kernel:?}");
        }
    }
    assert!(use_level(best));
}
