//! Fails or cuts the nth write, resize and sync, for every n: all of a transaction is there, or none of it.
//!
//! One workload (creation, inserts, replacement, removal, vectors, a graph, a merge of segments) runs on a disk in memory.
//! For every operation n, failing once and from then on for good, and for every way of losing what was not
//! synced, the file is opened again: it verifies, and its dump is that of the last commit that returned, or of
//! the one that was cut. Recovery is cut in the same way.

mod support;

use evdb::graph::{EntityDraft, GraphPatch, HyperedgeDraft, Target};
use evdb::storage::faults::{Disk, Unsynced};
use evdb::{Database, Result, WriteTransaction};
use support::{assert_clean, builder, document, dump, put};

const DIMENSION: usize = 4;

/// Transactions of the workload after creation: two of the middle size, then small ones until segments merge.
const COMMITS: usize = 11;

/// What the document of that key says: it and the one before it are alike.
fn put_graph(write: &mut WriteTransaction, key: &str, other: &str) -> Result<()> {
    let Some(id) = write.document_by_key(key)? else { return Ok(()) };
    let name = |name: &str| Target::entity(name, "file");
    let like = HyperedgeDraft::new("relation", "like").member("", name(key)).member("", name(other));
    let mut draft = EntityDraft::new(key, "file");
    draft.aliases.push(format!("the {key}"));
    let patch = GraphPatch { entities: vec![draft], hyperedges: vec![like.supported_by(1)] };
    let seed = if key == "a" { 1 } else { key.trim_start_matches("small ").parse().unwrap_or(2) };
    let document = if key == "a" { document("a", 1, 2, 2, 8) } else { document(key, seed, 1, 1, 4) };
    write.put_graph(id, &document, &patch).map(drop)
}

fn transaction(db: &Database, number: usize) -> Result<()> {
    let mut write = db.begin_write()?;
    match number {
        0 => {
            put(&mut write, &document("a", 1, 2, 2, 8), DIMENSION, 1)?;
            put(&mut write, &document("b", 2, 1, 3, 8), DIMENSION, 2)?;
            put_graph(&mut write, "a", "b")?;
        }
        // Replaced, removed, and a text of two blocks.
        1 => {
            put(&mut write, &document("a", 3, 1, 2, 10), DIMENSION, 3)?;
            write.remove_document("b")?;
            write.insert_document(&document("long", 4, 1, 2, 1_300))?;
        }
        other => {
            let seed = u64::try_from(other).expect("small");
            let key = format!("small {other}");
            put(&mut write, &document(&key, seed, 1, 1, 4), DIMENSION, seed)?;
            put_graph(&mut write, &key, "small 2")?;
        }
    }
    write.commit()
}

/// Runs the workload; how many commits returned (creation is one), and whether all did.
fn workload(disk: &Disk) -> (usize, bool) {
    let Ok(db) = builder().on_disk(disk) else { return (0, false) };
    for number in 0..COMMITS {
        if transaction(&db, number).is_err() {
            return (1 + number, false);
        }
    }
    (1 + COMMITS, true)
}

/// The dump after creation and after each commit, and how many operations all of it takes.
fn states() -> (Vec<String>, u64) {
    let disk = Disk::new();
    let db = builder().on_disk(&disk).expect("a disk that never fails");
    let mut states = vec![dump(&db).expect("it is whole")];
    let mut most_segments = 0;
    for number in 0..COMMITS {
        transaction(&db, number).expect("a disk that never fails");
        states.push(dump(&db).expect("it is whole"));
        most_segments = most_segments.max(db.begin_read().expect("whole").stats().expect("whole").segments);
    }
    let segments = db.begin_read().expect("whole").stats().expect("whole").segments;
    assert!(segments < most_segments, "the workload merges segments: {segments} of {most_segments} are left");
    drop(db);
    (states, disk.operations())
}

/// Opens what is left of a disk: it is the state after commit `done`, or after the one that was cut. Before
/// creation returned it may as well be refused.
fn check(disk: &Disk, states: &[String], done: usize, what: &str) -> Option<Database> {
    let db = match builder().on_disk(disk) {
        Ok(db) => db,
        Err(_) if done == 0 => return None,
        Err(error) => panic!("{what}: {error}"),
    };
    assert_clean(&db, what);
    let found = dump(&db).unwrap_or_else(|error| panic!("{what}: {error}"));
    let at = states.iter().position(|state| *state == found);
    // Commit 0 is creation; a file that was cut before it is created by opening it.
    let allowed = done.saturating_sub(1)..=done;
    assert!(at.is_some_and(|at| allowed.contains(&at)), "{what}: state {at:?} after {done} commits");
    Some(db)
}

fn cut_everywhere(lasting: bool) {
    let (states, operations) = states();
    let (mut cut, mut cases) = (0, 0);
    loop {
        let disk = Disk::new();
        disk.fail_at(cut, lasting);
        let (done, finished) = workload(&disk);
        for unsynced in Unsynced::ALL {
            let what = format!("operation {cut} failed (lasting: {lasting}), unsynced writes {unsynced:?}");
            let db = check(&disk.after_power_loss(unsynced), &states, done, &what);
            // The file is not only readable: it takes the next transaction.
            if let (Some(db), Unsynced::Kept) = (db, unsynced) {
                transaction(&db, 99).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_clean(&db, &what);
            }
            cases += 1;
        }
        if finished && cut >= operations {
            break;
        }
        cut += 1;
    }
    println!("{cut} injection points (lasting: {lasting}), {cases} reopened files");
    assert!(cut > 200, "{cut} operations are a workload");
}

#[test]
fn an_operation_that_fails_once_leaves_a_whole_transaction() {
    cut_everywhere(false);
}

#[test]
fn a_cut_at_any_write_or_sync_leaves_a_whole_transaction() {
    cut_everywhere(true);
}

/// redb 4.2 notes: crash during the recovery of a crash; crash just after a repair.
///
/// Every 17th operation of the workload is cut, and there every operation of the recovery.
#[test]
fn a_cut_during_recovery_leaves_a_whole_transaction() {
    let (states, operations) = states();
    let mut cases = 0;
    for cut in (0..operations).step_by(17) {
        let disk = Disk::new();
        disk.fail_at(cut, true);
        let (done, _) = workload(&disk);
        for first in Unsynced::ALL {
            let mut again = 0;
            loop {
                let damaged = disk.after_power_loss(first);
                damaged.fail_at(again, true);
                let opened = builder().on_disk(&damaged).is_ok();
                for second in [Unsynced::Lost, Unsynced::EveryOther, Unsynced::LastTorn] {
                    let what = format!("cut {cut} {first:?}, recovery cut {again} {second:?}");
                    check(&damaged.after_power_loss(second), &states, done, &what);
                    cases += 1;
                }
                if opened {
                    break;
                }
                again += 1;
            }
        }
    }
    println!("{cases} files reopened after a cut recovery");
}
