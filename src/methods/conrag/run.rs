//! ConRAG over a file: find, scope, pack.

use roaring::RoaringBitmap;

use super::ConRag;
use super::Structure;
use super::SuppliedPlan;
use crate::db::ReadTransaction;
use crate::error::Result;
use crate::graph::Object;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::methods::Retrieved;
use crate::methods::nodes_of;
use crate::model::Embedder;
use crate::query::Agreed;
use crate::query::Budget;
use crate::query::Format;
use crate::query::Packing;
use crate::query::Parts;
use crate::query::PathStep;
use crate::query::Question;
use crate::query::ScoredLeaves;
use crate::query::Step;
use crate::query::Trace;

/// Leaves of a ranking that are kept, beside what the budget asks for.
const MIN_RANKING: usize = 1_000;

/// What ConRAG is asked.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The question.
    pub question: Question<'a>,
    /// The documents that evidence may come from; all if `None`. Paths may lead through others.
    pub documents: Option<&'a [DocumentId]>,
    /// The ceiling on what comes back.
    pub budget: Budget,
    /// How evidence is rendered, which is what the budget counts.
    pub format: &'a Format,
    /// Threads; the answer does not depend on it.
    pub threads: usize,
    /// Sub-questions, perhaps with answers.
    pub plan: Option<&'a SuppliedPlan>,
    /// Gives the questions of a plan vectors, in the space of the question's. Without it they go by their words.
    pub embedder: Option<&'a dyn Embedder>,
}

impl<'a> Request<'a> {
    /// `question`, asked of all documents on one thread, without a plan.
    #[must_use]
    pub fn new(question: Question<'a>, budget: Budget, format: &'a Format) -> Self {
        Self { question, documents: None, budget, format, threads: 1, plan: None, embedder: None }
    }

    /// Most leaves of a ranking.
    pub(super) fn kept(&self) -> usize {
        MIN_RANKING.max(self.budget.tokens / 4)
    }
}

/// A leaf that ConRAG found, and why.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ConRagHit {
    /// The leaf.
    pub node: NodeId,
    /// Higher is better; comparable within one answer only.
    pub score: f32,
    /// What the score is the sum of, by name.
    pub parts: Parts,
    /// The way to it, an anchor first; empty if it stands by itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathStep>,
    /// The normalised scores of the three views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreed: Option<Agreed>,
    /// Entities and relations that speak for it, each view best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supports: Vec<Support>,
    /// Where it stands in the steps of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepRank>,
}

/// An entity or a relation that was found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Support {
    /// Which.
    pub object: Object,
    /// The first line of its text.
    pub text: String,
    /// Its similarity to the question.
    pub score: f32,
}

/// A place in the ranking of a step.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct StepRank {
    /// Number of the step.
    pub step: u32,
    /// From 1.
    pub rank: usize,
    /// The step's own score.
    pub score: f32,
}

impl ConRagHit {
    pub(super) fn new(node: NodeId, score: f32, parts: Parts) -> Self {
        let (path, supports, steps) = (Vec::new(), Vec::new(), Vec::new());
        Self { node, score, parts, path, agreed: None, supports, steps }
    }
}

/// What ConRAG found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Recalled {
    /// Evidence, trace and ranking.
    #[serde(flatten)]
    pub retrieved: Retrieved,
    /// The leaves of the ranking with the parts of their scores and the ways to them, best first.
    pub hits: Vec<ConRagHit>,
}

impl ConRag {
    /// The evidence for a question in words, asked of all documents: the short form of
    /// [`retrieve`](Self::retrieve).
    ///
    /// # Errors
    ///
    /// As [`retrieve`](Self::retrieve).
    pub fn ask(&self, read: &ReadTransaction, question: &str, budget: Budget) -> Result<Recalled> {
        let question = Question { text: question, vector: None };
        self.retrieve(read, &Request::new(question, budget, &Format::default()))
    }

    /// The evidence for a question, or for the steps of its plan:
    ///
    /// * if every step that others need has an answer, each step is asked by itself with the answers bound in, and the
    ///   steps' lists are interleaved, the first of each, then the second;
    /// * else steps are asked in order, independent ones side by side, and a step that others need answers with the name
    ///   that stands in its best leaf; a leaf scores by the question as a whole, and by the step it is best in, as a share
    ///   of that step's best.
    ///
    /// # Errors
    ///
    /// `NotFound` for a document or vector space that is not there; `InvalidInput` for a vector that does not fit or
    /// options out of their bounds; whatever the embedder reports; `Corrupt`; `Io`.
    ///
    /// # Source
    ///
    /// ConRAG (arXiv 2605.28093), slot-bound plans. Departure: how steps are merged, and names as answers, which stand in
    /// for the language model that reads each step's evidence.
    pub fn retrieve(&self, read: &ReadTransaction, request: &Request<'_>) -> Result<Recalled> {
        let mut trace = Trace::default();
        let scope = nodes_of(read, request.documents)?;
        let mut hits = self.planned(read, request, scope.as_ref(), &mut trace)?;
        hits.truncate(request.kept());
        let ranking: Vec<(NodeId, f32)> = hits.iter().map(|hit| (hit.node, hit.score)).collect();
        let offered = hits.iter().take(self.passages.unwrap_or(usize::MAX));
        let leaves = ScoredLeaves::new(read, offered.map(|hit| (hit.node, hit.score, hit.parts.clone())))?;
        let packing =
            Packing { on_overflow: self.on_overflow, format: request.format.clone(), ..Packing::default() };
        let evidence = leaves.pack(&packing, request.budget, &mut trace)?;
        Ok(Recalled { retrieved: Retrieved { evidence, trace, ranking }, hits })
    }

    /// The best `limit` leaves of `scope` for one question.
    pub(super) fn single(
        &self,
        read: &ReadTransaction,
        question: Question<'_>,
        scope: Option<&RoaringBitmap>,
        (limit, threads): (usize, usize),
        trace: &mut Trace,
    ) -> Result<Vec<ConRagHit>> {
        let mut hits = match &self.structure {
            // What is out of scope takes no place of what is in it.
            Structure::Path(paths) => {
                let wide = if scope.is_some() { usize::MAX } else { limit };
                paths.find(read, question, wide, threads, trace)?
            }
            Structure::Views(generation) => generation.find(read, question, scope, threads, trace)?,
        };
        if let Some(scope) = scope {
            let saw = hits.len();
            hits.retain(|hit| scope.contains(hit.node.get()));
            trace.push(Step::new("documents asked", saw, hits.len()));
        }
        hits.truncate(limit);
        Ok(hits)
    }
}
