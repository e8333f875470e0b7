//! Leaves found over paths of names: multi-hop retrieval without a language model.

use std::collections::HashMap;

use crate::db::ReadTransaction;
use crate::db::RowsOf;
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
use crate::text::FieldTerms;
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

/// The space of sentences of `index` that the vector of `question` is compared in; `None` if the question has no vector, or
/// the file no vectors of sentences: those of other hyperedges say nothing about them.
///
/// Whether it has them is seen from the first sentence and the last.
///
/// # Errors
///
/// `Corrupt` or `Io`.
pub fn sentence_space<'a>(
    read: &'a ReadTransaction,
    index: &PathIndex,
    question: Question<'_>,
) -> Result<Option<VectorSpace<'a>>> {
    let (Some(first), Some(last)) = (index.sentences().first(), index.sentences().last()) else {
        return Ok(None);
    };
    let space = question.vector.and_then(|given| read.object_space(given.space, RowsOf::Hyperedges));
    let Some(space) = space else { return Ok(None) };
    let rows = space.flat()?.has_rows(&[NodeId(first.row), NodeId(last.row)])?;
    Ok(rows.iter().all(|has| *has).then_some(space))
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
        Self { lexical: 0.3, dense: 0.6, title: 0.2 }
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
        let words = &matched.words;
        let signals = LeafSignals { base: &base, words: &words.held, word_weights: &words.weights };
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
        let words = Words::new(&read.analyzers().field_terms(question.text), &hits, index.leaf_count());
        Ok(Matched { lexical, dense, words })
    }

    /// Cosine of each of `leaves`, none below 0; `None` if the question has no vector.
    fn dense(
        &self,
        read: &ReadTransaction,
        leaves: &[NodeId],
        question: Question<'_>,
    ) -> Result<Option<Vec<f32>>> {
        let Some(given) = question.vector else { return Ok(None) };
        let space = read.expect_space(given.space)?;
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
    /// BM25 of each leaf, as a share of the best.
    lexical: Vec<f32>,
    /// Cosine of each leaf.
    dense: Option<Vec<f32>>,
    words: Words,
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
        let shares = ByWords { read, index, words: &self.words }.shares(asked)?;
        Ok(close.into_iter().zip(shares).map(|(close, share)| close.max(0.0) + words * share).collect())
    }
}

/// Sentences matched by their words.
struct ByWords<'a> {
    read: &'a ReadTransaction,
    index: &'a PathIndex,
    words: &'a Words,
}

impl ByWords<'_> {
    /// For each of `sentences`, which ascend, the share of the question's words, by weight, in it and the headings of
    /// its leaf.
    fn shares(&self, sentences: &[u32]) -> Result<Vec<f32>> {
        let all: f32 = self.words.weights.iter().sum();
        let mut shares = Vec::with_capacity(sentences.len());
        let mut of = None;
        for sentence in sentences {
            let leaf = self.index.leaf_of(*sentence);
            let text = match of.take() {
                Some((at, text)) if at == leaf => text,
                _ => self.text(leaf)?,
            };
            let mut held = self.words.above.get(leaf as usize).copied().unwrap_or(0);
            if let Some(entry) = self.index.sentences().get(*sentence as usize) {
                let (start, whole): &(u32, String) = &text;
                let from = entry.span.start.saturating_sub(*start) as usize;
                let until = entry.span.end.saturating_sub(*start) as usize;
                self.read.analyzers().body().terms(whole.get(from..until).unwrap_or_default(), &mut |term| {
                    if let Some(bit) = self.words.bits.get(term) {
                        held |= 1 << bit;
                    }
                });
            }
            let weights = self.words.weights.iter().enumerate().filter(|(bit, _)| held >> bit & 1 == 1);
            let share: f32 = weights.map(|(_, weight)| weight).sum();
            shares.push(if all > 0.0 { share / all } else { 0.0 });
            of = Some((leaf, text));
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

/// The words of a question as bodies have them, and where they are. A word that bodies drop says nothing of what is
/// asked; what titles call a word is the same word.
struct Words {
    /// Words by their terms in bodies, each a bit.
    bits: HashMap<String, usize>,
    /// Which words each leaf has, in itself or its headings.
    held: Vec<u64>,
    /// Which words its headings have.
    above: Vec<u64>,
    /// Weight of each word.
    weights: Vec<f32>,
}

impl Words {
    /// The first 64 words of `pieces`, whose terms have `hits` among `leaves` leaves.
    fn new(pieces: &[FieldTerms], hits: &[TermHits], leaves: usize) -> Self {
        let of: HashMap<&str, &TermHits> = hits.iter().map(|hit| (hit.term.as_str(), hit)).collect();
        let mut words =
            Self { bits: HashMap::new(), held: vec![0; leaves], above: vec![0; leaves], weights: Vec::new() };
        for piece in pieces {
            let Some(body) = &piece.body else { continue };
            let next = words.bits.len();
            let bit = match words.bits.get(body.as_str()) {
                Some(bit) => *bit,
                None if next < MAX_COVERED_WORDS => *words.bits.entry(body.clone()).or_insert(next),
                None => continue,
            };
            let own = of.get(body.as_str()).map(|hit| hit.leaves.as_slice()).unwrap_or_default();
            for leaf in own {
                if let Some(slot) = words.held.get_mut(*leaf as usize) {
                    *slot |= 1 << bit;
                }
            }
            let title = piece.title.as_deref().and_then(|term| of.get(term));
            for leaf in title.iter().flat_map(|hit| &hit.headings).flat_map(|heading| heading.leaves.clone())
            {
                for list in [&mut words.held, &mut words.above] {
                    if let Some(slot) = list.get_mut(leaf as usize) {
                        *slot |= 1 << bit;
                    }
                }
            }
        }
        words.weights = (0..words.bits.len())
            .map(|bit| {
                let found = words.held.iter().filter(|held| **held >> bit & 1 == 1).count();
                inverse_frequency(leaves, found)
            })
            .collect();
        words
    }
}

/// As in BM25: `ln(1 + (n - df + 0.5) / (df + 0.5))`.
#[expect(clippy::cast_precision_loss, reason = "counts of leaves stay below 2^32")]
#[expect(clippy::cast_possible_truncation, reason = "a weight needs no 64 bits")]
fn inverse_frequency(n: usize, df: usize) -> f32 {
    let (n, df) = (n as f64, df as f64);
    libm::log(1.0 + (n - df + 0.5) / (df + 0.5)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::HeadingHit;

    fn hit(term: &str, leaves: &[u32], below: Option<std::ops::Range<u32>>) -> TermHits {
        let heading = |leaves| HeadingHit { inner: 0, node: NodeId(1), leaves, term_freq: 1 };
        TermHits {
            term: term.into(),
            leaves: leaves.to_vec(),
            term_freqs: vec![1; leaves.len()],
            headings: below.into_iter().map(heading).collect(),
        }
    }

    fn piece(body: Option<&str>, title: &str) -> FieldTerms {
        FieldTerms { body: body.map(str::to_owned), title: Some(title.into()) }
    }

    /// Of 4 leaves, "direct" is in 0; titles above 2 have "directed". "the" is in titles alone.
    #[test]
    fn a_word_counts_once_for_both_fields_and_stop_words_not_at_all() {
        let hits = [
            hit("direct", &[0], None),
            hit("the", &[], Some(0..4)),
            hit("director", &[], None),
            hit("directed", &[], Some(2..3)),
            hit("film", &[0, 9], Some(3..9)),
        ];
        let pieces = [
            piece(None, "the"),
            piece(Some("direct"), "director"),
            piece(Some("direct"), "directed"),
            piece(Some("film"), "film"),
        ];

        let words = Words::new(&pieces, &hits, 4);

        assert_eq!(words.held, [0b11, 0, 0b01, 0b10]);
        assert_eq!(words.above, [0, 0, 0b01, 0b10]);
        assert_eq!((words.bits["direct"], words.bits["film"], words.weights.len()), (0, 1, 2));
        // Two of four leaves have each: ln(1 + 2.5 / 2.5).
        assert!(words.weights.iter().all(|weight| (weight - std::f32::consts::LN_2).abs() < 1e-6));
    }

    #[test]
    fn words_beyond_the_sixty_fourth_count_nothing() {
        let pieces: Vec<FieldTerms> = (0..100).map(|n| piece(Some(&format!("w{n}")), "t")).collect();
        let hits: Vec<TermHits> = (0..100).map(|n| hit(&format!("w{n}"), &[0], None)).collect();

        let words = Words::new(&pieces, &hits, 1);

        assert_eq!((words.held[0], words.weights.len()), (u64::MAX, MAX_COVERED_WORDS));
    }
}
