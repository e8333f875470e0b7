//! Texts and trees of documents, in and out of the file.

use std::ops::ControlFlow;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::format::document::{DOCUMENT, DocumentRecord, TEXT, TEXT_BLOCK_BYTES, decode_text_block};
use crate::format::tree::{TREE, TREE_CHUNK_BYTES};
use crate::format::{codec, key};
use crate::ids::{DocumentId, NodeId, Span};
use crate::storage::{Batch, Snapshot};
use crate::tree::{Claims, Document, Tree};

/// Stores the encoded blocks of a text.
pub(super) fn put_text(batch: &Batch, document: DocumentId, blocks: &[Vec<u8>]) -> Result<()> {
    for (block, bytes) in (0_u32..).zip(blocks) {
        batch.put(&TEXT, &key::two(document.0, block), bytes)?;
    }
    Ok(())
}

/// Stores the archive of a tree in chunks.
pub(super) fn put_tree(batch: &Batch, document: DocumentId, archive: &[u8]) -> Result<()> {
    for (chunk, bytes) in (0_u32..).zip(archive.chunks(TREE_CHUNK_BYTES)) {
        batch.put(&TREE, &key::two(document.0, chunk), bytes)?;
    }
    Ok(())
}

/// The record of `document`, or `None` if there is no such document.
pub(super) fn get_record(snapshot: &Snapshot, document: DocumentId) -> Result<Option<DocumentRecord>> {
    let key = key::one(document.0);
    snapshot.get(&DOCUMENT, &key, |payload| codec::decode(&DOCUMENT, &key, payload))
}

/// The tree of `document`, checked.
pub(super) fn get_tree(snapshot: &Snapshot, document: DocumentId, record: &DocumentRecord) -> Result<Tree> {
    let len = record.tree_bytes as usize;
    let mut archive = Vec::new();
    for chunk in 0_u32.. {
        if archive.len() >= len {
            break;
        }
        let key = key::two(document.0, chunk);
        let read = snapshot.get(&TREE, &key, |payload| {
            archive.extend_from_slice(payload);
            Ok(payload.len())
        })?;
        if read.is_none_or(|read| read == 0) || archive.len() > len {
            let why = format!("{} bytes of {len} are there", archive.len());
            return Err(TREE.malformed(&key, "archive", archive.len(), why));
        }
    }
    let claims =
        Claims { first: NodeId(record.first_node), nodes: record.nodes, text_bytes: record.text_bytes };
    Tree::open(&key::two(document.0, 0), &archive, claims)
}

/// The text at `span` of `document`.
pub(super) fn get_text(
    snapshot: &Snapshot,
    document: DocumentId,
    record: &DocumentRecord,
    span: Span,
) -> Result<String> {
    if span.start > span.end || span.end > record.text_bytes {
        return Err(Error::invalid(format!(
            "span {span} leaves the text of document {document}, which has {} bytes",
            record.text_bytes
        )));
    }
    let (start, end) = (span.start as usize, span.end as usize);
    let mut bytes = Vec::with_capacity(end - start);
    let mut at = start;
    while at < end {
        let block = at / TEXT_BLOCK_BYTES;
        let key = key::two(document.0, u32::try_from(block).unwrap_or(u32::MAX));
        let from = at - block * TEXT_BLOCK_BYTES;
        let until = (end - block * TEXT_BLOCK_BYTES).min(TEXT_BLOCK_BYTES);
        let found = snapshot.get(&TEXT, &key, |payload| {
            let text = decode_text_block(&key, payload)?;
            let part = text.get(from..until).ok_or_else(|| {
                TEXT.malformed(&key, "text_len", 0, format!("{} bytes, {until} are needed", text.len()))
            })?;
            bytes.extend_from_slice(part);
            Ok(())
        })?;
        if found.is_none() {
            return Err(TEXT.malformed(&key, "key", 0, "the block is missing"));
        }
        at = block * TEXT_BLOCK_BYTES + until;
    }
    String::from_utf8(bytes).map_err(|error| {
        let key = key::two(document.0, u32::try_from(start / TEXT_BLOCK_BYTES).unwrap_or(u32::MAX));
        TEXT.malformed(&key, "text", 4, error)
    })
}

/// Every document record, in id order.
pub(super) fn scan_records(
    snapshot: &Snapshot,
    mut visit: impl FnMut(DocumentId, DocumentRecord) -> Result<ControlFlow<()>>,
) -> Result<()> {
    snapshot.scan(&DOCUMENT, &[], |key, payload| {
        let id =
            key::parse_one(key).ok_or_else(|| DOCUMENT.malformed(key, "key", 0, "it is no document id"))?;
        visit(DocumentId(id), codec::decode(&DOCUMENT, key, payload)?)
    })
}

/// SHA-256 of what makes `document` another document: everything an insert stores but its source, so that
/// loading it from another folder is no change.
pub(crate) fn content_hash(document: &Document) -> [u8; 32] {
    let mut hasher = Sha256::new();
    let mut string = |text: &str| {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    string(&document.key);
    string(&document.title);
    string(if document.language.is_some() { "1" } else { "0" });
    string(document.language.as_deref().unwrap_or_default());
    string(&document.attributes.len().to_string());
    for (key, value) in &document.attributes {
        string(key);
        string(value);
    }
    string(&document.text);
    for node in &document.nodes {
        string(&node.attributes.len().to_string());
        string(&node.title);
        string(&node.summary);
        for (key, value) in &node.attributes {
            string(key);
            string(value);
        }
        let numbers = [
            node.parent.unwrap_or(u32::MAX),
            u32::from(node.kind as u8),
            node.span.start,
            node.span.end,
            node.page,
        ];
        string(&numbers.map(|number| number.to_string()).join(" "));
    }
    hasher.finalize().into()
}
