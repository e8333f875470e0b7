//! ConRAG over a file: find, scope, pack.

use super::ConRag;
use super::Structure;
use crate::db::ReadTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::ids::NodeRange;
use crate::methods::Retrieved;
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
}

impl<'a> Request<'a> {
    /// `question`, asked of all documents on one thread.
    #[must_use]
    pub fn new(question: Question<'a>, budget: Budget, format: &'a Format) -> Self {
        Self { question, documents: None, budget, format, threads: 1 }
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
}

impl ConRagHit {
    pub(super) fn new(node: NodeId, score: f32, parts: Parts) -> Self {
        Self { node, score, parts, path: Vec::new() }
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

    /// The evidence for a question.
    ///
    /// # Errors
    ///
    /// `NotFound` for a document or vector space that is not there; `InvalidInput` for a vector that does not fit or
    /// options out of their bounds; `Corrupt`; `Io`.
    pub fn retrieve(&self, read: &ReadTransaction, request: &Request<'_>) -> Result<Recalled> {
        let mut trace = Trace::default();
        let scope = scope(read, request.documents)?;
        let kept = MIN_RANKING.max(request.budget.tokens / 4);
        // What is out of scope takes no place of what is in it.
        let limit = if scope.is_some() { usize::MAX } else { kept };
        let Structure::Path(paths) = &self.structure;
        let mut hits = paths.find(read, request.question, limit, request.threads, &mut trace)?;
        if let Some(scope) = &scope {
            let saw = hits.len();
            hits.retain(|hit| scope.iter().any(|range| range.contains(hit.node)));
            trace.push(Step::new("documents asked", saw, hits.len()));
        }
        hits.truncate(kept);
        let ranking: Vec<(NodeId, f32)> = hits.iter().map(|hit| (hit.node, hit.score)).collect();
        let offered = hits.iter().take(self.passages.unwrap_or(usize::MAX));
        let leaves = ScoredLeaves::new(read, offered.map(|hit| (hit.node, hit.score, hit.parts.clone())))?;
        let packing =
            Packing { on_overflow: self.on_overflow, format: request.format.clone(), ..Packing::default() };
        let candidates = leaves.candidates();
        let evidence = packing.pack(candidates, request.budget, read.token_counter(), &leaves)?;
        let mut pack = Step::new("pack", candidates.len(), evidence.items.len());
        pack.cut = evidence.cut.len() + evidence.unreached;
        trace.push(pack.spent(evidence.spent).note(format!("budget {}", request.budget.tokens)));
        Ok(Recalled { retrieved: Retrieved { evidence, trace, ranking }, hits })
    }
}

/// The node ranges of `documents`, sorted, each once.
fn scope(read: &ReadTransaction, documents: Option<&[DocumentId]>) -> Result<Option<Vec<NodeRange>>> {
    let Some(documents) = documents else { return Ok(None) };
    if documents.is_empty() {
        return Err(Error::invalid("the question is asked of no document; leave the scope out to ask all"));
    }
    let mut ranges =
        documents.iter().map(|id| read.document(*id).map(|info| info.nodes)).collect::<Result<Vec<_>>>()?;
    ranges.sort_unstable();
    ranges.dedup();
    Ok(Some(ranges))
}
