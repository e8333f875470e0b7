//! Documents as trees: the value to insert, its columns, and the tree as it is read back.
//!
//! * [`Document`], [`Node`], [`NodeKind`]: what an importer makes and `insert_document` takes.
//! * [`Outline`]: which leaves lie below which inner nodes.
//! * [`Tree`], [`NodeView`]: what a reader gets. Subtrees are id ranges.
//! * [`expansion`]: scores that travel along a tree.

mod columns;
mod counted;
mod document;
pub mod expansion;
mod outline;
mod reader;

pub(crate) use counted::Counted;
pub use document::{Document, Node, NodeKind};
pub use outline::Outline;
pub use reader::{Claims, NodeView, Tree};
