//! Plans, run: steps side by side, slots bound, lists made one.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use roaring::RoaringBitmap;

use super::ConRag;
use super::Paths;
use super::Structure;
use super::SuppliedPlan;
use super::parallel::in_order;
use super::run::ConRagHit;
use super::run::Request;
use super::run::StepRank;
use crate::db::ReadTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::graph::paths::PathOptions;
use crate::graph::paths::is_stop;
use crate::graph::paths::words;
use crate::ids::NodeId;
use crate::query::FindPaths;
use crate::query::Question;
use crate::query::QuestionVector;
use crate::query::Step;
use crate::query::Trace;

/// Sentences of the best leaf that an answer is looked for in.
const ANSWERING: usize = 2;

/// Exponent of how many leaves mention a name, in its score as an answer.
const RARITY: f64 = -0.1;

/// What a step found.
struct Asked {
    question: String,
    hits: Vec<ConRagHit>,
    /// The name that stands in its best leaf, if others need it.
    answer: Option<String>,
}

impl ConRag {
    /// The leaves for the question and its plan, best first.
    pub(super) fn planned(
        &self,
        read: &ReadTransaction,
        request: &Request<'_>,
        scope: Option<&RoaringBitmap>,
        trace: &mut Trace,
    ) -> Result<Vec<ConRagHit>> {
        let size = (request.kept(), request.threads);
        let Some(plan) = request.plan else {
            return self.single(read, request.question, scope, size, trace);
        };
        if let Some(fault) = &plan.fault {
            let note = format!("{fault}; the question is asked as it is");
            trace.push(Step::new("plan", plan.plan.steps().len(), 1).note(note));
            return self.single(read, request.question, scope, size, trace);
        }
        let answered = plan.is_answered();
        let note = if answered { "answers are given" } else { "answers are names in what steps find" };
        trace.push(Step::new("plan", plan.plan.steps().len(), plan.plan.waves().len()).note(note));
        let steps = self.run_steps(read, request, plan, scope, trace)?;
        let hits = if answered {
            interleaved(&steps)
        } else {
            let whole = self.single(read, request.question, scope, size, trace)?;
            with_steps(whole, &steps)
        };
        let saw = steps.iter().map(|step| step.hits.len()).sum();
        let note = if answered { "interleaved" } else { "the best step, and the question as a whole" };
        trace.push(Step { cut: 0, ..Step::new("merge", saw, hits.len()).note(note) });
        Ok(hits)
    }

    /// Every step, by number; those of a wave side by side.
    fn run_steps(
        &self,
        read: &ReadTransaction,
        request: &Request<'_>,
        supplied: &SuppliedPlan,
        scope: Option<&RoaringBitmap>,
        trace: &mut Trace,
    ) -> Result<Vec<Asked>> {
        let plan = &supplied.plan;
        let needed: BTreeSet<u32> =
            plan.steps().iter().flat_map(|step| step.dependencies.iter().copied()).collect();
        let count = plan.steps().len();
        let mut answers: Vec<Option<String>> =
            (0..).take(count).map(|step| supplied.answer(step).map(str::to_owned)).collect();
        let mut done: BTreeMap<u32, Asked> = BTreeMap::new();
        // With all answers there, no step waits for another.
        let waves = if supplied.is_answered() { vec![(0..).take(count).collect()] } else { plan.waves() };
        for wave in waves {
            let asked = in_order(&wave, request.threads, |step| {
                let question = plan.bind(*step, &answers);
                let unknown = supplied.answer(*step).is_none() && needed.contains(step);
                self.run_step(read, request, question, unknown, scope)
            })?;
            for (step, asked) in wave.into_iter().zip(asked) {
                if let (Some(slot), Some(answer)) = (answers.get_mut(step as usize), &asked.answer) {
                    *slot = Some(answer.clone());
                }
                let answer = match (supplied.answer(step), &asked.answer) {
                    (Some(given), _) => format!("; answer given: {given}"),
                    (None, Some(name)) => format!("; answer by name: {name}"),
                    (None, None) => String::new(),
                };
                let note = format!("{step}: {}{answer}", asked.question);
                trace.push(Step::new("step", asked.hits.len(), asked.hits.len()).note(note));
                done.insert(step, asked);
            }
        }
        Ok(done.into_values().collect())
    }

    fn run_step(
        &self,
        read: &ReadTransaction,
        request: &Request<'_>,
        text: String,
        unknown: bool,
        scope: Option<&RoaringBitmap>,
    ) -> Result<Asked> {
        let vector = match (request.question.vector, request.embedder) {
            (Some(given), Some(embedder)) => {
                let made_by = read.space(given.space).map(|space| space.record().fingerprint.clone());
                if let Some(made_by) = made_by.filter(|made_by| made_by != embedder.fingerprint()) {
                    return Err(Error::invalid(format!(
                        "vectors of space {:?} are by {made_by:?}, those of the plan's questions would be by {:?}",
                        given.space,
                        embedder.fingerprint()
                    )));
                }
                let mut vector = vec![0.0; embedder.dimensions()];
                embedder.embed(&[&text], &mut vector)?;
                Some((given.space, vector))
            }
            _ => None,
        };
        let vector = vector.as_ref().map(|(space, vector)| QuestionVector { space, vector });
        let question = Question { text: &text, vector };
        // A step has one hop: leaves by themselves.
        let alone = match &self.structure {
            Structure::Path(paths) => {
                let options = PathOptions { anchors: 0, ..paths.options };
                Self { structure: Structure::Path(Paths { options, ..*paths }), ..self.clone() }
            }
            Structure::Views(_) => self.clone(),
        };
        let mut unseen = Trace::default();
        let hits = alone.single(read, question, scope, (request.kept(), 1), &mut unseen)?;
        let answer = match hits.first().filter(|_| unknown) {
            Some(best) => name_in(read, best.node, question)?,
            None => None,
        };
        Ok(Asked { question: text, hits, answer })
    }
}

/// The name in `leaf` that is the likeliest answer to `question`: of its titles and of those that its two sentences which
/// match best name, none of whose words is asked for, the one of the sentence that matches best, rare names before
/// common ones; else the title of its document.
///
/// # Source
///
/// Own work; right for one question in four of `MuSiQue`'s, which is what "without a language model" costs.
fn name_in(read: &ReadTransaction, leaf: NodeId, question: Question<'_>) -> Result<Option<String>> {
    let index = read.path_index()?;
    let Ok(leaf) = index.leaves().binary_search(&leaf) else { return Ok(None) };
    let leaf = u32::try_from(leaf).unwrap_or(u32::MAX);
    let asked: BTreeSet<String> =
        words(question.text).into_iter().map(|word| word.folded).filter(|word| !is_stop(word)).collect();
    let sentences: Vec<u32> = index.sentences_of(leaf).collect();
    let matches = FindPaths::default().sentence_matches(read, &index, question, None, &sentences)?;
    let mut best: Vec<(u32, f32)> = sentences.into_iter().zip(matches).collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    best.truncate(ANSWERING);
    let mut answer: Option<(f64, u32)> = None;
    for (sentence, score) in best {
        for key in index.titles(leaf).iter().chain(index.named(sentence)) {
            if index.key_text(*key).split(' ').any(|word| asked.contains(word)) {
                continue;
            }
            let common = f64::from(index.mention_count(*key).max(1));
            let score = f64::from(score) * libm::pow(common, RARITY);
            if answer.is_none_or(|(best, _)| score > best) {
                answer = Some((score, *key));
            }
        }
    }
    if let Some((_, key)) = answer {
        return Ok(Some(index.key_text(key).to_owned()));
    }
    let Some(node) = index.leaves().get(leaf as usize) else { return Ok(None) };
    Ok(Some(read.document_of(*node)?.title).filter(|title| !title.trim().is_empty()))
}

/// Places of each leaf in the steps' lists.
fn places(steps: &[Asked]) -> BTreeMap<NodeId, Vec<StepRank>> {
    let mut places: BTreeMap<NodeId, Vec<StepRank>> = BTreeMap::new();
    for (step, asked) in (0..).zip(steps) {
        for (rank, hit) in (1..).zip(&asked.hits) {
            places.entry(hit.node).or_default().push(StepRank { step, rank, score: hit.score });
        }
    }
    places
}

/// The first of each list, then the second, and so on; a leaf where it first comes. The score is `1 / place`.
fn interleaved(steps: &[Asked]) -> Vec<ConRagHit> {
    let places = places(steps);
    let mut seen = BTreeSet::new();
    let mut merged = Vec::new();
    let longest = steps.iter().map(|step| step.hits.len()).max().unwrap_or(0);
    for rank in 0..longest {
        for hit in steps.iter().filter_map(|step| step.hits.get(rank)) {
            if seen.insert(hit.node) {
                let place = u16::try_from(merged.len() + 1).unwrap_or(u16::MAX);
                let score = 1.0 / f32::from(place);
                let steps = places.get(&hit.node).cloned().unwrap_or_default();
                merged.push(ConRagHit { score, parts: vec![("place", score)], steps, ..hit.clone() });
            }
        }
    }
    merged
}

/// The leaves of the question as a whole, each with what the step it is best in adds, and those of steps alone.
fn with_steps(whole: Vec<ConRagHit>, steps: &[Asked]) -> Vec<ConRagHit> {
    let mut merged: BTreeMap<NodeId, ConRagHit> = whole.into_iter().map(|hit| (hit.node, hit)).collect();
    let mut best: BTreeMap<NodeId, f32> = BTreeMap::new();
    for asked in steps {
        let top = asked.hits.first().map_or(0.0, |hit| hit.score);
        for hit in &asked.hits {
            let share = if top > 0.0 { (hit.score / top).max(0.0) } else { 0.0 };
            let slot = best.entry(hit.node).or_insert(0.0);
            *slot = slot.max(share);
            merged.entry(hit.node).or_insert_with(|| ConRagHit {
                supports: hit.supports.clone(),
                ..ConRagHit::new(hit.node, 0.0, Vec::new())
            });
        }
    }
    let mut places = places(steps);
    for (node, hit) in &mut merged {
        let share = best.get(node).copied().unwrap_or(0.0);
        hit.score += share;
        hit.parts.push(("best step", share));
        hit.steps = places.remove(node).unwrap_or_default();
    }
    let mut hits: Vec<ConRagHit> = merged.into_values().collect();
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(scores: &[(u32, f32)]) -> Asked {
        let hit = |(node, score): &(u32, f32)| ConRagHit::new(NodeId(*node), *score, vec![("base", *score)]);
        Asked { question: String::new(), hits: scores.iter().map(hit).collect(), answer: None }
    }

    fn nodes(hits: &[ConRagHit]) -> Vec<(u32, f32)> {
        hits.iter().map(|hit| (hit.node.0, hit.score)).collect()
    }

    #[test]
    fn lists_are_interleaved_in_the_order_of_steps() {
        let steps = [asked(&[(5, 9.0), (7, 8.0)]), asked(&[(5, 3.0), (2, 2.0), (9, 1.0)])];

        let merged = interleaved(&steps);

        // 5; then 7 and 2; then 9. The second step's 5 is there already.
        assert_eq!(nodes(&merged), [(5, 1.0), (7, 0.5), (2, 1.0 / 3.0), (9, 0.25)]);
        let places = |step, rank, score| StepRank { step, rank, score };
        assert_eq!(merged[0].steps, [places(0, 1, 9.0), places(1, 1, 3.0)]);
        assert_eq!(interleaved(&[]), []);
    }

    /// Shares: 5: 9/9, 7: 4.5/9 and 1/4, 2: 4/4. Question: 7 at .75, 1 at .2.
    /// 7: .75 + .5, 2 and 5: 1 each, lower node first, 1: .2.
    #[test]
    fn a_leaf_gains_by_the_step_it_is_best_in() {
        let steps = [asked(&[(5, 9.0), (7, 4.5)]), asked(&[(2, 4.0), (7, 1.0)])];

        let merged = with_steps(asked(&[(7, 0.75), (1, 0.2)]).hits, &steps);

        assert_eq!(nodes(&merged), [(7, 1.25), (2, 1.0), (5, 1.0), (1, 0.2)]);
        assert_eq!(merged[0].parts, [("base", 0.75), ("best step", 0.5)]);
        assert_eq!(nodes(&with_steps(Vec::new(), &[asked(&[(3, 0.0)])])), [(3, 0.0)]);
    }
}
