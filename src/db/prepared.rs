//! What can be made of a document before it has a place in the file.

use std::sync::Arc;

use crate::error::Result;
use crate::format::document::{TEXT_BLOCK_BYTES, encode_text_block};
use crate::format::tree;
use crate::format::tree::TreeColumns;
use crate::model::TokenCounter;
use crate::tree::{Document, Node};

/// A document whose tokens have been counted and whose text has been packed: what
/// [`WriteTransaction::upsert_prepared`](super::WriteTransaction::upsert_prepared) takes. Cheap to clone.
#[derive(Clone)]
pub struct PreparedDocument(Arc<Prepared>);

struct Prepared {
    document: Document,
    columns: TreeColumns,
    hash: [u8; 32],
    archive: Vec<u8>,
    blocks: Vec<Vec<u8>>,
}

impl PreparedDocument {
    pub(super) fn new(document: Document, hash: [u8; 32], counter: &dyn TokenCounter) -> Result<Self> {
        let columns = document.columns(counter)?;
        let archive = tree::encode(&columns)?;
        let blocks = document.text.as_bytes().chunks(TEXT_BLOCK_BYTES).map(encode_text_block).collect();
        Ok(Self(Arc::new(Prepared { document, columns, hash, archive, blocks })))
    }

    /// The document itself.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.0.document
    }

    pub(super) fn columns(&self) -> &TreeColumns {
        &self.0.columns
    }

    pub(super) fn hash(&self) -> [u8; 32] {
        self.0.hash
    }

    /// The tree, encoded.
    pub(super) fn archive(&self) -> &[u8] {
        &self.0.archive
    }

    /// The text's blocks, encoded.
    pub(super) fn blocks(&self) -> &[Vec<u8>] {
        &self.0.blocks
    }

    /// Bytes of text and nodes.
    pub(super) fn size_bytes(&self) -> usize {
        self.document().text.len() + self.document().nodes.len() * size_of::<Node>()
    }
}
