//! evdb: from a file, the analyzer `plain`, documents of 50 passages as leaves, no titles.
//!
//! Everything that depends on evdb's interface for queries is in [`Searcher::prepare`] and [`Searcher::search`].

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use evdb::model::TokenCounter;
use evdb::query::Filter as EvdbFilter;
use evdb::text::{AnalyzerConfig, Query, Scored, SearchOptions, WeightedTerm};
use evdb::tree::{Node, NodeKind};
use evdb::{Database, Document, ReadTransaction, Span, WriteTransaction};

use super::corpus::PASSAGES_PER_DOCUMENT;
use super::engine::{Builder, Engine, Hit, LIMIT, Missing, Searcher, Sizes};
use super::queries::{Case, Filter, Kind};

pub const ENGINE: Engine = Engine { build, open };

/// The warm index fits; half of it is for pages, half for decoded blocks.
const CACHE_BYTES: usize = 1 << 30;

/// Tables that hold the text index; the others hold documents, trees and texts.
const INDEX_TABLES: [&str; 3] = ["manifest", "text_segments", "text_parts"];

/// A token is a word: budgets are no part of this suite, and the peers count no tokens.
struct Words;

impl TokenCounter for Words {
    fn count(&self, text: &str) -> usize {
        text.split_ascii_whitespace().count()
    }

    fn fingerprint(&self) -> &'static str {
        "compare words"
    }
}

fn settings() -> evdb::db::Builder {
    Database::builder()
        .analyzer(AnalyzerConfig::plain())
        .token_counter(Arc::new(Words))
        .cache_bytes(CACHE_BYTES)
}

struct Load {
    db: Database,
    transaction: WriteTransaction,
    document: Document,
}

fn build(folder: &Path) -> Result<Box<dyn Builder>> {
    let db = settings().create(folder.join("compare.evdb"))?;
    let transaction = db.begin_write()?;
    Ok(Box::new(Load { db, transaction, document: Document::new("0", "") }))
}

impl Builder for Load {
    fn add(&mut self, passage: u32, text: &str) -> Result<()> {
        if passage > 0 && passage.is_multiple_of(PASSAGES_PER_DOCUMENT) {
            self.transaction.insert_document(&self.document)?;
            self.document = Document::new((passage / PASSAGES_PER_DOCUMENT).to_string(), "");
        }
        let document = &mut self.document;
        let start = u32::try_from(document.text.len())?;
        document.text.push_str(text);
        let end = u32::try_from(document.text.len())?;
        document.text.push('\n');
        let mut leaf = Node { span: Span::new(start, end), ..Node::new(Some(0), NodeKind::Text) };
        for filter in Filter::ALL {
            if filter.passes(passage) {
                leaf.attributes.insert(filter.name().to_owned(), "yes".to_owned());
            }
        }
        document.nodes.push(leaf);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Sizes> {
        let Self { db, mut transaction, document } = *self;
        transaction.insert_document(&document)?;
        transaction.commit()?;
        let stats = db.begin_read()?.stats()?;
        let is_index = |name: &str| INDEX_TABLES.contains(&name);
        let bytes = |table: &evdb::storage::TableSpace| {
            table.stored_bytes + table.metadata_bytes + table.fragmented_bytes
        };
        let index = stats.tables.iter().filter(|table| is_index(table.name)).map(bytes).sum();
        let note = format!(
            "1 thread, 1 transaction, text stored; {} segments, {} bytes of postings, {} of free pages",
            stats.segments,
            stats.segment_bytes,
            stats.free_bytes.unwrap_or(0)
        );
        Ok(Sizes { index_bytes: Some(index), total_bytes: stats.file_bytes.unwrap_or(0), note })
    }
}

struct Open {
    read: ReadTransaction,
    kind: Kind,
    filter: EvdbFilter,
    found: Vec<Scored>,
}

fn open(folder: &Path) -> Result<Box<dyn Searcher>> {
    let read = settings().open_read_only(folder.join("compare.evdb"))?.begin_read()?;
    Ok(Box::new(Open { read, kind: Kind::Any, filter: EvdbFilter::default(), found: Vec::new() }))
}

impl Searcher for Open {
    fn prepare(&mut self, case: &Case) -> Result<(), Missing> {
        let attributes = case.filter.iter().map(|filter| format!("{}=yes", filter.name()));
        self.filter = EvdbFilter { attributes: attributes.collect(), ..EvdbFilter::default() };
        self.kind = case.kind;
        Ok(())
    }

    fn search(&mut self, query: &[String]) -> Result<()> {
        let allowed = self.filter.nodes(&self.read)?;
        let options = SearchOptions { filter: allowed.as_ref(), limit: LIMIT, ..SearchOptions::default() };
        let terms: Vec<WeightedTerm<'_>> = query.iter().map(|word| WeightedTerm::new(word)).collect();
        let (index, analyzers) = (self.read.text_index(), self.read.analyzers());
        self.found = match self.kind {
            Kind::Any => index.search_any(&terms, &options)?,
            Kind::All => index.search_all(&terms, &options)?,
            Kind::Phrase => {
                let phrase = Query::Phrase { words: query.join(" "), slop: 0, prefix: false };
                index.query(&phrase, analyzers, &options)?
            }
            Kind::Prefix => index.query(&Query::Prefix(query.concat()), analyzers, &options)?,
        };
        Ok(())
    }

    fn found(&self) -> Result<Vec<Hit>> {
        let passage = |hit: &Scored| {
            let document = self.read.document_of(hit.node)?;
            let number: u32 = document.key.parse().context("a document's key is its number")?;
            // The root stands before the leaves.
            let leaf = hit.node.0 - document.nodes.first.0 - 1;
            Ok(Hit { passage: number * PASSAGES_PER_DOCUMENT + leaf, score: hit.score })
        };
        self.found.iter().map(passage).collect()
    }
}
