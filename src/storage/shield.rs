//! Calls into redb, with its errors and panics turned into ours.

use std::io::ErrorKind as ErrorKindOfIo;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use crate::error::{Corruption, Error, ErrorKind, Result};

/// Runs `call`, which goes into redb; a panic in there is damage to the container.
pub(super) fn shield<T>(operation: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let why = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("a page is not what its parent says");
        Err(container(operation, why))
    })
}

/// Damage to redb's own pages, found while doing `operation`.
pub(super) fn container(operation: &str, why: impl std::fmt::Display) -> Error {
    let at = Corruption {
        table: "container".into(),
        key: operation.into(),
        field: "page".into(),
        offset: 0,
        section: "5.1",
    };
    Error::corrupt(at, why)
}

/// An error of redb's, met while doing `operation`.
pub(super) fn translate(operation: &str, error: impl Into<redb::Error>) -> Error {
    let error = error.into();
    match error {
        redb::Error::Corrupted(ref why) => container(operation, why),
        redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableDoesNotExist(_)
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TypeDefinitionChanged { .. } => container(operation, &error),
        redb::Error::DatabaseAlreadyOpen => Error::new(
            ErrorKind::Locked,
            format!(
                "cannot {operation}: the file is open in another process or handle; close that one first"
            ),
        ),
        redb::Error::RepairAborted => Error::new(
            ErrorKind::Locked,
            format!(
                "cannot {operation}: the file was not closed cleanly and must be recovered first, which a \
                 read-only open never does; open it once for writing (`evdb recover FILE`)"
            ),
        ),
        redb::Error::UpgradeRequired(version) => Error::new(
            ErrorKind::Unsupported,
            format!(
                "cannot {operation}: the container has redb file format {version}, this build reads 3 and 4"
            ),
        ),
        redb::Error::ValueTooLarge(bytes) => {
            Error::invalid(format!("cannot {operation}: a value of {bytes} bytes is too large"))
        }
        redb::Error::Io(ref source)
            if matches!(source.kind(), ErrorKindOfIo::UnexpectedEof | ErrorKindOfIo::InvalidData) =>
        {
            container(operation, &error)
        }
        redb::Error::Io(source) => Error::failed(operation, source),
        redb::Error::PreviousIo => Error::new(
            ErrorKind::Io,
            format!("cannot {operation}: an earlier read or write failed; close the file and open it again"),
        ),
        other => Error::new(ErrorKind::Io, format!("cannot {operation}: {other}")).with_source(other),
    }
}
