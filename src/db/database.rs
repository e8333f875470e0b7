//! Creating and opening.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::prepared::PreparedDocument;
use super::read::{Caches, ReadTransaction, State};
use super::texts::content_hash;
use super::write::WriteTransaction;
use crate::error::{Error, Result};
use crate::format::codec;
use crate::format::identity::{
    CATALOGUE, COUNTERS_KEY, CatalogueEntry, Counters, FORMAT_VERSION, IDENTITY_KEY, Identity, MAGIC, META,
};
use crate::model::TokenCounter;
use crate::providers;
use crate::storage::tables::{Class, TABLES};
use crate::storage::{Options, Store};
use crate::text::{Analyzers, TextConfig};
use crate::tree::Document;

/// An open `.evdb` file. Cheap to clone; clones share the file.
#[derive(Clone)]
pub struct Database {
    pub(super) shared: Arc<Shared>,
}

/// What all handles of one open file share.
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) identity: Identity,
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) analyzers: Arc<Analyzers>,
    pub(super) path: Option<PathBuf>,
    pub(super) write_memory_bytes: usize,
    pub(super) caches: Caches,
    /// The last committed state, once somebody has read it.
    pub(super) state: Mutex<Option<Arc<State>>>,
}

/// How to create or open a file.
///
/// What a file was created with (token counter, analyzer) is stored in it; opening it with something else is
/// an error that names both.
#[derive(Clone)]
#[must_use]
pub struct Builder {
    counter: Option<Arc<dyn TokenCounter>>,
    analyzer: Option<TextConfig>,
    cache_bytes: usize,
    write_memory_bytes: usize,
    check_on_open: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            counter: None,
            analyzer: None,
            cache_bytes: 64 << 20,
            write_memory_bytes: 256 << 20,
            check_on_open: false,
        }
    }
}

impl Builder {
    /// The counter whose tokens are the unit of the file; by default the exact BPE counter `o200k_base`.
    pub fn token_counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = Some(counter);
        self
    }

    /// How text becomes terms; by default English stemming and stop words for Latin text, bigrams for CJK.
    /// An [`AnalyzerConfig`](crate::text::AnalyzerConfig) is for texts and titles alike.
    pub fn analyzer(mut self, config: impl Into<TextConfig>) -> Self {
        self.analyzer = Some(config.into());
        self
    }

    /// Most bytes of the file kept in memory; by default 64 MiB. Half of it holds pages, half decoded blocks.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Most bytes of memory, about, that a write transaction takes for the index of its documents, beside that of
    /// one document; by default 256 MiB. What does not fit waits for the commit in a temporary file beside the
    /// database, which has no name and is gone when the transaction or the process ends.
    ///
    /// It bounds what waits in memory, not the process: joining the parts at the commit takes more, and the more parts there
    /// are the more it takes, so that a bound below some 32 MiB costs memory (`docs/measurements.md`, 3.1).
    pub fn write_memory_bytes(mut self, bytes: usize) -> Self {
        self.write_memory_bytes = bytes;
        self
    }

    /// Whether to walk the whole container and its checksums before the first read: for files from strangers.
    /// About a second for each GiB. Off by default; records and blocks are always checked when they are read.
    pub fn check_on_open(mut self, check: bool) -> Self {
        self.check_on_open = check;
        self
    }

    fn options(&self) -> Options {
        Options { cache_bytes: self.cache_bytes / 2, check_on_open: self.check_on_open }
    }

    /// A new, empty file.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is a file at `path`; `Io`.
    pub fn create(self, path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        let store = Store::create(path, self.options())?;
        self.found(store, Some(path))
    }

    /// A new, empty file that lives in memory.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the default counter is not in this build.
    pub fn in_memory(self) -> Result<Database> {
        let store = Store::in_memory(self.options())?;
        self.found(store, None)
    }

    /// The file at `path`, for reading and writing. A file that was not closed cleanly is recovered first.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Locked`, `Corrupt`, `Unsupported` (a newer format, an unknown write feature), `InvalidInput`
    /// (another counter or analyzer than the file's, a sealed file), `Io`.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        self.refuse_strangers(path)?;
        let store = Store::open(path, self.options())?;
        let identity = read_identity(&store).map_err(|error| error.context(path.display()))?;
        identity.check_writable()?;
        self.opened(store, identity, Some(path))
    }

    /// Fails if the file is not ours to write to. Opening a container for writing changes it, so that another
    /// program's file, or one from a newer version, is read first. One that cannot be read without recovery is
    /// left to the open proper.
    fn refuse_strangers(&self, path: &Path) -> Result<()> {
        let options = Options { check_on_open: false, ..self.options() };
        let Ok(store) = Store::open_read_only(path, options) else { return Ok(()) };
        let identity = read_identity(&store).map_err(|error| error.context(path.display()))?;
        identity.check_readable()?;
        identity.check_writable()
    }

    /// The file at `path`, for reading only: the file is never changed, not even to recover it.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Locked` (a writer has it, or it was not closed cleanly), `Corrupt`, `Unsupported`,
    /// `InvalidInput`, `Io`.
    pub fn open_read_only(self, path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        let store = Store::open_read_only(path, self.options())?;
        let identity = read_identity(&store).map_err(|error| error.context(path.display()))?;
        self.opened(store, identity, Some(path))
    }

    /// The file on a disk of the caller's, made if the disk is empty: for crash tests.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create) and [`open`](Self::open).
    #[cfg(feature = "testing")]
    pub fn on_disk(self, disk: &crate::storage::faults::Disk) -> Result<Database> {
        let store = Store::on_disk(disk, self.options())?;
        match read_identity(&store) {
            Ok(identity) => self.opened(store, identity, None),
            Err(error) if error.kind() == crate::error::ErrorKind::NotFound => self.found(store, None),
            Err(error) => Err(error),
        }
    }

    /// Writes the first records of a new file.
    fn found(self, store: Store, path: Option<&Path>) -> Result<Database> {
        let counter = match &self.counter {
            Some(counter) => Arc::clone(counter),
            None => providers::token_counter(providers::DEFAULT_TOKEN_COUNTER)?,
        };
        let analyzer = self.analyzer.unwrap_or_default();
        let identity = Identity {
            magic: MAGIC,
            format_version: FORMAT_VERSION,
            read_features: 0,
            write_features: 0,
            creator: concat!("evdb ", env!("CARGO_PKG_VERSION")).to_owned(),
            token_counter: counter.fingerprint().to_owned(),
            analyzer: analyzer.fingerprint(),
            sealed: false,
        };
        let batch = store.begin_write()?;
        batch.put_value(&META, IDENTITY_KEY, &codec::seal(&META, IDENTITY_KEY, &identity)?)?;
        let counters = Counters::default();
        batch.put_value(&META, COUNTERS_KEY, &codec::seal(&META, COUNTERS_KEY, &counters)?)?;
        for table in TABLES {
            let entry =
                CatalogueEntry { derived: table.class == Class::Derived, section: table.section.to_owned() };
            let key = table.name.as_bytes();
            batch.put_value(&CATALOGUE, key, &codec::seal(&CATALOGUE, key, &entry)?)?;
        }
        batch.commit()?;
        self.opened(store, identity, path)
    }

    fn opened(self, store: Store, identity: Identity, path: Option<&Path>) -> Result<Database> {
        let counter = match self.counter {
            Some(counter) if counter.fingerprint() == identity.token_counter => counter,
            Some(counter) => {
                return Err(Error::invalid(format!(
                    "the file counts tokens with {:?}, not with {:?}: open it with that counter, or build a \
                     new file",
                    identity.token_counter,
                    counter.fingerprint()
                )));
            }
            None => providers::token_counter(&identity.token_counter)?,
        };
        if let Some(config) = self.analyzer.filter(|config| config.fingerprint() != identity.analyzer) {
            return Err(Error::invalid(format!(
                "the file's analyzer is {:?}, not {:?}: leave it out when opening, or build a new file",
                identity.analyzer,
                config.fingerprint()
            )));
        }
        let analyzers = Arc::new(Analyzers::new(TextConfig::parse(&identity.analyzer)?));
        let shared = Shared {
            store,
            identity,
            counter,
            analyzers,
            path: path.map(Path::to_path_buf),
            write_memory_bytes: self.write_memory_bytes,
            caches: Caches::new(self.cache_bytes / 2),
            state: Mutex::new(None),
        };
        Ok(Database { shared: Arc::new(shared) })
    }
}

fn read_identity(store: &Store) -> Result<Identity> {
    let snapshot = store.begin_read()?;
    let identity: Option<Identity> =
        snapshot.get(&META, IDENTITY_KEY, |payload| codec::decode(&META, IDENTITY_KEY, payload))?;
    let Some(identity) = identity else {
        return Err(Error::not_found("this is a redb file without an evdb identity (format-spec 4.1)"));
    };
    identity.check_readable()?;
    Ok(identity)
}

impl Database {
    /// How to create or open a file with other than the default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A new, empty file at `path`.
    ///
    /// # Errors
    ///
    /// As [`Builder::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Builder::default().create(path)
    }

    /// The file at `path`, for reading and writing.
    ///
    /// # Errors
    ///
    /// As [`Builder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Builder::default().open(path)
    }

    /// The file at `path`, for reading only.
    ///
    /// # Errors
    ///
    /// As [`Builder::open_read_only`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        Builder::default().open_read_only(path)
    }

    /// A new, empty file that lives in memory.
    ///
    /// # Errors
    ///
    /// As [`Builder::in_memory`].
    pub fn in_memory() -> Result<Self> {
        Builder::default().in_memory()
    }

    /// The last committed state.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn begin_read(&self) -> Result<ReadTransaction> {
        ReadTransaction::begin(&self.shared)
    }

    /// A write transaction. Waits for the one in progress, if there is one. Dropping it without
    /// [`commit`](WriteTransaction::commit) forgets its changes.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the file was opened for reading only; `Corrupt`; `Io`.
    pub fn begin_write(&self) -> Result<WriteTransaction> {
        WriteTransaction::begin(&self.shared)
    }

    /// `document`, checked, its tokens counted and its text packed, for [`WriteTransaction::upsert_prepared`]. Needs no
    /// transaction, so several threads can prepare at once.
    ///
    /// # Errors
    ///
    /// `InvalidInput` as [`Document::validate`].
    pub fn prepare(&self, document: Document) -> Result<PreparedDocument> {
        let hash = content_hash(&document);
        self.prepare_hashed(document, hash)
    }

    /// As [`prepare`](Self::prepare), for a document whose hash is known.
    pub(crate) fn prepare_hashed(&self, document: Document, hash: [u8; 32]) -> Result<PreparedDocument> {
        PreparedDocument::new(document, hash, self.shared.counter.as_ref())
    }

    /// The counter whose tokens are the unit of this file.
    #[must_use]
    pub fn token_counter(&self) -> &Arc<dyn TokenCounter> {
        &self.shared.counter
    }

    /// What turns text into the terms of this file.
    #[must_use]
    pub fn analyzers(&self) -> &Analyzers {
        &self.shared.analyzers
    }

    /// Where the file lies; `None` in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.shared.path.as_deref()
    }
}
