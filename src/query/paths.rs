//! Leaves found over paths of names: multi-hop retrieval without a language model.

use std::collections::HashMap;

use crate::db::ReadTransaction;
use crate::db::VectorSpace;
use crate::error::Error;
use crate::error::Result;
use crate::graph::paths::Hop;
use crate::graph::paths::LeafSignals;
use crate::graph::paths::PathIndex;
use crate::graph::paths::PathKind;
use crate::graph::paths::PathOptions;
use crate::graph::paths::QuestionNames;
use crate::graph::paths::find;
use crate::ids::NodeId;
use crate::ids::NodeRange;
use crate::ids::Span;
use crate::query::scope::Question;
use crate::query::scope::QuestionVector;
use crate::text::Bm25;
use crate::text::Scorer;
use crate::text::TermHits;
use crate::vector::Query;

/// Words of a question whose coverage is looked at, at most.
const MAX_COVERED_WORDS: usize = 64;

/// What the leaf's match counts in a sentence that has no vector.
const BY_LEAF: f32 = 0.5;

/// What the words in such a sentence count.
const WORDS_WITHOUT_VECTOR: f32 = 0.7;

/// What the words in a sentence count beside its own vector.
const WORDS_BESIDE_VECTOR: f32 = 0.3;

/// Vectors of sentences, in rows that a [`PathIndex`] names.
pub trait SentenceVectors {
    /// How well each of `rows` matches `question`, in -1 to 1; 0 for a row that is not there.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the vector does not fit; `Corrupt`; `Io`.
    fn scores(&self, question: &[f32], rows: &[u32]) -> Result<Vec<f32>>;
}

impl SentenceVectors for VectorSpace<'_> {
    fn scores(&self, question: &[f32], rows: &[u32]) -> Result<Vec<f32>> {
        let flat = self.flat()?;
        let query: Query = flat.query(question)?;
        let rows: Vec<NodeId> = rows.iter().copied().map(NodeId).collect();
        Ok(flat.score_ids(&query, &rows)?.into_iter().map(Option::unwrap_or_default).collect())
    }
}

/// How a leaf scores by itself.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BaseWeights {
    /// BM25, as a share of the best.
    pub lexical: f32,
    /// Cosine of the leaf, none below 0; without vectors BM25 stands in for it.
    pub dense: f32,
    /// A title of the leaf in the question.
    pub title: f32,
}

impl Default for BaseWeights {
    fn default() -> Self {
        Self { lexical: 0.4, dense: 0.6, title: 0.2 }
    }
}

/// Finds leaves that a question does not match, but what it matches leads to.
///
/// The best leaves by themselves are anchors. Their sentences name things; a leaf that is about such a thing, or
/// names it too, gains by how well the sentence matches the question and by how few leaves the name may mean.
/// See [`find`] for the score.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FindPaths {
    /// Most leaves found.
    pub limit: usize,
    /// How a leaf scores by itself.
    pub base: BaseWeights,
    /// How far to look, and what paths are worth.
    pub paths: PathOptions,
    /// Threads that compare vectors; at least 1. The result does not depend on it.
    pub threads: usize,
}

impl Default for FindPaths {
    fn default() -> Self {
        Self { limit: 10, base: BaseWeights::default(), paths: PathOptions::default(), threads: 1 }
    }
}

/// A leaf, and the way to it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PathHit {
    /// The leaf.
    pub node: NodeId,
    /// The sum of the three parts; comparable within one search only.
    pub score: f32,
    /// The leaf by itself.
    pub base: f32,
    /// The best path into it.
    pub into: f32,
    /// A part of the best path out of it.
    pub out: f32,
    /// The steps of the best path into it, an anchor first; empty if none leads there.
    pub path: Vec<PathStep>,
}

/// One step of a path: a sentence of `from` names something that leads to `to`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PathStep {
    /// By what.
    pub kind: PathKind,
    /// The leaf it starts from.
    pub from: NodeId,
    /// The linking sentence, in the text of the document of `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentence: Option<Span>,
    /// What is named, folded.
    pub name: String,
    /// The leaf it leads to.
    pub to: NodeId,
    /// What the step is worth.
    pub score: f32,
}

impl FindPaths {
    /// The leaves found for `question`, best first, ties to the lower id.
    ///
    /// * `index`: of the leaves of `read`, all of them.
    /// * `sentences`: vectors of its sentences, by the model of the question's vector. Without them, or without a
    ///   vector, the leaf's match stands in. The question's words in a sentence count in either case.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `index` is of another state, an option is out of its bounds or the vector does not fit
    /// its space; `NotFound` if the space is not there; `Corrupt`; `Io`.
    ///
    /// # Complexity
    ///
    /// Linear in the leaves, and [`find`].
    pub fn run(
        &self,
        read: &ReadTransaction,
        index: &PathIndex,
        question: Question<'_>,
        sentences: Option<&dyn SentenceVectors>,
    ) -> Result<Vec<PathHit>> {
        let matched = self.matched(read, index, question)?;
        let names = QuestionNames::new(index, question.text);
        let base: Vec<f32> = matched
            .lexical
            .iter()
            .zip(matched.closeness())
            .zip(names.title_scores(index))
            .map(|((words, close), title)| {
                self.base.lexical * words + self.base.dense * close + self.base.title * title
            })
            .collect();
        let signals = LeafSignals { base: &base, words: &matched.words, word_weights: &matched.word_weights };
        let mut similarity =
            |asked: &[u32]| matched.sentences(read, index, question.vector, sentences, asked);
        let found = find(index, &names, signals, &self.paths, self.limit, &mut similarity)?;
        let node = |leaf: u32| index.leaves().get(leaf as usize).copied().unwrap_or(NodeId(0));
        let step = |hop: Hop| PathStep {
            kind: hop.kind,
            from: node(hop.anchor),
            sentence: hop.sentence.and_then(|at| index.sentences().get(at as usize)).map(|entry| entry.span),
            name: index.key_text(hop.key).to_owned(),
            to: node(hop.target),
            score: hop.score,
        };
        let hits = found.into_iter().map(|found| PathHit {
            node: node(found.leaf),
            score: found.score,
            base: found.base,
            into: found.into,
            out: found.out,
            path: found.path.into_iter().map(step).collect(),
        });
        Ok(hits.collect())
    }

    /// How well each of `asked`, numbers of sentences of `index`, matches `question`, as paths count it; by vectors
    /// from `sentences` as in [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub fn sentence_matches(
        &self,
        read: &ReadTransaction,
        index: &PathIndex,
        question: Question<'_>,
        sentences: Option<&dyn SentenceVectors>,
        asked: &[u32],
    ) -> Result<Vec<f32>> {
        self.matched(read, index, question)?.sentences(read, index, question.vector, sentences, asked)
    }

    /// Matches `question` against every leaf.
    fn matched(&self, read: &ReadTransaction, index: &PathIndex, question: Question<'_>) -> Result<Matched> {
        let view = read.text_index().everything();
        if view.leaves() != index.leaves() {
            let message = format!(
                "the path index has {} leaves, not the {} of this state: make it anew",
                index.leaf_count(),
                view.leaves().len()
            );
            return Err(Error::invalid(message));
        }
        let terms = read.analyzers().distinct_terms(question.text);
        let hits = read.text_index().hits(&view, &terms)?;
        let lexical = share_of_best(Scorer::new(&view, &hits, Bm25::default()).leaf_scores());
        let dense = self.dense(read, index.leaves(), question)?;
        let (words, word_weights) = coverage(&hits, index.leaf_count());
        Ok(Matched { hits, lexical, dense, words, word_weights })
    }

    /// Cosine of each of `leaves`, none below 0; `None` if the question has no vector.
    fn dense(
        &self,
        read: &ReadTransaction,
        leaves: &[NodeId],
        question: Question<'_>,
    ) -> Result<Option<Vec<f32>>> {
        let Some(given) = question.vector else { return Ok(None) };
        let space = read.space(given.space).ok_or_else(|| {
            let known: Vec<&str> = read.space_names().collect();
            Error::not_found(format!("there is no vector space {:?}; the file has {known:?}", given.space))
        })?;
        let flat = space.flat()?;
        let query = flat.query(given.vector)?;
        let (Some(first), Some(last)) = (leaves.first(), leaves.last()) else { return Ok(Some(Vec::new())) };
        let mut scores = vec![0.0; leaves.len()];
        let mut slots = leaves.iter().zip(&mut scores).peekable();
        for (node, score) in flat.score_all(&query, &[NodeRange::new(*first, *last)], self.threads)? {
            while slots.next_if(|(leaf, _)| **leaf < node).is_some() {}
            if let Some((_, slot)) = slots.next_if(|(leaf, _)| **leaf == node) {
                *slot = score.max(0.0);
            }
        }
        Ok(Some(scores))
    }
}

/// How a question matches the leaves of a state.
struct Matched {
    hits: Vec<TermHits>,
    /// BM25 of each leaf, as a share of the best.
    lexical: Vec<f32>,
    /// Cosine of each leaf.
    dense: Option<Vec<f32>>,
    /// Which of the question's words each leaf has.
    words: Vec<u64>,
    /// Weight of each word.
    word_weights: Vec<f32>,
}

impl Matched {
    fn closeness(&self) -> &[f32] {
        self.dense.as_ref().unwrap_or(&self.lexical)
    }

    /// How well each of `asked`, which ascend, matches: by its vector, or else its leaf's match; and by its words.
    fn sentences(
        &self,
        read: &ReadTransaction,
        index: &PathIndex,
        vector: Option<QuestionVector<'_>>,
        sentences: Option<&dyn SentenceVectors>,
        asked: &[u32],
    ) -> Result<Vec<f32>> {
        let (close, words) = if let (Some(sentences), Some(given)) = (sentences, vector) {
            let entries = asked.iter().filter_map(|at| index.sentences().get(*at as usize));
            let rows: Vec<u32> = entries.map(|entry| entry.row).collect();
            (sentences.scores(given.vector, &rows)?, WORDS_BESIDE_VECTOR)
        } else {
            let of = |sentence: &u32| self.closeness().get(index.leaf_of(*sentence) as usize).copied();
            let close = |sentence| BY_LEAF * of(sentence).unwrap_or(0.0);
            (asked.iter().map(close).collect(), WORDS_WITHOUT_VECTOR)
        };
        if close.len() != asked.len() {
            let message = format!("{} scores came for {} sentences", close.len(), asked.len());
            return Err(Error::invalid(message));
        }
        let shares = ByWords { read, index, hits: &self.hits, weights: &self.word_weights }.shares(asked)?;
        Ok(close.into_iter().zip(shares).map(|(close, share)| close.max(0.0) + words * share).collect())
    }
}

/// Sentences matched by their words.
struct ByWords<'a> {
    read: &'a ReadTransaction,
    index: &'a PathIndex,
    hits: &'a [TermHits],
    weights: &'a [f32],
}

impl ByWords<'_> {
    /// For each of `sentences`, which ascend, the share of the question's words, by weight, in it and the headings of
    /// its leaf.
    fn shares(&self, sentences: &[u32]) -> Result<Vec<f32>> {
        let terms: HashMap<&str, usize> = self
            .hits
            .iter()
            .take(MAX_COVERED_WORDS)
            .enumerate()
            .map(|(bit, hit)| (hit.term.as_str(), bit))
            .collect();
        let all: f32 = self.weights.iter().sum();
        let mut shares = Vec::with_capacity(sentences.len());
        let mut of = None;
        for sentence in sentences {
            let leaf = self.index.leaf_of(*sentence);
            let (text, headings) = match of.take() {
                Some((at, text, headings)) if at == leaf => (text, headings),
                _ => (self.text(leaf)?, self.headings(leaf)),
            };
            let mut held = headings;
            if let Some(entry) = self.index.sentences().get(*sentence as usize) {
                let (start, whole): &(u32, String) = &text;
                let from = entry.span.start.saturating_sub(*start) as usize;
                let until = entry.span.end.saturating_sub(*start) as usize;
                self.read.analyzers().body().terms(whole.get(from..until).unwrap_or_default(), &mut |term| {
                    if let Some(bit) = terms.get(term) {
                        held |= 1 << bit;
                    }
                });
            }
            let weights = self.weights.iter().enumerate().filter(|(bit, _)| held >> bit & 1 == 1);
            let share: f32 = weights.map(|(_, weight)| weight).sum();
            shares.push(if all > 0.0 { share / all } else { 0.0 });
            of = Some((leaf, text, headings));
        }
        Ok(shares)
    }

    /// The text of leaf `leaf` and where it begins in its document.
    fn text(&self, leaf: u32) -> Result<(u32, String)> {
        let node = self.index.leaves().get(leaf as usize).copied().unwrap_or(NodeId(0));
        let document = self.read.document_of(node)?;
        let span = self.read.tree(document.id)?.node(node)?.span();
        Ok((span.start, self.read.text(document.id, span)?))
    }

    /// Which words the headings of leaf `leaf` have.
    fn headings(&self, leaf: u32) -> u64 {
        let mut held = 0;
        for (bit, hit) in self.hits.iter().take(MAX_COVERED_WORDS).enumerate() {
            if hit.headings.iter().any(|heading| heading.leaves.contains(&leaf)) {
                held |= 1 << bit;
            }
        }
        held
    }
}

/// `scores` over the highest of them; as they are if none is above 0.
fn share_of_best(mut scores: Vec<f32>) -> Vec<f32> {
    let best = scores.iter().copied().fold(0.0, f32::max);
    if best > 0.0 {
        for score in &mut scores {
            *score /= best;
        }
    }
    scores
}

/// Which of the first 64 terms each of `leaves` leaves has, in itself or its headings, and each term's weight.
fn coverage(hits: &[TermHits], leaves: usize) -> (Vec<u64>, Vec<f32>) {
    let mut held = vec![0_u64; leaves];
    let mut weights = Vec::with_capacity(hits.len().min(MAX_COVERED_WORDS));
    for (bit, term) in hits.iter().take(MAX_COVERED_WORDS).enumerate() {
        let below = term.headings.iter().flat_map(|heading| heading.leaves.clone());
        for leaf in term.leaves.iter().copied().chain(below) {
            if let Some(slot) = held.get_mut(leaf as usize) {
                *slot |= 1 << bit;
            }
        }
        let found = held.iter().filter(|held| **held >> bit & 1 == 1).count();
        weights.push(inverse_frequency(leaves, found));
    }
    (held, weights)
}

/// As in BM25: `ln(1 + (n - df + 0.5) / (df + 0.5))`.
#[expect(clippy::cast_precision_loss, reason = "counts of leaves stay below 2^32")]
#[expect(clippy::cast_possible_truncation, reason = "a weight needs no 64 bits")]
fn inverse_frequency(n: usize, df: usize) -> f32 {
    let (n, df) = (n as f64, df as f64);
    libm::log(1.0 + (n - df + 0.5) / (df + 0.5)) as f32
}
