//! KnowForge: hybrid search over text, tables, images and examples, each ranked by itself, with bounded expansion over
//! the graph; several searches are pooled by kind and packed under a budget.
//!
//! * [`KnowForge`]: the options; [`KnowForge::search`]: one search; [`KnowForge::retrieve`]: a round of several.
//! * [`document_recall`]: how many of the documents asked for a search finds.
//!
//! Needs no language model.
//!
//! ```
//! use evdb::methods::knowforge::KnowForge;
//! use evdb::query::Question;
//! use evdb::{Database, Document, Span};
//! use evdb::tree::{Node, NodeKind};
//!
//! let db = Database::in_memory()?;
//! let mut atlas = Document::new("atlas", "Atlas");
//! atlas.text = "Ulaanbaatar is the capital of Mongolia.".into();
//! atlas.nodes.push(Node { span: Span::new(0, 39), ..Node::new(Some(0), NodeKind::Text) });
//! let mut write = db.begin_write()?;
//! write.insert_document(&atlas)?;
//! write.commit()?;
//!
//! let question = Question { text: "capital of Mongolia", vector: None };
//! let found = KnowForge::default().search(&db.begin_read()?, question)?;
//! assert_eq!(found.text.len(), 1);
//! assert!(!found.text[0].is_weak() && found.tables.is_empty());
//! # Ok::<(), evdb::Error>(())
//! ```
//!
//! # Source
//!
//! KnowForge, arXiv 2610.13128, and its runner `metask-ai/knowforge-bench`: lists, pool, caps, scores from 0 to 10.
//! Departure: the server that searches is not public. A leaf scores as [`BaseWeights`] has it, which finds more than half
//! words and half vectors ([`ScoreFusion::halves`]) on the development sets.

mod expand;
mod run;
mod search;
#[cfg(test)]
mod tests;

use crate::graph::paths::PathOptions;
use crate::query::BaseWeights;
use crate::query::OnOverflow;
use crate::query::Pool;

pub use self::run::Recalled;
pub use self::run::Request;
pub use self::search::DocumentRecall;
pub use self::search::KnowForgeHit;
pub use self::search::SearchResponse;
pub use self::search::document_recall;

/// Display scores below this one are weakly relevant.
///
/// # Source
///
/// The runner of KnowForge.
pub const WEAK: f32 = 2.0;

/// Options of KnowForge.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct KnowForge {
    /// Most leaves of text in a search, before expansion.
    pub topk: usize,
    /// Most images.
    pub images: usize,
    /// Most tables.
    pub tables: usize,
    /// Most examples.
    pub examples: usize,
    /// Points that each of words and vectors brings.
    pub candidates: usize,
    /// How words and vectors make one score.
    pub fusion: ScoreFusion,
    /// Expansion along hyperedges; none if `None`.
    pub edges: Option<EdgeExpansion>,
    /// Expansion over paths of names; none if `None`, or if the file's graph has no names.
    pub paths: Option<PathExpansion>,
    /// Sizes of the pool that the searches of a round share, in characters.
    pub pool: Pool,
    /// What packing does with a leaf that does not fit.
    pub on_overflow: OnOverflow,
}

impl Default for KnowForge {
    fn default() -> Self {
        Self {
            topk: 8,
            images: 4,
            tables: 4,
            examples: 3,
            candidates: 50,
            fusion: ScoreFusion::default(),
            edges: Some(EdgeExpansion::default()),
            paths: Some(PathExpansion::default()),
            pool: Pool::default(),
            on_overflow: OnOverflow::default(),
        }
    }
}

/// How words and vectors make one score.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScoreFusion {
    /// BM25 as a share of the best, the cosine, none below 0, and a title of the leaf in the question, weighed. Without
    /// vectors BM25 stands in for the cosine.
    Weighted(BaseWeights),
    /// Reciprocal ranks in both lists. Its display score is the share of the best that can be, and says nothing about
    /// relevance.
    Rrf {
        /// As in [`Rrf::k`](crate::query::Rrf::k).
        k: f32,
    },
}

impl Default for ScoreFusion {
    fn default() -> Self {
        Self::Weighted(BaseWeights::default())
    }
}

impl ScoreFusion {
    /// Half words, half vectors.
    #[must_use]
    pub const fn halves() -> Self {
        Self::Weighted(BaseWeights { lexical: 0.5, dense: 0.5, title: 0.0 })
    }
}

/// Expansion along hyperedges, one hop: from the best leaves of text to leaves that are joined with them or support the
/// same. What it finds stands after the list.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct EdgeExpansion {
    /// Leaves it starts from.
    pub anchors: usize,
    /// Most hyperedges followed from one of them: those with a kind before those of kind `similarity`, then the heaviest.
    pub per_anchor: usize,
    /// Most leaves found.
    pub total: usize,
    /// Score of what is found, as a share of its anchor's.
    pub share: f32,
}

impl Default for EdgeExpansion {
    fn default() -> Self {
        Self { anchors: 4, per_anchor: 4, total: 4, share: 0.8 }
    }
}

/// Expansion over paths of names: see [`FindPaths`](crate::query::FindPaths).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct PathExpansion {
    /// Hits that stay before what is found; `None` for all. 3 serves who reads five to ten.
    pub after: Option<usize>,
    /// Most leaves found from one anchor.
    pub per_anchor: usize,
    /// Most leaves found.
    pub total: usize,
    /// Score of what is found, as a share of its anchor's.
    pub share: f32,
    /// How far to look, and what paths are worth.
    pub options: PathOptions,
}

impl Default for PathExpansion {
    fn default() -> Self {
        let options = PathOptions { anchors: 3, ..PathOptions::default() };
        Self { after: Some(3), per_anchor: 4, total: 4, share: 0.8, options }
    }
}
