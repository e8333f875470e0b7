//! Documents and their texts. format-spec.md sections 6.2, 6.3 and 6.5.

use super::codec::{Decode, Encode};
use super::frame::RecordKind;
use super::layout::{Field, Layout};
use crate::error::Result;

/// The `documents` table: key `document id`.
pub const DOCUMENT: RecordKind = RecordKind { tag: *b"DOCU", version: 1, table: "documents", section: "6.2" };
/// The `document_keys` table: key the caller's key for the document.
pub const DOCUMENT_KEY: RecordKind =
    RecordKind { tag: *b"DKEY", version: 1, table: "document_keys", section: "6.3" };
/// The `roots` table: key the id of a document's root.
pub const ROOT: RecordKind = RecordKind { tag: *b"ROOT", version: 1, table: "roots", section: "6.3" };
/// The `texts` table: key `document id, block`.
pub const TEXT: RecordKind = RecordKind { tag: *b"TEXT", version: 1, table: "texts", section: "6.5" };

/// Bytes of text in one block, but for the last.
pub const TEXT_BLOCK_BYTES: usize = 16 << 10;

/// Where each fixed field of a block of text lies in the payload.
pub const TEXT_LAYOUT: Layout = Layout { section: "6.5", fields: &[Field::new("text_len", 0, 4)] };

/// What the file keeps about one document beside its tree and text.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DocumentRecord {
    /// The caller's name for it.
    pub key: String,
    /// Title.
    pub title: String,
    /// Where it came from.
    pub source: Option<String>,
    /// BCP 47 language tag.
    pub language: Option<String>,
    /// SHA-256 of what was inserted.
    pub content_hash: [u8; 32],
    /// Attributes in ascending order of their keys.
    pub attributes: Vec<(String, String)>,
    /// Id of the root; the document's nodes are `first_node .. first_node + nodes`.
    pub first_node: u32,
    /// Nodes.
    pub nodes: u32,
    /// Leaves among them.
    pub leaves: u32,
    /// Tokens of all leaves.
    pub tokens: u64,
    /// Bytes of text, before compression.
    pub text_bytes: u32,
    /// Bytes of the tree's archive.
    pub tree_bytes: u32,
}

/// The payload of block `index` of a text: its length, then the bytes in LZ4 block format.
#[must_use]
pub fn encode_text_block(text: &[u8]) -> Vec<u8> {
    let mut payload = u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
    payload.extend_from_slice(&lz4_flex::block::compress(text));
    payload
}

/// The bytes of text in the payload of a block.
///
/// # Errors
///
/// `Corrupt` if the length is over [`TEXT_BLOCK_BYTES`] or the compressed bytes are damaged.
pub fn decode_text_block(key: &[u8], payload: &[u8]) -> Result<Vec<u8>> {
    let Some((len, packed)) = payload.split_first_chunk::<4>() else {
        return Err(TEXT.malformed(key, "text_len", 0, "the block is short"));
    };
    let len = u32::from_le_bytes(*len) as usize;
    if len > TEXT_BLOCK_BYTES {
        return Err(TEXT.malformed(key, "text_len", 0, format!("{len} is over {TEXT_BLOCK_BYTES}")));
    }
    let text = lz4_flex::block::decompress(packed, len);
    let text = text.map_err(|error| TEXT.malformed(key, "text", 4, error))?;
    if text.len() != len {
        return Err(TEXT.malformed(key, "text", 4, format!("{} bytes, not {len}", text.len())));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec
    #[test]
    fn a_block_gives_back_its_text() {
        for text in ["", "a", &"long and long again, ".repeat(700)] {
            let payload = encode_text_block(text.as_bytes());

            assert_eq!(decode_text_block(&[], &payload).expect("it is whole"), text.as_bytes());
        }
    }

    /// A length of 4 GiB in a damaged block must not be allocated.
    #[test]
    fn a_block_that_claims_too_much_is_refused() {
        let mut payload = encode_text_block(b"text");
        payload[3] = 0xff;

        let error = decode_text_block(&[], &payload).expect_err("over the limit");

        assert_eq!(error.corruption().map(|at| at.field.as_str()), Some("text_len"));
    }
}
