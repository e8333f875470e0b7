//! Suite `text`: evdb, tantivy and SQLite FTS5 over the same tokens.

mod check;
mod corpus;
mod engine;
mod evdb;
mod fts5;
mod oracle;
mod queries;
mod real;
mod tantivy;

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use self::check::{Answers, Claim, Trial, Verdict};
use self::corpus::Source;
use self::engine::{Built, Hit, Reply, Request};
use self::queries::{Case, Kind};
use crate::numbers::short;
use crate::race::{Contender, Lap, Plan, Run, race};
use crate::report::{Bound, Goal, Outcome, Row};
use crate::suite::{Scale, Settings, Suite};
use crate::worker::Worker;

const NAME: &str = "text";
const OURS: &str = "evdb";
const THEIRS: &str = "tantivy";
const ENGINES: [&str; 3] = [OURS, THEIRS, "fts5"];
const ORACLE: &str = "oracle";

/// Queries of a round when engines take turns.
const ROUND: usize = 10;

/// Wall time over CPU time from which a row says so: its figures depend on what else the machine did.
const BUSY: f64 = 1.25;

pub struct Text {
    pub passages: u32,
    /// Sets to run; empty for all.
    pub sets: Vec<String>,
    /// Folder of real passages.
    pub data: Option<PathBuf>,
}

impl Text {
    pub fn at(scale: Scale, data: Option<PathBuf>) -> Self {
        let passages = if scale == Scale::Small { 50_000 } else { 1_000_000 };
        Self { passages, sets: Vec::new(), data }
    }
}

/// The worker's side.
pub fn worker(engine: &str, folder: &Path) -> Result<()> {
    match engine {
        OURS => engine::serve(&evdb::ENGINE, folder),
        THEIRS => engine::serve(&tantivy::ENGINE, folder),
        "fts5" => engine::serve(&fts5::ENGINE, folder),
        ORACLE => check::serve(folder),
        _ => bail!("suite {NAME} has no engine {engine:?}"),
    }
}

impl Suite for Text {
    fn name(&self) -> &'static str {
        NAME
    }

    fn engines(&self) -> &'static [&'static str] {
        &ENGINES
    }

    fn run(&self, settings: &Settings) -> Result<Outcome> {
        for name in &self.sets {
            let known = [&queries::SETS[..], &["questions"]].concat();
            ensure!(
                known.contains(&name.as_str()),
                "there is no query set {name:?}; there are {}",
                known.join(", ")
            );
        }
        let zipf = Source::Zipf { passages: self.passages, seed: settings.seed };
        let mut outcome = self.corpus(settings, &zipf, "")?;
        if let Some(folder) = &self.data {
            let real = Source::Real { folder: folder.canonicalize()? };
            outcome.append(self.corpus(settings, &real, "real/")?);
        }
        Ok(outcome)
    }
}

impl Text {
    /// Everything about one corpus; names of cases begin with `mark`.
    fn corpus(&self, settings: &Settings, source: &Source, mark: &str) -> Result<Outcome> {
        let (passages, cases) = {
            let mut corpus = source.open()?;
            let mut cases = queries::make(corpus.as_mut(), settings.seed);
            if let Source::Real { folder } = source {
                let questions = real::questions(folder)?;
                let case =
                    Case { name: "questions".into(), kind: Kind::Any, filter: None, queries: questions };
                cases.insert(0, case);
                cases.retain(|case| case.name != "nat");
            }
            (corpus.passages(), cases)
        };
        let mut cases: Vec<Case> = cases
            .into_iter()
            .filter(|case| self.sets.is_empty() || self.sets.contains(&case.name))
            .map(|case| case.sample(settings.limit))
            .filter(|case| !case.queries.is_empty())
            .collect();
        for case in &mut cases {
            case.name.insert_str(0, mark);
        }
        let base = Row { suite: NAME.into(), n: passages.into(), threads: 1, ..Row::default() };
        let folder = settings.folder.join("corpus");
        let mut field = Field { settings, folder, base, outcome: Outcome::default(), engines: Vec::new() };
        field.build(source, mark);
        field.open();
        let trial = field.answers(source, &cases);
        let verdicts = field.verdicts(&trial);
        for case in &cases {
            field.measure(case, &verdicts);
        }
        field.goals(mark, &cases);
        for contestant in field.engines {
            contestant.worker.end()?;
        }
        std::fs::remove_dir_all(&field.folder)?;
        Ok(field.outcome)
    }
}

/// The engines that are still in, and what is known by now.
struct Field<'a> {
    settings: &'a Settings,
    folder: PathBuf,
    base: Row,
    outcome: Outcome,
    engines: Vec<Contestant>,
}

struct Contestant {
    worker: Worker,
    built: Built,
    /// What it did in each case while the others ran beside it.
    runs: Vec<(String, Run)>,
}

impl Contender for Contestant {
    fn run(&mut self, queries: Range<usize>) -> Result<Lap> {
        match self.worker.ask(&Request::Run(queries))? {
            Reply::Ran(lap) => Ok(lap),
            other => bail!("engine {}: an answer to another question: {other:?}", self.worker.engine()),
        }
    }
}

impl Contestant {
    fn memory_mb(&mut self) -> Option<f64> {
        match self.worker.ask(&Request::Memory) {
            Ok(Reply::Memory(bytes)) => bytes,
            _ => None,
        }
    }

    /// Whether the engine takes part; a reason if not.
    fn prepare(&mut self, case: &Case) -> Result<Option<String>> {
        match self.worker.ask(&Request::Prepare(case.clone()))? {
            Reply::Ready => Ok(None),
            Reply::Missing(why) => Ok(Some(why)),
            other => bail!("engine {}: an answer to another question: {other:?}", self.worker.engine()),
        }
    }

    fn answers(&mut self, case: &Case) -> Result<Option<Vec<Vec<Hit>>>> {
        if self.prepare(case)?.is_some() {
            return Ok(None);
        }
        match self.worker.ask(&Request::Answers(0..case.queries.len()))? {
            Reply::Answers(hits) => Ok(Some(hits)),
            other => bail!("engine {}: an answer to another question: {other:?}", self.worker.engine()),
        }
    }
}

impl Field<'_> {
    fn start(&self, engine: &str) -> Result<Worker> {
        let folder = self.folder.join(engine);
        std::fs::create_dir_all(&folder)?;
        Worker::of_suite(NAME, engine, &folder, self.settings.patience)
    }

    fn say(&self, what: &str) {
        eprintln!("{NAME}, {} passages: {what}", self.base.n);
    }

    /// One after the other, each in a process that ends with the build.
    fn build(&mut self, source: &Source, mark: &str) {
        for engine in ENGINES {
            if !self.settings.takes(engine) {
                continue;
            }
            self.say(&format!("{engine} builds"));
            let built = self.start(engine).and_then(|mut worker| {
                let built = match worker.ask(&Request::Build(source.clone()))? {
                    Reply::Built(built) => built,
                    other => bail!("engine {engine}: an answer to another question: {other:?}"),
                };
                worker.end()?;
                Ok((built, self.start(engine)?))
            });
            match built {
                Ok((built, worker)) => {
                    let row = Row {
                        engine: engine.into(),
                        build_s: Some(built.seconds),
                        cpu_ms: Some(built.cpu_ms),
                        rss_mb: built.peak_mb,
                        ..self.base.clone()
                    };
                    let index = Row {
                        case: format!("{mark}build"),
                        bytes: built.index_bytes,
                        note: format!("index with positions, without the text; {}", built.note),
                        ..row.clone()
                    };
                    let whole = Row {
                        case: format!("{mark}files"),
                        bytes: Some(built.total_bytes),
                        note: "everything on disk".into(),
                        build_s: None,
                        cpu_ms: None,
                        rss_mb: None,
                        ..row
                    };
                    self.outcome.rows.extend([index, whole]);
                    self.engines.push(Contestant { worker, built, runs: Vec::new() });
                }
                Err(error) => self.outcome.failures.push(format!("{error:#}")),
            }
        }
    }

    fn open(&mut self) {
        let failures = &mut self.outcome.failures;
        self.engines.retain_mut(|engine| match engine.worker.ask::<_, Reply>(&Request::Open) {
            Ok(_) => true,
            Err(error) => {
                failures.push(format!("{error:#}"));
                false
            }
        });
    }

    /// What every engine answers to a sample of the queries.
    fn answers(&mut self, source: &Source, cases: &[Case]) -> Trial {
        let cases: Vec<Case> = cases.iter().map(|case| case.sample(self.settings.sample)).collect();
        let mut answers = Vec::new();
        let failures = &mut self.outcome.failures;
        self.engines.retain_mut(|engine| {
            let name = engine.worker.engine().to_owned();
            let claim = match name.as_str() {
                OURS => Claim::Exact,
                THEIRS => Claim::Rounded,
                _ => Claim::Own,
            };
            for case in &cases {
                match engine.answers(case) {
                    Ok(Some(hits)) => {
                        answers.push(Answers { engine: name.clone(), case: case.name.clone(), claim, hits });
                    }
                    Ok(None) => {}
                    Err(error) => {
                        failures.push(format!("{error:#}, in case {}", case.name));
                        return false;
                    }
                }
            }
            true
        });
        Trial { source: source.clone(), cases, answers }
    }

    fn verdicts(&mut self, trial: &Trial) -> Vec<Verdict> {
        self.say("the oracle checks the answers");
        let verdicts = self.start(ORACLE).and_then(|mut oracle| {
            let verdicts: Vec<Verdict> = oracle.ask(trial)?;
            oracle.end()?;
            Ok(verdicts)
        });
        let verdicts = verdicts.unwrap_or_else(|error| {
            self.outcome.failures.push(format!("{error:#}"));
            Vec::new()
        });
        for Verdict { engine, case, queries, wrong, example, .. } in &verdicts {
            if let Some(example) = example {
                let what =
                    format!("engine {engine}, case {case}: {wrong} of {queries} answers wrong: {example}");
                self.outcome.failures.push(what);
            }
        }
        verdicts
    }

    /// One case: all engines in turns, then each alone.
    fn measure(&mut self, case: &Case, verdicts: &[Verdict]) {
        self.say(&case.name);
        let mut ready = Vec::new();
        let mut missing = Vec::new();
        let mut lost = Vec::new();
        for (at, engine) in self.engines.iter_mut().enumerate() {
            match engine.prepare(case) {
                Ok(None) => ready.push(at),
                Ok(Some(why)) => missing.push((engine.worker.engine().to_owned(), why)),
                Err(error) => lost.push((at, error)),
            }
        }
        for (engine, why) in missing {
            let note = format!("missing: {why}");
            self.outcome.rows.push(Row { engine, case: case.name.clone(), note, ..self.base.clone() });
        }
        let plan = Plan {
            queries: case.queries.len(),
            passes: self.settings.passes,
            round: ROUND,
            budget: self.settings.budget,
        };
        let mut groups = vec![(ready.clone(), "")];
        if ready.len() > 1 {
            groups.extend(ready.iter().map(|at| (vec![*at], ", alone")));
        }
        for (members, manner) in groups {
            let members: Vec<usize> =
                members.into_iter().filter(|at| lost.iter().all(|(out, _)| out != at)).collect();
            let runs = self.race(&members, plan);
            for (at, run) in members.into_iter().zip(runs) {
                match run {
                    Ok(run) => self.row(at, case, verdicts, run, manner),
                    Err(error) => lost.push((at, error)),
                }
            }
        }
        lost.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (at, error) in lost {
            self.outcome.failures.push(format!("{error:#}, in case {}", case.name));
            self.engines.remove(at);
        }
    }

    fn race(&mut self, members: &[usize], plan: Plan) -> Vec<Result<Run>> {
        let mut contenders: Vec<&mut dyn Contender> = Vec::new();
        for (at, engine) in self.engines.iter_mut().enumerate() {
            if members.contains(&at) {
                contenders.push(engine);
            }
        }
        race(&mut contenders, plan)
    }

    fn row(&mut self, at: usize, case: &Case, verdicts: &[Verdict], run: Run, manner: &str) {
        let Some(engine) = self.engines.get_mut(at) else { return };
        let name = engine.worker.engine().to_owned();
        let verdict = verdicts.iter().find(|verdict| verdict.engine == name && verdict.case == case.name);
        let all = case.queries.len();
        let slow =
            (run.queries < all).then(|| format!("too slow: the first {} of {all} queries; ", run.queries));
        let checked = match verdict {
            Some(verdict) if verdict.wrong > 0 => format!("{} of {} WRONG", verdict.wrong, verdict.queries),
            Some(verdict) => format!("{} checked", verdict.queries),
            None => "not checked".to_owned(),
        };
        let waiting = Some(run.waiting()).filter(|ratio| *ratio > BUSY);
        let busy =
            waiting.map(|ratio| format!("; busy machine: wall time is {} times CPU time", short(ratio)));
        self.outcome.rows.push(Row {
            engine: name,
            case: format!("{}{manner}", case.name),
            p50_ms: Some(run.percentile_ms(0.5)),
            p99_ms: Some(run.percentile_ms(0.99)),
            qps: run.rate(run.queries),
            cpu_ms: Some(run.cpu_ms()),
            recall: verdict.and_then(|verdict| verdict.recall),
            rss_mb: engine.memory_mb(),
            note: slow.unwrap_or_default() + &checked + &busy.unwrap_or_default(),
            ..self.base.clone()
        });
        if manner.is_empty() {
            engine.runs.push((case.name.clone(), run));
        }
    }

    /// Those of the sets that were run.
    fn goals(&mut self, mark: &str, cases: &[Case]) {
        let find = |name: &str| self.engines.iter().find(|engine| engine.worker.engine() == name);
        let (ours, theirs) = (find(OURS), find(THEIRS));
        let n = self.base.n;
        let run = |engine: Option<&Contestant>, case: &str| {
            let runs = &engine?.runs;
            runs.iter().find(|(name, _)| name == case).map(|(_, run)| run.clone())
        };
        let mut goals = Vec::new();
        let targets =
            [("or", 2.0), ("nat", 4.0), ("or-1%", 2.5), ("or-10%", 6.0), ("and", 1.0), ("phrase", 1.0)];
        for (case, target) in targets {
            let case = format!("{mark}{}", if mark.is_empty() || case != "nat" { case } else { "questions" });
            if cases.iter().all(|known| known.name != case) {
                continue;
            }
            let (a, b) = (run(ours, &case), run(theirs, &case));
            // Over the same queries, should one have been too slow for all of them.
            let common = a.as_ref().zip(b.as_ref()).map_or(0, |(a, b)| a.queries.min(b.queries));
            let rate = |run: Option<Run>| run.and_then(|run| run.rate(common));
            let name = format!("{case} at {n}: queries a second, {OURS} to {THEIRS}");
            goals.push(Goal::new(name, rate(a), rate(b), Bound::AtLeast, target));
        }
        let seconds = |engine: Option<&Contestant>| engine.map(|engine| engine.built.seconds);
        let name = format!("{mark}build at {n}: time, {OURS} to {THEIRS}");
        goals.push(Goal::new(name, seconds(ours), seconds(theirs), Bound::AtMost, 1.0));
        #[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^53")]
        let bytes = |engine: Option<&Contestant>| {
            engine.and_then(|engine| engine.built.index_bytes).map(|b| b as f64)
        };
        let name = format!("{mark}index with positions at {n}: bytes, {OURS} to {THEIRS}");
        goals.push(Goal::new(name, bytes(ours), bytes(theirs), Bound::AtMost, 1.25));
        self.outcome.goals.append(&mut goals);
    }
}
