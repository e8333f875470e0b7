//! Opening the file a command is about, and finding documents in it.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use evdb::db::DocumentInfo;
use evdb::{Builder, Database, DocumentId, ErrorKind, ReadTransaction};

use crate::args::Common;
use crate::failure::Failure;

/// Keys suggested for one that is not there.
const SUGGESTIONS: usize = 3;

/// How this command line opens files.
pub fn builder(common: &Common) -> Builder {
    Database::builder().cache_bytes((common.cache_mb as usize) << 20)
}

/// The file, for reading only.
pub fn read_only(path: &Path, common: &Common) -> Result<Database, Failure> {
    builder(common).open_read_only(path).map_err(|error| refused(path, error))
}

/// The file, for reading and writing.
pub fn writable(path: &Path, common: &Common) -> Result<Database, Failure> {
    builder(common).open(path).map_err(|error| refused(path, error))
}

/// `error`, which opening the file at `path` ended with, and what to do.
pub fn refused(path: &Path, error: evdb::Error) -> Failure {
    let name = path.display();
    let is_corrupt = error.kind() == ErrorKind::Corrupt;
    if path.is_dir() {
        let hint = format!("to make a file of its documents: evdb build {name} -o FILE.evdb");
        return Failure::hinted(format!("{name} is a folder, not an .evdb file"), hint);
    }
    if !path.exists() {
        let hint = "make one with: evdb build PATH... -o FILE.evdb";
        return Failure::hinted(format!("there is no file {name}"), hint);
    }
    if is_container(path) == Some(false) {
        let hint = format!("to make a file of documents: evdb build {name} -o FILE.evdb");
        return Failure::hinted(format!("{name} is not an .evdb file"), hint);
    }
    let failure = Failure::from(error);
    if is_corrupt {
        return failure.or_hint(
            "take a backup, or build the file anew; evdb verify FILE names all damage it can reach",
        );
    }
    failure
}

/// Whether the file begins as a container does; `None` if it cannot be read.
fn is_container(path: &Path) -> Option<bool> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(4).read_to_end(&mut head).ok()?;
    Some(head == b"redb")
}

/// The document that has `key`.
pub fn document(read: &ReadTransaction, key: &str) -> Result<DocumentInfo, Failure> {
    if let Some(info) = read.document_by_key(key)? {
        return Ok(info);
    }
    let mut like = Vec::new();
    let wanted = key.to_lowercase();
    read.for_each_document(|info| {
        let (own, title) = (info.key.to_lowercase(), info.title.to_lowercase());
        if own.contains(&wanted) || title.contains(&wanted) || wanted.contains(&own) {
            like.push(info.key);
        }
        Ok(if like.len() < SUGGESTIONS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    let hint = if like.is_empty() {
        "evdb outline FILE lists the documents".to_owned()
    } else {
        format!(
            "did you mean {}?",
            like.iter().map(|key| format!("{key:?}")).collect::<Vec<_>>().join(" or ")
        )
    };
    Err(Failure::hinted(format!("there is no document {key:?}"), hint))
}

/// The documents that have `keys`, each once, in id order; `None` if there are no keys.
pub fn documents(read: &ReadTransaction, keys: &[String]) -> Result<Option<Vec<DocumentId>>, Failure> {
    if keys.is_empty() {
        return Ok(None);
    }
    let mut ids = Vec::with_capacity(keys.len());
    for key in keys {
        ids.push(document(read, key)?.id);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(Some(ids))
}
