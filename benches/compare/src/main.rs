//! evdb beside its peers. See the README of this package.

mod graph;
mod numbers;
mod race;
mod report;
mod suite;
mod text;
mod worker;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};

use crate::report::Outcome;
use crate::suite::{Scale, Settings, Suite};

/// Compares evdb with other engines: one suite a subject, every engine in a process of its own.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Text search: evdb, tantivy, SQLite FTS5 (`fts5`).
    Text {
        /// Passages of the corpus, 79.5 words each on average.
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=50_000_000))]
        passages: u32,
        /// Sets of queries to run: or, nat, and, phrase, prefix, or-1%, or-10%; questions with --data. All by default.
        #[arg(long, value_delimiter = ',', value_name = "SET,...")]
        queries: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// PageRank and expansion: evdb, igraph, scipy, networkx, SQLite, Kuzu.
    Graph {
        /// Nodes of the graph.
        #[arg(long, default_value_t = 300_000, value_parser = clap::value_parser!(u32).range(100..=50_000_000))]
        nodes: u32,
        /// Edges, at most so many.
        #[arg(long, default_value_t = 300_000)]
        edges: usize,
        /// Sets of seeds.
        #[arg(long, default_value_t = 100)]
        queries: usize,
        #[command(flatten)]
        common: Common,
    },
    /// Every suite.
    All {
        /// How large the inputs are.
        #[arg(long, value_enum, default_value = "small")]
        scale: Scale,
        #[command(flatten)]
        common: Common,
    },
    /// One engine, spoken to over pipes.
    #[command(hide = true)]
    Worker { suite: String, engine: String, folder: PathBuf },
}

#[derive(Args)]
struct Common {
    /// Real inputs as well: a folder of sets, each a folder with passages.jsonl.gz and questions.jsonl.gz.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Writes rows and goals to FILE, a JSON object a line.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Engines that take part; all by default.
    #[arg(long, value_delimiter = ',', value_name = "ENGINE,...")]
    only: Vec<String>,
    /// What inputs are made from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measured passes over each set of queries, after one that warms up.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    passes: u32,
    /// Most queries of a set.
    #[arg(long, default_value_t = 1_000_000)]
    limit: usize,
    /// Queries of each set whose answers are checked.
    #[arg(long, default_value_t = 40)]
    sample: usize,
    /// Most seconds one engine gets in one case; one that needs more runs the first queries only.
    #[arg(long, value_name = "SECONDS")]
    budget: Option<u64>,
    /// Most seconds an engine may take for one build or one round.
    #[arg(long, value_name = "SECONDS", default_value_t = 7_200)]
    patience: u64,
    /// Where files are kept during the run; by default the system's folder for such.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Text { passages, queries, common } => {
            let budget = if passages > 200_000 { 90 } else { 20 };
            let text = text::Text { passages, sets: queries, data: common.data.clone() };
            compare(&[Box::new(text)], common, budget)
        }
        Command::Graph { nodes, edges, queries, common } => {
            compare(&[Box::new(graph::Graph { nodes, edges, queries })], common, 20)
        }
        Command::All { scale, common } => {
            let budget = if scale == Scale::Full { 90 } else { 5 };
            compare(&suite::all(scale, common.data.clone()), common, budget)
        }
        Command::Worker { suite, engine, folder } => {
            suite::worker(&suite, &engine, &folder).map(|()| ExitCode::SUCCESS)
        }
    }
}

/// Runs `suites` and shows what came of them. The exit code is 1 if anything failed; a goal that is not met is a
/// result, not a failure.
fn compare(suites: &[Box<dyn Suite>], common: Common, budget: u64) -> Result<ExitCode> {
    let known: Vec<&str> = suites.iter().flat_map(|suite| suite.engines()).copied().collect();
    for name in &common.only {
        ensure!(
            known.contains(&name.as_str()),
            "there is no engine {name:?}; there are {}",
            known.join(", ")
        );
    }
    let mut json = common.json.as_deref().map(create).transpose()?;
    let parent = common.scratch.unwrap_or_else(std::env::temp_dir);
    let scratch = tempfile::Builder::new()
        .prefix(worker::RUN_FOLDER)
        .tempdir_in(&parent)
        .with_context(|| parent.display().to_string())?;
    let settings = Settings {
        only: common.only,
        seed: common.seed,
        passes: common.passes as usize,
        limit: common.limit,
        sample: common.sample,
        budget: Duration::from_secs(common.budget.unwrap_or(budget)),
        patience: Duration::from_secs(common.patience),
        folder: scratch.path().to_path_buf(),
    };
    let mut whole = Outcome::default();
    for suite in suites {
        match suite.run(&settings) {
            Ok(outcome) => whole.append(outcome),
            Err(error) => whole.failures.push(format!("suite {}: {error:#}", suite.name())),
        }
    }
    println!("{}", whole.to_text().trim_end());
    if let Some(out) = &mut json {
        whole.write_json(out)?;
    }
    Ok(if whole.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn create(path: &Path) -> Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    Ok(BufWriter::new(file))
}
