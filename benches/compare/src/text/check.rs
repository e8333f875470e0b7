//! Whether answers are right, and how much of the exhaustive top 10 they hold.

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::corpus::Source;
use super::engine::{Hit, LIMIT};
use super::oracle::{Lengths, Oracle, best};
use super::queries::{Case, Kind};
use crate::worker;

/// How far scores may differ, relative to the larger: evdb's sums are the oracle's own, tantivy adds in another
/// order and in 32 bits throughout.
const EVDB_TOLERANCE: f32 = 1e-6;
const TANTIVY_TOLERANCE: f32 = 1e-4;

/// What an engine's scores are held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Claim {
    /// BM25 with exact lengths: evdb.
    Exact,
    /// BM25 with lengths in one byte: tantivy.
    Rounded,
    /// A BM25 of its own: only recall is told, and that hits are hits.
    Own,
}

/// Answers of one engine to the first queries of one case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answers {
    pub engine: String,
    pub case: String,
    pub claim: Claim,
    pub hits: Vec<Vec<Hit>>,
}

/// What the oracle says about [`Answers`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub engine: String,
    pub case: String,
    pub queries: usize,
    /// Queries with a wrong answer.
    pub wrong: usize,
    /// The first of them.
    pub example: Option<String>,
    /// Share of the exhaustive top 10 found, over all queries; `None` where order is the engine's own affair.
    pub recall: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Trial {
    pub source: Source,
    pub cases: Vec<Case>,
    pub answers: Vec<Answers>,
}

/// The worker's side.
pub fn serve(folder: &Path) -> Result<()> {
    worker::serve(folder, |trial: Trial| {
        let oracle = Oracle::read(trial.source.open()?.as_mut(), &trial.cases);
        let verdicts = trial.answers.iter().filter_map(|answers| {
            let case = trial.cases.iter().find(|case| case.name == answers.case)?;
            Some(judge(&oracle, case, answers))
        });
        Ok(verdicts.collect::<Vec<_>>())
    })
}

pub fn judge(oracle: &Oracle, case: &Case, answers: &Answers) -> Verdict {
    let (mut wrong, mut example) = (0, None);
    let (mut found, mut wanted) = (0, 0);
    for (query, hits) in case.queries.iter().zip(&answers.hits) {
        let exact = oracle.scores(case, query, Lengths::Exact);
        let top = best(&exact, LIMIT);
        wanted += top.len();
        found += hits.iter().filter(|hit| is_among(&exact, &top, hit.passage)).count().min(top.len());
        let verdict = match answers.claim {
            Claim::Exact => scores_are(&exact, hits, EVDB_TOLERANCE),
            // To tantivy all passages with a prefix are equally good.
            Claim::Rounded if case.kind != Kind::Prefix => {
                scores_are(&oracle.scores(case, query, Lengths::Rounded), hits, TANTIVY_TOLERANCE)
            }
            Claim::Rounded | Claim::Own => {
                all_match(hits, top.len(), |at| exact.get(at as usize) > Some(&0.0))
            }
        };
        if let Err(what) = verdict {
            wrong += 1;
            example.get_or_insert_with(|| format!("{}: {what}", query.join(" ")));
        }
    }
    let ordered = wanted > 0 && (case.kind != Kind::Prefix || answers.claim == Claim::Exact);
    #[expect(clippy::cast_precision_loss, reason = "a few thousand hits")]
    let recall = ordered.then(|| found as f64 / wanted as f64);
    let queries = answers.hits.len().min(case.queries.len());
    Verdict { engine: answers.engine.clone(), case: case.name.clone(), queries, wrong, example, recall }
}

/// Whether `passage` may stand in the top list: its score is not below the last one's.
fn is_among(scores: &[f32], top: &[(u32, f32)], passage: u32) -> bool {
    let last = top.last().map_or(f32::INFINITY, |(_, score)| *score);
    scores.get(passage as usize).is_some_and(|score| *score >= last || near(*score, last, EVDB_TOLERANCE))
}

fn near(a: f32, b: f32, tolerance: f32) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// The hits are the best by `scores`, up to ties: each has its own score, and rank by rank the scores are the
/// oracle's.
fn scores_are(scores: &[f32], hits: &[Hit], tolerance: f32) -> Result<(), String> {
    let top = best(scores, LIMIT);
    if hits.len() != top.len() {
        return Err(format!("{} hits, not {}", hits.len(), top.len()));
    }
    distinct(hits)?;
    for (rank, (hit, (passage, wanted))) in hits.iter().zip(top).enumerate() {
        let own = scores.get(hit.passage as usize).copied().unwrap_or(f32::NAN);
        if !near(hit.score, own, tolerance) {
            return Err(format!(
                "rank {}: passage {} scores {own}, not {}",
                rank + 1,
                hit.passage,
                hit.score
            ));
        }
        if !near(hit.score, wanted, tolerance) {
            return Err(format!(
                "rank {}: passage {} at {}, where passage {passage} has {wanted}",
                rank + 1,
                hit.passage,
                hit.score
            ));
        }
    }
    Ok(())
}

fn all_match(hits: &[Hit], wanted: usize, matches: impl Fn(u32) -> bool) -> Result<(), String> {
    distinct(hits)?;
    if hits.len() != wanted {
        return Err(format!("{} hits, not {wanted}", hits.len()));
    }
    match hits.iter().find(|hit| !matches(hit.passage)) {
        Some(hit) => Err(format!("passage {} does not match", hit.passage)),
        None => Ok(()),
    }
}

fn distinct(hits: &[Hit]) -> Result<(), String> {
    let mut passages: Vec<u32> = hits.iter().map(|hit| hit.passage).collect();
    passages.sort_unstable();
    match passages.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => Err(format!("passage {} twice", pair.first().copied().unwrap_or(0))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::corpus::Corpus;
    use super::super::queries::Filter;

    struct Toy(Vec<&'static str>);

    impl Corpus for Toy {
        fn passages(&self) -> u32 {
            u32::try_from(self.0.len()).expect("a toy")
        }

        fn passage(&mut self, at: u32, text: &mut String) {
            text.clear();
            text.push_str(self.0[at as usize]);
        }
    }

    fn toy() -> Toy {
        Toy(vec!["a b c d", "a a c", "b c", "a b a b", "d e"])
    }

    fn case(kind: Kind, query: &str) -> Case {
        let words = query.split(' ').map(str::to_owned).collect();
        Case { name: "toy".into(), kind, filter: None, queries: vec![words] }
    }

    fn verdict(case: &Case, hits: &[(u32, f32)], claim: Claim) -> Verdict {
        let oracle = Oracle::read(&mut toy(), std::slice::from_ref(case));
        let hits = hits.iter().map(|(passage, score)| Hit { passage: *passage, score: *score }).collect();
        let answers = Answers { engine: "e".into(), case: "toy".into(), claim, hits: vec![hits] };
        judge(&oracle, case, &answers)
    }

    /// n = 5, df(d) = 2, mean length 3: idf = ln(1 + 3.5/2.5) = 0.8755; in "d e" (length 2) with weight
    /// 2.2 / (1 + 0.3 + 0.9 * 2/3) = 1.1579 it is 1.01370; in "a b c d" 2.2 / (1 + 0.3 + 0.9 * 4/3) = 0.88.
    #[test]
    fn the_oracle_scores_as_on_paper() {
        let case = case(Kind::Any, "d");
        let oracle = Oracle::read(&mut toy(), std::slice::from_ref(&case));

        let scores = oracle.scores(&case, &case.queries[0], Lengths::Exact);

        let top = best(&scores, 10);
        assert_eq!(top.iter().map(|(passage, _)| *passage).collect::<Vec<_>>(), [4, 0]);
        assert!((top[0].1 - 1.013_70).abs() < 1e-4 && (top[1].1 - 0.770_41).abs() < 1e-4, "{top:?}");
    }

    #[test]
    fn the_right_answer_is_right_and_whole() {
        let case = case(Kind::Any, "d");

        let verdict = verdict(&case, &[(4, 1.013_700_6), (0, 0.770_412_5)], Claim::Exact);

        assert_eq!((verdict.queries, verdict.wrong, verdict.recall), (1, 0, Some(1.0)), "{verdict:?}");
    }

    #[test]
    fn a_wrong_score_a_wrong_order_and_a_lost_passage_are_found() {
        let case = case(Kind::Any, "d");
        for hits in [
            &[(4, 1.02), (0, 0.770_412_5)][..],
            &[(0, 0.770_412_5), (4, 1.013_700_6)],
            &[(4, 1.013_700_6)],
            &[(4, 1.013_700_6), (4, 1.013_700_6)],
        ] {
            assert_eq!(verdict(&case, hits, Claim::Exact).wrong, 1, "{hits:?}");
        }
        assert_eq!(verdict(&case, &[(4, 1.013_700_6)], Claim::Exact).recall, Some(0.5));
    }

    #[test]
    fn and_wants_every_word_and_a_filter_its_passages() {
        let found = |corpus: &mut Toy, case: &Case| -> Vec<u32> {
            let oracle = Oracle::read(corpus, std::slice::from_ref(case));
            let scores = oracle.scores(case, &case.queries[0], Lengths::Exact);
            best(&scores, 10).iter().map(|(passage, _)| *passage).collect()
        };
        let all = case(Kind::All, "a b");
        let filtered = Case { filter: Some(Filter::Ten), ..case(Kind::All, "a") };

        assert_eq!(found(&mut toy(), &all), [3, 0]);
        let passing: Vec<u32> = (0..60).filter(|at| Filter::Ten.passes(*at)).collect();
        assert!((1..=10).contains(&passing.len()));
        assert_eq!(found(&mut Toy(vec!["a"; 60]), &filtered), passing);
    }

    /// "b c" is once in "b c", of length 2, and once in "a b c d"; the weights of b and c (df 3, both) add up.
    #[test]
    fn a_phrase_scores_as_one_term() {
        let phrase = case(Kind::Phrase, "b c");
        let oracle = Oracle::read(&mut toy(), std::slice::from_ref(&phrase));
        let scores = oracle.scores(&phrase, &phrase.queries[0], Lengths::Exact);
        let idf = 2.0 * (1.0_f32 + 2.5 / 3.5).ln();
        assert_eq!(best(&scores, 10).len(), 2);
        assert!((scores[2] - idf * 2.2 / (1.0 + 0.3 + 0.6)).abs() < 1e-5, "{scores:?}");

        let hits: Vec<_> = best(&scores, 10);
        assert_eq!(verdict(&phrase, &hits, Claim::Exact).wrong, 0);
        assert_eq!(verdict(&phrase, &[(2, 9.0), (3, 1.0)], Claim::Own).wrong, 1);
        assert_eq!(verdict(&phrase, &[(2, 9.0)], Claim::Own).wrong, 1);
    }

    #[test]
    fn a_beginning_is_checked_by_its_matches_where_an_engine_does_not_rank_them() {
        let prefix = case(Kind::Prefix, "d");

        assert_eq!(verdict(&prefix, &[(0, 1.0), (4, 1.0)], Claim::Rounded).wrong, 0);
        assert_eq!(verdict(&prefix, &[(0, 1.0), (4, 1.0)], Claim::Rounded).recall, None);
        assert_eq!(verdict(&prefix, &[(0, 1.0), (1, 1.0)], Claim::Own).wrong, 1);
        assert_eq!(verdict(&prefix, &[(0, 1.0), (4, 1.0)], Claim::Exact).wrong, 1);
    }
}
