//! Paths from anchors over a named thing to other leaves, and what they add to a ranking.

use std::cmp::Ordering;

use super::csr::as_u32;
use super::index::MAX_POSTINGS;
use super::index::PathIndex;
use super::question::QuestionNames;
use crate::error::Error;
use crate::error::Result;

/// How much each part of a path counts; finite and not negative, each.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PathWeights {
    /// A path to a leaf that has the key as title.
    pub link: f32,
    /// A path to a leaf that mentions the key too.
    pub shared: f32,
    /// A path to a leaf that mentions the anchor's title.
    pub reverse: f32,
    /// How well the linking sentence matches the question.
    pub similarity: f32,
    /// Weight of the question's words that the target has and the anchor has not.
    pub coverage: f32,
    /// What any path has.
    pub constant: f32,
    /// Exponent of how many leaves the key may mean: `n^-rarity`.
    pub rarity: f32,
    /// Exponent of the anchor's score, as a share of the best.
    pub anchor: f32,
    /// Factor for keys whose words are all in the question.
    pub asked: f32,
    /// Part of the best path out of a leaf that the leaf itself gains.
    pub back: f32,
}

impl Default for PathWeights {
    fn default() -> Self {
        Self {
            link: 0.75,
            shared: 0.75,
            reverse: 0.75,
            similarity: 1.0,
            coverage: 0.5,
            constant: 0.15,
            rarity: 0.45,
            anchor: 3.0,
            asked: 0.25,
            back: 0.25,
        }
    }
}

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PathOptions {
    /// 2: from an anchor to a target. 3: the same again from what was found, the mean of both.
    pub hops: u8,
    /// Leaves that paths start from, the best ones.
    pub anchors: usize,
    /// Leaves that a key may mean; one of more leads nowhere, but to those it is the title of. At most
    /// [`MAX_POSTINGS`].
    pub max_postings: usize,
    /// Weights.
    pub weights: PathWeights,
}

impl Default for PathOptions {
    fn default() -> Self {
        Self { hops: 2, anchors: 10, max_postings: 50, weights: PathWeights::default() }
    }
}

impl PathOptions {
    fn check(&self) -> Result<()> {
        if !(2..=3).contains(&self.hops) {
            return Err(Error::invalid(format!("hops is {}, not 2 or 3", self.hops)));
        }
        if self.max_postings > MAX_POSTINGS {
            let message = format!("max_postings is {}, over {MAX_POSTINGS}", self.max_postings);
            return Err(Error::invalid(message));
        }
        let w = &self.weights;
        let all = [
            w.link,
            w.shared,
            w.reverse,
            w.similarity,
            w.coverage,
            w.constant,
            w.rarity,
            w.anchor,
            w.asked,
            w.back,
        ];
        if all.iter().all(|weight| weight.is_finite() && *weight >= 0.0) {
            return Ok(());
        }
        Err(Error::invalid(format!("the weights of paths must be finite and not negative: {w:?}")))
    }
}

/// How the leaves match the question.
#[derive(Debug, Clone, Copy)]
pub struct LeafSignals<'a> {
    /// `n`: the score of each leaf by itself; NaN counts as 0.
    pub base: &'a [f32],
    /// `n`, or empty: which of the question's words each leaf has, a bit a word.
    pub words: &'a [u64],
    /// Weight of each of these words.
    pub word_weights: &'a [f32],
}

/// By what a path leaves its anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathKind {
    /// A sentence names the target's title.
    Link,
    /// A sentence names what the target names too.
    Shared,
    /// The target names the anchor's title.
    Reverse,
}

/// One step: anchor, sentence, key, target, all by number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// By what.
    pub kind: PathKind,
    /// The leaf it starts from.
    pub anchor: u32,
    /// The sentence of the anchor; the first for [`PathKind::Reverse`]. `None` if it has none.
    pub sentence: Option<u32>,
    /// What is named.
    pub key: u32,
    /// The leaf it leads to.
    pub target: u32,
    /// What it is worth.
    pub score: f32,
}

/// A leaf with what its score is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Number of the leaf.
    pub leaf: u32,
    /// The sum of the three parts.
    pub score: f32,
    /// The leaf by itself.
    pub base: f32,
    /// The best path into it.
    pub into: f32,
    /// A part of the best path out of it.
    pub out: f32,
    /// The way to it, an anchor first; empty if no path leads there.
    pub path: Vec<Hop>,
}

/// The best `limit` leaves by `score(c) = base(c) + max f into c + back * max f out of c`, best first, ties to the
/// lower number, where a path from anchor `a` by sentence `s` over key `k` to `c` is worth
///
/// `f = kind * max(base(a) / max base, title(a))^anchor * (similarity * sim(s) + coverage * cov(a, c) + constant)
/// * n^-rarity * (asked if every word of k is in the question)`
///
/// with `title(a)` as of [`QuestionNames::title_scores`]: what the question names is a full anchor however it
/// matches; `n` the leaves that `k` may mean, `cov` the share of the question's words, by weight, that `c` has and `a`
/// has not.
///
/// * `similarity`: gives the match of each of some sentences with the question; it is asked once a round.
///
/// # Errors
///
/// `InvalidInput` if an option is out of its bounds or a list has not one element a leaf; what `similarity`
/// returns.
///
/// # Complexity
///
/// `O(n)` in the leaves, and `anchors x sentences x keys x max_postings` paths.
///
/// # Source
///
/// Own work, measured in `docs/measurements.md`.
pub fn find(
    index: &PathIndex,
    question: &QuestionNames,
    signals: LeafSignals<'_>,
    options: &PathOptions,
    limit: usize,
    similarity: &mut dyn FnMut(&[u32]) -> Result<Vec<f32>>,
) -> Result<Vec<Found>> {
    options.check()?;
    let n = index.leaf_count();
    if signals.base.len() != n || !(signals.words.is_empty() || signals.words.len() == n) {
        let message = format!("{} scores are given for {n} leaves", signals.base.len());
        return Err(Error::invalid(message));
    }
    let base: Vec<f32> = signals.base.iter().map(|score| if score.is_nan() { 0.0 } else { *score }).collect();
    let titled = question.title_scores(index);
    let walk = Walk { index, question, signals, options, base: &base, titled: &titled };
    let first = walk.round(&base, similarity)?;
    if options.hops == 2 {
        return Ok(walk.ranked(&[first], limit));
    }
    // What was found starts again, on the scale of the scores it was found by.
    let scores = first.scores();
    let scale = highest(&base) / highest(&scores).max(f32::MIN_POSITIVE);
    let again: Vec<f32> = scores.iter().map(|score| score * scale).collect();
    let second = walk.round(&again, similarity)?;
    Ok(walk.ranked(&[first, second], limit))
}

struct Walk<'a> {
    index: &'a PathIndex,
    question: &'a QuestionNames,
    signals: LeafSignals<'a>,
    options: &'a PathOptions,
    base: &'a [f32],
    /// For each leaf how surely the question names it.
    titled: &'a [f32],
}

/// What one round of paths found.
struct Round {
    hops: Vec<Hop>,
    base: Vec<f32>,
    /// For each leaf one more than the index of the best hop into it; 0 if there is none.
    into: Vec<u32>,
    /// For each leaf its part of the best hop out of it.
    out: Vec<f32>,
}

impl Round {
    fn hop_into(&self, leaf: u32) -> Option<&Hop> {
        let at = self.into.get(leaf as usize)?.checked_sub(1)?;
        self.hops.get(at as usize)
    }

    fn parts(&self, leaf: u32) -> (f32, f32, f32) {
        let at = |list: &[f32]| list.get(leaf as usize).copied().unwrap_or(0.0);
        (at(&self.base), self.hop_into(leaf).map_or(0.0, |hop| hop.score), at(&self.out))
    }

    fn scores(&self) -> Vec<f32> {
        let sum = |leaf| {
            let (base, into, out) = self.parts(leaf);
            base + into + out
        };
        (0..as_u32(self.base.len())).map(sum).collect()
    }
}

fn highest(scores: &[f32]) -> f32 {
    scores.iter().copied().fold(0.0, f32::max)
}

/// The best `limit` of `scores` that are above 0, best first, ties to the lower index.
fn best(scores: &[f32], limit: usize) -> Vec<u32> {
    let score = |leaf: &u32| scores.get(*leaf as usize).copied().unwrap_or(0.0);
    let order = |a: &u32, b: &u32| -> Ordering { score(b).total_cmp(&score(a)).then(a.cmp(b)) };
    let mut all: Vec<u32> = (0..as_u32(scores.len())).filter(|leaf| score(leaf) > 0.0).collect();
    if limit == 0 {
        return Vec::new();
    }
    if all.len() > limit {
        all.select_nth_unstable_by(limit - 1, order);
        all.truncate(limit);
    }
    all.sort_unstable_by(order);
    all
}

impl Walk<'_> {
    /// Paths from the best leaves by `strength`.
    fn round(
        &self,
        strength: &[f32],
        similarity: &mut dyn FnMut(&[u32]) -> Result<Vec<f32>>,
    ) -> Result<Round> {
        let weights = &self.options.weights;
        let anchors = best(strength, self.options.anchors);
        let mut hops: Vec<(Hop, u32)> = Vec::new();
        for anchor in &anchors {
            self.leave(*anchor, &mut hops);
        }
        let top = highest(self.base);
        let similar = Self::similarities(&hops, similarity)?;
        let mut round = Round {
            hops: Vec::with_capacity(hops.len()),
            base: self.base.to_vec(),
            into: vec![0; self.base.len()],
            out: vec![0.0; self.base.len()],
        };
        for ((mut hop, n), similar) in hops.into_iter().zip(similar) {
            let kind = match hop.kind {
                PathKind::Link => weights.link,
                PathKind::Shared => weights.shared,
                PathKind::Reverse => weights.reverse,
            };
            let of = |list: &[f32]| list.get(hop.anchor as usize).copied().unwrap_or(0.0);
            let strength = (of(strength) / top).max(of(self.titled));
            let asked = if self.question.holds(self.index.key_text(hop.key)) { weights.asked } else { 1.0 };
            let inner = weights.similarity * similar.max(0.0)
                + weights.coverage * self.coverage(hop.anchor, hop.target)
                + weights.constant;
            hop.score =
                kind * power(strength, weights.anchor) * inner * power_of_count(n, -weights.rarity) * asked;
            let at = as_u32(round.hops.len());
            if let Some(slot) = round.into.get_mut(hop.target as usize) {
                let best = slot.checked_sub(1).and_then(|at| round.hops.get(at as usize));
                if best.is_none_or(|best| best.score < hop.score) {
                    *slot = at + 1;
                }
            }
            if let Some(slot) = round.out.get_mut(hop.anchor as usize) {
                *slot = slot.max(weights.back * hop.score);
            }
            round.hops.push(hop);
        }
        Ok(round)
    }

    /// Every hop from `anchor`, with how many leaves its key may mean.
    fn leave(&self, anchor: u32, hops: &mut Vec<(Hop, u32)>) {
        let index = self.index;
        let most = as_u32(self.options.max_postings);
        let asked = |key: u32| self.question.holds(index.key_text(key));
        let mut add = |kind, sentence, key, target, n| {
            hops.push((Hop { kind, anchor, sentence, key, target, score: 0.0 }, n));
        };
        let sentences = index.sentences_of(anchor);
        let first = sentences.clone().next();
        for sentence in sentences {
            for &key in index.named(sentence) {
                let titled = index.titled(key);
                for target in self.linked(titled).into_iter().filter(|target| *target != anchor) {
                    add(PathKind::Link, Some(sentence), key, target, as_u32(titled.len()));
                }
                let n = index.mention_count(key);
                if n > most || asked(key) {
                    continue;
                }
                for &target in index.mentions(key) {
                    if target != anchor && titled.binary_search(&target).is_err() {
                        add(PathKind::Shared, Some(sentence), key, target, n);
                    }
                }
            }
        }
        for &key in index.titles(anchor) {
            let n = index.mention_count(key);
            if n > most || asked(key) {
                continue;
            }
            let titled = index.titled(key);
            for &target in index.mentions(key) {
                if target != anchor && titled.binary_search(&target).is_err() {
                    add(PathKind::Reverse, first, key, target, n);
                }
            }
        }
    }

    /// The leaves a title leads to: all, or the best by themselves if there are too many.
    fn linked(&self, titled: &[u32]) -> Vec<u32> {
        let most = self.options.max_postings;
        if titled.len() <= most {
            return titled.to_vec();
        }
        let scores: Vec<f32> =
            titled.iter().map(|leaf| self.base.get(*leaf as usize).copied().unwrap_or(0.0)).collect();
        best(&scores, most).into_iter().filter_map(|at| titled.get(at as usize).copied()).collect()
    }

    /// How well the sentence of each hop matches.
    fn similarities(
        hops: &[(Hop, u32)],
        similarity: &mut dyn FnMut(&[u32]) -> Result<Vec<f32>>,
    ) -> Result<Vec<f32>> {
        let mut sentences: Vec<u32> = hops.iter().filter_map(|(hop, _)| hop.sentence).collect();
        sentences.sort_unstable();
        sentences.dedup();
        let scores = asked(similarity, &sentences)?;
        let of = |sentence: u32| {
            let at = sentences.binary_search(&sentence).ok();
            at.and_then(|at| scores.get(at)).copied().unwrap_or(0.0)
        };
        Ok(hops.iter().map(|(hop, _)| hop.sentence.map_or(0.0, of)).collect())
    }

    fn coverage(&self, anchor: u32, target: u32) -> f32 {
        let held = |leaf: u32| self.signals.words.get(leaf as usize).copied().unwrap_or(0);
        let gained = held(target) & !held(anchor);
        let weights = self.signals.word_weights.iter().take(64);
        let (mut all, mut share) = (0.0, 0.0);
        for (bit, weight) in (0_u32..).zip(weights) {
            all += weight;
            if gained >> bit & 1 == 1 {
                share += weight;
            }
        }
        if all > 0.0 { share / all } else { 0.0 }
    }

    /// The mean of the rounds, ranked.
    fn ranked(&self, rounds: &[Round], limit: usize) -> Vec<Found> {
        let share = 1.0 / f32::from(u8::try_from(rounds.len()).unwrap_or(1));
        let parts = |leaf: u32| {
            rounds.iter().map(|round| round.parts(leaf)).fold((0.0, 0.0, 0.0), |sum, parts| {
                (sum.0 + share * parts.0, sum.1 + share * parts.1, sum.2 + share * parts.2)
            })
        };
        let sum = |(base, into, out): (f32, f32, f32)| base + into + out;
        let scores: Vec<f32> = (0..as_u32(self.base.len())).map(|leaf| sum(parts(leaf))).collect();
        let found = best(&scores, limit).into_iter().map(|leaf| {
            let (base, into, out) = parts(leaf);
            Found { leaf, score: sum((base, into, out)), base, into, out, path: path_to(rounds, leaf) }
        });
        found.collect()
    }
}

/// The hops that lead to `leaf`: the best one into it of the last round that has one, and before it the one into
/// its anchor of the round before, unless that comes from `leaf`.
fn path_to(rounds: &[Round], leaf: u32) -> Vec<Hop> {
    let mut path = Vec::new();
    let mut to = leaf;
    for round in rounds.iter().rev() {
        let Some(hop) = round.hop_into(to).filter(|hop| path.is_empty() || hop.anchor != leaf) else {
            continue;
        };
        path.push(*hop);
        to = hop.anchor;
    }
    path.reverse();
    path
}

fn asked(similarity: &mut dyn FnMut(&[u32]) -> Result<Vec<f32>>, sentences: &[u32]) -> Result<Vec<f32>> {
    if sentences.is_empty() {
        return Ok(Vec::new());
    }
    let scores = similarity(sentences)?;
    if scores.len() == sentences.len() {
        return Ok(scores);
    }
    Err(Error::invalid(format!("{} scores came for {} sentences", scores.len(), sentences.len())))
}

/// `base^exponent`, computed in software, so that it is the same on every machine.
fn power(base: f32, exponent: f32) -> f32 {
    libm::powf(base.max(0.0), exponent)
}

#[expect(clippy::cast_precision_loss, reason = "a count of leaves, whose power needs no more digits")]
fn power_of_count(n: u32, exponent: f32) -> f32 {
    power(n.max(1) as f32, exponent)
}
