//! The right answers by the shortest way: every passage is read, every score computed.

use std::collections::{BTreeSet, HashMap};

use tantivy::fieldnorm::FieldNormReader;

use super::corpus::Corpus;
use super::queries::{Case, Kind};

/// The constants all engines use.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Passages whose length enters the score as it is, or as tantivy keeps it in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    Exact,
    Rounded,
}

/// Passages, ascending, and how often each has something.
type List = Vec<(u32, u32)>;

/// What the passages hold of some queries.
pub struct Oracle {
    words: HashMap<String, List>,
    phrases: HashMap<Vec<String>, List>,
    /// Of each beginning, all words that have it taken as one.
    prefixes: HashMap<String, List>,
    lengths: Vec<u32>,
    rounded: Vec<u32>,
    mean: f64,
}

/// One more in passage `at`, the last one yet.
fn count(list: &mut List, at: u32) {
    match list.last_mut() {
        Some((last, count)) if *last == at => *count += 1,
        _ => list.push((at, 1)),
    }
}

impl Oracle {
    /// Reads all of `corpus` once for the queries of `cases`.
    #[expect(clippy::cast_precision_loss, reason = "words are far fewer than 2^53")]
    pub fn read(corpus: &mut dyn Corpus, cases: &[Case]) -> Self {
        let mut words: HashMap<String, List> = HashMap::new();
        let mut phrases: HashMap<Vec<String>, List> = HashMap::new();
        let mut prefixes: HashMap<String, List> = HashMap::new();
        let mut phrases_from: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        for case in cases {
            for query in &case.queries {
                if case.kind == Kind::Prefix {
                    prefixes.extend(query.iter().map(|start| (start.clone(), List::new())));
                    continue;
                }
                words.extend(query.iter().map(|word| (word.clone(), List::new())));
                if case.kind == Kind::Phrase
                    && let Some(first) = query.first()
                    && phrases.insert(query.clone(), List::new()).is_none()
                {
                    phrases_from.entry(first.clone()).or_default().push(query.clone());
                }
            }
        }
        let starts: BTreeSet<usize> = prefixes.keys().map(String::len).collect();
        let mut lengths = Vec::with_capacity(corpus.passages() as usize);
        let mut text = String::new();
        for at in 0..corpus.passages() {
            corpus.passage(at, &mut text);
            let passage: Vec<&str> = text.split(' ').collect();
            lengths.push(u32::try_from(passage.len()).unwrap_or(u32::MAX));
            for (place, word) in passage.iter().enumerate() {
                if let Some(list) = words.get_mut(*word) {
                    count(list, at);
                }
                for phrase in phrases_from.get(*word).into_iter().flatten() {
                    let run = passage.get(place..place + phrase.len());
                    if let Some(list) =
                        phrases.get_mut(phrase).filter(|_| run.is_some_and(|run| run == phrase))
                    {
                        count(list, at);
                    }
                }
                for start in starts.iter().filter_map(|letters| word.get(..*letters)) {
                    if let Some(list) = prefixes.get_mut(start) {
                        count(list, at);
                    }
                }
            }
        }
        let tantivys = |len: &u32| FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(*len));
        let rounded = lengths.iter().map(tantivys).collect();
        let total: u64 = lengths.iter().map(|len| u64::from(*len)).sum();
        let mean = total as f64 / lengths.len().max(1) as f64;
        Self { words, phrases, prefixes, lengths, rounded, mean }
    }

    /// For each passage its score for `query`, each part in 64 bits and added in 32, as evdb does; 0 for one that is
    /// not found.
    ///
    /// A phrase counts as one term, its weight the sum of its words'; so does a beginning, whose passages are those of
    /// any of its words.
    pub fn scores(&self, case: &Case, query: &[String], lengths: Lengths) -> Vec<f32> {
        let mut scores = vec![0.0_f32; self.lengths.len()];
        let mut terms = vec![0_usize; self.lengths.len()];
        let parts = self.parts(case.kind, query);
        for (list, idf) in &parts {
            for (at, tf) in *list {
                let part = self.part(*idf, *at, *tf, lengths);
                if let (Some(score), Some(terms)) =
                    (scores.get_mut(*at as usize), terms.get_mut(*at as usize))
                {
                    *score += part;
                    *terms += 1;
                }
            }
        }
        for ((at, score), terms) in (0_u32..).zip(&mut scores).zip(terms) {
            let all = case.kind != Kind::All || terms == query.len();
            if !all || case.filter.is_some_and(|filter| !filter.passes(at)) {
                *score = 0.0;
            }
        }
        scores
    }

    /// The lists that add to a query's scores, in its order, and their weights.
    fn parts(&self, kind: Kind, query: &[String]) -> Vec<(&[(u32, u32)], f64)> {
        let idf = |word: &String| self.idf(self.words.get(word).map_or(0, Vec::len));
        match kind {
            Kind::Any | Kind::All => {
                let of = |word: &String| self.words.get(word).map_or(&[][..], Vec::as_slice);
                query.iter().map(|word| (of(word), idf(word))).collect()
            }
            Kind::Phrase => {
                let list = self.phrases.get(query).map_or(&[][..], Vec::as_slice);
                vec![(list, query.iter().map(idf).sum())]
            }
            Kind::Prefix => {
                let list =
                    query.first().and_then(|start| self.prefixes.get(start)).map_or(&[][..], Vec::as_slice);
                vec![(list, self.idf(list.len()))]
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    fn idf(&self, df: usize) -> f64 {
        let (n, df) = (self.lengths.len() as f64, df as f64);
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
    }

    #[expect(clippy::cast_possible_truncation, reason = "a score needs 24 bits")]
    fn part(&self, idf: f64, at: u32, tf: u32, lengths: Lengths) -> f32 {
        let lengths = if lengths == Lengths::Exact { &self.lengths } else { &self.rounded };
        let (tf, len) = (f64::from(tf), f64::from(lengths.get(at as usize).copied().unwrap_or(0)));
        (idf * (K1 + 1.0) * tf / (tf + K1 * (1.0 - B) + K1 * B / self.mean * len)) as f32
    }
}

/// The `limit` highest of `scores` that are above 0, best first, ties to the lower passage.
pub fn best(scores: &[f32], limit: usize) -> Vec<(u32, f32)> {
    let above = (0_u32..).zip(scores.iter().copied()).filter(|(_, score)| *score > 0.0);
    let mut found: Vec<(u32, f32)> = above.collect();
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if found.len() > limit && limit > 0 {
        found.select_nth_unstable_by(limit - 1, order);
    }
    found.truncate(limit);
    found.sort_unstable_by(order);
    found
}
