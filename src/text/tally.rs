//! What the node records of a segment say when taken together: who is whose parent, and how much text there is.

use crate::format::text::Damage;
use crate::format::text::Decoded;
use crate::format::text::InnerRecord;
use crate::format::text::LeafRecord;
use crate::format::text::Posting;

/// No parent: the node is a document's root.
pub const NONE: u32 = u32::MAX;

/// Deepest tree: a level is one byte.
pub const MAX_DEPTH: usize = 256;

/// The shape of the forest in a segment. Building it checks that it is one.
#[derive(Debug, Default)]
pub struct Tally {
    /// For each leaf the ordinal of its parent among the inner nodes.
    pub leaf_parents: Vec<u32>,
    /// For each inner node the ordinal of its parent, or [`NONE`].
    pub inner_parents: Vec<u32>,
    /// For each leaf its terms with those of its ancestors.
    pub full_lens: Vec<u32>,
    /// For each inner node the first leaf that is not before it, and the first behind its last descendant.
    pub inner_leaves: Vec<(u32, u32)>,
    /// Inner nodes that are the parent of a leaf.
    pub section_count: u32,
    /// Inner nodes without a parent.
    pub document_count: u32,
    /// Terms of all leaves.
    pub own_terms: u64,
    /// Terms of all leaves, each with those of its ancestors.
    pub full_terms: u64,
}

impl Tally {
    /// The shape of `leaves` and `inner`.
    ///
    /// # Errors
    ///
    /// [`Damage`] if ids do not ascend, a node reaches out of its parent, a leaf has no parent, the tree is
    /// deeper than [`MAX_DEPTH`], or the terms on one path are 2^32 or more. The offset is the ordinal.
    pub fn of(leaves: &[LeafRecord], inner: &[InnerRecord]) -> Decoded<Self> {
        let mut tally = Self::default();
        let mut is_section = vec![false; inner.len()];
        let mut path_len: Vec<u32> = Vec::with_capacity(inner.len());
        let mut open: Vec<(u32, u32)> = Vec::new();
        let mut before = 0;
        let mut rest = leaves;
        for (at, node) in inner.iter().enumerate() {
            let (above, below) = rest.split_at(rest.partition_point(|leaf| leaf.node < node.node));
            let start = leaves.len() - rest.len();
            tally.leaves(above, start, &mut before, &mut open, &path_len, &mut is_section)?;
            rest = below;
            let bad = |field, why| Err(Damage { field, offset: at, why });
            if node.node <= before {
                return bad("inner.node", "ids do not ascend");
            }
            before = node.node;
            close(&mut open, node.node);
            let (parent, limit) = open.last().copied().unwrap_or((NONE, u32::MAX));
            if node.last < node.node || node.last > limit {
                return bad("inner.last", "the node does not lie within its parent");
            }
            let above = path_len.get(parent as usize).copied().unwrap_or(0);
            let Some(len) = above.checked_add(node.own_len) else {
                return bad("inner.own_len", "the terms of a path are too many");
            };
            let Some(ordinal) = u32::try_from(at).ok().filter(|_| open.len() < MAX_DEPTH) else {
                return bad("inner.last", "the tree is too deep");
            };
            let end = leaves.len() - rest.len() + rest.partition_point(|leaf| leaf.node <= node.last);
            // Leaves have distinct 32-bit ids above 0.
            let index = |at: usize| u32::try_from(at).unwrap_or(NONE);
            tally.inner_leaves.push((index(leaves.len() - rest.len()), index(end)));
            tally.document_count += u32::from(parent == NONE);
            tally.inner_parents.push(parent);
            path_len.push(len);
            open.push((ordinal, node.last));
        }
        let start = leaves.len() - rest.len();
        tally.leaves(rest, start, &mut before, &mut open, &path_len, &mut is_section)?;
        let sections = is_section.iter().filter(|is| **is).count();
        tally.section_count = u32::try_from(sections).unwrap_or(u32::MAX);
        Ok(tally)
    }

    /// Mean of the full lengths of all leaves; 0 without leaves.
    pub fn mean_full_len(&self) -> f64 {
        super::bm25::mean(self.full_terms, u32::try_from(self.full_lens.len()).unwrap_or(NONE))
    }

    /// How many leaves are in `body` or below one of the inner nodes `heading`; both ascend.
    pub fn full_count(&self, body: &[Posting], heading: &[Posting]) -> u32 {
        let mut count = FullCount::default();
        let mut rest = body;
        for posting in heading {
            let range = self.inner_leaves.get(posting.ordinal as usize).copied().unwrap_or_default();
            let (before, after) = rest.split_at(rest.partition_point(|leaf| leaf.ordinal < range.0));
            before.iter().for_each(|leaf| count.leaf(leaf.ordinal));
            rest = after;
            count.range(range);
        }
        rest.iter().for_each(|leaf| count.leaf(leaf.ordinal));
        count.leaves
    }

    fn leaves(
        &mut self,
        leaves: &[LeafRecord],
        start: usize,
        before: &mut u32,
        open: &mut Vec<(u32, u32)>,
        path_len: &[u32],
        is_section: &mut [bool],
    ) -> Decoded<()> {
        for (at, leaf) in leaves.iter().enumerate() {
            let bad = |field, why| Err(Damage { field, offset: start + at, why });
            if leaf.node <= *before {
                return bad("leaf.node", "ids do not ascend");
            }
            *before = leaf.node;
            close(open, leaf.node);
            let Some((parent, _)) = open.last().copied() else {
                return bad("leaf.node", "a leaf has no parent");
            };
            let above = path_len.get(parent as usize).copied().unwrap_or(0);
            let Some(full) = above.checked_add(leaf.own_len) else {
                return bad("leaf.own_len", "the terms of a path are too many");
            };
            if let Some(is_section) = is_section.get_mut(parent as usize) {
                *is_section = true;
            }
            self.leaf_parents.push(parent);
            self.full_lens.push(full);
            self.own_terms += u64::from(leaf.own_len);
            self.full_terms += u64::from(full);
        }
        Ok(())
    }
}

/// Counts leaves that are met one by one and in ranges, each once. What begins earlier comes first, and of ranges
/// one holds the other or they have no leaf in common.
#[derive(Debug, Default)]
struct FullCount {
    leaves: u32,
    /// First leaf behind all ranges.
    end: u32,
}

impl FullCount {
    fn leaf(&mut self, ordinal: u32) {
        self.leaves += u32::from(ordinal >= self.end);
    }

    fn range(&mut self, (first, end): (u32, u32)) {
        self.leaves += end.saturating_sub(first.max(self.end));
        self.end = self.end.max(end);
    }
}

/// Drops from the stack the nodes whose range ends before `node`.
fn close(open: &mut Vec<(u32, u32)>, node: u32) {
    while open.pop_if(|(_, last)| *last < node).is_some() {}
}
