//! The master procedure over a file: match, choose documents, choose nodes, fuse, pack.

use std::sync::Arc;

use super::Bear;
use super::Regime;
use super::Scoring;
use super::explore::DocumentOutline;
use super::explore::NodeOutline;
use super::explore::choose_documents;
use super::explore::choose_nodes;
use super::fusion::DocumentTree;
use super::fusion::node_fusion;
use super::fusion::whole_documents;
use super::recover::document_choice;
use super::recover::document_scores;
use super::recover::level_similarity;
use super::recover::recover;
use super::source::Snapshot;
use super::source::ranking_limit;
use crate::db::ReadTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::ids::NodeRange;
use crate::methods::Retrieved;
use crate::model::LanguageModel;
use crate::query::Budget;
use crate::query::Candidate;
use crate::query::Format;
use crate::query::LeafParts;
use crate::query::LeafScore;
use crate::query::LeafSignals;
use crate::query::Packing;
use crate::query::Question;
use crate::query::Signals;
use crate::query::Step;
use crate::query::Trace;
use crate::query::hybrid;
use crate::tree::Tree;

/// Weight of the lexical part in a whole document's score; see [`document_scores`].
const DOCUMENT_LEXICAL: f32 = 0.4;

/// Leaves a document has on average from which it is judged by several of them.
const LEAVES_TO_JUDGE_BY: usize = 3;

/// What BEAR is asked.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The question.
    pub question: Question<'a>,
    /// The documents it is asked of; all if `None`.
    pub documents: Option<&'a [DocumentId]>,
    /// The ceiling on what comes back.
    pub budget: Budget,
    /// How evidence is rendered, which is what the budget counts.
    pub format: &'a Format,
    /// Threads for scans; the answer does not depend on it.
    pub threads: usize,
    /// Nodes somebody has chosen already, in order of preference: they go into NodeFusion as what a model
    /// explored.
    pub explored: &'a [NodeId],
    /// Reads outlines and chooses documents and nodes, if there is one.
    pub model: Option<&'a dyn LanguageModel>,
}

impl<'a> Request<'a> {
    /// `question`, asked of all documents on one thread, without a model.
    #[must_use]
    pub fn new(question: Question<'a>, budget: Budget, format: &'a Format) -> Self {
        Self { question, documents: None, budget, format, threads: 1, explored: &[], model: None }
    }
}

/// Trees of the documents nodes are looked for in, in the order of choice.
struct Chosen {
    documents: Vec<DocumentId>,
    trees: Vec<Arc<Tree>>,
}

impl Chosen {
    fn open(read: &ReadTransaction, documents: Vec<DocumentId>) -> Result<Self> {
        let trees = documents.iter().map(|id| read.tree(*id)).collect::<Result<_>>()?;
        Ok(Self { documents, trees })
    }

    fn trees(&self) -> Vec<DocumentTree<'_>> {
        let pairs = self.documents.iter().zip(&self.trees);
        pairs.map(|(document, tree)| DocumentTree { document: *document, tree }).collect()
    }
}

impl Bear {
    /// The evidence for a question in words, asked of all documents: the short form of
    /// [`retrieve`](Self::retrieve).
    ///
    /// # Errors
    ///
    /// As [`retrieve`](Self::retrieve).
    pub fn ask(&self, read: &ReadTransaction, question: &str, budget: Budget) -> Result<Retrieved> {
        let question = Question { text: question, vector: None };
        self.retrieve(read, &Request::new(question, budget, &Format::default()))
    }

    /// The evidence for a question, without a language model or with one.
    ///
    /// # Errors
    ///
    /// `NotFound` for a document or vector space that is not there; `InvalidInput` for a vector that does not
    /// fit or options out of their ranges; `Corrupt`; `Io`. A language model that fails is no error: its
    /// choice is empty, and the trace says why.
    pub fn retrieve(&self, read: &ReadTransaction, request: &Request<'_>) -> Result<Retrieved> {
        let mut trace = Trace::default();
        let scope = scope(read, request.documents)?;
        let signals = Signals::gather(read, request.question, scope.as_deref(), request.threads)?;
        let leaves = signals.view.leaves().len();
        trace.push(Step::new("match", leaves, leaves).note(format!(
            "{} documents, {} sections, {}",
            signals.documents.len(),
            signals.view.sections().len(),
            if signals.context.is_some() { "words and vectors" } else { "words" }
        )));
        let weights = match &self.score {
            Scoring::LeafScore(weights) => *weights,
            _ => LeafScore::default(),
        };
        let mean_tokens = mean_tokens(read);
        let parts = weights.score(&LeafSignals {
            lexical: &signals.lexical,
            lexical_own: signals.lexical_own.as_deref(),
            dense: signals.context.as_deref(),
            shared: &signals.shared,
            section: &signals.section,
            section_of: &signals.section_of,
            window: &signals.window,
            documents: signals.documents.len(),
            mean_leaf_tokens: mean_tokens,
        })?;
        let scores: Vec<f32> = parts.iter().map(|part| part.score).collect();
        let explored_documents = Self::explore_documents(read, request, &signals, &mut trace)?;
        let chosen = self.choose(read, &signals, &scores, &explored_documents, &mut trace)?;
        let mut explored = request.explored.to_vec();
        if let Some(model) = request.model {
            let mut outlines = Vec::new();
            for tree in chosen.trees() {
                outlines.extend(NodeOutline::of_document(tree.document, tree.tree));
            }
            let choice = choose_nodes(model, request.question.text, &outlines);
            trace.push(choice.step("explore nodes"));
            explored.extend(choice.chosen);
        }
        let source = Snapshot::new(read, &signals, &parts);
        let ranking = self.rank(&signals, &parts, &scores, &chosen, mean_tokens, &mut trace)?;
        let ranking = self.reorder(read, request, ranking, &mut trace)?;
        let tokens = chosen.trees.iter().map(|tree| tree.node(tree.root()).map_or(0, |root| root.tokens()));
        let regime = self.mode.regime(&tokens.collect::<Vec<_>>(), request.budget);
        let candidates = match regime {
            Regime::Docs => whole(&chosen, &ranking, &source, request.budget)?,
            Regime::Nodes if !explored.is_empty() => self.fuse(
                &explored,
                &explored_documents,
                &ranking,
                &chosen,
                &source,
                request.budget,
                &mut trace,
            )?,
            Regime::Nodes => {
                by_document(source.candidates(ranking.iter().map(|(node, _)| *node), request.budget)?)
            }
        };
        let packing =
            Packing { on_overflow: self.on_overflow, format: request.format.clone(), ..Packing::default() };
        let evidence = packing.pack(&candidates, request.budget, read.token_counter(), &source)?;
        let regime = match regime {
            Regime::Docs => "whole documents",
            Regime::Nodes => "nodes",
        };
        let mut pack = Step::new("pack", candidates.len(), evidence.items.len());
        pack.cut = evidence.cut.len() + evidence.unreached;
        trace.push(pack.spent(evidence.spent).note(format!("{regime}, budget {}", request.budget.tokens)));
        let score_of =
            |node: NodeId| signals.view.leaf_index(node).and_then(|leaf| scores.get(leaf as usize));
        let ranking = candidates
            .iter()
            .map(|candidate| (candidate.node, score_of(candidate.node).copied().unwrap_or_default()))
            .collect();
        Ok(Retrieved { evidence, trace, ranking })
    }

    /// The documents a model chooses from their outlines.
    fn explore_documents(
        read: &ReadTransaction,
        request: &Request<'_>,
        signals: &Signals,
        trace: &mut Trace,
    ) -> Result<Vec<DocumentId>> {
        let Some(model) = request.model else { return Ok(Vec::new()) };
        let outlines = signals
            .documents
            .iter()
            .map(|id| read.tree(*id).map(|tree| DocumentOutline::new(*id, &tree)))
            .collect::<Result<Vec<_>>>()?;
        let choice = choose_documents(model, request.question.text, &outlines);
        trace.push(choice.step("explore documents"));
        Ok(choice.chosen)
    }

    /// The documents to look into, best first.
    fn choose(
        &self,
        read: &ReadTransaction,
        signals: &Signals,
        scores: &[f32],
        explored: &[DocumentId],
        trace: &mut Trace,
    ) -> Result<Chosen> {
        let document_of = signals.view.documents_of_leaves();
        let whole = if scores.len() >= LEAVES_TO_JUDGE_BY * signals.documents.len() {
            let whole = hybrid(&signals.document, signals.document_cosine().as_deref(), DOCUMENT_LEXICAL)?;
            document_scores(scores, document_of, &whole)?
        } else {
            best_leaves(scores, document_of, signals.documents.len())
        };
        let scored: Vec<(DocumentId, f32)> = signals.documents.iter().copied().zip(whole).collect();
        let documents = document_choice(explored, &scored, self.documents.max(1));
        trace.push(Step::new("choose documents", scored.len(), documents.len()));
        Chosen::open(read, documents)
    }

    /// The leaves as scores rank them, best first.
    fn rank(
        &self,
        signals: &Signals,
        parts: &[LeafParts],
        scores: &[f32],
        chosen: &Chosen,
        mean_tokens: f32,
        trace: &mut Trace,
    ) -> Result<Vec<(NodeId, f32)>> {
        let leaves = signals.view.leaves();
        let ranking: Vec<(NodeId, f32)> = match &self.score {
            Scoring::LeafScore(_) => {
                let mut ranking: Vec<(NodeId, f32)> =
                    leaves.iter().copied().zip(scores.iter().copied()).collect();
                ranking.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                ranking
            }
            Scoring::Coherent(coherent) => {
                let sections =
                    coherent.section_scores(&signals.section, signals.section_cosine().as_deref())?;
                let l = LeafScore::default().shrinkage(mean_tokens)?;
                let order = coherent.rank(scores, &signals.section_of, &sections, l)?;
                let at = |index: usize| Some((*leaves.get(index)?, parts.get(index)?.score));
                order.into_iter().filter_map(at).collect()
            }
            Scoring::TreeExpansion { expansion, candidates, per_document, lexical } => {
                let trees = chosen.trees();
                let similarity = similarity(signals, &trees, *lexical)?;
                let nodes = recover(&trees, &similarity, expansion, *candidates, *per_document)?;
                let mut ranking = Vec::with_capacity(nodes.len());
                let mut seen = std::collections::BTreeSet::new();
                for node in nodes {
                    let Some(tree) = trees.iter().find(|tree| tree.tree.range().contains(node.node)) else {
                        continue;
                    };
                    let below = tree.tree.leaves(node.node)?.map(|leaf| leaf.id());
                    ranking.extend(below.filter(|leaf| seen.insert(*leaf)).map(|leaf| (leaf, node.score)));
                }
                ranking
            }
        };
        trace.push(Step::new("score", leaves.len(), ranking.len()).note(self.score.name()));
        Ok(ranking)
    }

    /// The ranking with less repetition, if that is wanted and there are vectors.
    fn reorder(
        &self,
        read: &ReadTransaction,
        request: &Request<'_>,
        ranking: Vec<(NodeId, f32)>,
        trace: &mut Trace,
    ) -> Result<Vec<(NodeId, f32)>> {
        let (Some(mmr), Some(vector)) = (&self.mmr, request.question.vector) else { return Ok(ranking) };
        let Some(space) = read.space(vector.space) else { return Ok(ranking) };
        let limit = mmr.limit.min(ranking.len());
        let (best, rest) = ranking.split_at(limit);
        let nodes: Vec<NodeId> = best.iter().map(|(node, _)| *node).collect();
        let scores: Vec<f32> = best.iter().map(|(_, score)| *score).collect();
        let rows = space.flat()?.rows(&nodes)?;
        let order = mmr.reorder(&scores, rows.as_slice(), rows.dimension())?;
        trace.push(Step::new("mmr", limit, limit));
        let best = order.into_iter().filter_map(|index| best.get(index).copied());
        Ok(best.chain(rest.iter().copied()).collect())
    }

    /// What was explored, fused with what scores found.
    #[expect(clippy::too_many_arguments, reason = "the procedure's sets, each once")]
    fn fuse(
        &self,
        explored: &[NodeId],
        explored_documents: &[DocumentId],
        ranking: &[(NodeId, f32)],
        chosen: &Chosen,
        source: &Snapshot<'_>,
        budget: Budget,
        trace: &mut Trace,
    ) -> Result<Vec<Candidate>> {
        let mut documents = chosen.documents.clone();
        for node in explored {
            let document = source.document_of(*node)?;
            if !documents.contains(&document) {
                documents.push(document);
            }
        }
        let chosen = source.chosen(documents)?;
        let trees: Vec<DocumentTree<'_>> =
            chosen.iter().map(|(document, tree)| DocumentTree { document: *document, tree }).collect();
        let reach = |node: &NodeId| trees.iter().any(|tree| tree.tree.range().contains(*node));
        let limit = ranking_limit(budget);
        let expanded: Vec<NodeId> = ranking.iter().map(|(node, _)| *node).filter(reach).take(limit).collect();
        let fused = node_fusion(explored, &expanded, explored_documents, &trees, self.priority)?;
        trace.push(Step::new("fuse", explored.len() + expanded.len(), fused.len()));
        let mut candidates = Vec::with_capacity(fused.len());
        for leaf in fused {
            candidates.push(Candidate { order: leaf.document_rank, ..source.candidate(leaf.node)? });
        }
        Ok(candidates)
    }
}

impl Scoring {
    /// A name for traces.
    fn name(&self) -> &'static str {
        match self {
            Self::LeafScore(_) => "leaf score",
            Self::TreeExpansion { lexical: None, .. } => "tree expansion on cosines",
            Self::TreeExpansion { .. } => "tree expansion on hybrid similarities",
            Self::Coherent(_) => "coherent",
        }
    }
}

/// The best score of each document's leaves, as the paper ranks documents; 0 for one without leaves.
fn best_leaves(scores: &[f32], document_of: &[u32], documents: usize) -> Vec<f32> {
    let mut best = vec![0.0_f32; documents];
    for (score, document) in scores.iter().zip(document_of) {
        if let Some(best) = best.get_mut(*document as usize) {
            *best = best.max(*score);
        }
    }
    best
}

/// The candidates with their documents in the order in which the ranking first meets them.
fn by_document(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut place = std::collections::BTreeMap::new();
    for candidate in &mut candidates {
        let next = u32::try_from(place.len()).unwrap_or(u32::MAX);
        candidate.order = *place.entry(candidate.document).or_insert(next);
    }
    candidates
}

/// The docs regime: every leaf of the chosen documents, in their order; then, while there is room, what scores
/// rank next.
///
/// Departure: the paper returns the documents alone; what they leave of the budget is not left empty here.
fn whole(
    chosen: &Chosen,
    ranking: &[(NodeId, f32)],
    source: &Snapshot<'_>,
    budget: Budget,
) -> Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for leaf in whole_documents(&chosen.trees()) {
        seen.insert(leaf.node);
        candidates.push(Candidate { order: leaf.document_rank, ..source.candidate(leaf.node)? });
    }
    let others = ranking.iter().map(|(node, _)| *node).filter(|node| !seen.contains(node));
    let after = u32::try_from(chosen.documents.len()).unwrap_or(u32::MAX);
    candidates.extend(
        source
            .candidates(others, budget)?
            .into_iter()
            .map(|candidate| Candidate { order: after, ..candidate }),
    );
    Ok(candidates)
}

/// One similarity for each node of the chosen documents, the documents one after the other.
fn similarity(signals: &Signals, trees: &[DocumentTree<'_>], lexical: Option<f32>) -> Result<Vec<f32>> {
    let view = &signals.view;
    let mut words = Vec::new();
    let mut cosines = Vec::new();
    for tree in trees {
        for node in tree.tree.nodes() {
            let (word, cosine) = if node.is_leaf() {
                let leaf = view.leaf_index(node.id()).map(|leaf| leaf as usize);
                let of = |scores: &[f32]| leaf.and_then(|leaf| scores.get(leaf).copied());
                (of(&signals.lexical), signals.cosine.as_deref().and_then(of))
            } else {
                let inner = view.inner().binary_search_by_key(&node.id(), |inner| inner.range.first).ok();
                let of = |scores: &[f32]| inner.and_then(|inner| scores.get(inner).copied());
                (of(&signals.inner_lexical), signals.inner_cosine.as_deref().and_then(of))
            };
            words.push(word.unwrap_or_default());
            cosines.push(cosine.unwrap_or_default());
        }
    }
    let dense = signals.cosine.is_some();
    match lexical {
        Some(weight) => level_similarity(trees, &words, dense.then_some(&cosines[..]), weight),
        None if dense => Ok(cosines),
        None => level_similarity(trees, &words, None, 1.0),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a mean of token counts is far inside the range of f32")]
fn mean_tokens(read: &ReadTransaction) -> f32 {
    read.mean_leaf_tokens() as f32
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
