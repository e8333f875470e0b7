//! The graph of a state, asked.

use crate::db::ReadTransaction;
use crate::db::RowsOf;
use crate::error::Result;
use crate::graph::BeamPaths;
use crate::graph::Expand;
use crate::graph::Expansion;
use crate::graph::Object;
use crate::graph::PageRank;
use crate::graph::Path;
use crate::graph::Ranks;
use crate::ids::EntityId;
use crate::ids::HyperedgeId;
use crate::ids::NodeId;
use crate::query::scores::Pooling;
use crate::query::scores::ScoreMap;

/// How entities are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EntityQuery<'a> {
    /// Those of that name, in its normalised form, and of that kind, or of any.
    Key(&'a str, Option<&'a str>),
    /// Those whose normalised names begin so.
    Prefix(&'a str),
    /// Those whose names and aliases have the words, by BM25.
    Text(&'a str),
    /// Those whose vectors in the space of entities of this name are nearest to the vector.
    Vector(&'a str, &'a [f32]),
}

/// The entities of a state that `query` asks for, at most `limit`, best first: by key and prefix in the order of name
/// and kind with score 1, by text and vector by score, ties to the lower id.
///
/// # Errors
///
/// `NotFound` if there is no such space, `InvalidInput` if the vector does not fit it; `Corrupt`; `Io`.
pub fn find_entities(
    read: &ReadTransaction,
    query: EntityQuery<'_>,
    limit: usize,
) -> Result<Vec<(EntityId, f32)>> {
    let equal = |ids: Vec<EntityId>| ids.into_iter().map(|id| (id, 1.0)).collect();
    match query {
        EntityQuery::Key(name, Some(kind)) => {
            let found = read.entity_by_key(name, kind)?;
            Ok(equal(found.into_iter().take(limit).collect()))
        }
        EntityQuery::Key(name, None) => Ok(equal(read.entities_by_name(name, true, limit)?)),
        EntityQuery::Prefix(start) => Ok(equal(read.entities_by_name(start, false, limit)?)),
        EntityQuery::Text(text) => {
            let terms = read.analyzers().distinct_terms(text);
            Ok(read.entity_names()?.search(&terms, limit))
        }
        EntityQuery::Vector(space, vector) => {
            let found = read.nearest_objects(space, RowsOf::Entities, vector, limit)?;
            Ok(found.into_iter().map(|(id, score)| (EntityId(id), score)).collect())
        }
    }
}

/// What is around `anchors`, within the bounds of `expand`.
///
/// # Errors
///
/// `Corrupt` or `Io`. Anchors that are not in the graph are in the result.
pub fn expand(read: &ReadTransaction, expand: &Expand, anchors: &[Object]) -> Result<Expansion> {
    Ok(expand.run(&*read.graph()?, anchors))
}

/// The best `limit` objects for weighted seeds; see [`PageRank::run`].
///
/// # Errors
///
/// `InvalidInput` for a setting or weight out of its bounds; `Corrupt`; `Io`. Seeds that are not in the graph are in
/// the result.
pub fn page_rank(
    read: &ReadTransaction,
    settings: &PageRank,
    seeds: &[(Object, f64)],
    limit: usize,
) -> Result<Ranks> {
    settings.run(&*read.graph()?, seeds, limit)
}

/// The best paths from `anchors` by a score of hyperedges; see [`BeamPaths::run`].
///
/// # Errors
///
/// Whatever `score` returns; `Corrupt`; `Io`.
pub fn beam_paths(
    read: &ReadTransaction,
    settings: &BeamPaths,
    anchors: &[Object],
    score: impl FnMut(HyperedgeId) -> Result<f32>,
) -> Result<Vec<Path>> {
    settings.run(&*read.graph()?, anchors, score)
}

/// Leaves behind an object: those that support a hyperedge or mention an entity, or the node itself; an inner node
/// stands for all leaves below it. Ascending, each once; none for what is not in the graph.
///
/// # Errors
///
/// `NotFound` if a node is not there; `Corrupt`; `Io`.
pub fn projected(read: &ReadTransaction, object: Object) -> Result<Vec<NodeId>> {
    let graph = read.graph()?;
    let nodes: Vec<NodeId> = match object {
        Object::Hyperedge(id) => graph.supports(id).map(|(node, _)| node).collect(),
        Object::Entity(id) => graph.mentions(id).map(|(node, _)| node).collect(),
        Object::Node(node) => vec![node],
    };
    let view = read.text_index().everything();
    let leaves = view.leaves();
    let mut out = Vec::with_capacity(nodes.len());
    for node in nodes {
        if leaves.binary_search(&node).is_ok() {
            out.push(node);
            continue;
        }
        let document = read.document_of(node)?;
        out.extend(read.tree(document.id)?.leaves(node)?.map(|leaf| leaf.id()));
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

/// Scores of the leaves behind scored objects, those of one leaf pooled.
///
/// # Errors
///
/// As [`projected`].
pub fn project(read: &ReadTransaction, objects: &[(Object, f32)], pool: Pooling) -> Result<ScoreMap<NodeId>> {
    let mut scores = Vec::new();
    for (object, score) in objects {
        scores.extend(projected(read, *object)?.into_iter().map(|leaf| (leaf, *score)));
    }
    Ok(ScoreMap::pooled(scores, pool))
}
