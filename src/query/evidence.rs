//! What is found: items with enough to find their bytes again, and the list that was packed of them.

use std::fmt;

use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::ids::Span;
use crate::query::budget::Budget;
use crate::tree::NodeKind;

/// One leaf of a document, verbatim, with its place, its cost and why it was chosen.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Evidence {
    /// The document.
    pub document: DocumentId,
    /// The document's key, as the caller named it.
    pub key: String,
    /// The document's title; may be empty.
    pub title: String,
    /// Titles of the sections around it, outermost first, without the document's title and without empty ones.
    pub heading_path: Vec<String>,
    /// The node whose child it is: items of one section share a heading line.
    pub section: NodeId,
    /// The leaf.
    pub node: NodeId,
    /// What it is.
    pub kind: NodeKind,
    /// Where its text lies in the document's text, in bytes.
    pub span: Span,
    /// Page of the source, from 1, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// The identity the source gave it (attribute `id`), if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its text.
    pub text: String,
    /// Tokens of its text alone.
    pub tokens: usize,
    /// Higher is better; comparable within one answer only. JSON shows a score that is not finite as `null`.
    pub score: f32,
    /// What the score is made of, by name.
    pub parts: Vec<(&'static str, f32)>,
}

/// Evidence under a budget.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct EvidenceList {
    /// The items in the order of [`text`](Self::text): documents as the method ranks them, inside a document as
    /// it reads.
    pub items: Vec<Evidence>,
    /// The items as one string, headings and separators included: what `spent` counts.
    pub text: String,
    /// Tokens of `text`, at most `budget.tokens`; 0 if there are no items.
    pub spent: usize,
    /// The ceiling.
    pub budget: Budget,
    /// What was looked at and left out, best first.
    pub cut: Vec<Cut>,
    /// Candidates that packing did not get to.
    pub unreached: usize,
    /// Why there are no items; `None` if there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl fmt::Display for EvidenceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A candidate that was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Cut {
    /// The leaf.
    pub node: NodeId,
    /// Tokens of its text.
    pub tokens: usize,
    /// Why.
    pub reason: CutReason,
}

/// Why a candidate was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CutReason {
    /// Its text alone is more than was left.
    Text,
    /// Its text would have fitted, but not together with the heading line of its section.
    Heading,
    /// The whole string, counted exactly, came out above the budget, and this was the lowest-ranked item.
    Exact,
}

impl CutReason {
    /// The reason in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text does not fit",
            Self::Heading => "heading does not fit",
            Self::Exact => "over budget when counted exactly",
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} ({} tokens): {}", self.node, self.tokens, self.reason.name())
    }
}
