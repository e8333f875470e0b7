//! The index that paths are walked on, from the graph that a file keeps.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Weak;

use super::read::ReadTransaction;
use crate::error::Result;
use crate::graph::Graph;
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

/// The index made last, and of what graph: commits that leave graph and leaves as they are need not make it again.
pub(super) struct LastPaths {
    graph: Weak<Graph>,
    index: Arc<PathIndex>,
}

impl ReadTransaction {
    /// The index of every leaf of this state for paths, from its graph's hyperedges of kind `sentence`. The row of a
    /// sentence is the id of its hyperedge. A leaf that supports none has no names and no titles.
    ///
    /// Made on first use and shared by every read transaction of the state, and by those of later states for as long
    /// as commits leave leaves and graph as they are. Of states that nobody reads any more, the file keeps one index
    /// in memory, that made last: 4 bytes a leaf, 16 a sentence, 12 to 16 for every name in a sentence, and every
    /// name once ([`PathIndex::size_bytes`]). It does not count towards the cache.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    ///
    /// # Complexity
    ///
    /// The first time linear in the graph, `O(n log n)` in the names; then O(1), or a comparison of the leaves in a
    /// state that is new.
    pub fn path_index(&self) -> Result<Arc<PathIndex>> {
        let mut own = self.state.paths.lock();
        if let Some(index) = &*own {
            return Ok(Arc::clone(index));
        }
        let graph = self.graph()?;
        let mut last = self.shared().caches.paths.lock();
        let kept = last.as_ref().filter(|last| {
            let same_graph = last.graph.upgrade().is_some_and(|other| Arc::ptr_eq(&other, &graph));
            same_graph && last.index.leaves() == self.text_index().everything().leaves()
        });
        let index = match kept {
            Some(last) => Arc::clone(&last.index),
            None => Arc::new(self.make_path_index(&graph)?),
        };
        *last = Some(LastPaths { graph: Arc::downgrade(&graph), index: Arc::clone(&index) });
        *own = Some(Arc::clone(&index));
        Ok(index)
    }

    fn make_path_index(&self, graph: &Graph) -> Result<PathIndex> {
        let mut names: BTreeMap<EntityId, String> = BTreeMap::new();
        self.for_each_entity(|entity| {
            names.insert(entity.id, entity.name);
            Ok(())
        })?;
        let mut places: HashMap<HyperedgeId, Span> = HashMap::new();
        self.for_each_place(|edge, _, span| {
            places.insert(edge, span);
            Ok(())
        })?;
        let mut index = PathIndexBuilder::default();
        for leaf in self.text_index().everything().leaves() {
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
}
