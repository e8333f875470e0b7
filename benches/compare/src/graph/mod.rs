//! Suite `graph`: personalised PageRank beside igraph, scipy and networkx; bounded expansion beside SQLite and Kuzu.

mod engine;
mod evdb;
mod input;
mod peers;
mod sqlite;

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail};

use self::engine::{Case, Reply, Request};
use self::input::{Input, PER_NODE, REACHED, SEEDS, TOP};
use crate::numbers::short;
use crate::race::{Contender, Lap, Plan, Run, race};
use crate::report::{Bound, Goal, Outcome, Row};
use crate::suite::{Scale, Settings, Suite};
use crate::worker::Worker;

const NAME: &str = "graph";
const OURS: &str = "evdb";
const ENGINES: [&str; 6] = [OURS, "igraph", "scipy", "networkx", "sqlite", "kuzu"];
const CASES: [(Case, &str); 3] =
    [(Case::Top, "ppr top 20"), (Case::Full, "ppr full"), (Case::Expand, "expand 2 hops")];

/// How far ranks may be off: those of a short list, and all together.
const CLOSE: f64 = 1e-7;
const OFF: f64 = 1e-6;
/// Queries whose answers are checked, at most: the plain iteration takes its time.
const CHECKED: usize = 5;
/// Wall time over CPU time from which a row says so.
const BUSY: f64 = 1.25;

pub struct Graph {
    pub nodes: u32,
    pub edges: usize,
    pub queries: usize,
}

impl Graph {
    pub fn at(_scale: Scale) -> Self {
        Self { nodes: 300_000, edges: 300_000, queries: 100 }
    }
}

/// The worker's side.
pub fn worker(engine: &str, folder: &Path) -> Result<()> {
    match engine {
        OURS => engine::serve(evdb::open, folder),
        "sqlite" => engine::serve(sqlite::open, folder),
        _ => bail!("suite {NAME} has no engine {engine:?} of this program"),
    }
}

fn takes_part(engine: &str, case: Case) -> bool {
    match engine {
        OURS => true,
        "sqlite" | "kuzu" => case == Case::Expand,
        _ => case == Case::Full,
    }
}

struct Contestant {
    worker: Worker,
    seconds: f64,
    note: String,
    case: Case,
    runs: Vec<(Case, Run)>,
}

impl Contender for Contestant {
    fn run(&mut self, queries: Range<usize>) -> Result<Lap> {
        match self.worker.ask(&Request::Run(self.case, queries))? {
            Reply::Ran(lap) => Ok(lap),
            other => bail!("engine {}: an answer to another question: {other:?}", self.worker.engine()),
        }
    }
}

impl Suite for Graph {
    fn name(&self) -> &'static str {
        NAME
    }

    fn engines(&self) -> &'static [&'static str] {
        &ENGINES
    }

    fn run(&self, settings: &Settings) -> Result<Outcome> {
        let input = Input::make(self.nodes, self.edges, self.queries.min(settings.limit), settings.seed);
        let folder = settings.folder.join("corpus");
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("input.json");
        std::fs::write(&path, serde_json::to_vec(&input)?)?;
        let mut outcome = Outcome::default();
        let base = Row { suite: NAME.into(), n: input.edges.len() as u64, threads: 1, ..Row::default() };
        let mut engines = Vec::new();
        for engine in ENGINES.into_iter().filter(|engine| settings.takes(engine)) {
            eprintln!("{NAME}, {} edges: {engine} loads", input.edges.len());
            let own = folder.join(engine);
            std::fs::create_dir_all(&own)?;
            let started = match engine {
                OURS | "sqlite" => Worker::of_suite(NAME, engine, &own, settings.patience),
                _ => match peers::command(engine, &own) {
                    Ok(command) => Worker::start(engine, command, settings.patience),
                    Err(why) => {
                        let note = format!("skipped: {why:#}");
                        outcome.rows.push(Row {
                            engine: engine.into(),
                            case: "load".into(),
                            note,
                            ..base.clone()
                        });
                        continue;
                    }
                },
            };
            match started.and_then(|worker| load(worker, &path)) {
                Ok(contestant) => engines.push(contestant),
                Err(error) => outcome.failures.push(format!("{error:#}")),
            }
        }
        for engine in &engines {
            outcome.rows.push(Row {
                engine: engine.worker.engine().into(),
                case: "load".into(),
                build_s: Some(engine.seconds),
                note: engine.note.clone(),
                ..base.clone()
            });
        }
        let neighbours = input.neighbours();
        for (case, name) in CASES {
            let verdicts =
                check(case, &input, &neighbours, settings.sample.min(CHECKED), &mut engines, &mut outcome);
            measure(case, name, &input, settings, &verdicts, &mut engines, &base, &mut outcome);
        }
        goals(&engines, &mut outcome);
        for engine in engines {
            engine.worker.end()?;
        }
        std::fs::remove_dir_all(&folder)?;
        Ok(outcome)
    }
}

fn load(mut worker: Worker, path: &Path) -> Result<Contestant> {
    match worker.ask(&Request::Load(path.to_path_buf()))? {
        Reply::Loaded(seconds, note) => {
            Ok(Contestant { worker, seconds, note, case: Case::Top, runs: Vec::new() })
        }
        other => bail!("engine {}: an answer to another question: {other:?}", worker.engine()),
    }
}

/// What is said of an engine's answers: its name, and a note.
type Verdicts = Vec<(String, String)>;

/// Compares answers with those of plain means.
fn check(
    case: Case,
    input: &Input,
    neighbours: &[Vec<u32>],
    sample: usize,
    engines: &mut [Contestant],
    outcome: &mut Outcome,
) -> Verdicts {
    let mut verdicts = Vec::new();
    let queries = || input.queries.iter().take(sample);
    let truths: Vec<Truth> = queries().map(|seeds| Truth::new(case, neighbours, seeds)).collect();
    for engine in engines.iter_mut().filter(|engine| takes_part(engine.worker.engine(), case)) {
        let name = engine.worker.engine().to_owned();
        let (mut worst, mut wrong, mut known) = (0.0_f64, 0, 0);
        for (at, truth) in truths.iter().enumerate() {
            let answer = engine.worker.ask(&Request::Answer(case, at)).and_then(|reply| match reply {
                Reply::Answer(answer) => Ok(answer),
                other => bail!("engine {name}: an answer to another question: {other:?}"),
            });
            match answer.map(|answer| truth.judge(&answer)) {
                Ok(Ok(off)) => (worst, known) = (worst.max(off), known + 1),
                Ok(Err(why)) => {
                    wrong += 1;
                    outcome.failures.push(format!("engine {name}, {case:?}, query {at}: {why}"));
                }
                Err(error) => outcome.failures.push(format!("{error:#}")),
            }
        }
        let note = match (wrong, case) {
            (0, Case::Expand) => format!("{known} checked"),
            (0, _) => format!("{known} checked, off by at most {worst:.1e}"),
            _ => format!("{wrong} of {} WRONG", truths.len()),
        };
        verdicts.push((name, note));
    }
    verdicts
}

/// What is right for a query.
enum Truth {
    Top(Vec<f64>),
    Full(Vec<f64>),
    /// Hops of each node, whether a bound may leave some out, and the anchors.
    Expand(Vec<u8>, bool),
}

impl Truth {
    fn new(case: Case, neighbours: &[Vec<u32>], seeds: &[u32]) -> Self {
        match case {
            Case::Top => Self::Top(input::ranks(neighbours, seeds)),
            Case::Full => Self::Full(input::ranks(neighbours, seeds)),
            Case::Expand => {
                let hops = input::hops(neighbours, seeds);
                let wide = |node: usize| neighbours.get(node).is_some_and(|list| list.len() > PER_NODE);
                let near = hops.iter().filter(|hops| (1..3).contains(*hops)).count();
                let cut = near > REACHED || (0..hops.len()).any(|node| hops[node] < 2 && wide(node));
                Self::Expand(hops, cut)
            }
        }
    }

    /// How far `answer` is off, or what is wrong with it.
    fn judge(&self, answer: &[(u32, f64)]) -> Result<f64, String> {
        match self {
            Self::Top(ranks) => {
                let rank = |node: u32| ranks.get(node as usize).copied().unwrap_or(0.0);
                let mut best = ranks.clone();
                best.sort_by(|a, b| b.total_cmp(a));
                let bar = best.get(TOP - 1).copied().unwrap_or(0.0);
                let wanted = best.iter().take(TOP).filter(|rank| **rank > 0.0).count();
                if answer.len() != wanted {
                    return Err(format!("{} nodes, not {wanted}", answer.len()));
                }
                // The nodes must be the best; what is said of their ranks is bounded, not exact.
                let low = answer.iter().find(|(node, _)| rank(*node) < bar - CLOSE);
                low.map_or(Ok(0.0), |(node, _)| {
                    Err(format!("node {node} has {:.3e}, the {TOP}th {bar:.3e}", rank(*node)))
                })
            }
            Self::Full(ranks) => {
                let mut left = ranks.clone();
                for (node, rank) in answer {
                    if let Some(slot) = left.get_mut(*node as usize) {
                        *slot -= rank;
                    }
                }
                let off: f64 = left.iter().map(|rank| rank.abs()).sum();
                if off <= OFF { Ok(off) } else { Err(format!("ranks are {off:.2e} off together")) }
            }
            Self::Expand(hops, cut) => {
                let right = |(node, said): &(u32, f64)| {
                    let own = hops.get(*node as usize).copied().unwrap_or(3);
                    // By a bound a way may be longer than it could be.
                    (1..3).contains(&own) && (*said - f64::from(own)).abs() < if *cut { 1.1 } else { 0.1 }
                };
                if let Some(bad) = answer.iter().find(|one| !right(one)) {
                    return Err(format!("node {} is not {} hops away", bad.0, bad.1));
                }
                let all = hops.iter().filter(|hops| (1..3).contains(*hops)).count();
                let mut nodes: Vec<u32> = answer.iter().map(|(node, _)| *node).collect();
                nodes.sort_unstable();
                nodes.dedup();
                if nodes.len() != answer.len() || answer.len() > REACHED {
                    return Err("a node twice, or more than asked for".into());
                }
                if !cut && nodes.len() != all {
                    return Err(format!("{} nodes, not {all}", nodes.len()));
                }
                Ok(0.0)
            }
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of one run, used here alone")]
fn measure(
    case: Case,
    name: &str,
    input: &Input,
    settings: &Settings,
    verdicts: &Verdicts,
    engines: &mut [Contestant],
    base: &Row,
    outcome: &mut Outcome,
) {
    eprintln!("{NAME}, {} edges: {name}", input.edges.len());
    let mut ready: Vec<&mut Contestant> =
        engines.iter_mut().filter(|engine| takes_part(engine.worker.engine(), case)).collect();
    for engine in &mut ready {
        engine.case = case;
    }
    let plan =
        Plan { queries: input.queries.len(), passes: settings.passes, round: 10, budget: settings.budget };
    let mut contenders: Vec<&mut dyn Contender> = Vec::new();
    for engine in &mut ready {
        contenders.push(&mut **engine);
    }
    let runs = race(&mut contenders, plan);
    for (engine, run) in ready.into_iter().zip(runs) {
        let name_of = engine.worker.engine().to_owned();
        let run = match run.with_context(|| format!("in case {name}")) {
            Ok(run) => run,
            Err(error) => {
                outcome.failures.push(format!("{error:#}"));
                continue;
            }
        };
        let verdict = verdicts.iter().find(|(of, _)| *of == name_of);
        let mut note = verdict.map_or_else(|| "not checked".to_owned(), |(_, note)| note.clone());
        if run.queries < input.queries.len() {
            note = format!("too slow: the first {} of {} queries; {note}", run.queries, input.queries.len());
        }
        if run.waiting() > BUSY {
            note = format!("{note}; busy machine: wall time is {} times CPU time", short(run.waiting()));
        }
        outcome.rows.push(Row {
            engine: name_of,
            case: name.into(),
            p50_ms: Some(run.percentile_ms(0.5)),
            p99_ms: Some(run.percentile_ms(0.99)),
            qps: run.rate(run.queries),
            cpu_ms: Some(run.cpu_ms()),
            note,
            ..base.clone()
        });
        engine.runs.push((case, run));
    }
}

fn goals(engines: &[Contestant], outcome: &mut Outcome) {
    let run = |engine: &str, case: Case| {
        let engine = engines.iter().find(|one| one.worker.engine() == engine)?;
        engine.runs.iter().find(|(of, _)| *of == case).map(|(_, run)| run)
    };
    let median = |engine: &str, case: Case| run(engine, case).map(|run| run.percentile_ms(0.5));
    let mut goal = |name: String, ours, theirs, bound, target| {
        outcome.goals.push(Goal::new(name, ours, theirs, bound, target));
    };
    let seeds = format!("{SEEDS} seeds");
    goal(
        format!("ppr top {TOP}, {seeds}: median ms of {OURS}"),
        median(OURS, Case::Top),
        Some(1.0),
        Bound::AtMost,
        2.0,
    );
    let common =
        run(OURS, Case::Full).zip(run("igraph", Case::Full)).map_or(0, |(a, b)| a.queries.min(b.queries));
    let rate = |engine: &str| run(engine, Case::Full).and_then(|run| run.rate(common));
    let name = format!("ppr full, {seeds}: queries a second, {OURS} to igraph");
    goal(name, rate(OURS), rate("igraph"), Bound::AtLeast, 10.0);
    let name = format!("expand 2 hops, {seeds}: median ms of {OURS}");
    goal(name, median(OURS, Case::Expand), Some(1.0), Bound::AtMost, 0.1);
}

#[cfg(test)]
mod tests {
    use super::engine::Answer;
    use super::*;

    fn star() -> Vec<Vec<u32>> {
        vec![vec![1, 2], vec![0, 3], vec![0], vec![1]]
    }

    #[test]
    fn wrong_ranks_and_missing_nodes_are_found() {
        let full = Truth::new(Case::Full, &star(), &[0]);
        let right: Answer = (0..).zip(input::ranks(&star(), &[0])).collect();
        assert!(full.judge(&right).is_ok_and(|off| off < 1e-12));
        let mut wrong = right.clone();
        wrong[1].1 += 2e-6;
        assert!(full.judge(&wrong).is_err());

        let top = Truth::new(Case::Top, &star(), &[0]);
        assert!(top.judge(&right).is_ok());
        assert!(top.judge(&right[..3]).is_err());
    }

    #[test]
    fn an_expansion_must_be_whole_and_near() {
        let truth = Truth::new(Case::Expand, &star(), &[0]);

        assert!(truth.judge(&[(1, 1.0), (2, 1.0), (3, 2.0)]).is_ok());
        for wrong in [vec![(1, 1.0), (2, 1.0)], vec![(1, 1.0), (2, 1.0), (3, 1.0)], vec![(0, 1.0), (1, 1.0)]]
        {
            assert!(truth.judge(&wrong).is_err(), "{wrong:?}");
        }
    }
}
