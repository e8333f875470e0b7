//! A document's tree as columns. format-spec.md section 6.4.

use super::frame::RecordKind;
use crate::error::Result;

/// The `trees` table: key `document id, chunk`.
pub const TREE: RecordKind = RecordKind { tag: *b"TREE", version: 1, table: "trees", section: "6.4" };

/// Bytes of the archive in one chunk, but for the last.
pub const TREE_CHUNK_BYTES: usize = (1 << 20) - 64;

/// The columns of a tree of `n` nodes, in pre-order; index 0 is the root.
///
/// # Format
///
/// An rkyv 0.8 archive (little-endian, 32-bit relative pointers, no alignment), cut into chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct TreeColumns {
    /// `n`: index of the parent; the root's is 0.
    pub parent: Vec<u32>,
    /// `n`: index of the last node of the subtree.
    pub last: Vec<u32>,
    /// `n`: distance from the root.
    pub level: Vec<u8>,
    /// `n`: number of the node's kind.
    pub kind: Vec<u8>,
    /// `n`: tokens of the leaves in the subtree.
    pub tokens: Vec<u32>,
    /// `n`: first byte of the text the subtree covers.
    pub start: Vec<u32>,
    /// `n`: one past the last byte of the text the subtree covers.
    pub end: Vec<u32>,
    /// `n`: page of the source, 0 for none.
    pub page: Vec<u32>,
    /// `n`: where each title ends in `titles`.
    pub title_end: Vec<u32>,
    /// All titles, UTF-8.
    pub titles: Vec<u8>,
    /// `n`: where each summary ends in `summaries`.
    pub summary_end: Vec<u32>,
    /// All summaries, UTF-8.
    pub summaries: Vec<u8>,
    /// `a`: index of the node each attribute belongs to, ascending.
    pub attribute_node: Vec<u32>,
    /// `2a`: where each key, then its value, ends in `attributes`.
    pub attribute_end: Vec<u32>,
    /// All keys and values, UTF-8.
    pub attributes: Vec<u8>,
}

/// The archive of `columns`.
///
/// # Errors
///
/// `InvalidInput` if they do not fit 4 GiB.
pub fn encode(columns: &TreeColumns) -> Result<Vec<u8>> {
    let archive = rkyv::to_bytes::<rkyv::rancor::Error>(columns);
    let archive = archive.map_err(|error| {
        crate::error::Error::invalid("a tree is too large to be archived").with_source(error)
    })?;
    Ok(archive.into_vec())
}

/// The columns in `archive`, read in place; nothing about their contents has been checked but that they lie
/// inside it.
///
/// # Errors
///
/// `Corrupt` if the archive is damaged.
pub fn access<'a>(key: &[u8], archive: &'a [u8]) -> Result<&'a ArchivedTreeColumns> {
    rkyv::access::<ArchivedTreeColumns, rkyv::rancor::Error>(archive)
        .map_err(|error| TREE.malformed(key, "archive", 0, error))
}
