//! The bytes of the file: one module per chapter of `format-spec.md`. No I/O; bytes in, values out.
//!
//! | spec | module |
//! |---|---|
//! | 3.1 keys | [`key`] |
//! | 3.2 records in bincode | [`codec`] |
//! | 3.6 record frames and checksums | [`frame`] |
//! | fixed layouts as data | [`layout`] |
//! | 4 identity, counters, catalogue | [`identity`] |
//! | 6.2, 6.3, 6.5 documents and texts | [`document`] |
//! | 6.4 trees | [`tree`] |
//! | 7.1, 7.7 live segments, deleted nodes | [`manifest`] |
//! | 7.2 to 7.6, 7.10 text segments | [`text`] |
//! | 8.1 to 8.3 spaces, vector blocks, context norms | [`vector`] |
//! | 14 the graph | [`graph`] |
//!
//! Nothing here trusts its input: every decoder is given bytes that may come from a damaged or hostile file.

#![deny(clippy::indexing_slicing, clippy::expect_used)]

pub mod codec;
pub mod document;
pub mod frame;
pub mod graph;
pub mod identity;
pub mod key;
pub mod layout;
pub mod manifest;
pub mod text;
pub mod tree;
pub mod vector;

use self::frame::RecordKind;
use self::layout::Layout;

/// Every kind of record; one a table.
pub const KINDS: [RecordKind; 21] = [
    identity::META,
    identity::CATALOGUE,
    document::DOCUMENT,
    document::DOCUMENT_KEY,
    document::ROOT,
    tree::TREE,
    document::TEXT,
    manifest::MANIFEST,
    text::SEGMENT,
    text::PART,
    manifest::DELETED,
    vector::SPACE,
    vector::BLOCK,
    vector::CONTEXT,
    graph::GRAPH_NAME,
    graph::ENTITY,
    graph::ENTITY_KEY,
    graph::HYPEREDGE,
    graph::HYPEREDGE_KEY,
    graph::GRAPH_DOCUMENT,
    graph::GRAPH_PART,
];

/// Every fixed layout, for the test that holds them against the tables of the spec.
pub const LAYOUTS: [Layout; 11] = [
    RecordKind::LAYOUT,
    document::TEXT_LAYOUT,
    text::PostingList::SKIP_LAYOUT,
    text::LeafRecord::LAYOUT,
    text::InnerRecord::LAYOUT,
    vector::VectorBlock::LAYOUT,
    vector::ContextNorms::LAYOUT,
    graph::EDGE_LAYOUT,
    graph::MEMBER_LAYOUT,
    graph::SUPPORT_LAYOUT,
    graph::MENTIONED_LAYOUT,
];
