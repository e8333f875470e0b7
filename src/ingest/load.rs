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
use super::path::read_path;
use crate::db::Database;
use crate::db::PreparedDocument;
use crate::db::Upsert;
use crate::error::Error;
use crate::error::Result;
use crate::graph::GraphPatch;
use crate::model::Embedder;
use crate::providers::Matrix;
use crate::tree::Document;
use crate::tree::Node;
use crate::tree::Outline;
use crate::vector::Metric;

/// Text of one batch: what one transaction writes and what is held in memory.
const BATCH_TEXT_BYTES: usize = 16 << 20;
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

/// What was done so far; handed to the caller after each batch.
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
/// was cut short is resumed by running it again. Each batch is one transaction; memory is bounded by a batch
/// (and, for passage files, by the file's text).
pub struct Loader<'a> {
    database: &'a Database,
    options: Options,
    threads: usize,
    embedder: Option<SpaceEmbedder>,
    vectors: Option<GivenVectors>,
    names: Option<NameRules>,
    batch: Vec<Document>,
    batch_bytes: usize,
    limit_bytes: usize,
    leaves_seen: usize,
    passages_seen: u32,
    progress: Progress,
    on_batch: Box<dyn FnMut(&Progress) + 'a>,
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
            limit_bytes: BATCH_TEXT_BYTES,
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

    /// How many threads count and embed; at least 1. The file does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// How much text and tree one batch takes, about; at least 1, by default 16 MiB. Smaller ones show progress
    /// more often and cost a commit each.
    #[must_use]
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.limit_bytes = bytes.max(1);
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

    /// Calls `on_batch` after each transaction.
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
    /// As [`read_path`]; `InvalidInput` if a matrix has no row for a leaf; `Io`. Batches written before stay.
    pub fn load(&mut self, path: &Path, root: &Path) -> Result<Report> {
        let mut options = self.options.clone();
        // Balanced here, with the vectors if there are some, and on all threads.
        options.balance = false;
        let counter = Arc::clone(self.database.token_counter());
        let base = self.passages_seen;
        let report = read_path(path, root, &options, counter.as_ref(), &mut |mut document| {
            for node in &mut document.nodes {
                node.vector_row = node.vector_row.map(|row| row.saturating_add(base));
            }
            self.add(document)
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
        self.batch_bytes += document.text.len() + document.nodes.len() * size_of::<Node>();
        self.batch.push(document);
        if self.batch_bytes >= self.limit_bytes || self.batch.len() >= BATCH_DOCUMENTS {
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
        self.write_batch()?;
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

    fn write_batch(&mut self) -> Result<()> {
        let mut batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let mut bases = Vec::with_capacity(batch.len());
        for document in &batch {
            bases.push(self.leaves_seen);
            self.leaves_seen += document.leaf_count();
        }
        let counter = self.database.token_counter().as_ref();
        let vectors = self.vectors.as_ref();
        let balance_all = self.options.balance;
        let mut jobs: Vec<(&mut Document, usize)> = batch.iter_mut().zip(bases.iter().copied()).collect();
        in_parallel(&mut jobs, self.threads, |(document, base)| {
            let row = |index: usize, node: &Node| vectors.and_then(|given| given.row(*base + index, node));
            let rows: Option<&Rows<'_>> = if vectors.is_some() { Some(&row) } else { None };
            if balance_all { balance(document, counter, rows) } else { Ok(()) }
        })?;
        let mut transaction = self.database.begin_write()?;
        let mut changed = Vec::with_capacity(batch.len());
        for (document, base) in batch.into_iter().zip(bases) {
            self.progress.documents += 1;
            self.progress.leaves += document.leaf_count() as u64;
            self.progress.text_bytes += document.text.len() as u64;
            if transaction.is_unchanged(&document)? {
                self.progress.unchanged += 1;
            } else {
                changed.push(Job {
                    base,
                    document: Some(document),
                    prepared: None,
                    embedded: Vec::new(),
                    patch: None,
                });
            }
        }
        if let Some(names) = &mut self.names {
            changed.iter().filter_map(|job| job.document.as_ref()).for_each(|document| names.learn(document));
        }
        let (database, embedder, names) = (self.database, self.embedder.as_ref(), self.names.as_ref());
        in_parallel(&mut changed, self.threads, |job| job.prepare(database, embedder, names))?;
        let given = self.vectors.as_ref();
        let given_space = given.map(|given| {
            transaction.open_space(&given.space, given.matrix.columns(), Metric::Cosine, &given.fingerprint)
        });
        let given_space = given_space.transpose()?;
        let made_space = embedder.map(|made| {
            let model = &made.embedder;
            transaction.open_space(&made.space, model.dimensions(), Metric::Cosine, model.fingerprint())
        });
        let made_space = made_space.transpose()?;
        for job in &changed {
            let Some(prepared) = &job.prepared else { continue };
            let upsert = transaction.upsert_prepared(prepared)?;
            match upsert {
                Upsert::Inserted(_) => self.progress.inserted += 1,
                Upsert::Replaced(_) => self.progress.replaced += 1,
                Upsert::Unchanged(_) => {
                    self.progress.unchanged += 1;
                    continue;
                }
            }
            if let Some(patch) = &job.patch {
                transaction.put_graph(upsert.document(), prepared.document(), patch)?;
            }
            if let (Some(space), Some(given)) = (given_space, given) {
                let rows = given.rows_of(prepared.document(), job.base)?;
                transaction.put_leaf_vectors(space, prepared.document(), upsert.document(), &rows)?;
            }
            if let Some(space) = made_space {
                transaction.put_leaf_vectors(space, prepared.document(), upsert.document(), &job.embedded)?;
            }
        }
        transaction.commit()?;
        (self.on_batch)(&self.progress);
        Ok(())
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
    base: usize,
    document: Option<Document>,
    prepared: Option<PreparedDocument>,
    embedded: Vec<f32>,
    patch: Option<GraphPatch>,
}

impl Job {
    fn prepare(
        &mut self,
        database: &Database,
        embedder: Option<&SpaceEmbedder>,
        names: Option<&NameRules>,
    ) -> Result<()> {
        let Some(document) = self.document.take() else { return Ok(()) };
        if let Some(names) = names {
            document.validate()?;
            self.patch = Some(extract(&document, names)?.patch(&document));
        }
        if let Some(SpaceEmbedder { embedder, .. }) = embedder {
            let texts = leaf_texts(&document);
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            self.embedded = vec![0.0; texts.len() * embedder.dimensions()];
            embedder.embed(&texts, &mut self.embedded)?;
        }
        self.prepared = Some(database.prepare(document)?);
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

/// Does `work` to every item, on `threads` threads; the error of the first item that had one.
fn in_parallel<T: Send>(
    items: &mut [T],
    threads: usize,
    work: impl Fn(&mut T) -> Result<()> + Sync,
) -> Result<()> {
    if threads <= 1 || items.len() <= 1 {
        return items.iter_mut().try_for_each(work);
    }
    let queue = parking_lot::Mutex::new(items.iter_mut().enumerate());
    let first_error = parking_lot::Mutex::new(None::<(usize, Error)>);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().next();
                    let Some((index, item)) = next else { return };
                    if let Err(error) = work(item) {
                        let mut first = first_error.lock();
                        if first.as_ref().is_none_or(|(other, _)| index < *other) {
                            *first = Some((index, error));
                        }
                    }
                }
            });
        }
    });
    first_error.into_inner().map_or(Ok(()), |(_, error)| Err(error))
}

/// Warnings of a report, with the file they are about.
pub fn warnings<'a>(path: &'a Path, report: &'a Report) -> impl Iterator<Item = String> + 'a {
    report
        .warnings
        .iter()
        .map(move |Warning { line, message }| format!("{}:{line}: {message}", path.display()))
}
