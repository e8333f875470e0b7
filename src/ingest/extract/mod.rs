//! From a document to what a graph is made of: sentences, the names in them, relations that a rule can read.
//!
//! A document is read by itself: what it says does not change when another comes or goes. Which names are titles
//! of others is settled when a [`PathIndex`](crate::graph::paths::PathIndex) is made.

mod patch;
mod relation;
mod rules;
mod stored;

pub use relation::Relation;
pub use relation::relations;
pub use rules::NAME;
pub use rules::NameRules;
pub use stored::path_index;

use crate::error::Error;
use crate::error::Result;
use crate::graph::paths::PathIndexBuilder;
use crate::graph::paths::SentenceEntry;
use crate::graph::paths::alias;
use crate::graph::paths::title_keys;
use crate::ids::NodeId;
use crate::ids::Span;
use crate::model::EntityRecognizer;
use crate::model::RecognizedEntity;
use crate::tree::Document;
use crate::tree::Outline;

use super::sentence::sentences;

/// What a document says, leaf by leaf.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extraction {
    /// Its leaves in reading order.
    pub leaves: Vec<LeafNames>,
}

/// What a leaf says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafNames {
    /// Index of the leaf among the document's nodes.
    pub node: u32,
    /// Its own title, those of the headings above it and of the document, and what its text calls its subject; each
    /// gives its [keys](crate::graph::paths::title_keys).
    pub titles: Vec<String>,
    /// Its sentences in order.
    pub sentences: Vec<SentenceNames>,
}

/// What a sentence says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentenceNames {
    /// Where it lies in the document's text.
    pub span: Span,
    /// Names in it; ranges are of bytes of the sentence.
    pub names: Vec<RecognizedEntity>,
    /// Relations between them.
    pub relations: Vec<Relation>,
}

/// Reads `document`, which must have passed [`Document::validate`].
///
/// # Errors
///
/// What `recognizer` returns; `InvalidInput` if it gives another number of lists, or a range that is none of the
/// sentence's text.
///
/// # Complexity
///
/// Linear in the text, and what `recognizer` takes.
pub fn extract(document: &Document, recognizer: &dyn EntityRecognizer) -> Result<Extraction> {
    let mut leaves = Vec::new();
    let (mut spans, mut texts): (Vec<Span>, Vec<&str>) = (Vec::new(), Vec::new());
    for leaf in Outline::of(document).leaves {
        let Some(node) = document.nodes.get(leaf as usize) else { continue };
        let text = document.text.get(node.span.as_range()).unwrap_or_default();
        let first = spans.len();
        for range in sentences(text) {
            texts.push(text.get(range.clone()).unwrap_or_default());
            spans.push(Span::new(offset(node.span, range.start), offset(node.span, range.end)));
        }
        leaves.push((leaf, text, first..spans.len()));
    }
    let found = recognizer.recognize(&texts)?;
    if found.len() != texts.len() {
        let message = format!(
            "{} gave names of {} sentences, asked for {}",
            recognizer.fingerprint(),
            found.len(),
            texts.len()
        );
        return Err(Error::invalid(message));
    }
    let mut read = Vec::with_capacity(found.len());
    for ((span, text), names) in spans.into_iter().zip(texts).zip(found) {
        if let Some(bad) = names.iter().find(|name| text.get(name.range.clone()).is_none_or(str::is_empty)) {
            let message = format!(
                "{} gave the name {:?} in a sentence of {} bytes of document {:?}",
                recognizer.fingerprint(),
                bad.range,
                text.len(),
                document.key
            );
            return Err(Error::invalid(message));
        }
        let relations = relations(text, &names);
        read.push(SentenceNames { span, names, relations });
    }
    let mut read = read.into_iter();
    let leaves = leaves.into_iter().map(|(node, text, range)| LeafNames {
        node,
        titles: titles_of(document, node, text),
        sentences: read.by_ref().take(range.len()).collect(),
    });
    Ok(Extraction { leaves: leaves.collect() })
}

impl Extraction {
    /// Adds the leaves to `index`, as those of a document whose first node is `first`: `document`, which was read.
    /// The sentences' vectors are in rows from `row` on; returns the row after the last.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `index` has leaves of later nodes.
    pub fn add_to(
        &self,
        index: &mut PathIndexBuilder,
        document: &Document,
        first: NodeId,
        mut row: u32,
    ) -> Result<u32> {
        for leaf in &self.leaves {
            index.leaf(NodeId(first.0.saturating_add(leaf.node)), leaf.titles.iter().map(String::as_str))?;
            for sentence in &leaf.sentences {
                let text = document.text.get(sentence.span.as_range()).unwrap_or_default();
                let names = sentence.names.iter().filter_map(|name| text.get(name.range.clone()));
                index.sentence(SentenceEntry { row, span: sentence.span }, names)?;
                row = row.saturating_add(1);
            }
        }
        Ok(row)
    }
}

/// The titles of leaf `leaf`, whose text is `text`; those without a key are left out.
fn titles_of(document: &Document, leaf: u32, text: &str) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    let mut add = |title: &str| {
        if !title_keys(title).is_empty() && !titles.iter().any(|other| other == title) {
            titles.push(title.to_owned());
        }
    };
    let mut above = document.nodes.get(leaf as usize);
    while let Some(node) = above {
        add(&node.title);
        above = node.parent.and_then(|parent| document.nodes.get(parent as usize));
    }
    alias(&document.title, text).into_iter().for_each(add);
    titles
}

/// `at`, counted from the start of `span`, as counted from the start of the text.
fn offset(span: Span, at: usize) -> u32 {
    span.start.saturating_add(u32::try_from(at).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
