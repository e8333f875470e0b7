//! What an engine does for this suite, and the messages between it and the parent.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::corpus::{Corpus, Source};
use super::queries::Case;
use crate::numbers::nanos;
use crate::race::Lap;
use crate::worker;

/// How many passages every query asks for.
pub const LIMIT: usize = 10;

/// A passage that was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    pub passage: u32,
    /// Higher is better.
    pub score: f32,
}

/// What a build took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Built {
    /// Wall time within the engine: the making of the passages is not counted.
    pub seconds: f64,
    /// CPU time of the process, the making of the passages left out.
    pub cpu_ms: f64,
    /// Most memory the process ever had.
    pub peak_mb: Option<f64>,
    /// The index with positions, without the stored text; `None` if the engine cannot tell.
    pub index_bytes: Option<u64>,
    /// Everything on disk.
    pub total_bytes: u64,
    /// How the bytes are parted, and how the index was made.
    pub note: String,
}

/// An engine's files, and how they are made.
pub trait Builder {
    /// Adds the next passage.
    fn add(&mut self, passage: u32, text: &str) -> Result<()>;

    /// Makes everything durable and searchable.
    fn finish(self: Box<Self>) -> Result<Sizes>;
}

/// What lies on disk in the end.
pub struct Sizes {
    pub index_bytes: Option<u64>,
    pub total_bytes: u64,
    pub note: String,
}

/// An open index.
pub trait Searcher {
    /// Makes ready for `case`; an error says that the engine has nothing for it.
    fn prepare(&mut self, case: &Case) -> Result<(), Missing>;

    /// Runs one query of the prepared case and keeps what it found, [`LIMIT`] passages at most, in the engine's own
    /// ids. This is what is timed.
    fn search(&mut self, query: &[String]) -> Result<()>;

    /// The passages the last search found, best first.
    fn found(&self) -> Result<Vec<Hit>>;
}

/// Why an engine does not take part in a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing(pub String);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    Build(Source),
    Open,
    Prepare(Case),
    Run(Range<usize>),
    Answers(Range<usize>),
    Memory,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    Built(Built),
    Ready,
    Missing(String),
    Ran(Lap),
    Answers(Vec<Vec<Hit>>),
    Memory(Option<f64>),
}

/// How an engine is begun and opened in a folder.
pub struct Engine {
    pub build: fn(&Path) -> Result<Box<dyn Builder>>,
    pub open: fn(&Path) -> Result<Box<dyn Searcher>>,
}

/// The worker's side.
pub fn serve(engine: &Engine, folder: &Path) -> Result<()> {
    let mut searcher: Option<Box<dyn Searcher>> = None;
    let mut queries: Vec<Vec<String>> = Vec::new();
    worker::serve(folder, |request: Request| {
        Ok(match request {
            Request::Build(source) => Reply::Built(build((engine.build)(folder)?, source.open()?.as_mut())?),
            Request::Open => {
                searcher = Some((engine.open)(folder)?);
                Reply::Ready
            }
            Request::Prepare(case) => match opened(&mut searcher)?.prepare(&case) {
                Ok(()) => {
                    queries = case.queries;
                    Reply::Ready
                }
                Err(Missing(why)) => Reply::Missing(why),
            },
            Request::Run(range) => Reply::Ran(run(opened(&mut searcher)?, some(&queries, range)?)?),
            Request::Answers(range) => {
                let searcher = opened(&mut searcher)?;
                let answer = |query: &Vec<String>| searcher.search(query).and_then(|()| searcher.found());
                Reply::Answers(some(&queries, range)?.iter().map(answer).collect::<Result<_>>()?)
            }
            Request::Memory => Reply::Memory(memory_mb("VmRSS:")),
        })
    })
}

fn opened(searcher: &mut Option<Box<dyn Searcher>>) -> Result<&mut dyn Searcher> {
    Ok(searcher.as_mut().context("the index is not open")?.as_mut())
}

fn some(queries: &[Vec<String>], range: Range<usize>) -> Result<&[Vec<String>]> {
    let count = queries.len();
    queries.get(range.clone()).with_context(|| format!("queries {range:?} of {count}"))
}

fn build(mut builder: Box<dyn Builder>, corpus: &mut dyn Corpus) -> Result<Built> {
    /// Passages made at a time, while the clocks stand.
    const AT_ONCE: u32 = 1_000;
    let mut texts = vec![String::new(); AT_ONCE as usize];
    let (mut wall, mut made_in) = (0, 0);
    let cpu = cpu_nanos(ClockId::ProcessCPUTime);
    let mut from = 0;
    while from < corpus.passages() {
        let to = (from + AT_ONCE).min(corpus.passages());
        let making = cpu_nanos(ClockId::ThreadCPUTime);
        for (at, text) in (from..to).zip(&mut texts) {
            corpus.passage(at, text);
        }
        made_in += cpu_nanos(ClockId::ThreadCPUTime) - making;
        let began = Instant::now();
        for (at, text) in (from..to).zip(&texts) {
            builder.add(at, text)?;
        }
        wall += nanos(began.elapsed());
        from = to;
    }
    let began = Instant::now();
    let sizes = builder.finish()?;
    wall += nanos(began.elapsed());
    let cpu = cpu_nanos(ClockId::ProcessCPUTime).saturating_sub(cpu).saturating_sub(made_in);
    Ok(Built {
        seconds: crate::numbers::millis(wall) / 1e3,
        cpu_ms: crate::numbers::millis(cpu),
        peak_mb: memory_mb("VmHWM:"),
        index_bytes: sizes.index_bytes,
        total_bytes: sizes.total_bytes,
        note: sizes.note,
    })
}

fn run(searcher: &mut dyn Searcher, queries: &[Vec<String>]) -> Result<Lap> {
    let mut lap = Lap { nanos: Vec::with_capacity(queries.len()), cpu_nanos: 0 };
    let cpu = cpu_nanos(ClockId::ProcessCPUTime);
    for query in queries {
        let began = Instant::now();
        searcher.search(query)?;
        lap.nanos.push(nanos(began.elapsed()));
    }
    lap.cpu_nanos = cpu_nanos(ClockId::ProcessCPUTime).saturating_sub(cpu);
    Ok(lap)
}

fn cpu_nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec)
}

/// A figure of this process's memory, where the system tells.
fn memory_mb(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1_024.0 / 1e6)
}

/// Bytes of all files in `folder`, by the end of their names after the last dot.
pub fn bytes_by_ending(folder: &Path) -> Result<std::collections::BTreeMap<String, u64>> {
    let mut bytes = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let ending = name.rsplit('.').next().unwrap_or_default().to_owned();
        *bytes.entry(ending).or_default() += entry.metadata()?.len();
    }
    if bytes.is_empty() {
        bail!("{}: nothing was written", folder.display());
    }
    Ok(bytes)
}
