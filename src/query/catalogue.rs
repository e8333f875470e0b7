//! What a file holds, in lists of bounded length: documents, and the headings of one.

use std::ops::ControlFlow;

use crate::db::ReadTransaction;
use crate::error::Result;
use crate::ids::DocumentId;
use crate::ids::NodeId;

/// Documents that a catalogue lists.
///
/// # Source
///
/// The runner of KnowForge (arXiv 2610.13128), like the other bounds of this module.
pub const MAX_SOURCES: usize = 80;

/// Headings that a table of contents lists.
pub const MAX_HEADINGS: usize = 200;

/// Characters of what is said of a document.
const ONE_LINE: usize = 60;

/// A document in a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Source {
    /// The document.
    pub document: DocumentId,
    /// The caller's name for it.
    pub key: String,
    /// Title.
    pub title: String,
    /// The beginning of its summary; may be empty.
    pub one_line: String,
    /// Leaves.
    pub leaves: u32,
    /// Tokens of all leaves.
    pub tokens: u64,
}

/// A heading in a table of contents.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TocEntry {
    /// The section.
    pub node: NodeId,
    /// Distance from the root, which is not listed: from 1.
    pub level: u8,
    /// Its heading; may be empty.
    pub title: String,
    /// Page of the source, from 1, of the section or of the first leaf below it that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Tokens of the leaves below it.
    pub tokens: u32,
}

/// A list of bounded length.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Listed<T> {
    /// The first of it.
    pub items: Vec<T>,
    /// How many more there are.
    pub more: usize,
}

impl<T> Listed<T> {
    pub(super) fn first(mut items: Vec<T>, limit: usize) -> Self {
        let more = items.len().saturating_sub(limit);
        items.truncate(limit);
        Self { items, more }
    }
}

/// The first [`MAX_SOURCES`] documents whose key or title has `part`, in any case; all if it is empty.
///
/// # Errors
///
/// `Corrupt` or `Io`.
pub fn sources(read: &ReadTransaction, part: &str) -> Result<Listed<Source>> {
    let part = part.to_lowercase();
    let mut list = Listed { items: Vec::new(), more: 0 };
    read.for_each_document(|info| {
        let has = |text: &str| text.to_lowercase().contains(&part);
        if !part.is_empty() && !has(&info.key) && !has(&info.title) {
            return Ok(ControlFlow::Continue(()));
        }
        if list.items.len() == MAX_SOURCES {
            list.more += 1;
            return Ok(ControlFlow::Continue(()));
        }
        let tree = read.tree(info.id)?;
        let (one_line, _) = clipped(tree.node(tree.root())?.summary(), ONE_LINE);
        list.items.push(Source {
            document: info.id,
            key: info.key,
            title: info.title,
            one_line,
            leaves: info.leaves,
            tokens: info.tokens,
        });
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(list)
}

/// The first [`MAX_HEADINGS`] headings of `document`, in its order.
///
/// # Errors
///
/// `NotFound` if there is no such document; `Corrupt`; `Io`.
pub fn toc(read: &ReadTransaction, document: DocumentId) -> Result<Listed<TocEntry>> {
    let tree = read.tree(document)?;
    let mut sections: Vec<TocEntry> = Vec::new();
    // Sections around the node at hand that no page is known of.
    let mut open: Vec<usize> = Vec::new();
    for node in tree.nodes().skip(1) {
        let page = Some(node.page()).filter(|page| *page > 0);
        if let Some(page) = page {
            for at in open.drain(..) {
                if let Some(section) = sections.get_mut(at)
                    && tree.node(section.node)?.range().contains(node.id())
                {
                    section.page = Some(page);
                }
            }
        }
        if node.is_leaf() {
            continue;
        }
        if page.is_none() {
            open.push(sections.len());
        }
        let title = node.title().to_owned();
        sections.push(TocEntry { node: node.id(), level: node.level(), title, page, tokens: node.tokens() });
    }
    Ok(Listed::first(sections, MAX_HEADINGS))
}

/// The first `limit` characters of `text`, and whether that is less than all.
pub(super) fn clipped(text: &str, limit: usize) -> (String, bool) {
    match text.char_indices().nth(limit) {
        Some((end, _)) => (text.get(..end).unwrap_or_default().to_owned(), true),
        None => (text.to_owned(), false),
    }
}
