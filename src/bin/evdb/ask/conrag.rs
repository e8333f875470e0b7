//! `evdb ask --method conrag`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use evdb::NodeId;
use evdb::graph::paths::PathOptions;
use evdb::methods::conrag::{
    ConRag, ConRagHit, Generation, PathShape, Paths, Request, Structure, SuppliedPlan,
};
use evdb::query::{ConsensusG1, ConsensusG3};
use serde_json::{Map, json};

use super::{Answer, Asked, Chooses, way};
use crate::failure::Failure;
use crate::vectors::Embedding;

/// Options of ConRAG.
#[derive(Args)]
pub struct ConragArgs {
    /// What structure is [default: path, or views if --generation is given]
    #[arg(long, value_enum, help_heading = "Method conrag")]
    pub structure: Option<StructureArg>,
    /// How structure adds to text: as in the paper's first release, or as in its later text [default for views: g1]
    #[arg(long, value_enum, help_heading = "Method conrag")]
    pub generation: Option<GenerationArg>,
    /// How far paths lead from the best leaves: 2, or 3 for another hop [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=3), help_heading = "Method conrag")]
    pub hops: Option<u8>,
    /// Most passages of evidence [default: what fits; 3 for views]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Method conrag")]
    pub passages: Option<u32>,
    /// Ask the steps of a plan: {"plan": [{"id", "sub_question", "dependencies"}, ...], "answers": ["...", null]}
    #[arg(long, value_name = "FILE.json", conflicts_with = "questions", help_heading = "Method conrag")]
    pub plan: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StructureArg {
    /// Paths of names from the best leaves
    Path,
    /// Entities and relations near to the question
    Views,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GenerationArg {
    G1,
    G3,
}

/// ConRAG with the text of a plan.
struct Planned {
    method: ConRag,
    plan: Option<String>,
}

impl ConragArgs {
    /// The first of these options that was typed.
    pub fn typed(&self) -> Option<&'static str> {
        let options = [
            (self.structure.is_some(), "--structure"),
            (self.generation.is_some(), "--generation"),
            (self.hops.is_some(), "--hops"),
            (self.passages.is_some(), "--passages"),
            (self.plan.is_some(), "--plan"),
        ];
        options.into_iter().find_map(|(typed, name)| typed.then_some(name))
    }

    pub fn method(&self) -> Result<impl Chooses + use<>, Failure> {
        let default = if self.generation.is_some() { StructureArg::Views } else { StructureArg::Path };
        let mut method = match (self.structure.unwrap_or(default), self.generation) {
            (StructureArg::Path, Some(GenerationArg::G1)) => {
                return Err(Failure::usage(
                    "g1 has no form for paths",
                    "give --generation g3, or --structure views, or leave one of them out",
                ));
            }
            (StructureArg::Path, generation) => {
                let defaults = PathOptions::default();
                let options = PathOptions { hops: self.hops.unwrap_or(defaults.hops), ..defaults };
                let shape = if generation.is_some() { PathShape::Consensus } else { PathShape::Sum };
                let structure = Structure::Path(Paths { options, shape, ..Paths::default() });
                ConRag { structure, ..ConRag::default() }
            }
            (StructureArg::Views, _) if self.hops.is_some() => {
                return Err(Failure::usage(
                    "views have no hops",
                    "leave --hops out, or give --structure path",
                ));
            }
            (StructureArg::Views, Some(GenerationArg::G3)) => {
                ConRag { structure: Structure::Views(Generation::G3(ConsensusG3::default())), ..ConRag::g3() }
            }
            (StructureArg::Views, _) => {
                ConRag { structure: Structure::Views(Generation::G1(ConsensusG1::default())), ..ConRag::g1() }
            }
        };
        method.passages = self.passages.map(|most| most as usize).or(method.passages);
        let read = |path: &PathBuf| {
            fs::read_to_string(path)
                .map_err(|error| Failure::from(evdb::Error::io("read", path.display(), error)))
        };
        Ok(Planned { method, plan: self.plan.as_ref().map(read).transpose()? })
    }
}

impl Chooses for Planned {
    fn choose(&self, asked: &Asked<'_>) -> Result<Answer, Failure> {
        let plan =
            self.plan.as_ref().map(|json| SuppliedPlan::parse(json, asked.question.text)).transpose()?;
        let embedding = match (&plan, asked.question.vector) {
            (Some(_), Some(vector)) => {
                Embedding::of(asked.read, Some(vector.space), asked.model).ok().flatten()
            }
            _ => None,
        };
        let request = Request {
            documents: asked.documents,
            threads: asked.threads,
            plan: plan.as_ref(),
            embedder: embedding.as_ref().map(|embedding| embedding.parts().1),
            ..Request::new(asked.question, asked.budget, asked.format)
        };
        let method = ConRag { on_overflow: asked.on_overflow, ..self.method.clone() };
        let found = method.retrieve(asked.read, &request)?;
        let chosen: Vec<&ConRagHit> = found
            .hits
            .iter()
            .filter(|hit| found.retrieved.evidence.items.iter().any(|item| item.node == hit.node))
            .collect();
        let mut notes: BTreeMap<NodeId, Vec<String>> = BTreeMap::new();
        for hit in &chosen {
            notes.insert(hit.node, reasons(asked, hit)?);
        }
        let mut fields = Map::from_iter([("hits".to_owned(), json!(chosen))]);
        if let Some(plan) = &plan {
            fields.insert("plan".to_owned(), json!(plan.plan));
            fields.insert("plan_fault".to_owned(), json!(plan.fault));
        }
        let fault = plan.and_then(|plan| plan.fault);
        let warning = fault.map(|fault| format!("the plan is not used: {fault}"));
        Ok(Answer { found: found.retrieved, notes, fields, warning })
    }
}

/// Why a leaf is there, a reason a line.
fn reasons(asked: &Asked<'_>, hit: &ConRagHit) -> Result<Vec<String>, Failure> {
    let mut lines: Vec<String> = hit.path.iter().map(|step| way(asked, step)).collect::<Result<_, _>>()?;
    if let Some(agreed) = &hit.agreed {
        lines.push(format!(
            "views: text {:.3}, entities {:.3}, relations {:.3}; common entities leave {:.3}",
            agreed.text, agreed.entities, agreed.relations, agreed.gate
        ));
    }
    lines.extend(hit.supports.iter().map(|support| format!("{:.3} {}", support.score, support.text)));
    let places =
        hit.steps.iter().map(|place| format!("step {}: {} by {:.3}", place.step, place.rank, place.score));
    lines.extend(places);
    Ok(lines)
}
