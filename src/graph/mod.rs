//! The hypergraph: entities, hyperedges among entities and nodes, and what supports them.
//!
//! * [`GraphPatch`]: what a source of a graph hands to a write transaction, for one document.
//! * [`normalise`]: what makes two names one.

mod key;
mod patch;

pub use key::MAX_NAME_BYTES;
pub use key::MAX_TEXT_BYTES;
pub use key::entity_key;
pub use key::hyperedge_key;
pub use key::normalise;
pub use patch::EdgeText;
pub use patch::EntityDraft;
pub use patch::GraphCounts;
pub use patch::GraphPatch;
pub use patch::HyperedgeDraft;
pub use patch::MemberDraft;
pub use patch::Target;

/// Kind of an entity whose kind nobody told.
pub const UNKNOWN: &str = "unknown";
/// Kind of a hyperedge whose kind nobody told.
pub const RELATION: &str = "relation";
