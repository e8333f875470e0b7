//! Upserts, removals, commits, aborts, crashes and reopens against a map of the survivors.
#![no_main]

#[path = "shared.rs"]
mod shared;

use std::collections::BTreeMap;

use evdb::db::VerifyOptions;
use evdb::storage::faults::{Disk, Unsynced};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut disk = Disk::new();
    let mut db = shared::builder().on_disk(&disk).expect("memory");
    let mut committed: BTreeMap<String, u8> = BTreeMap::new();
    let mut pending = committed.clone();
    let mut write = Some(db.begin_write().expect("writable"));
    for step in data.chunks_exact(2).take(64) {
        let (what, seed) = (step[0], step[1]);
        let key = format!("k{}", (what >> 3) % 6);
        let open = write.as_mut().expect("always open");
        match what % 8 {
            0..=2 => {
                open.upsert_document(&shared::document(&key, seed % 4)).expect("sound");
                pending.insert(key, seed % 4);
            }
            3 => assert_eq!(open.remove_document(&key).expect("whole"), pending.remove(&key).is_some()),
            4 | 5 => {
                write.take().expect("open").commit().expect("memory");
                committed = pending.clone();
                write = Some(db.begin_write().expect("writable"));
            }
            6 => {
                drop(write.take());
                pending = committed.clone();
                write = Some(db.begin_write().expect("writable"));
            }
            _ => {
                // The power goes during a commit: afterwards it was made, or it was not.
                disk.fail_at(u64::from(seed), true);
                let done = write.take().expect("open").commit().is_ok();
                drop(db);
                disk = disk.after_power_loss(Unsynced::ALL[usize::from(what >> 3) % 4]);
                db = shared::builder().on_disk(&disk).expect("a cut file opens");
                let read = db.begin_read().expect("whole");
                let holds = |model: &BTreeMap<String, u8>| {
                    read.document_count() as usize == model.len()
                        && model.iter().all(|(key, seed)| {
                            let info = read.document_by_key(key).expect("whole");
                            info.is_some_and(|info| info.title == format!("title {seed}"))
                        })
                };
                if holds(&pending) {
                    committed = pending.clone();
                } else {
                    assert!(!done && holds(&committed), "a commit is there whole or not at all");
                    pending = committed.clone();
                }
                drop(read);
                write = Some(db.begin_write().expect("writable"));
            }
        }
    }
    drop(write);
    let read = db.begin_read().expect("whole");
    let found = read.verify(VerifyOptions::default()).expect("readable");
    assert!(found.faults.is_empty(), "{:?}", found.faults);
    assert_eq!(read.document_count() as usize, committed.len());
});
