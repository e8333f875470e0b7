//! ConRAG: structure and text agree on passages, and a plan binds answers into later questions.
//!
//! * [`ConRag`]: the options; [`ConRag::retrieve`]: all of it over a file.
//! * [`Plan`]: sub-questions with slots, checked, ordered and bound.
//!
//! Needs no language model. By default structure is paths of names ([`FindPaths`](crate::query::FindPaths)).
//!
//! # Source
//!
//! ConRAG, arXiv 2605.28093, and the code of its first release.
//! Departure: paths stand in for the paper's views where no language model made a graph; flat views rank by closeness to
//! the question, and what a second hop leads to is not close to it.

mod paths;
mod plan;
mod run;

use crate::graph::paths::PathOptions;
use crate::query::BaseWeights;
use crate::query::OnOverflow;

pub use self::plan::MAX_STEPS;
pub use self::plan::NOT_FOUND;
pub use self::plan::Plan;
pub use self::plan::Step;
pub use self::run::ConRagHit;
pub use self::run::Recalled;
pub use self::run::Request;

/// Options of ConRAG.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ConRag {
    /// What structure is, and how it adds to text.
    pub structure: Structure,
    /// Most passages offered to the budget; `None` for as many as fit.
    pub passages: Option<usize>,
    /// What packing does with a leaf that does not fit.
    pub on_overflow: OnOverflow,
}

/// What structure is.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Structure {
    /// Paths of names from the best leaves.
    Path(Paths),
}

impl Default for Structure {
    fn default() -> Self {
        Self::Path(Paths::default())
    }
}

/// Options of paths.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Paths {
    /// How a leaf scores by itself.
    pub base: BaseWeights,
    /// How far to look, and what paths are worth.
    pub options: PathOptions,
    /// How paths add to leaves by themselves.
    pub shape: PathShape,
}

/// How paths add to leaves by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathShape {
    /// The leaf by itself, the best path into it, and a part of the best path out of it.
    #[default]
    Sum,
    /// `T + A / (1 + A)`: `T` the min-max of the leaves by themselves among the best 50, 0 for the others; `A` the best
    /// path into a leaf as a share of the best of all. The form of ConRAG's later text; it finds less than the sum.
    Consensus,
}
