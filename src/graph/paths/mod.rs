//! Multi-hop retrieval without a language model: a passage that matches the question names something, and
//! another passage is about it.
//!
//! * [`words`], [`capitalised`], [`title_keys`]: names and titles of a text, by rule.
//! * [`PathIndexBuilder`] makes a [`PathIndex`] of leaves, their titles, sentences and names.
//! * [`QuestionNames`]: what a question names; [`find`]: paths from the best leaves to what they name.
//!
//! English first: names are found by their capitals. Scripts without case have titles, and no other names.
//! Everything is a function of what was added, in any order of documents: ties go to the lower number, nothing
//! depends on hash tables or threads. Not for: texts without titles, where only shared names are left.

/// Kind of the hyperedges that are sentences.
pub const SENTENCE: &str = "sentence";
/// Role of what a sentence names.
pub const MENTION_ROLE: &str = "mention";
/// Role of what a sentence's leaf is about.
pub const TITLE_ROLE: &str = "title";

mod csr;
mod index;
mod name;
mod question;
#[cfg(test)]
mod tests;
mod title;
mod walk;
mod word;

pub use index::MAX_POSTINGS;
pub use index::PathIndex;
pub use index::PathIndexBuilder;
pub use index::SentenceEntry;
pub use name::capitalised;
pub use name::key_of;
pub use name::parts;
pub use name::trimmed;
pub use question::QuestionNames;
pub use title::MAX_TITLE_WORDS;
pub use title::alias;
pub use title::longest_titles;
pub use title::title_keys;
pub use title::without_initials;
pub use title::written_as_name;
pub use walk::Found;
pub use walk::Hop;
pub use walk::LeafSignals;
pub use walk::PathKind;
pub use walk::PathOptions;
pub use walk::PathWeights;
pub use walk::find;
pub use word::Case;
pub use word::Word;
pub use word::is_stop;
pub use word::words;
