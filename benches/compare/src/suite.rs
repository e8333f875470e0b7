//! What a suite is, and which there are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::report::Outcome;
use crate::{graph, text};

/// How large inputs are when every suite runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scale {
    /// All suites together in under ten minutes on 2 cores.
    Small,
    /// The sizes that the goals are set for.
    Full,
}

/// What is the same for every suite.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Engines that take part; empty for all.
    pub only: Vec<String>,
    pub seed: u64,
    /// Measured passes over a set of queries.
    pub passes: usize,
    /// Most queries of a set.
    pub limit: usize,
    /// Queries of each set whose answers are checked.
    pub sample: usize,
    /// Most time one engine gets in one case.
    pub budget: Duration,
    /// How long an engine may take to answer one request.
    pub patience: Duration,
    /// Where files of this run lie; removed at the end.
    pub folder: PathBuf,
}

impl Settings {
    pub fn takes(&self, engine: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == engine)
    }
}

/// A subject in which engines are compared.
pub trait Suite {
    fn name(&self) -> &'static str;

    /// The engines that can take part.
    fn engines(&self) -> &'static [&'static str];

    /// Everything. An engine that fails is told in the outcome; an error ends the suite.
    fn run(&self, settings: &Settings) -> Result<Outcome>;
}

/// Every suite at one scale.
pub fn all(scale: Scale, data: Option<PathBuf>) -> Vec<Box<dyn Suite>> {
    vec![Box::new(text::Text::at(scale, data)), Box::new(graph::Graph::at(scale))]
}

/// This process as the worker of `engine`, with `folder` for its files.
pub fn worker(suite: &str, engine: &str, folder: &Path) -> Result<()> {
    match suite {
        "text" => text::worker(engine, folder),
        "graph" => graph::worker(engine, folder),
        _ => bail!("there is no suite {suite:?}"),
    }
}
