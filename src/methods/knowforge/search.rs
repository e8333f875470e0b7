//! One search: points by words and vectors, leaves by their best points, four lists.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use roaring::RoaringBitmap;

use super::KnowForge;
use super::ScoreFusion;
use super::WEAK;
use crate::db::ReadTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::graph::paths::QuestionNames;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::methods::nodes_of;
use crate::query::Parts;
use crate::query::PathStep;
use crate::query::PoolHit;
use crate::query::PoolKind;
use crate::query::PoolSearch;
use crate::query::Question;
use crate::text::SearchOptions;
use crate::text::WeightedTerm;
use crate::tree::NodeKind;

/// A leaf that a search found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct KnowForgeHit {
    /// The leaf.
    pub node: NodeId,
    /// Its document.
    pub document: DocumentId,
    /// Which list it stands in.
    pub kind: PoolKind,
    /// From 0 to 10; below [`WEAK`] it is weakly relevant.
    pub score: f32,
    /// Ranks it among the hits of its search that no expansion found; comparable there only.
    pub raw: f32,
    /// The best cosine of its points, comparable between searches; 0 without vectors.
    pub similarity: f32,
    /// What `raw` is the sum of, by name.
    pub parts: Parts,
    /// The point that scored best; the leaf itself if it has none.
    pub point: NodeId,
    /// Whether an expansion found it.
    pub from_graph: bool,
    /// If so, the hit it started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<NodeId>,
    /// The hyperedge that led to it, in words: its label or kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The path of names that led to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathStep>,
}

impl KnowForgeHit {
    /// Whether it is weakly relevant.
    #[must_use]
    pub fn is_weak(&self) -> bool {
        self.score < WEAK
    }
}

/// What a search found: four lists, each ranked by itself, and after or amid each what expansion added.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct SearchResponse {
    /// Text.
    pub text: Vec<KnowForgeHit>,
    /// Images.
    pub images: Vec<KnowForgeHit>,
    /// Tables.
    pub tables: Vec<KnowForgeHit>,
    /// Examples.
    pub examples: Vec<KnowForgeHit>,
    /// Points that were looked at.
    pub candidates: usize,
}

impl SearchResponse {
    /// The list of `kind`.
    #[must_use]
    pub const fn list(&self, kind: PoolKind) -> &Vec<KnowForgeHit> {
        match kind {
            PoolKind::Text => &self.text,
            PoolKind::Image => &self.images,
            PoolKind::Table => &self.tables,
            PoolKind::Example => &self.examples,
        }
    }

    pub(super) const fn list_mut(&mut self, kind: PoolKind) -> &mut Vec<KnowForgeHit> {
        match kind {
            PoolKind::Text => &mut self.text,
            PoolKind::Image => &mut self.images,
            PoolKind::Table => &mut self.tables,
            PoolKind::Example => &mut self.examples,
        }
    }

    /// All hits: text, then images, tables and examples.
    pub fn hits(&self) -> impl Iterator<Item = &KnowForgeHit> {
        let media = self.images.iter().chain(&self.tables).chain(&self.examples);
        self.text.iter().chain(media)
    }

    /// The documents by their first hit, in the order of [`hits`](Self::hits).
    #[must_use]
    pub fn documents(&self) -> Vec<DocumentId> {
        let mut seen = BTreeSet::new();
        self.hits().map(|hit| hit.document).filter(|document| seen.insert(*document)).collect()
    }

    /// The search as a pool counts it.
    #[must_use]
    pub fn for_pool(&self) -> PoolSearch {
        PoolKind::ALL.map(|kind| {
            let hit = |hit: &KnowForgeHit| PoolHit {
                node: hit.node,
                raw: hit.raw,
                similarity: hit.similarity,
                anchor: hit.anchor,
            };
            self.list(kind).iter().map(hit).collect()
        })
    }
}

/// How many of the documents asked for a search finds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct DocumentRecall {
    /// Share of them among the first document.
    pub at_1: f32,
    /// Among the first three.
    pub at_3: f32,
    /// Among the first eight.
    pub at_8: f32,
    /// Whether all of them are anywhere.
    pub all_found: bool,
}

/// The recall of `gold`, each counted once, among the documents of `found`; `None` without gold.
///
/// # Source
///
/// The runner of KnowForge: documents rank by their first hit, text before images, tables, examples.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a few documents")]
pub fn document_recall(found: &SearchResponse, gold: &[DocumentId]) -> Option<DocumentRecall> {
    let gold: BTreeSet<DocumentId> = gold.iter().copied().collect();
    if gold.is_empty() {
        return None;
    }
    let documents = found.documents();
    let at = |k: usize| {
        let met = documents.iter().take(k).filter(|document| gold.contains(document)).count();
        met as f32 / gold.len() as f32
    };
    let all_found = gold.iter().all(|document| documents.contains(document));
    Some(DocumentRecall { at_1: at(1), at_3: at(3), at_8: at(8), all_found })
}

/// How a point matches.
#[derive(Debug, Clone, Copy, Default)]
struct Match {
    bm25: f32,
    /// `None` without a vector.
    cosine: Option<f32>,
    title: f32,
}

/// Where the leaves of the kinds that are few stand.
pub(super) struct Kinds([RoaringBitmap; 3]);

impl Kinds {
    pub(super) fn new(read: &ReadTransaction) -> Result<Self> {
        let of = |kind: NodeKind| read.text_index().nodes_of_kind(kind as u8);
        Ok(Self([of(NodeKind::Image)?, of(NodeKind::Table)?, of(NodeKind::Example)?]))
    }

    pub(super) fn of(&self, leaf: NodeId) -> PoolKind {
        let [images, tables, examples] = &self.0;
        if images.contains(leaf.0) {
            PoolKind::Image
        } else if tables.contains(leaf.0) {
            PoolKind::Table
        } else if examples.contains(leaf.0) {
            PoolKind::Example
        } else {
            PoolKind::Text
        }
    }
}

/// The leaf that `point` belongs to. A leaf without points is its own.
fn leaf_of(point: NodeId) -> NodeId {
    point
}

/// What a search is bounded by, beside the options.
#[derive(Debug, Clone, Copy)]
pub(super) struct Within<'a> {
    pub allowed: Option<&'a RoaringBitmap>,
    pub threads: usize,
}

impl KnowForge {
    /// What is found for `question` among all leaves, on one thread.
    ///
    /// Points are the best [`candidates`](Self::candidates) by words, those by vectors, and those whose title the question
    /// names. A leaf scores as its best point does, ties to the lower id.
    ///
    /// # Errors
    ///
    /// `NotFound` if the vector's space is not there; `InvalidInput` for a vector that does not fit it or options out
    /// of their bounds; `Corrupt`; `Io`.
    pub fn search(&self, read: &ReadTransaction, question: Question<'_>) -> Result<SearchResponse> {
        self.search_within(read, question, Within { allowed: None, threads: 1 })
    }

    /// As [`search`](Self::search), among the leaves of `documents`, if there are some given.
    ///
    /// # Errors
    ///
    /// As [`search`](Self::search); `NotFound` if a document is not there; `InvalidInput` for a list without documents.
    pub fn search_in(
        &self,
        read: &ReadTransaction,
        question: Question<'_>,
        documents: Option<&[DocumentId]>,
        threads: usize,
    ) -> Result<SearchResponse> {
        let allowed = nodes_of(read, documents)?;
        self.search_within(read, question, Within { allowed: allowed.as_ref(), threads })
    }

    pub(super) fn search_within(
        &self,
        read: &ReadTransaction,
        question: Question<'_>,
        within: Within<'_>,
    ) -> Result<SearchResponse> {
        self.check()?;
        let matches = self.matches(read, question, within)?;
        let kinds = Kinds::new(read)?;
        let mut response = SearchResponse { candidates: matches.len(), ..SearchResponse::default() };
        let caps = [self.topk, self.images, self.tables, self.examples];
        for hit in self.ranked(&matches) {
            let kind = kinds.of(hit.node);
            let list = response.list_mut(kind);
            if list.len() < caps[kind as usize] {
                list.push(KnowForgeHit { kind, document: read.document_of(hit.node)?.id, ..hit });
            }
        }
        self.add_expansions(read, question, &kinds, within, &mut response)?;
        Ok(response)
    }

    fn check(&self) -> Result<()> {
        let weights = match self.fusion {
            ScoreFusion::Weighted(weights) => [weights.lexical, weights.dense, weights.title],
            ScoreFusion::Rrf { k } => [k, 0.0, 0.0],
        };
        let shares =
            [self.edges.map_or(0.0, |edges| edges.share), self.paths.map_or(0.0, |paths| paths.share)];
        let mut all = weights.iter().chain(&shares);
        if all.all(|weight| weight.is_finite() && *weight >= 0.0) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "weights and shares must be finite and not negative: {:?}, shares {shares:?}",
            self.fusion
        )))
    }

    /// The points that take part, each with all that is known of it.
    fn matches(
        &self,
        read: &ReadTransaction,
        question: Question<'_>,
        within: Within<'_>,
    ) -> Result<BTreeMap<NodeId, Match>> {
        let index = read.text_index();
        let terms = read.analyzers().distinct_terms(question.text);
        let terms: Vec<WeightedTerm<'_>> = terms.iter().map(|term| WeightedTerm::new(term)).collect();
        let options =
            SearchOptions { filter: within.allowed, limit: self.candidates, ..SearchOptions::default() };
        let mut matches: BTreeMap<NodeId, Match> = BTreeMap::new();
        for hit in index.search_any(&terms, &options)? {
            matches.entry(hit.node).or_default();
        }
        for (leaf, title) in self.titled(read, question.text, within)? {
            matches.entry(leaf).or_default().title = title;
        }
        if let Some(given) = question.vector {
            let space = read.expect_space(given.space)?;
            let flat = space.flat()?;
            let query = flat.query(given.vector)?;
            for hit in
                flat.search(&query, within.allowed, index.deleted(), self.candidates, within.threads)?
            {
                matches.entry(hit.node).or_default();
            }
            let nodes: Vec<NodeId> = matches.keys().copied().collect();
            for (found, cosine) in matches.values_mut().zip(flat.score_ids(&query, &nodes)?) {
                // A leaf that has no vector is far from everything.
                found.cosine = Some(cosine.filter(|cosine| cosine.is_finite()).unwrap_or(0.0));
            }
        }
        let nodes: Vec<NodeId> = matches.keys().copied().collect();
        for (found, score) in matches.values_mut().zip(index.scores_of(&terms, &nodes, &options)?) {
            found.bm25 = score;
        }
        Ok(matches)
    }

    /// The leaves whose titles the question names, the best [`candidates`](Self::candidates) of them.
    fn titled(&self, read: &ReadTransaction, text: &str, within: Within<'_>) -> Result<Vec<(NodeId, f32)>> {
        let ScoreFusion::Weighted(weights) = self.fusion else { return Ok(Vec::new()) };
        if weights.title == 0.0 || text.is_empty() || read.graph()?.hyperedge_count() == 0 {
            return Ok(Vec::new());
        }
        let index = read.path_index()?;
        let scores = QuestionNames::new(&index, text).title_scores(&index);
        let mut titled: Vec<(NodeId, f32)> = index
            .leaves()
            .iter()
            .copied()
            .zip(scores)
            .filter(|(leaf, score)| *score > 0.0 && within.allowed.is_none_or(|set| set.contains(leaf.0)))
            .collect();
        titled.sort_by(|a, b| b.1.total_cmp(&a.1));
        titled.truncate(self.candidates);
        Ok(titled)
    }

    /// The leaves of `matches`, best first.
    fn ranked(&self, matches: &BTreeMap<NodeId, Match>) -> Vec<KnowForgeHit> {
        let best = matches.values().map(|found| found.bm25).fold(0.0, f32::max);
        let (words, close) =
            (ranks(matches, |found| found.bm25), ranks(matches, |found| found.cosine.unwrap_or(0.0)));
        let mut leaves: BTreeMap<NodeId, KnowForgeHit> = BTreeMap::new();
        for (point, found) in matches {
            let lexical = if best > 0.0 { found.bm25 / best } else { 0.0 };
            let parts: Parts = match self.fusion {
                ScoreFusion::Weighted(weights) => {
                    let dense = found.cosine.map_or(lexical, |cosine| cosine.max(0.0));
                    vec![
                        ("lexical", weights.lexical * lexical),
                        ("dense", weights.dense * dense),
                        ("title", weights.title * found.title),
                    ]
                }
                ScoreFusion::Rrf { k } => {
                    let share = |rank: Option<&f32>| rank.map_or(0.0, |rank| 1.0 / (k + rank));
                    vec![("lexical", share(words.get(point))), ("dense", share(close.get(point)))]
                }
            };
            let raw: f32 = parts.iter().map(|(_, part)| part).sum();
            let similarity = found.cosine.unwrap_or(0.0);
            let node = leaf_of(*point);
            let hit = KnowForgeHit {
                node,
                document: DocumentId(0),
                kind: PoolKind::Text,
                score: self.display(raw),
                raw,
                similarity,
                parts,
                point: *point,
                from_graph: false,
                anchor: None,
                link: None,
                path: Vec::new(),
            };
            match leaves.get_mut(&node) {
                Some(known) => {
                    let similarity = known.similarity.max(similarity);
                    if raw > known.raw {
                        *known = hit;
                    }
                    known.similarity = similarity;
                }
                None => {
                    leaves.insert(node, hit);
                }
            }
        }
        let mut leaves: Vec<KnowForgeHit> = leaves.into_values().filter(|hit| hit.raw > 0.0).collect();
        // Stable, and by node before: ties go to the lower id.
        leaves.sort_by(|a, b| b.raw.total_cmp(&a.raw));
        leaves
    }

    /// `raw` on a scale from 0 to 10: ten times its share of what words and vectors can give.
    pub(super) fn display(&self, raw: f32) -> f32 {
        let most = match self.fusion {
            ScoreFusion::Weighted(weights) => weights.lexical + weights.dense,
            ScoreFusion::Rrf { k } => 2.0 / (k + 1.0),
        };
        if most > 0.0 { (10.0 * raw / most).clamp(0.0, 10.0) } else { 0.0 }
    }
}

/// Rank of each point by `score`, from 1; of those that score above 0.
fn ranks(matches: &BTreeMap<NodeId, Match>, score: impl Fn(&Match) -> f32) -> BTreeMap<NodeId, f32> {
    let mut list: Vec<(NodeId, f32)> =
        matches.iter().map(|(node, found)| (*node, score(found))).filter(|(_, score)| *score > 0.0).collect();
    list.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut rank = 0.0;
    let next = |(node, _)| {
        rank += 1.0;
        (node, rank)
    };
    list.into_iter().map(next).collect()
}
