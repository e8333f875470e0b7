//! Which index segments are alive, and which nodes are not. format-spec.md sections 7.1 and 7.7.

use super::codec::{Decode, Encode};
use super::frame::RecordKind;

/// The `manifest` table.
pub const MANIFEST: RecordKind = RecordKind { tag: *b"MANI", version: 1, table: "manifest", section: "7.1" };
/// Key of [`Manifest`] in `manifest`.
pub const MANIFEST_KEY: &[u8] = b"live";

/// The `deleted` table.
pub const DELETED: RecordKind = RecordKind { tag: *b"DELE", version: 1, table: "deleted", section: "7.7" };
/// Key of the bitmap of deleted nodes in `deleted`.
pub const DELETED_KEY: &[u8] = b"nodes";

/// The live segments, in ascending order of their nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Manifest {
    /// One entry a segment.
    pub segments: Vec<SegmentEntry>,
}

/// One live segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SegmentEntry {
    /// Its id.
    pub segment: u32,
    /// First node it covers.
    pub first_node: u32,
    /// Last node it covers.
    pub last_node: u32,
    /// Values of the `text_parts` table it consists of.
    pub chunks: u32,
    /// Bytes of those values, without their frames.
    pub bytes: u64,
}
