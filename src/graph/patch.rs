//! What any source of a graph hands to a write transaction, for one document.

use std::collections::BTreeMap;

use crate::ids::NodeId;

/// Entities and hyperedges that one document supports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GraphPatch {
    /// Entities with what is known of them. An entity that is only a member of a hyperedge need not be here.
    pub entities: Vec<EntityDraft>,
    /// Relations among entities and nodes.
    pub hyperedges: Vec<HyperedgeDraft>,
}

/// A thing that is named.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EntityDraft {
    /// Its name, as found; it is [normalised](super::normalise) before it is compared and stored.
    pub name: String,
    /// What it is, such as `person`; empty for [`UNKNOWN`](super::UNKNOWN).
    pub kind: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Attributes, each with any number of values.
    pub attributes: BTreeMap<String, Vec<String>>,
    /// Where it is named: index of a node in the document, and how much that counts, at least 0. Without any, and
    /// without a hyperedge of the patch that has it as a member, the document's root mentions it.
    pub mentions: Vec<(u32, f32)>,
}

/// A relation among any number of members.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HyperedgeDraft {
    /// What sort of relation, such as `relation`, `sentence`, `link`; empty for [`RELATION`](super::RELATION).
    /// Meant to be few: what a relation says belongs into the label.
    pub kind: String,
    /// What it says, such as `capital of`; may be empty.
    pub label: String,
    /// The text that stands for it.
    pub text: EdgeText,
    /// How much the document's support counts, at least 0; weights of several documents add up.
    pub weight: f32,
    /// In order; at least one.
    pub members: Vec<MemberDraft>,
    /// Indices of the document's nodes that say so; empty for the root.
    pub support: Vec<u32>,
}

/// Text of a hyperedge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EdgeText {
    /// None: kind, label and members say it all.
    #[default]
    None,
    /// A text of its own.
    Own(String),
    /// Bytes `start..end` of the document's text, inside or beside node `index`; stored once, as part of the
    /// document. It tells the hyperedge from others of the same label and members.
    Span {
        /// Index of the node in the document.
        node: u32,
        /// First byte.
        start: u32,
        /// One past the last byte.
        end: u32,
    },
}

/// One member of a hyperedge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberDraft {
    /// What it does there, such as `subject`; may be empty.
    pub role: String,
    /// What it is.
    pub target: Target,
}

/// What a hyperedge joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An entity, by name and kind.
    Entity(String, String),
    /// A node of the document, by its index.
    Node(u32),
    /// A node of the file, in whatever document. When it goes, the hyperedge goes.
    Place(NodeId),
}

impl EntityDraft {
    /// An entity without anything else.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { name: name.into(), kind: kind.into(), ..Self::default() }
    }
}

impl HyperedgeDraft {
    /// A hyperedge of weight 1 without members.
    #[must_use]
    pub fn new(kind: impl Into<String>, label: impl Into<String>) -> Self {
        Self { kind: kind.into(), label: label.into(), weight: 1.0, ..Self::default() }
    }

    /// The same with one more member.
    #[must_use]
    pub fn member(mut self, role: impl Into<String>, target: Target) -> Self {
        self.members.push(MemberDraft { role: role.into(), target });
        self
    }

    /// The same, supported by node `index` of the document too.
    #[must_use]
    pub fn supported_by(mut self, index: u32) -> Self {
        self.support.push(index);
        self
    }
}

impl Target {
    /// An entity.
    #[must_use]
    pub fn entity(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self::Entity(name.into(), kind.into())
    }
}

/// What a patch brought to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct GraphCounts {
    /// Entities that were not there.
    pub new_entities: u64,
    /// Hyperedges that were not there.
    pub new_hyperedges: u64,
    /// Mentions that were not there.
    pub new_mentions: u64,
    /// Supports that were not there.
    pub new_supports: u64,
}

impl std::ops::AddAssign for GraphCounts {
    fn add_assign(&mut self, other: Self) {
        self.new_entities += other.new_entities;
        self.new_hyperedges += other.new_hyperedges;
        self.new_mentions += other.new_mentions;
        self.new_supports += other.new_supports;
    }
}
