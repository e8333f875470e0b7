//! The text index: which nodes hold which terms, and how well nodes, sections and documents match a question.
//!
//! Each node's own text is indexed once: a leaf's title and text, an inner node's title. Everything else is
//! derived at query time from those postings, because a document's nodes are contiguous in pre-order: the text
//! of a section or document is a range of nodes, and the heading path of a leaf is the terms of its ancestors.
//!
//! * [`Analyzer`] makes terms from text; [`Analyzers`] are those of a file, for bodies and for titles;
//!   [`TextConfig::fingerprint`] is stored in the file.
//! * [`SegmentBuilder`] makes an immutable segment, [`SegmentReader`] reads one, [`merge`] joins several.
//! * [`TextIndex`] is the live segments of a snapshot; [`View`] is what a scope of it holds; [`Scorer`] is
//!   BM25 over a view; [`TextIndex::search_any`] finds the best leaves for words, [`TextIndex::query`] for a
//!   [`Query`].
//! * [`Highlighter`] marks the words of a query in a text, and chooses a [`Snippet`] of it.
//!
//! It does not store text. Bytes are `format::text`'s; where they are kept is the caller's, through [`PartSource`]
//! and [`PartSink`].

mod analyzer;
mod arena;
mod assemble;
mod bm25;
mod builder;
mod check;
mod clause;
mod evaluate;
mod expand;
mod filter;
mod fold;
mod hash;
mod hits;
mod index;
mod lists;
mod live;
mod merge;
mod phrase;
mod places;
mod query;
mod reader;
mod search;
mod segmenter;
mod snippet;
mod source;
mod statistics;
mod stop;
mod tally;
#[cfg(test)]
mod tests;
mod top_k;
mod view;

pub use analyzer::Analyzer;
pub use analyzer::AnalyzerConfig;
pub use analyzer::Analyzers;
pub use analyzer::FieldTerms;
pub use analyzer::MAX_TERM_BYTES;
pub use analyzer::PhraseTerm;
pub use analyzer::TextConfig;
pub use assemble::PartSink;
pub use assemble::SegmentParts;
pub use bm25::Bm25;
pub use bm25::Field;
pub use bm25::Scorer;
pub use builder::NodeTerms;
pub use builder::SegmentBuilder;
pub use clause::MAX_EXPANDED_TERMS;
pub use clause::MAX_PHRASE_TERMS;
pub use expand::MAX_FUZZY_TERMS;
pub use expand::MAX_PREFIX_TERMS;
pub(crate) use hash::WordMap;
pub use hits::HeadingHit;
pub use hits::TermHits;
pub use index::TextIndex;
pub use merge::merge;
pub use query::MAX_BOOST;
pub use query::MAX_CLAUSES;
pub use query::MAX_DEPTH;
pub use query::MAX_FUZZY_CHARS;
pub use query::MAX_QUERY_TERMS;
pub use query::MAX_SLOPPY_TERMS;
pub use query::MIN_FUZZY_CHARS;
pub use query::Query;
pub use query::QueryField;
pub use reader::SegmentReader;
pub use reader::TermPositions;
pub use reader::TermPostings;
pub use search::Scored;
pub use snippet::Highlighter;
pub use snippet::Snippet;
pub use source::ListBytes;
pub use source::PartSource;
pub use top_k::FieldWeights;
pub use top_k::MAX_TERMS;
pub use top_k::SearchOptions;
pub use top_k::WeightedTerm;
pub use view::DocumentEntry;
pub use view::InnerEntry;
pub use view::SectionEntry;
pub use view::View;
