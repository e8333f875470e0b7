//! A small file with some bytes changed, or with records rewritten and framed anew, opened and asked everything.
#![no_main]

#[path = "shared.rs"]
mod shared;

use std::sync::OnceLock;

use evdb::format::document::{DOCUMENT, DOCUMENT_KEY, ROOT, TEXT};
use evdb::format::frame::{HEADER_BYTES, RecordKind};
use evdb::format::identity::{CATALOGUE, META};
use evdb::format::manifest::{DELETED, MANIFEST};
use evdb::format::text::{PART, SEGMENT};
use evdb::format::tree::TREE;
use evdb::format::vector::{BLOCK, CONTEXT, SPACE};
use evdb::storage::faults::Disk;
use evdb::storage::{Options, Store};
use libfuzzer_sys::fuzz_target;

const KINDS: [RecordKind; 14] = [
    META, CATALOGUE, DOCUMENT, DOCUMENT_KEY, ROOT, TREE, TEXT, MANIFEST, SEGMENT, PART, DELETED, SPACE, BLOCK, CONTEXT,
];

/// Each five bytes change one byte of the file: four for where, one for what.
fn patched(sound: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    for patch in data.chunks_exact(5) {
        let at = u32::from_le_bytes([patch[0], patch[1], patch[2], patch[3]]) as usize % bytes.len();
        bytes[at] ^= patch[4];
    }
    bytes
}

/// Table, row, where, and bytes to put there; the frame is made to fit.
fn rewritten(sound: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let disk = Disk::with_bytes(sound.to_vec());
    let store = Store::on_disk(&disk, Options { cache_bytes: 1 << 20, check_on_open: false }).ok()?;
    let batch = store.begin_write().ok()?;
    let [table, row, at, len, edit @ ..] = data else { return None };
    let kind = KINDS[usize::from(*table) % KINDS.len()];
    let mut rows = Vec::new();
    batch
        .scan_raw(kind.table, &[], |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .ok()?;
    let count = rows.len().max(1);
    let (key, value) = rows.into_iter().nth(usize::from(*row) % count)?;
    let mut payload = kind.open(&key, &value).ok()?.to_vec();
    let from = usize::from(*at).min(payload.len());
    let until = (from + usize::from(*len)).min(payload.len());
    payload.splice(from..until, edit.iter().copied());
    debug_assert!(value.len() >= HEADER_BYTES);
    batch.put(&kind, &key, &payload).ok()?;
    batch.commit().ok()?;
    drop(store);
    Some(disk.bytes())
}

fuzz_target!(|data: &[u8]| {
    static SOUND: OnceLock<Vec<u8>> = OnceLock::new();
    static QUIET: OnceLock<()> = OnceLock::new();
    let sound = SOUND.get_or_init(shared::small_file);
    // Panics inside redb are caught by the library and are answers; libfuzzer's hook would abort on them.
    QUIET.get_or_init(|| std::panic::set_hook(Box::new(|_| {})));
    let Some((mode, data)) = data.split_first() else { return };
    let bytes = if mode % 2 == 0 { Some(patched(sound, data)) } else { rewritten(sound, data) };
    let Some(bytes) = bytes else { return };
    let asked = std::panic::catch_unwind(|| {
        let opened = shared::builder().check_on_open(mode & 2 == 0).on_disk(&Disk::with_bytes(bytes));
        opened.and_then(|db| shared::ask_everything(&db))
    });
    if asked.is_err() {
        std::process::abort();
    }
});
