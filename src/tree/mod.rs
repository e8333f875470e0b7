//! Documents as trees.

mod document;

pub use document::{Document, Node, NodeKind};
