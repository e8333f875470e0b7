//! The open file.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::{ReadableDatabase, ReadableTableMetadata, TableHandle};

use super::batch::Batch;
use super::overlay::Overlay;
use super::shield::{shield, translate};
use super::snapshot::Snapshot;
use super::tables::TABLES;
use crate::error::{Error, Result};

pub(super) type Definition = redb::TableDefinition<'static, &'static [u8], &'static [u8]>;

/// Checksums of blocks already found whole: their keys and the checksums they claim.
pub(super) type Verified = Arc<Mutex<HashSet<(Vec<u8>, u32)>>>;

/// How a file is opened.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Most bytes of pages kept in memory.
    pub cache_bytes: usize,
    /// Walk the whole container and its checksums before the first read; about a second for each GiB.
    pub check_on_open: bool,
}

/// An open file, for reading or for both.
pub struct Store {
    /// `None` only while the store is being dropped.
    inner: Option<Inner>,
    /// Checksums of blocks already found whole, so that a scan pays for them once.
    verified: Verified,
}

enum Inner {
    Writable(redb::Database),
    ReadOnly(redb::ReadOnlyDatabase),
}

/// Bytes one table takes in the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct TableSpace {
    /// The table's name.
    pub name: &'static str,
    /// Rows.
    pub rows: u64,
    /// Bytes of keys and values.
    pub stored_bytes: u64,
    /// Bytes of the container's own bookkeeping for this table.
    pub metadata_bytes: u64,
    /// Bytes of pages that hold nothing.
    pub fragmented_bytes: u64,
}

impl Options {
    fn builder(self) -> redb::Builder {
        let mut builder = redb::Database::builder();
        builder.set_cache_size(self.cache_bytes);
        builder.set_check_integrity_on_open(self.check_on_open);
        builder
    }
}

impl Store {
    /// A new, empty file at `path`, with all its tables.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is a file; `Io` if the system refuses.
    pub fn create(path: &Path, options: Options) -> Result<Self> {
        if path.exists() {
            return Err(Error::new(
                crate::error::ErrorKind::AlreadyExists,
                format!("{} exists; open it, or choose another name", path.display()),
            ));
        }
        Self::writable("create the file", options, |builder| builder.create(path))?.with_tables()
    }

    /// The file at `path`, for reading and writing. Recovers it if it was not closed cleanly.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Locked`, `Corrupt`, `Io`.
    pub fn open(path: &Path, options: Options) -> Result<Self> {
        Self::writable("open the file", options, |builder| builder.open(path))
            .map_err(|error| error.context(path.display()))
    }

    /// The file at `path`, for reading only: nothing of it is changed.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Locked` (a writer has it, or it needs recovery), `Corrupt`, `Io`.
    pub fn open_read_only(path: &Path, options: Options) -> Result<Self> {
        let operation = "open the file for reading";
        shield(operation, || {
            let database = options.builder().open_read_only(path).map_err(|e| translate(operation, e))?;
            if options.check_on_open {
                // redb checks only what it may write to: it gets the file under a layer in memory, while the
                // handle above keeps writers away.
                let overlay = Overlay::open(path).map_err(|e| Error::io(operation, "the file", e))?;
                let checked = options.builder().create_with_backend(overlay);
                drop(checked.map_err(|e| translate(operation, e))?);
            }
            Ok(Self::new(Inner::ReadOnly(database)))
        })
        .map_err(|error| error.context(path.display()))
    }

    /// A new file that lives in memory.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn in_memory(options: Options) -> Result<Self> {
        let backend = redb::backends::InMemoryBackend::new();
        Self::writable("create a file in memory", options, |builder| builder.create_with_backend(backend))?
            .with_tables()
    }

    /// The file on a disk of the caller's; made with all its tables if the disk is empty.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    #[cfg(feature = "testing")]
    pub fn on_disk(disk: &super::faults::Disk, options: Options) -> Result<Self> {
        let backend = disk.backend();
        Self::writable("open the disk", options, |builder| builder.create_with_backend(backend))?
            .with_tables()
    }

    fn writable(
        operation: &str,
        options: Options,
        open: impl FnOnce(&redb::Builder) -> Result<redb::Database, redb::DatabaseError>,
    ) -> Result<Self> {
        shield(operation, || {
            let database = open(&options.builder()).map_err(|e| translate(operation, e))?;
            Ok(Self::new(Inner::Writable(database)))
        })
    }

    fn new(inner: Inner) -> Self {
        Self { inner: Some(inner), verified: Arc::default() }
    }

    /// Makes the tables if this is a fresh container.
    fn with_tables(self) -> Result<Self> {
        let batch = self.begin_write()?;
        batch.create_tables()?;
        batch.commit()?;
        Ok(self)
    }

    fn read(&self, operation: &str) -> Result<redb::ReadTransaction> {
        match &self.inner {
            Some(Inner::Writable(database)) => database.begin_read(),
            Some(Inner::ReadOnly(database)) => database.begin_read(),
            None => return Err(Error::invalid("the file is being closed")),
        }
        .map_err(|e| translate(operation, e))
    }

    /// Whether this handle can write.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        matches!(self.inner, Some(Inner::Writable(_)))
    }

    /// The last committed state.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a table is missing or the container is damaged; `Io`.
    pub fn begin_read(&self) -> Result<Snapshot> {
        let operation = "begin to read";
        shield(operation, || {
            let transaction = self.read(operation)?;
            Snapshot::new(&transaction, Arc::clone(&self.verified))
        })
    }

    /// A write transaction. Waits for the one in progress, if there is one.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the file was opened for reading only; `Io`.
    pub fn begin_write(&self) -> Result<Batch> {
        let operation = "begin to write";
        let Some(Inner::Writable(database)) = &self.inner else {
            return Err(Error::invalid("cannot write: the file was opened for reading only"));
        };
        shield(operation, || {
            let mut transaction = database.begin_write().map_err(|e| translate(operation, e))?;
            // A killed process must not cost a walk through the whole file at the next open.
            transaction.set_quick_repair(true);
            Ok(Batch::new(transaction))
        })
    }

    /// What each table takes, in the order of [`TABLES`].
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn space(&self) -> Result<Vec<TableSpace>> {
        let operation = "measure the tables";
        shield(operation, || {
            let transaction = self.read(operation)?;
            let mut space = Vec::new();
            for table in TABLES {
                let open = transaction.open_table(Definition::new(table.name));
                let open = open.map_err(|e| translate(operation, e))?;
                let stats = open.stats().map_err(|e| translate(operation, e))?;
                let rows = open.len().map_err(|e| translate(operation, e))?;
                space.push(TableSpace {
                    name: table.name,
                    rows,
                    stored_bytes: stats.stored_bytes(),
                    metadata_bytes: stats.metadata_bytes(),
                    fragmented_bytes: stats.fragmented_bytes(),
                });
            }
            Ok(space)
        })
    }

    /// Names of tables in the container that this version does not know; they are kept and ignored.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn unknown_tables(&self) -> Result<Vec<String>> {
        let operation = "list the tables";
        shield(operation, || {
            let transaction = self.read(operation)?;
            let names = transaction.list_tables().map_err(|e| translate(operation, e))?;
            let names = names.map(|table| table.name().to_owned());
            Ok(names.filter(|name| super::tables::position(name).is_none()).collect())
        })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Closing a damaged container may panic inside redb as well; there is nobody left to tell.
        let inner = self.inner.take();
        let _ = shield("close the file", || {
            drop(inner);
            Ok(())
        });
    }
}
