//! `evdb ask --method conrag`.

use std::collections::BTreeMap;

use clap::Args;
use evdb::NodeId;
use evdb::graph::paths::PathOptions;
use evdb::methods::conrag::{ConRag, ConRagHit, Paths, Request, Structure};
use evdb::query::PathStep;
use serde_json::{Map, json};

use super::{Answer, Asked, Chooses};
use crate::failure::Failure;

/// Options of ConRAG.
#[derive(Args)]
pub struct ConragArgs {
    /// Names between the question's leaves and what is found, and one: 2 or 3 [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=3), help_heading = "Method conrag")]
    pub hops: Option<u8>,
    /// Most passages of evidence [default: what fits]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Method conrag")]
    pub passages: Option<u32>,
}

impl ConragArgs {
    /// The first of these options that was typed.
    pub fn typed(&self) -> Option<&'static str> {
        let options = [(self.hops.is_some(), "--hops"), (self.passages.is_some(), "--passages")];
        options.into_iter().find_map(|(typed, name)| typed.then_some(name))
    }

    pub fn method(&self) -> ConRag {
        let defaults = PathOptions::default();
        let options = PathOptions { hops: self.hops.unwrap_or(defaults.hops), ..defaults };
        ConRag {
            structure: Structure::Path(Paths { options, ..Paths::default() }),
            passages: self.passages.map(|most| most as usize),
            ..ConRag::default()
        }
    }
}

impl Chooses for ConRag {
    fn choose(&self, asked: &Asked<'_>) -> Result<Answer, Failure> {
        let request = Request {
            documents: asked.documents,
            threads: asked.threads,
            ..Request::new(asked.question, asked.budget, asked.format)
        };
        let method = Self { on_overflow: asked.on_overflow, ..self.clone() };
        let found = method.retrieve(asked.read, &request)?;
        let chosen: Vec<&ConRagHit> = found
            .hits
            .iter()
            .filter(|hit| found.retrieved.evidence.items.iter().any(|item| item.node == hit.node))
            .collect();
        let mut notes: BTreeMap<NodeId, Vec<String>> = BTreeMap::new();
        for hit in &chosen {
            notes.insert(hit.node, hit.path.iter().map(|step| way(asked, step)).collect::<Result<_, _>>()?);
        }
        let fields = Map::from_iter([("hits".to_owned(), json!(chosen))]);
        Ok(Answer { found: found.retrieved, notes, fields })
    }
}

/// A step of a path in words.
fn way(asked: &Asked<'_>, step: &PathStep) -> Result<String, Failure> {
    let from = asked.read.document_of(step.from)?;
    let sentence = match step.sentence {
        Some(span) => format!(": {}", asked.read.text(from.id, span)?),
        None => String::new(),
    };
    Ok(format!("by {:?}, {:.3}, from node {} of {}{sentence}", step.name, step.score, step.from, from.key))
}
