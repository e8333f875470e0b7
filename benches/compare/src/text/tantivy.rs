//! tantivy: its `whitespace` tokenizer, positions, text stored with LZ4, one segment in an mmapped directory.

use std::ops::Bound;
use std::path::Path;

use anyhow::{Context, Result};
use tantivy::collector::TopDocs;
use tantivy::columnar::Column;
use tantivy::directory::MmapDirectory;
use tantivy::indexer::NoMergePolicy;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, PhraseQuery, Query, RangeQuery, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};
use tantivy::{DocAddress, Index, IndexSettings, IndexWriter, Searcher as Snapshot, TantivyDocument, Term};

use super::engine::{Builder, Engine, Hit, LIMIT, Missing, Searcher, Sizes, bytes_by_ending};
use super::queries::{Case, Filter, Kind};

pub const ENGINE: Engine = Engine { build, open };

/// Memory of the indexing thread.
const WRITER_BYTES: usize = 500_000_000;

#[derive(Clone, Copy)]
struct Fields {
    passage: Field,
    text: Field,
    filter: Field,
}

fn schema() -> Schema {
    let mut schema = Schema::builder();
    schema.add_u64_field("passage", FAST);
    let words = TextFieldIndexing::default()
        .set_tokenizer("whitespace")
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    schema.add_text_field("text", TextOptions::from(STORED).set_indexing_options(words));
    let names = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    schema.add_text_field("filter", TextOptions::default().set_indexing_options(names));
    schema.build()
}

fn fields(schema: &Schema) -> Result<Fields> {
    Ok(Fields {
        passage: schema.get_field("passage")?,
        text: schema.get_field("text")?,
        filter: schema.get_field("filter")?,
    })
}

struct Load {
    index: Index,
    fields: Fields,
    writer: IndexWriter,
    folder: std::path::PathBuf,
}

fn build(folder: &Path) -> Result<Box<dyn Builder>> {
    let settings = IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
    let schema = schema();
    let fields = fields(&schema)?;
    let index = Index::create(MmapDirectory::open(folder)?, schema, settings)?;
    let writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    Ok(Box::new(Load { index, fields, writer, folder: folder.to_path_buf() }))
}

impl Builder for Load {
    fn add(&mut self, passage: u32, text: &str) -> Result<()> {
        let mut document = TantivyDocument::default();
        document.add_u64(self.fields.passage, passage.into());
        document.add_text(self.fields.text, text);
        for filter in Filter::ALL {
            if filter.passes(passage) {
                document.add_text(self.fields.filter, filter.name());
            }
        }
        self.writer.add_document(document)?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Sizes> {
        let Self { index, mut writer, folder, .. } = *self;
        writer.commit()?;
        let mut segments = index.searchable_segment_ids()?;
        let before = segments.len();
        if before > 1 {
            writer.merge(&segments).wait()?;
        }
        writer.garbage_collect_files().wait()?;
        writer.wait_merging_threads()?;
        segments = index.searchable_segment_ids()?;
        let bytes = bytes_by_ending(&folder)?;
        let of = |ending: &str| bytes.get(ending).copied().unwrap_or(0);
        let (idx, pos, term, norm) = (of("idx"), of("pos"), of("term"), of("fieldnorm"));
        let note = format!(
            "1 indexing thread, text stored; {before} segments merged into {}; idx {idx}, pos {pos}, term {term}, \
             fieldnorm {norm}, store {}",
            segments.len(),
            of("store")
        );
        let total_bytes = bytes.values().sum();
        Ok(Sizes { index_bytes: Some(idx + pos + term + norm), total_bytes, note })
    }
}

struct Open {
    snapshot: Snapshot,
    fields: Fields,
    kind: Kind,
    filter: Option<Filter>,
    passages: Vec<Column<u64>>,
    found: Vec<(f32, DocAddress)>,
}

fn open(folder: &Path) -> Result<Box<dyn Searcher>> {
    let index = Index::open(MmapDirectory::open(folder)?)?;
    let fields = fields(&index.schema())?;
    let snapshot = index.reader()?.searcher();
    let column = |segment: &tantivy::SegmentReader| segment.fast_fields().u64("passage");
    let passages = snapshot.segment_readers().iter().map(column).collect::<tantivy::Result<_>>()?;
    Ok(Box::new(Open { snapshot, fields, kind: Kind::Any, filter: None, passages, found: Vec::new() }))
}

impl Open {
    fn query(&self, words: &[String]) -> Box<dyn Query> {
        let Fields { text, filter, .. } = self.fields;
        let terms = || words.iter().map(|word| Term::from_field_text(text, word));
        let joined = |occur: Occur| {
            let one = |term| {
                let query: Box<dyn Query> = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
                (occur, query)
            };
            Box::new(BooleanQuery::new(terms().map(one).collect()))
        };
        let query: Box<dyn Query> = match self.kind {
            Kind::Any => joined(Occur::Should),
            Kind::All => joined(Occur::Must),
            Kind::Phrase => Box::new(PhraseQuery::new(terms().collect())),
            Kind::Prefix => Box::new(prefix(text, words.first().map_or("", String::as_str))),
        };
        let Some(wanted) = self.filter else { return query };
        let of = TermQuery::new(Term::from_field_text(filter, wanted.name()), IndexRecordOption::Basic);
        let filter: Box<dyn Query> = Box::new(ConstScoreQuery::new(Box::new(of), 0.0));
        Box::new(BooleanQuery::new(vec![(Occur::Must, query), (Occur::Must, filter)]))
    }
}

/// All terms from `start` up to the next word of its length: `start` is of ASCII letters and digits.
fn prefix(text: Field, start: &str) -> RangeQuery {
    let after = format!("{start}\u{7f}");
    RangeQuery::new(
        Bound::Included(Term::from_field_text(text, start)),
        Bound::Excluded(Term::from_field_text(text, &after)),
    )
}

impl Searcher for Open {
    fn prepare(&mut self, case: &Case) -> Result<(), Missing> {
        (self.kind, self.filter) = (case.kind, case.filter);
        Ok(())
    }

    fn search(&mut self, query: &[String]) -> Result<()> {
        let query = self.query(query);
        self.found = self.snapshot.search(query.as_ref(), &TopDocs::with_limit(LIMIT).order_by_score())?;
        Ok(())
    }

    fn found(&self) -> Result<Vec<Hit>> {
        let passage = |(score, at): &(f32, DocAddress)| {
            let column = self.passages.get(at.segment_ord as usize).context("a segment")?;
            let passage = column.first(at.doc_id).context("every passage has a number")?;
            Ok(Hit { passage: u32::try_from(passage)?, score: *score })
        };
        self.found.iter().map(passage).collect()
    }
}
