//! Papers as code: methods that choose evidence, built on [`crate::query`] and the trees.
//!
//! * [`bear`]: coarse to fine over document trees, with or without a language model.
//! * [`conrag`]: paths of names or three views of a passage, for questions that need several; plans.
//! * [`knowforge`]: text, tables, images and examples, each ranked by itself, expanded over the graph and pooled.
//! * [`Retrieved`]: what each of them gives back.

pub mod bear;
pub mod conrag;
pub mod knowforge;

use crate::ids::NodeId;
use crate::query::EvidenceList;
use crate::query::Trace;

/// What a method found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Retrieved {
    /// The evidence, within its budget.
    pub evidence: EvidenceList,
    /// What each step saw, kept and cut.
    pub trace: Trace,
    /// The leaves in the order in which they were offered to the budget, with their scores, best first.
    pub ranking: Vec<(NodeId, f32)>,
}
