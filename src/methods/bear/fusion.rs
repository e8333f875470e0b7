//! Two sets of chosen nodes made one list of leaves.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Priority;
use crate::error::Error;
use crate::error::Result;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::ids::NodeRange;
use crate::tree::Tree;

/// A document's tree with the document's id.
#[derive(Debug, Clone, Copy)]
pub struct DocumentTree<'a> {
    /// The document.
    pub document: DocumentId,
    /// Its tree.
    pub tree: &'a Tree,
}

/// Which path chose a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Path {
    /// The language model (or both paths).
    Explored,
    /// Scores alone.
    Expanded,
}

/// A leaf of the fused list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct FusedLeaf {
    /// Its document.
    pub document: DocumentId,
    /// Place of its document among those of the list, from 0.
    pub document_rank: u32,
    /// The leaf.
    pub node: NodeId,
    /// The chosen node it stands for: itself or an inner node above it.
    pub chosen: NodeId,
    /// Which path chose that.
    pub path: Path,
}

/// The subtrees of two sets of chosen nodes without overlaps, in pre-order, each with the path that chose it.
///
/// * A node chosen by the model takes in every chosen node below it.
/// * An inner node that only scores chose gives way to any node kept below it: the finer choice wins.
/// * A node in both sets counts as the model's.
///
/// # Source
///
/// BEAR, arXiv 2601.18116 v2, procedure A2, `remove_overlaps`, whose direction is not stated.
/// Departure: the directions above are ours.
///
/// # Complexity
///
/// `O(n log n)` for `n` chosen nodes.
#[must_use]
pub fn remove_overlaps(explored: &[NodeRange], expanded: &[NodeRange]) -> Vec<(NodeRange, Path)> {
    let mut paths: BTreeMap<NodeId, (NodeRange, Path)> = BTreeMap::new();
    for range in expanded {
        paths.insert(range.first, (*range, Path::Expanded));
    }
    for range in explored {
        paths.insert(range.first, (*range, Path::Explored));
    }
    // In pre-order an ancestor comes first, so one mark tells how far the model's subtrees reach.
    let mut kept: Vec<(NodeRange, Path)> = Vec::with_capacity(paths.len());
    let mut covered: Option<NodeId> = None;
    for (range, path) in paths.into_values() {
        if covered.is_some_and(|last| range.first <= last) {
            continue;
        }
        // Whatever stands last and reaches this node is an ancestor of it that only scores chose.
        while kept.last().is_some_and(|(above, _)| range.first <= above.last) {
            kept.pop();
        }
        if path == Path::Explored {
            covered = Some(range.last);
        }
        kept.push((range, path));
    }
    kept
}

/// The leaves of what both paths chose, in the order in which they should be packed and read.
///
/// * `explored`: nodes the model chose, in its order. `expanded`: nodes TreeExpansion chose, best first.
/// * `document_order`: documents as the model ranked them; may be empty.
/// * `trees`: the documents both chose from, in any order.
/// * returns: each leaf once. Documents: those with a node the model chose, in `document_order`, others by
///   where a node of theirs first stands in `explored`; then those only scores chose, by where they first stand
///   in `expanded`. Inside a document by position; under [`Priority::Global`] first all leaves of the model's
///   nodes, then the rest, each by document and position.
///
/// # Source
///
/// BEAR, arXiv 2601.18116 v2, procedure A2 ([`Priority::Document`]); the reimplementation of v1
/// ([`Priority::Global`]). Departure: none but those of [`remove_overlaps`].
///
/// # Errors
///
/// `InvalidInput` if a node is in none of `trees`.
pub fn node_fusion(
    explored: &[NodeId],
    expanded: &[NodeId],
    document_order: &[DocumentId],
    trees: &[DocumentTree<'_>],
    priority: Priority,
) -> Result<Vec<FusedLeaf>> {
    let forest = Forest::new(trees);
    let ranges =
        |nodes: &[NodeId]| nodes.iter().map(|node| forest.subtree(*node)).collect::<Result<Vec<_>>>();
    let kept = remove_overlaps(&ranges(explored)?, &ranges(expanded)?);

    let mut by_model = BTreeSet::new();
    let mut by_any = BTreeSet::new();
    for (range, path) in &kept {
        let document = forest.of(range.first)?.document;
        by_any.insert(document);
        if *path == Path::Explored {
            by_model.insert(document);
        }
    }
    let mut order: Vec<DocumentId> = Vec::with_capacity(by_any.len());
    let mut rank: BTreeMap<DocumentId, u32> = BTreeMap::new();
    let mut admit = |document: DocumentId, among: &BTreeSet<DocumentId>| {
        if among.contains(&document) && !rank.contains_key(&document) {
            rank.insert(document, u32::try_from(order.len()).unwrap_or(u32::MAX));
            order.push(document);
        }
    };
    for document in document_order {
        admit(*document, &by_model);
    }
    for node in explored {
        admit(forest.of(*node)?.document, &by_model);
    }
    for node in expanded {
        admit(forest.of(*node)?.document, &by_any);
    }

    let mut leaves = Vec::new();
    for (range, path) in kept {
        let DocumentTree { document, tree } = forest.of(range.first)?;
        let document_rank = rank.get(&document).copied().unwrap_or(u32::MAX);
        let chosen = range.first;
        let below = tree.leaves(chosen)?.map(|leaf| leaf.id());
        leaves.extend(below.map(|node| FusedLeaf { document, document_rank, node, chosen, path }));
    }
    leaves.sort_by_key(|leaf| {
        let path = (priority == Priority::Global).then_some(leaf.path);
        (path, leaf.document_rank, leaf.node)
    });
    Ok(leaves)
}

/// The leaves of whole documents, in the given order of documents, each as it reads: the docs regime.
#[must_use]
pub fn whole_documents(trees: &[DocumentTree<'_>]) -> Vec<FusedLeaf> {
    let mut leaves = Vec::new();
    for (document_rank, DocumentTree { document, tree }) in (0_u32..).zip(trees) {
        let below = tree.nodes().filter(crate::tree::NodeView::is_leaf).map(|leaf| leaf.id());
        leaves.extend(below.map(|node| FusedLeaf {
            document: *document,
            document_rank,
            node,
            chosen: tree.root(),
            path: Path::Expanded,
        }));
    }
    leaves
}

/// Leaves of chosen nodes with the best score of a chosen node above each, in document order.
///
/// # Errors
///
/// `NotFound` if a node is not of `tree`.
///
/// # Complexity
///
/// `O(n + m log m)` for `n` nodes of the tree and `m` chosen ones.
pub fn descend(tree: &Tree, chosen: &[(NodeId, f32)]) -> Result<Vec<(NodeId, f32)>> {
    let mut given: BTreeMap<NodeId, f32> = BTreeMap::new();
    for (node, score) in chosen {
        let node = tree.node(*node)?;
        let entry = given.entry(node.id()).or_insert(f32::NEG_INFINITY);
        // `max` drops a NaN.
        *entry = entry.max(*score);
    }
    // The chosen ancestors of the node at hand, outermost first, each with the best score so far.
    let mut above: Vec<(NodeId, f32)> = Vec::new();
    let mut leaves = Vec::new();
    for node in tree.nodes() {
        while above.last().is_some_and(|(last, _)| *last < node.id()) {
            above.pop();
        }
        if let Some(own) = given.get(&node.id()) {
            let best = above.last().map_or(*own, |(_, best)| best.max(*own));
            above.push((node.range().last, best));
        }
        if let (true, Some((_, best))) = (node.is_leaf(), above.last()) {
            leaves.push((node.id(), *best));
        }
    }
    Ok(leaves)
}

/// Trees by their ids, to find the one a node belongs to.
struct Forest<'a>(Vec<DocumentTree<'a>>);

impl<'a> Forest<'a> {
    fn new(trees: &[DocumentTree<'a>]) -> Self {
        let mut trees = trees.to_vec();
        trees.sort_by_key(|tree| tree.tree.root());
        Self(trees)
    }

    fn of(&self, node: NodeId) -> Result<DocumentTree<'a>> {
        let after = self.0.partition_point(|tree| tree.tree.root() <= node);
        let tree = after.checked_sub(1).and_then(|at| self.0.get(at));
        tree.filter(|tree| tree.tree.range().contains(node))
            .copied()
            .ok_or_else(|| Error::invalid(format!("node {node} is in none of {} trees", self.0.len())))
    }

    fn subtree(&self, node: NodeId) -> Result<NodeRange> {
        Ok(self.of(node)?.tree.node(node)?.range())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tree::expansion::tests::tree;

    fn range(first: u32, last: u32) -> NodeRange {
        NodeRange::new(NodeId(first), NodeId(last))
    }

    fn ids(nodes: &[u32]) -> Vec<NodeId> {
        nodes.iter().copied().map(NodeId).collect()
    }

    #[test]
    fn what_the_model_chose_takes_in_what_lies_below() {
        let kept = remove_overlaps(&[range(2, 5)], &[range(3, 3), range(6, 6)]);

        assert_eq!(kept, [(range(2, 5), Path::Explored), (range(6, 6), Path::Expanded)]);
    }

    #[test]
    fn an_expanded_ancestor_gives_way_to_the_finer_choice() {
        let kept = remove_overlaps(&[range(4, 4)], &[range(2, 9), range(3, 5), range(7, 7)]);

        // 2..=9 and 3..=5 hold the model's 4; 7 stays.
        assert_eq!(kept, [(range(4, 4), Path::Explored), (range(7, 7), Path::Expanded)]);
    }

    #[test]
    fn a_node_both_paths_chose_counts_as_the_model_s() {
        let kept = remove_overlaps(&[range(2, 4)], &[range(2, 4), range(3, 3)]);

        assert_eq!(kept, [(range(2, 4), Path::Explored)]);
    }

    /// Document 1: 10 root, 11 s1 ( 12 13 ), 14 s2 ( 15 16 ). Document 2: 20 root, 21 s1 ( 22 23 ).
    /// Document 3: 30 root, 31 leaf.
    fn fused(order: &[u32], priority: Priority) -> Vec<(u32, Path)> {
        let (one, two, three) = (tree(10, "(ab)(cd)"), tree(20, "(ab)"), tree(30, "a"));
        let trees = [(3, &three), (1, &one), (2, &two)];
        let trees = trees.map(|(document, tree)| DocumentTree { document: DocumentId(document), tree });
        let order: Vec<DocumentId> = order.iter().copied().map(DocumentId).collect();
        let (explored, expanded) = (ids(&[21, 16]), ids(&[31, 12, 11, 22]));

        let leaves = node_fusion(&explored, &expanded, &order, &trees, priority).expect("all are there");

        leaves.iter().map(|leaf| (leaf.node.0, leaf.path)).collect()
    }

    #[test]
    fn documents_stand_by_the_model_s_order_and_leaves_by_position() {
        use Path::{Expanded, Explored};

        // 11 gives way to 12; 22 lies in the model's 21. Without an order of documents, 2 comes first as the
        // model named 21 first; document 3 was only expanded.
        let want = [(22, Explored), (23, Explored), (12, Expanded), (16, Explored), (31, Expanded)];
        assert_eq!(fused(&[], Priority::Document), want);
        // With it, 1 before 2; that the model ranked 3 does not lift it: none of its nodes were chosen by it.
        let want = [(12, Expanded), (16, Explored), (22, Explored), (23, Explored), (31, Expanded)];
        assert_eq!(fused(&[3, 1], Priority::Document), want);
    }

    #[test]
    fn global_priority_puts_every_leaf_of_the_model_first() {
        use Path::{Expanded, Explored};

        let want = [(16, Explored), (22, Explored), (23, Explored), (12, Expanded), (31, Expanded)];
        assert_eq!(fused(&[1, 2], Priority::Global), want);
    }

    #[test]
    fn a_node_of_no_tree_is_refused() {
        let one = tree(10, "a");
        let trees = [DocumentTree { document: DocumentId(1), tree: &one }];

        for node in [9, 12] {
            assert!(node_fusion(&ids(&[node]), &[], &[], &trees, Priority::Document).is_err());
        }
        assert!(node_fusion(&[], &[], &[], &[], Priority::Document).expect("nothing").is_empty());
    }

    #[test]
    fn a_leaf_gets_the_best_score_of_a_chosen_node_above_it() {
        let one = tree(10, "(ab)c");

        let leaves = descend(&one, &[(NodeId(11), 0.5), (NodeId(12), 0.2), (NodeId(13), 0.9)]);

        // 12 under 11: max(.5, .2); 13: max(.5, .9); 14 under none.
        assert_eq!(leaves.expect("there"), [(NodeId(12), 0.5), (NodeId(13), 0.9)]);
    }

    #[test]
    fn whole_documents_keep_their_given_order() {
        let (one, two) = (tree(10, "(ab)"), tree(20, "a"));
        let trees = [(2, &two), (1, &one)];
        let trees = trees.map(|(document, tree)| DocumentTree { document: DocumentId(document), tree });

        let leaves = whole_documents(&trees);

        assert_eq!(leaves.iter().map(|leaf| leaf.node.0).collect::<Vec<_>>(), [21, 12, 13]);
    }

    proptest! {
        #[test]
        fn what_is_kept_never_overlaps_and_loses_nothing_the_model_chose(
            explored in proptest::collection::vec(10_u32..27, 0..8),
            expanded in proptest::collection::vec(10_u32..27, 0..8),
        ) {
            let one = tree(10, "(a(bc)(d(e)))f((g)h(i))");
            let subtree = |node: &u32| one.node(NodeId(*node)).expect("one of 17").range();
            let (explored, expanded): (Vec<_>, Vec<_>) =
                (explored.iter().map(subtree).collect(), expanded.iter().map(subtree).collect());

            let kept = remove_overlaps(&explored, &expanded);

            prop_assert!(kept.windows(2).all(|pair| pair[0].0.last < pair[1].0.first));
            for range in &explored {
                prop_assert!(kept.iter().any(|(kept, path)|
                    *path == Path::Explored && kept.contains(range.first) && kept.contains(range.last)));
            }
            // Each expanded node is kept, lies in a kept one, or holds one.
            for range in &expanded {
                prop_assert!(kept.iter().any(|(kept, _)| kept.contains(range.first) || range.contains(kept.first)));
            }
        }
    }
}
