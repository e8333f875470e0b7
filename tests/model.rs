//! Random operations against plain maps: documents, trees, scores and vectors of a file that was changed in many
//! ways equal those of a file made from the survivors.

mod support;

use std::collections::BTreeMap;

use evdb::{Database, Document, NodeId, Span};
use proptest::prelude::*;
use support::{QUESTIONS, Random, assert_clean, builder, document, put, vectors};

const DIMENSION: usize = 6;

#[derive(Debug, Clone)]
enum Step {
    /// Upserts the document of a key, made from a seed; the same seed again changes nothing.
    Upsert(u8, u64),
    Remove(u8),
    /// Commits what was done since the last commit.
    Commit,
    /// Drops it.
    Abort,
    /// Closes the file and opens it again.
    Reopen,
    /// So many small commits: segments are merged.
    Many(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_u8..8, 0_u64..4).prop_map(|(key, seed)| Step::Upsert(key, seed)),
        2 => (0_u8..8).prop_map(Step::Remove),
        4 => Just(Step::Commit),
        1 => Just(Step::Abort),
        1 => Just(Step::Reopen),
        1 => (5_u8..12).prop_map(Step::Many),
    ]
}

/// What a document is made from.
type Model = BTreeMap<String, u64>;

fn made(key: &str, seed: u64) -> Document {
    let sections = usize::try_from(seed % 3).expect("small");
    document(key, seed, sections, 1 + sections, 9)
}

/// Upserts as a caller does who keeps vectors in step.
fn upsert(write: &mut evdb::WriteTransaction, key: &str, seed: u64) {
    let document = made(key, seed);
    if !write.is_unchanged(&document).expect("whole") {
        put(write, &document, DIMENSION, seed).expect("a sound document");
    }
}

/// Scores by words and vectors as document key, leaf within the document, bits.
fn scores(db: &Database) -> Vec<Vec<(String, u32, u32)>> {
    let read = db.begin_read().expect("whole");
    let place = |node: NodeId| {
        let info = read.document_of(node).expect("a leaf that was found has a document");
        (info.key.clone(), node.0 - info.nodes.first.0)
    };
    let mut all = Vec::new();
    for question in QUESTIONS {
        let terms = read.analyzers().distinct_terms(question);
        let hits = read.text_index().search(&terms, None, 1_000).expect("whole");
        all.push(hits.into_iter().map(|hit| (place(hit.node), hit.score)).collect::<Vec<_>>());
    }
    if let Some(space) = read.space("s") {
        let mut random = Random(3);
        let vector: Vec<f32> = (0..DIMENSION).map(|_| random.float()).collect();
        let flat = space.flat().expect("whole");
        let query = flat.query(&vector).expect("it fits");
        let hits = flat.search(&query, None, read.text_index().deleted(), 1_000, 1).expect("whole");
        all.push(hits.into_iter().map(|hit| (place(hit.node), hit.score)).collect());
        let norms = space.all_context_norms().expect("whole");
        assert_eq!(norms.len() as u64, u64::from(read.document_count()), "norms of each document");
    }
    let by_place = |hits: Vec<((String, u32), f32)>| {
        let mut hits: Vec<_> =
            hits.into_iter().map(|((key, leaf), score)| (key, leaf, score.to_bits())).collect();
        hits.sort();
        hits
    };
    all.into_iter().map(by_place).collect()
}

/// Brute force: the cosine of each surviving leaf, in 64 bits.
fn cosines(model: &Model) -> Vec<(String, f64)> {
    let mut random = Random(3);
    let query: Vec<f64> = (0..DIMENSION).map(|_| f64::from(random.float())).collect();
    let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut all = Vec::new();
    for (key, seed) in model {
        for row in vectors(&made(key, *seed), DIMENSION, *seed).chunks_exact(DIMENSION) {
            let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
            let dot: f64 = row.iter().zip(&query).map(|(a, b)| a * b).sum();
            all.push((key.clone(), dot / norm(&row) / norm(&query)));
        }
    }
    all
}

fn compare(db: &Database, model: &Model) {
    assert_clean(db, "after the steps");
    let read = db.begin_read().expect("whole");
    assert_eq!(read.document_count() as usize, model.len());
    for (key, seed) in model {
        let expected = made(key, *seed);
        let info = read.document_by_key(key).expect("whole").expect("it is in the model");
        let text = read.text(info.id, Span::new(0, info.text_bytes)).expect("whole");
        assert_eq!(text, expected.text);
        let tree = read.tree(info.id).expect("whole");
        assert_eq!(tree.nodes().len(), expected.nodes.len());
        for (node, expected) in tree.nodes().zip(&expected.nodes) {
            assert_eq!((node.title(), node.summary()), (&*expected.title, &*expected.summary));
            assert_eq!(node.kind(), expected.kind);
            let parent = node.parent().map(|parent| parent.id().0 - info.nodes.first.0);
            assert_eq!(parent, expected.parent);
            if node.is_leaf() {
                assert_eq!(node.span(), expected.span);
            }
        }
    }
    for key in 0_u8..8 {
        let key = key.to_string();
        assert_eq!(read.document_by_key(&key).expect("whole").is_some(), model.contains_key(&key));
    }

    // Statistics are exact: the same bits as in a file that never held anything else.
    let fresh = builder().in_memory().expect("memory");
    let mut write = fresh.begin_write().expect("writable");
    for (key, seed) in model {
        upsert(&mut write, key, *seed);
    }
    write.commit().expect("committed");
    let found = scores(db);
    assert_eq!(found[..3], scores(&fresh)[..3], "scores by words");
    if let Some(hits) = found.get(3) {
        let expected = cosines(model);
        assert_eq!(hits.len(), expected.len(), "every surviving row, and no other");
        for ((key, _, bits), (expected_key, expected)) in hits.iter().zip(&expected) {
            assert_eq!(key, expected_key);
            assert!((f64::from(f32::from_bits(*bits)) - expected).abs() < 1e-5);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_changes_leaves_the_file_of_its_survivors(
        steps in proptest::collection::vec(step(), 1..40)
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model.evdb");
        let mut db = builder().create(&path).expect("new");
        let mut model = Model::new();
        let mut pending = model.clone();
        let mut write = Some(db.begin_write().expect("writable"));
        for step in steps {
            let open = write.as_mut().expect("always open");
            match step {
                Step::Upsert(key, seed) => {
                    upsert(open, &key.to_string(), seed);
                    pending.insert(key.to_string(), seed);
                }
                Step::Remove(key) => {
                    let was = pending.remove(&key.to_string()).is_some();
                    prop_assert_eq!(open.remove_document(&key.to_string()).expect("whole"), was);
                }
                Step::Commit => {
                    write.take().expect("open").commit().expect("committed");
                    model = pending.clone();
                    write = Some(db.begin_write().expect("writable"));
                }
                Step::Abort => {
                    drop(write.take());
                    pending = model.clone();
                    write = Some(db.begin_write().expect("writable"));
                }
                Step::Reopen => {
                    drop(write.take());
                    pending = model.clone();
                    drop(db);
                    db = builder().open(&path).expect("it was closed");
                    write = Some(db.begin_write().expect("writable"));
                }
                Step::Many(count) => {
                    write.take().expect("open").commit().expect("committed");
                    for number in 0..u64::from(count) {
                        let mut one = db.begin_write().expect("writable");
                        let key = format!("many {}", number % 6);
                        upsert(&mut one, &key, number);
                        pending.insert(key, number);
                        one.commit().expect("committed");
                    }
                    model = pending.clone();
                    write = Some(db.begin_write().expect("writable"));
                }
            }
        }
        drop(write);
        compare(&db, &model);
    }
}
