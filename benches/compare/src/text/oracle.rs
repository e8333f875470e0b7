//! The right answers by the shortest way: every passage is read, every score computed.

use std::collections::{HashMap, HashSet};

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

/// What the passages hold of some queries.
pub struct Oracle {
    /// For each term of a scored query its passages, ascending, and how often each has it.
    postings: HashMap<String, Vec<(u32, u32)>>,
    /// For each phrase and each prefix its passages, ascending.
    matches: HashMap<(bool, Vec<String>), Vec<u32>>,
    lengths: Vec<u32>,
    rounded: Vec<u32>,
    mean: f64,
}

impl Oracle {
    /// Reads all of `corpus` once for the queries of `cases`.
    #[expect(clippy::cast_precision_loss, reason = "words are far fewer than 2^53")]
    pub fn read(corpus: &mut dyn Corpus, cases: &[Case]) -> Self {
        let mut postings: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
        let mut phrases: HashMap<String, HashSet<Vec<String>>> = HashMap::new();
        let mut prefixes: HashSet<String> = HashSet::new();
        for case in cases {
            for query in &case.queries {
                match (case.kind, query.first()) {
                    (Kind::Phrase, Some(first)) => {
                        phrases.entry(first.clone()).or_default().insert(query.clone());
                    }
                    (Kind::Prefix, Some(first)) => {
                        prefixes.insert(first.clone());
                    }
                    _ => postings.extend(query.iter().map(|word| (word.clone(), Vec::new()))),
                }
            }
        }
        let starts: HashSet<usize> = prefixes.iter().map(String::len).collect();
        let mut matches: HashMap<(bool, Vec<String>), Vec<u32>> = HashMap::new();
        let mut note = |is_prefix: bool, query: Vec<String>, at: u32| {
            let list = matches.entry((is_prefix, query)).or_default();
            if list.last() != Some(&at) {
                list.push(at);
            }
        };
        let mut lengths = Vec::with_capacity(corpus.passages() as usize);
        let mut text = String::new();
        for at in 0..corpus.passages() {
            corpus.passage(at, &mut text);
            let words: Vec<&str> = text.split(' ').collect();
            lengths.push(u32::try_from(words.len()).unwrap_or(u32::MAX));
            for (place, word) in words.iter().enumerate() {
                if let Some(list) = postings.get_mut(*word) {
                    match list.last_mut() {
                        Some((last, count)) if *last == at => *count += 1,
                        _ => list.push((at, 1)),
                    }
                }
                for phrase in phrases.get(*word).into_iter().flatten() {
                    if words.get(place..place + phrase.len()).is_some_and(|run| run == phrase) {
                        note(false, phrase.clone(), at);
                    }
                }
                for start in starts.iter().filter_map(|letters| word.get(..*letters)) {
                    if prefixes.contains(start) {
                        note(true, vec![start.to_owned()], at);
                    }
                }
            }
        }
        let tantivys = |len: &u32| FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(*len));
        let rounded = lengths.iter().map(tantivys).collect();
        let total: u64 = lengths.iter().map(|len| u64::from(*len)).sum();
        let mean = total as f64 / lengths.len().max(1) as f64;
        Self { postings, matches, lengths, rounded, mean }
    }

    /// For each passage its score for `query`, in 32 bits as evdb adds; 0 for one that is not found. The query is
    /// one of `Any` or `All`.
    #[expect(clippy::cast_possible_truncation, reason = "a score needs 24 bits")]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn scores(&self, case: &Case, query: &[String], lengths: Lengths) -> Vec<f32> {
        let mut scores = vec![0.0_f32; self.lengths.len()];
        let mut terms = vec![0_u32; self.lengths.len()];
        let lengths = if lengths == Lengths::Exact { &self.lengths } else { &self.rounded };
        let n = self.lengths.len() as f64;
        for word in query {
            let list = self.postings.get(word).map_or(&[][..], Vec::as_slice);
            let df = list.len() as f64;
            let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            for (at, tf) in list {
                let (at, tf) = (*at as usize, f64::from(*tf));
                let len = f64::from(lengths.get(at).copied().unwrap_or(0));
                let part = idf * (K1 + 1.0) * tf / (tf + K1 * (1.0 - B) + K1 * B / self.mean * len);
                if let (Some(score), Some(terms)) = (scores.get_mut(at), terms.get_mut(at)) {
                    *score += part as f32;
                    *terms += 1;
                }
            }
        }
        for ((at, score), terms) in (0_u32..).zip(&mut scores).zip(terms) {
            let all = case.kind != Kind::All || terms as usize == query.len();
            if !all || case.filter.is_some_and(|filter| !filter.passes(at)) {
                *score = 0.0;
            }
        }
        scores
    }

    /// The passages that a query of `Phrase` or `Prefix` finds, ascending.
    pub fn matches(&self, case: &Case, query: &[String]) -> &[u32] {
        let key = (case.kind == Kind::Prefix, query.to_vec());
        self.matches.get(&key).map_or(&[], Vec::as_slice)
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
