//! The hypergraph: entities, hyperedges among entities and nodes, and what supports them.
//!
//! * [`GraphPatch`]: what a source of a graph hands to a write transaction, for one document.
//! * [`normalise`]: what makes two names one.
//! * [`GraphRows`], [`GraphSegment`]: an immutable part of the graph, as it is kept.
//! * [`Graph`]: the live graph of a state, rows both ways; [`Object`]: anything in it.
//! * [`Expand`], [`PageRank`], [`BeamPaths`]: ways through it, all bounded, all safe from cycles.
//! * [`paths`]: names of a text by rule, and multi-hop retrieval along shared names.
//! * [`NameIndex`]: entities by the words of their names. [`Specificity`]: how common an object is.
//!
//! Results are in one fixed order; ties go to the lower id. It is not for names and texts, which `db` reads, nor for
//! scores of evidence, which `query` makes. Bytes are `format::graph`'s.

mod beam;
mod expand;
mod key;
mod names;
mod pagerank;
mod patch;
pub mod paths;
mod segment;
mod specific;
#[cfg(test)]
mod tests;
mod view;
mod walk;

pub use beam::BeamPaths;
pub use beam::Path;
pub use expand::Expand;
pub use expand::Expansion;
pub use expand::Reached;
pub use key::MAX_NAME_BYTES;
pub use key::MAX_TEXT_BYTES;
pub use key::entity_key;
pub use key::hyperedge_key;
pub use key::normalise;
pub use names::NameIndex;
pub use pagerank::PageRank;
pub use pagerank::Precision;
pub use pagerank::Ranks;
pub use patch::EdgeText;
pub use patch::EntityDraft;
pub use patch::GraphCounts;
pub use patch::GraphPatch;
pub use patch::HyperedgeDraft;
pub use patch::MemberDraft;
pub use patch::Target;
pub use segment::GraphRows;
pub use segment::GraphSegment;
pub use specific::Specificity;
pub use view::Graph;
pub use view::Member;
pub use view::Object;
pub use walk::WalkOn;

/// Kind of an entity whose kind nobody told.
pub const UNKNOWN: &str = "unknown";
/// Kind of a hyperedge whose kind nobody told.
pub const RELATION: &str = "relation";
