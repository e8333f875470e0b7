//! Papers as code: methods that choose evidence, built on [`crate::query`] and the trees.
//!
//! * [`bear`]: coarse to fine over document trees, with or without a language model.
//! * [`conrag`]: paths of names or three views of a passage, for questions that need several; plans.
//! * [`knowforge`]: text, tables, images and examples, each ranked by itself, expanded over the graph and pooled.
//! * [`Retrieved`]: what each of them gives back.

pub mod bear;
pub mod conrag;
pub mod knowforge;

use roaring::RoaringBitmap;

use crate::db::ReadTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::query::EvidenceList;
use crate::query::Filter;
use crate::query::Trace;

/// The nodes of `documents`; `None` for all.
///
/// # Errors
///
/// `InvalidInput` for a list without documents; `NotFound` if one is not there; `Corrupt`; `Io`.
fn nodes_of(read: &ReadTransaction, documents: Option<&[DocumentId]>) -> Result<Option<RoaringBitmap>> {
    if documents.is_some_and(<[DocumentId]>::is_empty) {
        return Err(Error::invalid("the question is asked of no document; leave the scope out to ask all"));
    }
    Filter { documents: documents.map(<[DocumentId]>::to_vec), ..Filter::default() }.nodes(read)
}

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
