//! Which leaves a document has, and which inner nodes hold them.

use std::ops::Range;

use super::document::Document;

/// The leaves of a document and the inner nodes they lie below, by index, both in pre-order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// `n`: index of each leaf in [`Document::nodes`], ascending.
    pub leaves: Vec<u32>,
    /// `m`: the leaves below each inner node, as a range of indexes into `leaves`; the root's is `0..n`.
    pub inner: Vec<Range<usize>>,
    /// `n`: index into `inner` of each leaf's parent.
    pub parent_of: Vec<Option<usize>>,
}

impl Outline {
    /// The outline of `document`, which must have passed [`Document::validate`].
    #[must_use]
    pub fn of(document: &Document) -> Self {
        let mut outline = Self::default();
        // For each node its index among the inner nodes.
        let mut inner_at = vec![None; document.nodes.len()];
        // Inner nodes on the path to the current node, as (node, index among inner nodes).
        let mut open: Vec<(u32, usize)> = Vec::new();
        for (index, node) in (0_u32..).zip(&document.nodes) {
            while open.last().is_some_and(|(above, _)| Some(*above) != node.parent) {
                outline.close(open.pop());
            }
            if node.kind.is_leaf() {
                let parent = node.parent.and_then(|parent| inner_at.get(parent as usize).copied().flatten());
                outline.leaves.push(index);
                outline.parent_of.push(parent);
            } else {
                let at = outline.inner.len();
                if let Some(slot) = inner_at.get_mut(index as usize) {
                    *slot = Some(at);
                }
                open.push((index, at));
                outline.inner.push(outline.leaves.len()..outline.leaves.len());
            }
        }
        while let Some(last) = open.pop() {
            outline.close(Some(last));
        }
        outline
    }

    /// An inner node ends at the leaves seen so far.
    fn close(&mut self, inner: Option<(u32, usize)>) {
        let end = self.leaves.len();
        if let Some(range) = inner.and_then(|(_, index)| self.inner.get_mut(index)) {
            range.end = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Node, NodeKind};

    /// root( leaf, A( leaf, B( leaf ) ), C( D( leaf ) ) )
    #[test]
    fn every_inner_node_knows_the_leaves_below_it() {
        let mut document = Document::new("k", "t");
        let node = |parent, kind| Node::new(Some(parent), kind);
        document.nodes.extend([
            node(0, NodeKind::Text),
            node(0, NodeKind::Section),
            node(2, NodeKind::Text),
            node(2, NodeKind::Section),
            node(4, NodeKind::Text),
            node(0, NodeKind::Section),
            node(6, NodeKind::Section),
            node(7, NodeKind::Text),
        ]);

        let outline = Outline::of(&document);

        assert_eq!(outline.leaves, [1, 3, 5, 8]);
        assert_eq!(outline.inner, [0..4, 1..3, 2..3, 3..4, 3..4]);
        assert_eq!(outline.parent_of, [Some(0), Some(1), Some(2), Some(4)]);
    }
}
