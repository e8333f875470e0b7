//! The index of paths, from the graph that a file keeps.

use std::collections::BTreeMap;
use std::collections::HashMap;

use crate::db::ReadTransaction;
use crate::error::Result;
use crate::graph::Object;
use crate::graph::paths::MENTION_ROLE;
use crate::graph::paths::PathIndex;
use crate::graph::paths::PathIndexBuilder;
use crate::graph::paths::SENTENCE;
use crate::graph::paths::SentenceEntry;
use crate::graph::paths::TITLE_ROLE;
use crate::ids::EntityId;
use crate::ids::HyperedgeId;
use crate::ids::Span;

/// The index of every leaf of `read`, from its graph's hyperedges of kind `sentence`. The row of a sentence is the id
/// of its hyperedge. A leaf that supports none has no names and no titles.
///
/// It holds for as long as leaves and graph stay as they are; make it once for many questions.
///
/// # Errors
///
/// `Corrupt` or `Io`.
///
/// # Complexity
///
/// Linear in the graph; `O(n log n)` in the names.
pub fn path_index(read: &ReadTransaction) -> Result<PathIndex> {
    let graph = read.graph()?;
    let mut names: BTreeMap<EntityId, String> = BTreeMap::new();
    read.for_each_entity(|entity| {
        names.insert(entity.id, entity.name);
        Ok(())
    })?;
    let mut places: HashMap<HyperedgeId, Span> = HashMap::new();
    read.for_each_place(|edge, _, span| {
        places.insert(edge, span);
        Ok(())
    })?;
    let mut index = PathIndexBuilder::default();
    for leaf in read.text_index().everything().leaves() {
        let edges: Vec<HyperedgeId> =
            graph.supported_by(*leaf).filter(|edge| graph.kind(*edge) == Some(SENTENCE)).collect();
        let members = |edge: HyperedgeId, role: &'static str| {
            let of_role = graph.members(edge).filter(move |member| member.role == role);
            of_role.filter_map(|member| match member.object {
                Object::Entity(entity) => names.get(&entity).map(String::as_str),
                _ => None,
            })
        };
        let titles: Vec<&str> = edges.iter().flat_map(|edge| members(*edge, TITLE_ROLE)).collect();
        index.leaf(*leaf, titles)?;
        for edge in edges {
            let span = places.get(&edge).copied().unwrap_or_default();
            index.sentence(SentenceEntry { row: edge.0, span }, members(edge, MENTION_ROLE))?;
        }
    }
    Ok(index.finish())
}
