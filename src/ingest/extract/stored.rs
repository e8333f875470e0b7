//! The names of a whole file.

use std::ops::ControlFlow;

use super::extract;
use crate::db::DocumentInfo;
use crate::db::ReadTransaction;
use crate::error::Result;
use crate::graph::paths::PathIndex;
use crate::graph::paths::PathIndexBuilder;
use crate::ids::Span;
use crate::model::EntityRecognizer;
use crate::tree::Document;
use crate::tree::Node;

/// The index of every leaf of `read`, made from its texts. Sentences have as row their own number.
///
/// # Errors
///
/// As for [`extract`]; `Corrupt`; `Io`.
///
/// # Complexity
///
/// Linear in the texts, which are all read; `O(n log n)` in the names.
pub fn path_index(read: &ReadTransaction, recognizer: &dyn EntityRecognizer) -> Result<PathIndex> {
    let mut documents = Vec::new();
    read.for_each_document(|info| {
        documents.push(info);
        Ok(ControlFlow::Continue(()))
    })?;
    // A document that was replaced has a lower id than its nodes.
    documents.sort_unstable_by_key(|info| info.nodes.first);
    let mut index = PathIndexBuilder::default();
    let mut row = 0;
    for info in documents {
        let document = stored(read, &info)?;
        row = extract(&document, recognizer)?.add_to(&mut index, &document, info.nodes.first, row)?;
    }
    Ok(index.finish())
}

/// The document of `info` as far as names need it: titles, tree, text.
///
/// # Errors
///
/// `NotFound` if `read` is of a state without it; `Corrupt`; `Io`.
pub fn stored(read: &ReadTransaction, info: &DocumentInfo) -> Result<Document> {
    let tree = read.tree(info.id)?;
    let mut document = Document::new(info.key.as_str(), info.title.as_str());
    document.text = read.text(info.id, Span::new(0, info.text_bytes))?;
    document.nodes = tree
        .nodes()
        .map(|view| Node {
            title: view.title().to_owned(),
            span: view.span(),
            ..Node::new(view.parent().map(|parent| parent.id().0 - tree.root().0), view.kind())
        })
        .collect();
    Ok(document)
}
