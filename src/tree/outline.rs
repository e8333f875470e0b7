//! Which leaves a document has, and which sections hold them.

use std::ops::Range;

use super::document::Document;

/// The leaves of a document and the sections they lie in, by index.
///
/// A *section* here is an inner node that is the parent of at least one leaf; in a document without headings
/// the root is the only one. Sections are in pre-order and may nest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// `n`: index of each leaf in [`Document::nodes`], ascending.
    pub leaves: Vec<u32>,
    /// `m`: the leaves below each section, as a range of indexes into `leaves`.
    pub sections: Vec<Range<usize>>,
    /// `n`: index into `sections` of each leaf's parent.
    pub section_of: Vec<Option<usize>>,
}

impl Outline {
    /// The outline of `document`, which must have passed [`Document::validate`].
    #[must_use]
    pub fn of(document: &Document) -> Self {
        let mut outline = Self::default();
        let mut holds_leaf = vec![false; document.nodes.len()];
        for node in document.nodes.iter().filter(|node| node.kind.is_leaf()) {
            if let Some(holds) = node.parent.and_then(|parent| holds_leaf.get_mut(parent as usize)) {
                *holds = true;
            }
        }
        // Index of each section by node, and the sections still open, as (node, section).
        let mut section_at = vec![None; document.nodes.len()];
        for (index, node) in (0_u32..).zip(&document.nodes) {
            let place = index as usize;
            if node.kind.is_leaf() {
                let section =
                    node.parent.and_then(|parent| section_at.get(parent as usize).copied().flatten());
                outline.leaves.push(index);
                outline.section_of.push(section);
                let end = outline.leaves.len();
                let mut above = node.parent;
                while let Some(ancestor) = above {
                    let section = section_at.get(ancestor as usize).copied().flatten();
                    if let Some(range) = section.and_then(|section: usize| outline.sections.get_mut(section))
                    {
                        range.end = end;
                    }
                    above = document.nodes.get(ancestor as usize).and_then(|node| node.parent);
                }
            } else if holds_leaf.get(place).copied().unwrap_or_default() {
                let at = outline.leaves.len();
                if let Some(slot) = section_at.get_mut(place) {
                    *slot = Some(outline.sections.len());
                }
                outline.sections.push(at..at);
            }
        }
        outline
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{Node, NodeKind};
    use super::*;

    /// root( leaf, A( leaf, B( leaf ) ), C( D( leaf ) ) ): C holds no leaf of its own.
    #[test]
    fn sections_are_the_parents_of_leaves_and_may_nest() {
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
        assert_eq!(outline.sections, [0..4, 1..3, 2..3, 3..4]);
        assert_eq!(outline.section_of, [Some(0), Some(1), Some(2), Some(3)]);
    }
}
