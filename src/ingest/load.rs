//! From files to the database: read, balance, count, embed, write, a batch at a time.

use std::path::Path;
use std::sync::Arc;

use super::balance;
use super::balance::Rows;
use super::extract::NameRules;
use super::extract::extract;
use super::options::Options;
use super::options::Report;
use super::options::Warning;
use super::parallel::in_parallel;
use super::path::read_path_on;
use crate::db::Database;
use crate::db::PreparedDocument;
use crate::db::Upsert;
use crate::db::WriteTransaction;
use crate::db::content_hash;
use crate::error::Error;
use crate::error::Result;
use crate::graph::GraphPatch;
use crate::model::Embedder;
use crate::providers::Matrix;
use crate::tree::Document;
use crate::tree::Node;
use crate::tree::Outline;
use crate::vector::Metric;

/// Text and tree of one batch.
const BATCH_BYTES: usize = 16 << 20;
/// Text and tree of one transaction.
const COMMIT_BYTES: usize = 256 << 20;
/// Documents of one batch.
const BATCH_DOCUMENTS: usize = 4_096;

/// Which leaf a row of a matrix belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOrder {
    /// Row `i` is that of passage `i` of a passage file: every leaf of the passage has it.
    Passages,
    /// Row `i` is that of leaf `i`, counted over everything that is loaded, in reading order.
    Leaves,
}

/// Vectors that come with the documents.
pub struct GivenVectors {
    /// Name of the space they go into.
    pub space: String,
    /// What made them; stored with the space.
    pub fingerprint: String,
    /// The rows.
    pub matrix: Matrix,
    /// Which leaf a row belongs to.
    pub order: RowOrder,
}

/// A model that makes a vector of each leaf.
pub struct SpaceEmbedder {
    /// Name of the space they go into.
    pub space: String,
    /// The model.
    pub embedder: Arc<dyn Embedder>,
}

/// What was done so far; handed to the caller after each batch, which need not be committed yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Progress {
    /// Documents read.
    pub documents: u64,
    /// Of these, new ones.
    pub inserted: u64,
    /// Of these, ones that replaced another.
    pub replaced: u64,
    /// Of these, ones that were there already.
    pub unchanged: u64,
    /// Leaves of the documents read.
    pub leaves: u64,
    /// Bytes of their texts.
    pub text_bytes: u64,
}

/// Loads files into a database.
///
/// Documents go in by their key: one that is there with the same content costs no work, so that a load that
/// was cut short is resumed by running it again. Documents are read, counted and packed a batch at a time;
/// many batches make a transaction. Memory is bounded by a batch, by what
/// [`write_memory_bytes`](crate::Builder::write_memory_bytes) allows (and, for passage files, by the file's
/// text). From the first batch until [`finish`](Self::finish) or an error the loader is the database's only
/// writer; if it is dropped before, what was not committed is forgotten.
pub struct Loader<'a> {
    database: &'a Database,
    options: Options,
    threads: usize,
    embedder: Option<SpaceEmbedder>,
    vectors: Option<GivenVectors>,
    names: Option<NameRules>,
    batch: Vec<Document>,
    batch_bytes: usize,
    limits: Limits,
    transaction: Option<WriteTransaction>,
    /// Text and tree in the transaction.
    written_bytes: usize,
    leaves_seen: usize,
    passages_seen: u32,
    progress: Progress,
    on_batch: Box<dyn FnMut(&Progress) + 'a>,
}

struct Limits {
    batch_bytes: usize,
    commit_bytes: usize,
}

impl<'a> Loader<'a> {
    /// A loader into `database`, on one thread, without vectors.
    #[must_use]
    pub fn new(database: &'a Database) -> Self {
        Self {
            database,
            options: Options::default(),
            threads: 1,
            embedder: None,
            vectors: None,
            names: None,
            batch: Vec::new(),
            batch_bytes: 0,
            limits: Limits { batch_bytes: BATCH_BYTES, commit_bytes: COMMIT_BYTES },
            transaction: None,
            written_bytes: 0,
            leaves_seen: 0,
            passages_seen: 0,
            progress: Progress::default(),
            on_batch: Box::new(|_| {}),
        }
    }

    /// How files are read.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// How many threads count, embed and index; at least 1. The file does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// How much text and tree one batch takes, about; at least 1, by default 16 MiB. Smaller ones show progress
    /// more often.
    #[must_use]
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.limits.batch_bytes = bytes.max(1);
        self
    }

    /// How much text and tree one transaction takes, about, by default 256 MiB: what is lost at most if the
    /// process ends. Each costs a commit, and one more segment of the index, to be joined with others later.
    #[must_use]
    pub fn commit_bytes(mut self, bytes: usize) -> Self {
        self.limits.commit_bytes = bytes;
        self
    }

    /// Makes a vector of each leaf.
    #[must_use]
    pub fn embedder(mut self, embedder: SpaceEmbedder) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// Takes the leaves' vectors from a matrix.
    #[must_use]
    pub fn vectors(mut self, vectors: GivenVectors) -> Self {
        self.vectors = Some(vectors);
        self
    }

    /// Puts the names, sentences and relations of each document into the graph, as `rules` read them. The rules learn
    /// each batch before they read it, so that a document's names depend a little on what is loaded with it.
    #[must_use]
    pub fn names(mut self, rules: NameRules) -> Self {
        self.names = Some(rules);
        self
    }

    /// Calls `on_batch` after each batch.
    #[must_use]
    pub fn on_batch(mut self, on_batch: impl FnMut(&Progress) + 'a) -> Self {
        self.on_batch = Box::new(on_batch);
        self
    }

    /// Loads the file at `path`; its documents' keys are relative to `root`. The last batch waits for
    /// [`finish`](Self::finish).
    ///
    /// # Errors
    ///
    /// As [`read_path`](super::read_path); `InvalidInput` if a matrix has no row for a leaf; `Io`. Batches written before stay.
    pub fn load(&mut self, path: &Path, root: &Path) -> Result<Report> {
        let loaded = self.read(path, root);
        self.keep(loaded)
    }

    /// `done`; if that is an error, the batches before it are committed, since the caller may give up.
    fn keep<T>(&mut self, done: Result<T>) -> Result<T> {
        if done.is_err() {
            self.commit()?;
        }
        done
    }

    fn read(&mut self, path: &Path, root: &Path) -> Result<Report> {
        let mut options = self.options.clone();
        // Balanced here, with the vectors if there are some, and on all threads.
        options.balance = false;
        let counter = Arc::clone(self.database.token_counter());
        let base = self.passages_seen;
        let report =
            read_path_on(self.threads, path, root, &options, counter.as_ref(), &mut |mut document| {
                for node in &mut document.nodes {
                    node.vector_row = node.vector_row.map(|row| row.saturating_add(base));
                }
                self.take(document)
            })?;
        self.passages_seen = base.saturating_add(u32::try_from(report.passages).unwrap_or(u32::MAX));
        Ok(report)
    }

    /// Adds a document of the caller's, as it is but for a tree if it has none.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn add(&mut self, document: Document) -> Result<()> {
        let taken = self.take(document);
        self.keep(taken)
    }

    fn take(&mut self, document: Document) -> Result<()> {
        self.batch_bytes += document.text.len() + document.nodes.len() * size_of::<Node>();
        self.batch.push(document);
        if self.batch_bytes >= self.limits.batch_bytes || self.batch.len() >= BATCH_DOCUMENTS {
            self.write_batch()?;
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load); `InvalidInput` if the matrix has more rows than there were passages or leaves.
    pub fn finish(mut self) -> Result<Progress> {
        let written = self.write_batch();
        self.keep(written)?;
        self.commit()?;
        if let Some(vectors) = &self.vectors {
            let (seen, what) = match vectors.order {
                RowOrder::Passages => (self.passages_seen as usize, "passages"),
                RowOrder::Leaves => (self.leaves_seen, "leaves"),
            };
            if seen != vectors.matrix.rows() {
                return Err(Error::invalid(format!(
                    "the matrix has {} rows, {seen} {what} were read: rows and {what} do not belong together",
                    vectors.matrix.rows()
                )));
            }
        }
        Ok(self.progress)
    }

    /// Writes what waits into the transaction, which is begun if there is none.
    fn write_batch(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        let batch_bytes = std::mem::take(&mut self.batch_bytes);
        if batch.is_empty() {
            return Ok(());
        }
        let mut jobs = Vec::with_capacity(batch.len());
        for document in batch {
            let leaves = document.leaf_count();
            self.progress.documents += 1;
            self.progress.leaves += leaves as u64;
            self.progress.text_bytes += document.text.len() as u64;
            jobs.push(Job::new(document, self.leaves_seen));
            self.leaves_seen += leaves;
        }
        let (database, embedder) = (self.database, self.embedder.as_ref());
        let given = self.vectors.as_ref();
        let balanced = self.options.balance;
        in_parallel(&mut jobs, self.threads, |job| job.balance(database, balanced, given))?;
        let mut transaction = if let Some(transaction) = self.transaction.take() {
            transaction
        } else {
            let mut transaction = database.begin_write()?;
            transaction.set_threads(self.threads)?;
            transaction
        };
        let read = jobs.len();
        let mut changed = Vec::with_capacity(read);
        for job in jobs {
            if !transaction.has_content(&job.document.key, &job.hash)? {
                changed.push(job);
            }
        }
        self.progress.unchanged += (read - changed.len()) as u64;
        if let Some(names) = &mut self.names {
            for job in &changed {
                names.learn(&job.document);
            }
        }
        let names = self.names.as_ref();
        let prepared =
            in_parallel(&mut changed, self.threads, |job| job.prepare(database, embedder, given, names));
        if let Err(error) = prepared {
            // None of this batch has been written yet.
            self.transaction = Some(transaction);
            return Err(error);
        }
        let given_space = given.map(|given| {
            transaction.open_space(&given.space, given.matrix.columns(), Metric::Cosine, &given.fingerprint)
        });
        let given_space = given_space.transpose()?;
        let made_space = embedder.map(|made| {
            let model = &made.embedder;
            transaction.open_space(&made.space, model.dimensions(), Metric::Cosine, model.fingerprint())
        });
        let made_space = made_space.transpose()?;
        for job in changed {
            let Some(prepared) = job.prepared else { continue };
            let upsert = transaction.upsert_prepared(&prepared)?;
            match upsert {
                Upsert::Inserted(_) => self.progress.inserted += 1,
                Upsert::Replaced(_) => self.progress.replaced += 1,
                Upsert::Unchanged(_) => {
                    self.progress.unchanged += 1;
                    continue;
                }
            }
            let (document, id) = (prepared.document(), upsert.document());
            if let Some(patch) = &job.patch {
                transaction.put_graph(id, document, patch)?;
            }
            for (space, rows) in [(given_space, &job.given), (made_space, &job.embedded)] {
                if let Some(space) = space {
                    transaction.put_leaf_vectors(space, document, id, rows)?;
                }
            }
        }
        self.transaction = Some(transaction);
        self.written_bytes += batch_bytes;
        if self.written_bytes >= self.limits.commit_bytes {
            self.commit()?;
        }
        (self.on_batch)(&self.progress);
        Ok(())
    }

    /// Makes what has been written so far durable.
    fn commit(&mut self) -> Result<()> {
        self.written_bytes = 0;
        self.transaction.take().map_or(Ok(()), WriteTransaction::commit)
    }
}

impl GivenVectors {
    fn row(&self, leaf: usize, node: &Node) -> Option<&[f32]> {
        let row = match self.order {
            RowOrder::Passages => node.vector_row? as usize,
            RowOrder::Leaves => leaf,
        };
        (row < self.matrix.rows()).then(|| self.matrix.row(row))
    }

    fn rows_of(&self, document: &Document, base: usize) -> Result<Vec<f32>> {
        let mut rows = Vec::new();
        let leaves = document.nodes.iter().filter(|node| node.kind.is_leaf());
        for (index, leaf) in leaves.enumerate() {
            let row = self.row(base + index, leaf).ok_or_else(|| {
                let message = format!(
                    "the matrix of {} rows has none for leaf {index} of document {:?}",
                    self.matrix.rows(),
                    document.key
                );
                Error::invalid(message)
            })?;
            rows.extend_from_slice(row);
        }
        Ok(rows)
    }
}

/// A document on its way.
struct Job {
    document: Document,
    /// Number of its first leaf.
    base: usize,
    hash: [u8; 32],
    prepared: Option<PreparedDocument>,
    given: Vec<f32>,
    embedded: Vec<f32>,
    patch: Option<GraphPatch>,
}

impl Job {
    fn new(document: Document, base: usize) -> Self {
        Self {
            document,
            base,
            hash: [0; 32],
            prepared: None,
            given: Vec::new(),
            embedded: Vec::new(),
            patch: None,
        }
    }

    /// Gives the document a tree if it is to be balanced, and hashes it.
    fn balance(&mut self, database: &Database, balanced: bool, given: Option<&GivenVectors>) -> Result<()> {
        let base = self.base;
        let row = |index: usize, node: &Node| given.and_then(|given| given.row(base + index, node));
        let rows: Option<&Rows<'_>> = if given.is_some() { Some(&row) } else { None };
        if balanced {
            balance(&mut self.document, database.token_counter().as_ref(), rows)?;
        }
        self.hash = content_hash(&self.document);
        Ok(())
    }

    fn prepare(
        &mut self,
        database: &Database,
        embedder: Option<&SpaceEmbedder>,
        given: Option<&GivenVectors>,
        names: Option<&NameRules>,
    ) -> Result<()> {
        let document = std::mem::replace(&mut self.document, Document::new("", ""));
        if let Some(given) = given {
            self.given = given.rows_of(&document, self.base)?;
        }
        if let Some(SpaceEmbedder { embedder, .. }) = embedder {
            let texts = leaf_texts(&document);
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            self.embedded = vec![0.0; texts.len() * embedder.dimensions()];
            embedder.embed(&texts, &mut self.embedded)?;
        }
        if let Some(names) = names {
            document.validate()?;
            self.patch = Some(extract(&document, names)?.patch(&document));
        }
        self.prepared = Some(database.prepare_hashed(document, self.hash)?);
        Ok(())
    }
}

/// What an embedder is given for each leaf of `document`: the heading path, joined by ` > `, then the text.
#[must_use]
pub fn leaf_texts(document: &Document) -> Vec<String> {
    let outline = Outline::of(document);
    let texts = outline.leaves.iter().filter_map(|leaf| document.nodes.get(*leaf as usize)).map(|leaf| {
        let mut path = Vec::new();
        let mut above = Some(leaf);
        while let Some(node) = above {
            if !node.title.is_empty() {
                path.push(node.title.as_str());
            }
            above = node.parent.and_then(|parent| document.nodes.get(parent as usize));
        }
        path.reverse();
        let text = document.text.get(leaf.span.as_range()).unwrap_or_default();
        format!("{}\n{text}", path.join(" > "))
    });
    texts.collect()
}

/// Warnings of a report, with the file they are about.
pub fn warnings<'a>(path: &'a Path, report: &'a Report) -> impl Iterator<Item = String> + 'a {
    report
        .warnings
        .iter()
        .map(move |Warning { line, message }| format!("{}:{line}: {message}", path.display()))
}
