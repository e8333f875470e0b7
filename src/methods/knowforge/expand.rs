//! Bounded expansion: what hyperedges and paths of names lead to from the best hits.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::EdgeExpansion;
use super::KnowForge;
use super::PathExpansion;
use super::ScoreFusion;
use super::search::Kinds;
use super::search::KnowForgeHit;
use super::search::SearchResponse;
use super::search::Within;
use crate::db::ReadTransaction;
use crate::error::Result;
use crate::graph::Graph;
use crate::graph::Object;
use crate::graph::paths::SENTENCE;
use crate::ids::DocumentId;
use crate::ids::HyperedgeId;
use crate::ids::NodeId;
use crate::query::BaseWeights;
use crate::query::FindPaths;
use crate::query::PoolKind;
use crate::query::Question;
use crate::query::SentenceVectors;
use crate::query::sentence_space;

/// Kind of hyperedges that only say that two things are alike.
const SIMILARITY: &str = "similarity";

/// Hyperedges of one anchor that are looked at, the heaviest.
const LOOKED_AT: usize = 256;

/// Members and supports of one hyperedge that are looked at.
const MEMBERS: usize = 64;

/// Leaves that paths may lead to, of which the best are taken.
const PATH_POOL: usize = 256;

impl KnowForge {
    /// Adds to `response` what expansion finds, never what it has.
    pub(super) fn add_expansions(
        &self,
        read: &ReadTransaction,
        question: Question<'_>,
        kinds: &Kinds,
        within: Within<'_>,
        response: &mut SearchResponse,
    ) -> Result<()> {
        let mut met: BTreeSet<NodeId> = response.hits().map(|hit| hit.node).collect();
        let after_paths = match &self.paths {
            Some(paths) => self.by_paths(read, question, paths, within, response, &mut met)?,
            None => Vec::new(),
        };
        let after_edges = match &self.edges {
            Some(edges) => by_edges(read, edges, within, response, &mut met)?,
            None => Vec::new(),
        };
        let mut found: Vec<KnowForgeHit> = after_paths.into_iter().chain(after_edges).collect();
        self.complete(read, question, kinds, &mut found)?;
        let mut moved = [0; 4];
        for hit in found {
            let list = response.list_mut(hit.kind);
            let after = self.paths.filter(|_| !hit.path.is_empty()).and_then(|paths| paths.after);
            match after {
                Some(after) if after + moved[hit.kind as usize] < list.len() => {
                    list.insert(after + moved[hit.kind as usize], hit.clone());
                    moved[hit.kind as usize] += 1;
                }
                _ => list.push(hit),
            }
        }
        Ok(())
    }

    /// Document, kind and similarity of what was found.
    fn complete(
        &self,
        read: &ReadTransaction,
        question: Question<'_>,
        kinds: &Kinds,
        found: &mut [KnowForgeHit],
    ) -> Result<()> {
        for hit in found.iter_mut() {
            hit.document = read.document_of(hit.node)?.id;
            hit.kind = kinds.of(hit.node);
            hit.score = self.display(hit.raw);
        }
        let Some((given, space)) =
            question.vector.and_then(|given| read.space(given.space).map(|space| (given, space)))
        else {
            return Ok(());
        };
        let flat = space.flat()?;
        let query = flat.query(given.vector)?;
        let nodes: Vec<NodeId> = found.iter().map(|hit| hit.node).collect();
        for (hit, cosine) in found.iter_mut().zip(flat.score_ids(&query, &nodes)?) {
            hit.similarity = cosine.filter(|cosine| cosine.is_finite()).unwrap_or(0.0);
        }
        Ok(())
    }

    fn by_paths(
        &self,
        read: &ReadTransaction,
        question: Question<'_>,
        expansion: &PathExpansion,
        within: Within<'_>,
        response: &SearchResponse,
        met: &mut BTreeSet<NodeId>,
    ) -> Result<Vec<KnowForgeHit>> {
        if expansion.total == 0 || response.text.is_empty() || read.graph()?.hyperedge_count() == 0 {
            return Ok(Vec::new());
        }
        let index = read.path_index()?;
        if index.sentences().is_empty() {
            return Ok(Vec::new());
        }
        let base = match self.fusion {
            ScoreFusion::Weighted(weights) => weights,
            ScoreFusion::Rrf { .. } => BaseWeights::default(),
        };
        // What is out of scope takes no place of what is in it.
        let limit = if within.allowed.is_some() { usize::MAX } else { PATH_POOL };
        let paths = FindPaths { limit, base, paths: expansion.options, threads: within.threads };
        let space = sentence_space(read, &index, question)?;
        let sentences = space.as_ref().map(|space| space as &dyn SentenceVectors);
        let mut reached = paths.run(read, &index, question, sentences)?;
        reached.retain(|hit| {
            let allowed = within.allowed.is_none_or(|set| set.contains(hit.node.0));
            allowed && !hit.path.is_empty() && !met.contains(&hit.node)
        });
        // Stable: ties go to the better leaf by itself, then to the lower id.
        reached.sort_by(|a, b| b.into.total_cmp(&a.into));
        let raws: BTreeMap<NodeId, f32> = response.hits().map(|hit| (hit.node, hit.raw)).collect();
        let mut of_anchor: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut found = Vec::new();
        for hit in reached {
            let Some(first) = hit.path.first().map(|step| step.from) else { continue };
            let count = of_anchor.entry(first).or_default();
            if *count == expansion.per_anchor {
                continue;
            }
            *count += 1;
            met.insert(hit.node);
            let raw = raws.get(&first).map_or(hit.into, |raw| expansion.share * raw);
            found.push(KnowForgeHit { path: hit.path, ..expanded(hit.node, first, raw) });
            if found.len() == expansion.total {
                break;
            }
        }
        Ok(found)
    }
}

fn by_edges(
    read: &ReadTransaction,
    expansion: &EdgeExpansion,
    within: Within<'_>,
    response: &SearchResponse,
    met: &mut BTreeSet<NodeId>,
) -> Result<Vec<KnowForgeHit>> {
    let graph = read.graph()?;
    let mut found = Vec::new();
    if graph.hyperedge_count() == 0 {
        return Ok(found);
    }
    for anchor in response.text.iter().filter(|hit| !hit.from_graph).take(expansion.anchors) {
        for (edge, ends) in edges(&graph, anchor).into_iter().take(expansion.per_anchor) {
            let mut link = None;
            for end in ends {
                if found.len() == expansion.total {
                    return Ok(found);
                }
                let Some(node) = leaf_at(read, end)? else { continue };
                let allowed = within.allowed.is_none_or(|set| set.contains(node.0));
                if !allowed || !met.insert(node) {
                    continue;
                }
                if link.is_none() {
                    let info = read.hyperedge(edge)?;
                    link = Some(if info.label.is_empty() { info.kind } else { info.label });
                }
                let mut hit = expanded(node, anchor.node, expansion.share * anchor.raw);
                hit.link.clone_from(&link);
                found.push(hit);
            }
        }
    }
    Ok(found)
}

fn expanded(node: NodeId, anchor: NodeId, raw: f32) -> KnowForgeHit {
    KnowForgeHit {
        node,
        document: DocumentId(0),
        kind: PoolKind::Text,
        score: 0.0,
        raw,
        similarity: 0.0,
        parts: vec![("anchor", raw)],
        point: node,
        from_graph: true,
        anchor: Some(anchor),
        link: None,
        path: Vec::new(),
    }
}

/// Hyperedges of `anchor` that lead to other nodes, with these: those with a kind first, then the heaviest, ties to the
/// lower id.
fn edges(graph: &Graph, anchor: &KnowForgeHit) -> Vec<(HyperedgeId, Vec<NodeId>)> {
    let own = |node: NodeId| {
        let member_of = graph.incident(Object::Node(node)).take(LOOKED_AT);
        member_of.chain(graph.supported_by(node).take(LOOKED_AT)).collect::<Vec<_>>()
    };
    let mut all = own(anchor.point);
    if anchor.point != anchor.node {
        all.extend(own(anchor.node));
    }
    all.sort_unstable();
    all.dedup();
    all.retain(|edge| graph.kind(*edge) != Some(SENTENCE));
    let is_similarity = |edge: &HyperedgeId| graph.kind(*edge) == Some(SIMILARITY);
    all.sort_by(|a, b| {
        let typed = is_similarity(a).cmp(&is_similarity(b));
        typed.then(graph.weight(*b).total_cmp(&graph.weight(*a))).then(a.cmp(b))
    });
    let ends = |edge: HyperedgeId| {
        let members = graph.members(edge).take(MEMBERS).filter_map(|member| match member.object {
            Object::Node(node) => Some(node),
            _ => None,
        });
        let supports = graph.supports(edge).take(MEMBERS).map(|(node, _)| node);
        let mut ends: Vec<NodeId> = Vec::new();
        for node in members.chain(supports) {
            if node != anchor.node && node != anchor.point && !ends.contains(&node) {
                ends.push(node);
            }
        }
        (edge, ends)
    };
    all.into_iter().map(ends).filter(|(_, ends)| !ends.is_empty()).collect()
}

/// The leaf that `node` is, or the first below it; `None` if it has none.
fn leaf_at(read: &ReadTransaction, node: NodeId) -> Result<Option<NodeId>> {
    let tree = read.tree(read.document_of(node)?.id)?;
    Ok(tree.leaves(node)?.next().map(|leaf| leaf.id()))
}
