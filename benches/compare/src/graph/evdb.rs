//! evdb: nodes are entities, edges hyperedges of two members, a leaf for every 1,000 of them.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use evdb::graph::{Expand, Graph, GraphPatch, HyperedgeDraft, Object, PageRank, Precision, Target, WalkOn};
use evdb::tree::{Node, NodeKind};
use evdb::{Database, Document, EntityId, Span};

use super::engine::{Answer, Case, Engine};
use super::input::{DAMPING, Input, PER_NODE, REACHED, TOP};

/// Edges of a document.
const TOGETHER: usize = 1_000;
const KIND: &str = "node";
const FILE: &str = "compare.evdb";

pub fn open(folder: &Path, input: &Input) -> Result<(Box<dyn Engine>, String)> {
    let db = Database::builder().create(folder.join(FILE))?;
    let mut write = db.begin_write()?;
    for (at, edges) in input.edges.chunks(TOGETHER).enumerate() {
        let key = format!("edges {at}");
        let mut document = Document::new(key.as_str(), key.as_str());
        document.text = "edges".into();
        document.nodes.push(Node { span: Span::new(0, 5), ..Node::new(Some(0), NodeKind::Text) });
        let node = |number: u32| Target::entity(number.to_string(), KIND);
        let edge = |(a, b): &(u32, u32)| {
            HyperedgeDraft::new("edge", "").member("", node(*a)).member("", node(*b)).supported_by(1)
        };
        let patch = GraphPatch { hyperedges: edges.iter().map(edge).collect(), ..GraphPatch::default() };
        let id = write.insert_document(&document)?;
        write.put_graph(id, &document, &patch)?;
    }
    write.commit()?;
    let read = db.begin_read()?;
    let graph = read.graph()?;
    // Only nodes with an edge are entities.
    let mut entities = vec![None; input.nodes as usize];
    let mut numbers = std::collections::HashMap::new();
    read.for_each_entity(|entity| {
        if let Ok(number) = entity.name.parse::<u32>() {
            numbers.insert(entity.id, number);
            if let Some(slot) = entities.get_mut(number as usize) {
                *slot = Some(entity.id);
            }
        }
        Ok(())
    })?;
    let ranked =
        |precision| PageRank { on: WalkOn::Members, damping: DAMPING, precision, ..PageRank::default() };
    let engine = Evdb {
        graph,
        entities,
        numbers,
        top: ranked(Precision::Best(1e-9)),
        full: ranked(Precision::Full(1e-6)),
        expand: Expand { per_anchor: PER_NODE, total: REACHED, ..Expand::default() },
        found: Found::Nothing,
    };
    Ok((Box::new(engine), "in a file, durable, one transaction; then read into memory".into()))
}

enum Found {
    Nothing,
    Objects(Vec<(Object, f64)>),
    All(Vec<f64>),
}

struct Evdb {
    graph: Arc<Graph>,
    entities: Vec<Option<EntityId>>,
    numbers: std::collections::HashMap<EntityId, u32>,
    top: PageRank,
    full: PageRank,
    expand: Expand,
    found: Found,
}

impl Evdb {
    fn object(&self, node: u32) -> Result<Object> {
        let entity = self.entities.get(node as usize).copied().flatten();
        entity.map(Object::Entity).with_context(|| format!("node {node} has no edge"))
    }
}

impl Engine for Evdb {
    fn ask(&mut self, case: Case, seeds: &[u32]) -> Result<()> {
        let objects: Vec<Object> = seeds.iter().map(|node| self.object(*node)).collect::<Result<_>>()?;
        let weighted = || objects.iter().map(|object| (*object, 1.0)).collect::<Vec<(Object, f64)>>();
        self.found = match case {
            Case::Top => Found::Objects(self.top.run(&self.graph, &weighted(), TOP)?.best),
            Case::Full => Found::All(self.full.distribution(&self.graph, &weighted(), 1e-6)?),
            Case::Expand => {
                let reached = self.expand.run(&self.graph, &objects).reached;
                let hops = |hops: usize| if hops == 1 { 1.0 } else { 2.0 };
                Found::Objects(reached.into_iter().map(|one| (one.object, hops(one.hops))).collect())
            }
        };
        Ok(())
    }

    fn found(&self) -> Answer {
        let number = |object: Object| match object {
            Object::Entity(entity) => self.numbers.get(&entity).copied(),
            _ => None,
        };
        match &self.found {
            Found::Nothing => Vec::new(),
            Found::Objects(list) => {
                list.iter().filter_map(|(object, score)| Some((number(*object)?, *score))).collect()
            }
            Found::All(ranks) => ranks
                .iter()
                .enumerate()
                .filter_map(|(at, rank)| Some((number(self.graph.object_at(at))?, *rank)))
                .collect(),
        }
    }
}
