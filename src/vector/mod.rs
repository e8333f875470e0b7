//! Vectors: spaces of rows in blocks, exact search over them, scores of chosen rows.
//!
//! A *space* is a named set of vectors of one dimension, metric and embedder. Its rows lie in blocks by
//! ascending node id; [`SpaceRecord::last_nodes`] says which block holds which ids.
//!
//! | type | for |
//! |---|---|
//! | [`BlockWriter`] | rows to framed blocks |
//! | [`BlockSource`] | where a reader gets its blocks from |
//! | [`Flat`] | exact search; scores of ranges and of ids; rows by id |
//! | [`context_norms`], [`context_scores`] | leaf vectors mixed with their neighbours and section, unstored |
//!
//! Every score is the fixed-order sum of [`crate::kernels`]: equal files and equal queries give equal bits,
//! on every processor and with any number of threads. Ties go to the lower id.
//!
//! Not for: approximate search, whose structures are derived from these rows.

mod context;
mod flat;
mod parallel;
mod query;
mod row;
mod scored;
mod source;
mod writer;

pub use crate::format::vector::{ContextNorms, MAX_DIMENSION, Metric, SpaceRecord};
pub use context::{context_norms, context_scores};
pub use flat::{Flat, Rows};
pub use query::Query;
pub use row::{MAX_NORM, expect_embedder, prepare};
pub use scored::{Scored, Top};
pub use source::BlockSource;
pub use writer::{BlockWriter, FramedBlock};

#[cfg(test)]
mod tests;
