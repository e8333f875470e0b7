//! The value to insert: a document with its tree, as an importer makes it.

use std::collections::BTreeMap;

use super::counted::Counted;
use crate::error::{Error, Result};
use crate::ids::Span;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
#[non_exhaustive]
pub enum NodeKind {
    /// The root of a document's tree.
    Document = 1,
    /// An inner node: a chapter, a section of any level.
    Section = 2,
    /// A leaf of prose.
    Text = 3,
    /// A leaf that is a table.
    Table = 4,
    /// A leaf that stands for an image; its text is the alt text or description.
    Image = 5,
    /// A leaf that is an example: code, a worked case.
    Example = 6,
}

impl NodeKind {
    /// All kinds, by their stored number.
    pub const ALL: [Self; 6] =
        [Self::Document, Self::Section, Self::Text, Self::Table, Self::Image, Self::Example];

    /// The kind stored as `byte`, or `None` for a number this version does not know.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }

    /// Whether a node of this kind holds text of its own and no children.
    #[must_use]
    pub const fn is_leaf(self) -> bool {
        !matches!(self, Self::Document | Self::Section)
    }

    /// The kind's name: `document`, `section`, `text`, `table`, `image`, `example`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Section => "section",
            Self::Text => "text",
            Self::Table => "table",
            Self::Image => "image",
            Self::Example => "example",
        }
    }

    /// The kind called `name`, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One node of a [`Document`] to insert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Index of the parent in [`Document::nodes`]; `None` for the root, index 0, alone.
    pub parent: Option<u32>,
    /// What it is. Index 0 is [`NodeKind::Document`] and nothing else is.
    pub kind: NodeKind,
    /// Heading of an inner node. A leaf may have one too (a caption, a figure's label); it is searched with
    /// the leaf's text and not shown with it.
    pub title: String,
    /// Summary of an inner node; empty if there is none. Leaves have none.
    pub summary: String,
    /// A leaf's text within [`Document::text`]. Empty (`0..0`) for an inner node.
    pub span: Span,
    /// Page of the source, from 1; 0 if it has none.
    pub page: u32,
    /// Attributes of this node. `id` is the identity the source gave it and is not indexed as a filter.
    pub attributes: BTreeMap<String, String>,
    /// Row of a matrix of vectors that came with the source and belongs to this leaf.
    pub vector_row: Option<u32>,
}

impl Node {
    /// A node of `kind` below `parent`, everything else empty.
    #[must_use]
    pub fn new(parent: Option<u32>, kind: NodeKind) -> Self {
        Self {
            parent,
            kind,
            title: String::new(),
            summary: String::new(),
            span: Span::default(),
            page: 0,
            attributes: BTreeMap::new(),
            vector_row: None,
        }
    }
}

/// A document to insert: its text, and a tree whose leaves are spans of that text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The caller's name for it, unique in the file, 1 to 1,024 bytes: a path, a URL, an id.
    pub key: String,
    /// Title; the same as the root's.
    pub title: String,
    /// Where it came from, such as a path or URL, if that is worth keeping.
    pub source: Option<String>,
    /// BCP 47 language tag, if known, such as `en` or `zh`.
    pub language: Option<String>,
    /// Attributes, each indexed as the filter `key=value`.
    pub attributes: BTreeMap<String, String>,
    /// The whole text, below 4 GiB.
    pub text: String,
    /// The tree in pre-order. Never empty: index 0 is the root.
    pub nodes: Vec<Node>,
    /// Tokens of leaves, as far as an importer counted them.
    pub(crate) counted: Counted,
}

impl Document {
    /// Longest key in bytes.
    pub const MAX_KEY_BYTES: usize = 1_024;
    /// Longest title, summary, attribute key or value in bytes.
    pub const MAX_STRING_BYTES: usize = 65_535;
    /// Longest text in bytes.
    pub const MAX_TEXT_BYTES: usize = 1 << 30;
    /// Most nodes of one document.
    pub const MAX_NODES: usize = 1 << 24;
    /// Deepest level; the root is level 0.
    pub const MAX_LEVEL: usize = 255;

    /// A document without text: a root called `title`.
    pub fn new(key: impl Into<String>, title: impl Into<String>) -> Self {
        let title = title.into();
        let mut root = Node::new(None, NodeKind::Document);
        root.title.clone_from(&title);
        Self {
            key: key.into(),
            title,
            source: None,
            language: None,
            attributes: BTreeMap::new(),
            text: String::new(),
            nodes: vec![root],
            counted: Counted::default(),
        }
    }

    /// Checks every rule above: what `insert_document` accepts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput), naming the document, the node's index and
    /// the rule it breaks: key length, string lengths, text length, node count, pre-order (each parent is an
    /// ancestor-or-self of the node before), leaves without children, spans on character boundaries, in order
    /// and without overlap.
    pub fn validate(&self) -> Result<()> {
        let fail = |what: String| Err(Error::invalid(format!("document {:?}: {what}", clip(&self.key))));
        if self.key.is_empty() || self.key.len() > Self::MAX_KEY_BYTES {
            return fail(format!("its key has {} bytes, not 1 to {}", self.key.len(), Self::MAX_KEY_BYTES));
        }
        if self.text.len() > Self::MAX_TEXT_BYTES {
            return fail(format!("its text has {} bytes, over {}", self.text.len(), Self::MAX_TEXT_BYTES));
        }
        if self.nodes.is_empty() || self.nodes.len() > Self::MAX_NODES {
            return fail(format!("it has {} nodes, not 1 to {}", self.nodes.len(), Self::MAX_NODES));
        }
        let strings = [Some(&self.title), self.source.as_ref(), self.language.as_ref()];
        let attributes = self.attributes.iter().flat_map(|(key, value)| [key, value]);
        for string in strings.into_iter().flatten().chain(attributes) {
            if string.len() > Self::MAX_STRING_BYTES {
                return fail(format!("{:?} has {} bytes, over 65535", clip(string), string.len()));
            }
        }
        // The path from the root to the previous node: what may be a parent now.
        let mut path: Vec<u32> = Vec::new();
        let mut end = 0;
        for (index, node) in (0_u32..).zip(&self.nodes) {
            let fail = |what: &str| fail(format!("node {index}: {what}"));
            match node.parent {
                None if index == 0 => {}
                None => return fail("only node 0 has no parent"),
                Some(parent) => {
                    while path.last().is_some_and(|last| *last != parent) {
                        path.pop();
                    }
                    if path.is_empty() {
                        return fail("its parent is not on the path from the root to the node before");
                    }
                }
            }
            path.push(index);
            if path.len() > Self::MAX_LEVEL + 1 {
                return fail("it lies deeper than level 255");
            }
            if (node.kind == NodeKind::Document) != (index == 0) {
                return fail("node 0, and only node 0, is of kind document");
            }
            let parent = node.parent.and_then(|parent| self.nodes.get(parent as usize));
            if parent.is_some_and(|parent| parent.kind.is_leaf()) {
                return fail("its parent is a leaf");
            }
            let attributes = node.attributes.iter().flat_map(|(key, value)| [key, value]);
            if [&node.title, &node.summary]
                .into_iter()
                .chain(attributes)
                .any(|s| s.len() > Self::MAX_STRING_BYTES)
            {
                return fail("its title, summary or an attribute has over 65535 bytes");
            }
            if !node.kind.is_leaf() {
                if !node.span.is_empty() {
                    return fail("an inner node has no text of its own");
                }
                continue;
            }
            if node.span.start < end || node.span.end < node.span.start {
                return fail("its span overlaps the leaf before, or ends before it starts");
            }
            if self.text.get(node.span.as_range()).is_none() {
                return fail("its span leaves the text or cuts a character");
            }
            end = node.span.end;
        }
        Ok(())
    }
}

/// The start of `text` for a message, at most 80 bytes.
fn clip(text: &str) -> &str {
    let end = (0..=80.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}
