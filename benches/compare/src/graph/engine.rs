//! What an engine of this suite is asked, and how one in Rust answers.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::input::Input;
use crate::numbers::nanos;
use crate::race::Lap;
use crate::worker;

/// What is asked of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// The best of all ranks.
    Top,
    /// All ranks, together off by at most 1e-6.
    Full,
    /// What is around the anchors.
    Expand,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// Loads the input, which lies there as JSON.
    Load(PathBuf),
    Run(Case, Range<usize>),
    /// What it finds for one query.
    Answer(Case, usize),
}

/// Nodes with their ranks, or with hops.
pub type Answer = Vec<(u32, f64)>;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// Seconds to load, and a note.
    Loaded(f64, String),
    Ran(Lap),
    Answer(Answer),
}

/// A graph that is loaded.
pub trait Engine {
    /// Answers, and keeps what was found.
    fn ask(&mut self, case: Case, seeds: &[u32]) -> Result<()>;

    /// What was found last.
    fn found(&self) -> Answer;
}

/// Loads an input into a folder; with a note.
pub type Open = fn(&Path, &Input) -> Result<(Box<dyn Engine>, String)>;

/// The worker's side.
pub fn serve(open: Open, folder: &Path) -> Result<()> {
    let mut state: Option<(Box<dyn Engine>, Input)> = None;
    worker::serve(folder, |request: Request| {
        if let Request::Load(path) = request {
            let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
            let input: Input = serde_json::from_slice(&text)?;
            let began = Instant::now();
            let (engine, note) = open(folder, &input)?;
            let seconds = began.elapsed().as_secs_f64();
            state = Some((engine, input));
            return Ok(Reply::Loaded(seconds, note));
        }
        let (engine, input) = state.as_mut().context("no graph is loaded")?;
        Ok(match request {
            Request::Run(case, queries) => {
                let mut lap = Lap::default();
                let cpu = cpu_nanos();
                for seeds in input.queries.get(queries).context("queries beyond the last")? {
                    let began = Instant::now();
                    engine.ask(case, seeds)?;
                    lap.nanos.push(nanos(began.elapsed()));
                }
                lap.cpu_nanos = cpu_nanos().saturating_sub(cpu);
                Reply::Ran(lap)
            }
            Request::Answer(case, at) => {
                engine.ask(case, input.queries.get(at).context("a query beyond the last")?)?;
                Reply::Answer(engine.found())
            }
            Request::Load(_) => unreachable!("answered above"),
        })
    })
}

fn cpu_nanos() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec)
}
