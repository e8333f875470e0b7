//! ConRAG: structure and text agree on passages, and a plan binds answers into later questions.
//!
//! * [`ConRag`]: the options; [`ConRag::retrieve`]: all of it over a file.
//! * [`Plan`]: sub-questions with slots, checked, ordered and bound; [`SuppliedPlan`]: one with answers, as a caller has it.
//! * [`embed_views`]: vectors of entities and relations, for the paper's own views.
//!
//! Needs no language model. By default structure is paths of names ([`FindPaths`](crate::query::FindPaths)).
//!
//! ```
//! use evdb::ingest::extract::{NameRules, extract};
//! use evdb::methods::conrag::ConRag;
//! use evdb::query::Budget;
//! use evdb::tree::{Document, Node, NodeKind};
//! use evdb::{Database, Span};
//!
//! let database = Database::in_memory()?;
//! let mut write = database.begin_write()?;
//! for (title, text) in [
//!     ("The Red Kite", "The Red Kite is a drama. It was directed by Ann Lee."),
//!     ("Ann Lee", "Ann Lee was a painter. She was born in York."),
//! ] {
//!     let mut document = Document::new(title, title);
//!     document.text = text.into();
//!     document.nodes.push(Node { span: Span::new(0, text.len() as u32), ..Node::new(Some(0), NodeKind::Text) });
//!     let id = write.insert_document(&document)?;
//!     let patch = extract(&document, &NameRules::default())?.patch(&document);
//!     write.put_graph(id, &document, &patch)?;
//! }
//! write.commit()?;
//!
//! let read = database.begin_read()?;
//! let found = ConRag::default().ask(&read, "Where was the director of The Red Kite born?", Budget::tokens(100))?;
//! assert_eq!(found.hits[1].path[0].name, "ann lee");
//! # Ok::<(), evdb::Error>(())
//! ```
//!
//! # Source
//!
//! ConRAG, arXiv 2605.28093, and the code of its first release.
//! Departure: paths stand in for the paper's views where no language model made a graph; flat views rank by closeness to
//! the question, and what a second hop leads to is not close to it.

mod consensus;
mod parallel;
mod paths;
mod plan;
mod run;
mod steps;
mod supplied;
mod views;

use crate::graph::paths::PathOptions;
use crate::query::BaseWeights;
use crate::query::ConsensusG1;
use crate::query::ConsensusG3;
use crate::query::OnOverflow;

pub use self::plan::MAX_STEPS;
pub use self::plan::NOT_FOUND;
pub use self::plan::Plan;
pub use self::plan::Step;
pub use self::run::ConRagHit;
pub use self::run::Recalled;
pub use self::run::Request;
pub use self::run::StepRank;
pub use self::run::Support;
pub use self::supplied::SuppliedPlan;
pub use self::views::MAX_NEIGHBOURS;
pub use self::views::RelationTexts;
pub use self::views::ViewCounts;
pub use self::views::embed_views;
pub use self::views::for_each_entity_text;
pub use self::views::for_each_relation_text;

/// Passages of evidence in the paper, `K_f`.
pub const PASSAGES: usize = 3;

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

impl ConRag {
    /// As the paper's first release has it: three views, the best three passages.
    #[must_use]
    pub fn g1() -> Self {
        let generation = Generation::G1(ConsensusG1::default());
        Self { structure: Structure::Views(generation), passages: Some(PASSAGES), ..Self::default() }
    }

    /// As the paper's later text has it.
    #[must_use]
    pub fn g3() -> Self {
        let generation = Generation::G3(ConsensusG3::default());
        Self { structure: Structure::Views(generation), ..Self::g1() }
    }
}

/// What structure is.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Structure {
    /// Paths of names from the best leaves.
    Path(Paths),
    /// Entities and relations near to the question, projected to the leaves that support them. What the file lacks counts
    /// as an empty view.
    Views(Generation),
}

/// Which consensus of the three views.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generation {
    /// That of the first release.
    G1(ConsensusG1),
    /// That of the later text.
    G3(ConsensusG3),
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
