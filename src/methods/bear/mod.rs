//! BEAR: coarse to fine over document trees. Documents first, then nodes by two paths (a model reads outlines,
//! TreeExpansion scores every node), fused and packed in reading order.
//!
//! Runs without a language model: then the exploration path is empty and the recovery path carries everything.
//!
//! * [`Bear`]: the options; [`Mode::regime`] decides between whole documents and nodes.
//! * [`explore`]: what a language model chooses.
//! * [`recover`]: what scores choose: documents, expanded nodes, sections that compete with leaves.
//! * [`fusion`]: both paths made one list of leaves.
//! * [`Bear::retrieve`]: all of it over a file.
//!
//! # Source
//!
//! BEAR, arXiv 2601.18116 v2, procedures A1 and A2; its v1 (FABLE) and a reimplementation of that
//! (`alainbrown/openfable`) where v2 is silent.
//! Departure: the default score is [`LeafScore`], documents bound the work and do not gate it. Routing to few
//! documents before scoring leaves loses on the development sets.

pub mod explore;
pub mod fusion;
mod prompts;
pub mod recover;
mod run;
mod source;

use crate::query::Budget;
use crate::query::LeafScore;
use crate::query::Mmr;
use crate::query::OnOverflow;
use crate::tree::expansion::Candidates;
use crate::tree::expansion::Expansion;

use self::recover::Coherent;

pub use self::run::Request;
pub use crate::methods::Retrieved;

/// Options of BEAR.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bear {
    /// Whole documents, nodes, or what fits.
    pub mode: Mode,
    /// How nodes are scored.
    pub score: Scoring,
    /// What packing does with a leaf that does not fit.
    pub on_overflow: OnOverflow,
    /// What goes first when both paths chose.
    pub priority: Priority,
    /// Less repetition, if wanted. It re-orders a ranking by score, so it takes no part once a model has chosen.
    pub mmr: Option<Mmr>,
    /// Most documents that nodes are looked for in. Below 10 it costs recall.
    pub documents: usize,
}

impl Default for Bear {
    fn default() -> Self {
        Self {
            mode: Mode::Auto,
            score: Scoring::default(),
            on_overflow: OnOverflow::Skip,
            priority: Priority::Document,
            mmr: None,
            documents: 10,
        }
    }
}

impl Bear {
    /// As the paper has it: its TreeExpansion, truncation that stops, at most five documents.
    #[must_use]
    pub fn paper() -> Self {
        Self { score: Scoring::paper(), on_overflow: OnOverflow::Stop, documents: 5, ..Self::default() }
    }
}

/// Whole documents or nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Mode {
    /// Whole documents if the chosen ones fit the budget together, else nodes.
    #[default]
    Auto,
    /// Whole documents, in their order, cut where the budget ends.
    Docs,
    /// Nodes.
    Nodes,
}

/// What [`Mode::regime`] decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// Whole documents.
    Docs,
    /// Nodes.
    Nodes,
}

impl Mode {
    /// The regime for chosen documents of `document_tokens` tokens each.
    ///
    /// `Auto` compares texts alone with the budget; headings may still push out a last leaf. No documents is
    /// the docs regime, of nothing.
    ///
    /// # Source
    ///
    /// BEAR v2, procedure A1: `if sum(tok(d)) <= Bmax`. Departure: none.
    #[must_use]
    pub fn regime(self, document_tokens: &[u32], budget: Budget) -> Regime {
        let total: u64 = document_tokens.iter().copied().map(u64::from).sum();
        let fits = usize::try_from(total).is_ok_and(|total| total <= budget.tokens);
        match self {
            Self::Docs => Regime::Docs,
            Self::Auto if fits => Regime::Docs,
            Self::Auto | Self::Nodes => Regime::Nodes,
        }
    }
}

/// How nodes are scored.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scoring {
    /// Leaves by words, vectors and surroundings, over all documents at once.
    LeafScore(LeafScore),
    /// TreeExpansion inside each document.
    TreeExpansion {
        /// Its weights.
        expansion: Expansion,
        /// What may be chosen.
        candidates: Candidates,
        /// Most nodes per document; `None` for all, ranked together.
        per_document: Option<usize>,
        /// Weight of the lexical part in a node's similarity, min-max per level; `None` for the cosine alone.
        lexical: Option<f32>,
    },
    /// Sections compete with leaves.
    Coherent(Coherent),
}

impl Default for Scoring {
    fn default() -> Self {
        Self::LeafScore(LeafScore::default())
    }
}

impl Scoring {
    /// TreeExpansion as printed: a third each on cosines, division by depth, all nodes but the root compete,
    /// the best five of a document. Up to 4,000 tokens it loses much: a chosen inner node floods the budget.
    #[must_use]
    pub fn paper() -> Self {
        Self::TreeExpansion {
            expansion: Expansion::PAPER,
            candidates: Candidates::All,
            per_document: Some(5),
            lexical: None,
        }
    }

    /// TreeExpansion that equals score fusion: .75, .25, 0 on hybrid similarities, leaves only, no division.
    #[must_use]
    pub fn hybrid() -> Self {
        Self::TreeExpansion {
            expansion: Expansion::HYBRID,
            candidates: Candidates::Leaves,
            per_document: None,
            lexical: Some(0.4),
        }
    }
}

/// What goes first when both paths chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Priority {
    /// Documents in the model's order, inside a document reading order, whichever path chose a node.
    #[default]
    Document,
    /// Everything the model chose before anything that only scores chose. Protects its choices better when the
    /// budget is small.
    Global,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_returned_whole_when_they_fit_exactly() {
        // 600 + 400 = 1000
        assert_eq!(Mode::Auto.regime(&[600, 400], Budget::tokens(1_000)), Regime::Docs);
        assert_eq!(Mode::Auto.regime(&[600, 401], Budget::tokens(1_000)), Regime::Nodes);
        assert_eq!(Mode::Nodes.regime(&[1], Budget::tokens(1_000)), Regime::Nodes);
        assert_eq!(Mode::Docs.regime(&[u32::MAX, u32::MAX], Budget::tokens(1)), Regime::Docs);
    }

    #[test]
    fn options_survive_json() {
        for bear in [Bear::default(), Bear::paper(), Bear { score: Scoring::hybrid(), ..Bear::default() }] {
            let json = serde_json::to_string(&bear).expect("plain data");
            assert_eq!(serde_json::from_str::<Bear>(&json).expect("the same"), bear);
        }
    }
}
