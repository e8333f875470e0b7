//! `evdb ask --method bear`.

use clap::{Args, ValueEnum};
use evdb::methods::bear::recover::Coherent;
use evdb::methods::bear::{Bear, Mode, Request, Scoring};
use evdb::query::Mmr;

use super::{Answer, Asked, Chooses};
use crate::failure::Failure;

/// Options of BEAR.
#[derive(Args)]
pub struct BearArgs {
    /// Whole documents, single nodes, or what fits [default: auto]
    #[arg(long, value_enum, help_heading = "Method bear")]
    pub mode: Option<Regime>,
    /// How nodes are scored [default: default]
    #[arg(long, value_enum, help_heading = "Method bear")]
    pub score: Option<Score>,
    /// Prefer evidence unlike what was chosen before
    #[arg(long, help_heading = "Method bear")]
    pub mmr: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Regime {
    /// Whole documents if the chosen ones fit together, else nodes
    Auto,
    Docs,
    Nodes,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Score {
    /// Words, vectors and surroundings of each leaf
    Default,
    /// TreeExpansion on hybrid similarities, leaves only
    TreeExpansion,
    /// TreeExpansion as the paper prints it
    TreeExpansionPaper,
    /// Sections compete with leaves
    Coherent,
}

impl BearArgs {
    /// The first of these options that was typed.
    pub fn typed(&self) -> Option<&'static str> {
        let options =
            [(self.mode.is_some(), "--mode"), (self.score.is_some(), "--score"), (self.mmr, "--mmr")];
        options.into_iter().find_map(|(typed, name)| typed.then_some(name))
    }

    pub fn method(&self) -> Bear {
        Bear {
            mode: match self.mode.unwrap_or(Regime::Auto) {
                Regime::Auto => Mode::Auto,
                Regime::Docs => Mode::Docs,
                Regime::Nodes => Mode::Nodes,
            },
            score: match self.score.unwrap_or(Score::Default) {
                Score::Default => Scoring::default(),
                Score::TreeExpansion => Scoring::hybrid(),
                Score::TreeExpansionPaper => Scoring::paper(),
                Score::Coherent => Scoring::Coherent(Coherent::default()),
            },
            mmr: self.mmr.then(Mmr::default),
            ..Bear::default()
        }
    }
}

impl Chooses for Bear {
    fn choose(&self, asked: &Asked<'_>) -> Result<Answer, Failure> {
        let request = Request {
            documents: asked.documents,
            threads: asked.threads,
            ..Request::new(asked.question, asked.budget, asked.format)
        };
        let bear = Self { on_overflow: asked.on_overflow, ..self.clone() };
        Ok(bear.retrieve(asked.read, &request)?.into())
    }
}
