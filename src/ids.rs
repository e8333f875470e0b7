//! Ids and ranges: the words every floor uses.
//!
//! Ids are 32-bit, start at 1, are handed out upward and are never reused. Id 0 is never issued, so a zeroed
//! record is visibly wrong. Nodes are numbered in pre-order and the nodes of one document are contiguous: a
//! subtree is a [`NodeRange`].

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The bare number, for arithmetic within a range.
            #[must_use]
            pub const fn get(self) -> u32 {
                self.0
            }

            /// The number as an index into a slice that starts at id 0.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// One ingested source.
    DocumentId
}
id! {
    /// A place in a document's tree.
    NodeId
}
id! {
    /// An immutable part of the text index.
    SegmentId
}
id! {
    /// A named set of vectors of one dimension, metric and embedder.
    SpaceId
}
id! {
    /// A thing that is named.
    EntityId
}
id! {
    /// A relation among entities and nodes.
    HyperedgeId
}

/// Nodes `first..=last` in pre-order: a subtree, a document, a scope. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct NodeRange {
    /// The first node.
    pub first: NodeId,
    /// The last node, included.
    pub last: NodeId,
}

impl NodeRange {
    /// The range `first..=last`; `last` must not be below `first`, which is the caller's to know.
    #[must_use]
    pub const fn new(first: NodeId, last: NodeId) -> Self {
        Self { first, last }
    }

    /// Whether `node` lies inside.
    #[must_use]
    pub fn contains(self, node: NodeId) -> bool {
        self.first <= node && node <= self.last
    }

    /// How many ids lie inside.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a range holds at least one node")]
    pub const fn len(self) -> usize {
        (self.last.0 - self.first.0) as usize + 1
    }

    /// The ids in pre-order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = NodeId> {
        (self.first.0..=self.last.0).map(NodeId)
    }
}

impl fmt::Display for NodeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..={}", self.first, self.last)
    }
}

/// Half-open byte range `start..end` in a document's text, on UTF-8 boundaries.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`; `end` must not be below `start`, which is the caller's to know.
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Length in bytes.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether no byte lies inside.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// As a range for slicing the document's text.
    #[must_use]
    pub const fn as_range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
