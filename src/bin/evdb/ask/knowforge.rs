//! `evdb ask --method knowforge`.

use std::collections::BTreeMap;

use clap::Args;
use evdb::NodeId;
use evdb::methods::knowforge::{
    KnowForge, KnowForgeHit, PathExpansion, Request, ScoreFusion, SearchResponse,
};
use evdb::query::Question;
use serde_json::{Map, json};

use super::{Answer, Asked, Chooses, way};
use crate::failure::Failure;

/// Options of KnowForge.
#[derive(Args)]
pub struct KnowforgeArgs {
    /// Most leaves of text a search finds before expansion [default: 8]
    #[arg(long, value_name = "N", help_heading = "Method knowforge")]
    pub topk: Option<u32>,
    /// Search for this too (repeat for more), by words; what all find is pooled
    #[arg(long, value_name = "QUERY", help_heading = "Method knowforge")]
    pub also: Vec<String>,
    /// Follow neither hyperedges nor paths of names
    #[arg(long, help_heading = "Method knowforge")]
    pub no_expand: bool,
    /// Hits that stay before what paths of names lead to; all if it is as much as --topk [default: 3]
    #[arg(long, value_name = "N", conflicts_with = "no_expand", help_heading = "Method knowforge")]
    pub expand_after: Option<u32>,
    /// Fuse words and vectors by reciprocal ranks
    #[arg(long, help_heading = "Method knowforge")]
    pub rrf: bool,
}

/// KnowForge, and what else it searches for.
pub struct Round {
    method: KnowForge,
    also: Vec<String>,
}

impl KnowforgeArgs {
    /// The first of these options that was typed.
    pub fn typed(&self) -> Option<&'static str> {
        let options = [
            (self.topk.is_some(), "--topk"),
            (!self.also.is_empty(), "--also"),
            (self.no_expand, "--no-expand"),
            (self.expand_after.is_some(), "--expand-after"),
            (self.rrf, "--rrf"),
        ];
        options.into_iter().find_map(|(typed, name)| typed.then_some(name))
    }

    pub fn method(&self) -> Round {
        let mut method = KnowForge::default();
        if let Some(topk) = self.topk {
            method.topk = topk as usize;
            method.candidates = method.candidates.max(method.topk);
        }
        if self.rrf {
            method.fusion = ScoreFusion::Rrf { k: 60.0 };
        }
        if self.no_expand {
            (method.edges, method.paths) = (None, None);
        } else if let Some(after) = self.expand_after {
            method.paths = Some(PathExpansion { after: Some(after as usize), ..PathExpansion::default() });
        }
        Round { method, also: self.also.clone() }
    }
}

impl Chooses for Round {
    fn choose(&self, asked: &Asked<'_>) -> Result<Answer, Failure> {
        let also = self.also.iter().map(|text| Question { text, vector: None });
        let queries: Vec<Question<'_>> = std::iter::once(asked.question).chain(also).collect();
        let request = Request {
            documents: asked.documents,
            threads: asked.threads,
            ..Request::new(&queries, asked.budget, asked.format)
        };
        let method = KnowForge { on_overflow: asked.on_overflow, ..self.method.clone() };
        let found = method.retrieve(asked.read, &request)?;
        let mut notes: BTreeMap<NodeId, Vec<String>> = BTreeMap::new();
        for hit in found.searches.iter().flat_map(SearchResponse::hits) {
            if found.retrieved.evidence.items.iter().any(|item| item.node == hit.node)
                && !notes.contains_key(&hit.node)
            {
                notes.insert(hit.node, reasons(asked, hit)?);
            }
        }
        let fields = Map::from_iter([("searches".to_owned(), json!(found.searches))]);
        Ok(Answer { found: found.retrieved, notes, fields, warning: None })
    }
}

/// Why a hit was found.
fn reasons(asked: &Asked<'_>, hit: &KnowForgeHit) -> Result<Vec<String>, Failure> {
    let weak = if hit.is_weak() { ", weakly relevant" } else { "" };
    let mut lines = vec![format!("{:.1} of 10{weak}, similarity {:.3}", hit.score, hit.similarity)];
    if let (Some(anchor), true) = (hit.anchor, hit.path.is_empty()) {
        let link = hit.link.as_deref().unwrap_or("a hyperedge");
        lines.push(format!("by {link:?} from node {anchor} of {}", asked.read.document_of(anchor)?.key));
    }
    for step in &hit.path {
        lines.push(way(asked, step)?);
    }
    Ok(lines)
}
