//! What a scope holds: its leaves, sections and documents side by side, and how long each is.

use std::ops::Range;
use std::sync::Arc;

use super::hits::Run;
use super::live::Live;
use super::reader::SegmentReader;
use super::tally::NONE;
use crate::ids::NodeId;
use crate::ids::NodeRange;

/// A visible inner node: one in the scope, or an ancestor of a node in the scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerEntry {
    /// The node and its last descendant.
    pub range: NodeRange,
    /// Index of the parent among the inner nodes, `u32::MAX` for a document's root.
    pub parent: u32,
    /// One past the index of its last visible inner descendant.
    pub end: u32,
    /// Indexes of the leaves below it.
    pub leaves: Range<u32>,
    /// Terms of its title.
    pub own_len: u32,
    /// Index among the sections, `u32::MAX` if it is the parent of no leaf in scope.
    pub section: u32,
}

/// A section: an inner node that is the parent of at least one leaf in scope. Sections nest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionEntry {
    /// Its index among the inner nodes.
    pub inner: u32,
    /// The node and its last descendant.
    pub range: NodeRange,
    /// Indexes of the leaves below it, those of nested sections included.
    pub leaves: Range<u32>,
    /// Terms of its heading path and of all visible nodes below.
    pub len: u64,
}

/// A document with at least one visible node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentEntry {
    /// Index of its root among the inner nodes.
    pub inner: u32,
    /// The root and its last descendant.
    pub range: NodeRange,
    /// Indexes of its leaves.
    pub leaves: Range<u32>,
    /// Terms of all its visible nodes.
    pub len: u64,
    /// Terms of its leaves, each with those of its ancestors.
    pub full_len: u64,
}

/// The live nodes of a scope, in pre-order, as arrays: every score is one float for each leaf, section or
/// document here, at the same index. About 28 bytes for each leaf; it may be kept and shared.
///
/// A view sees the live nodes of its scope, and their ancestors, whose titles are the leaves' headings. The
/// text of a section or document that the scope cuts is the part inside.
#[derive(Debug, Default)]
pub struct View {
    pub(super) segments: Vec<SegmentSlice>,
    pub(super) leaf_nodes: Vec<NodeId>,
    pub(super) leaf_own: Vec<u32>,
    pub(super) leaf_full: Vec<u32>,
    pub(super) leaf_parents: Vec<u32>,
    pub(super) leaf_documents: Vec<u32>,
    pub(super) inner: Vec<InnerEntry>,
    pub(super) sections: Vec<SectionEntry>,
    pub(super) documents: Vec<DocumentEntry>,
    /// Own terms of the leaves before each index, one more than there are leaves.
    own_before: Vec<u64>,
    /// Own terms of the inner nodes before each index, one more than there are inner nodes.
    inner_before: Vec<u64>,
    pub(super) full_total: u64,
}

/// What a view sees of one segment.
#[derive(Debug)]
pub(super) struct SegmentSlice {
    pub(super) reader: Arc<SegmentReader>,
    pub(super) leaves: Vec<Run>,
    pub(super) inner: Vec<Run>,
}

impl View {
    /// The view of `scope` (sorted, disjoint; `None` is everything) over `segments`, each with its live nodes
    /// unless all are.
    pub(super) fn new<'a>(
        segments: impl Iterator<Item = (&'a Arc<SegmentReader>, Option<&'a Live>)>,
        scope: Option<&[NodeRange]>,
    ) -> Self {
        let everything = [NodeRange::new(NodeId(0), NodeId(u32::MAX))];
        let scope = scope.unwrap_or(&everything);
        let mut view = Self::default();
        for (reader, live) in segments {
            let header = reader.header();
            let overlaps = |range: &&NodeRange| {
                !header.is_empty() && range.first.0 <= header.last_node && header.first_node <= range.last.0
            };
            let within: Vec<NodeRange> = scope.iter().filter(overlaps).copied().collect();
            if !within.is_empty() {
                view.add_segment(reader, live, &within);
            }
        }
        view.finish();
        view
    }

    fn add_segment(&mut self, reader: &Arc<SegmentReader>, live: Option<&Live>, scope: &[NodeRange]) {
        let inner_lives = |at: u32| live.is_none_or(|live| live.has_inner(at));
        let leaf_lives = |at: u32| live.is_none_or(|live| live.has_leaf(at));
        let mut visible: Vec<u32> = Vec::new();
        let mut leaves: Vec<u32> = Vec::new();
        for range in scope {
            let first = reader.inner().partition_point(|node| node.node < range.first.0);
            let end = reader.inner().partition_point(|node| node.node <= range.last.0);
            let mut inner_within = ordinals(first, end).filter(|at| inner_lives(*at)).peekable();
            let first_leaf = reader.leaves().partition_point(|leaf| leaf.node < range.first.0);
            let end = reader.leaves().partition_point(|leaf| leaf.node <= range.last.0);
            let mut leaves_within = ordinals(first_leaf, end).filter(|at| leaf_lives(*at)).peekable();
            // What holds any live node of the range and lies before it holds the first of them.
            let node =
                inner_within.peek().and_then(|at| reader.inner().get(*at as usize)).map(|node| node.node);
            let leaf =
                leaves_within.peek().and_then(|at| reader.leaves().get(*at as usize)).map(|leaf| leaf.node);
            let Some(lowest) = [node, leaf].into_iter().flatten().min() else { continue };
            for at in ancestors(reader, lowest) {
                if at < index(first) && visible.last().is_none_or(|last| *last < at) {
                    visible.push(at);
                }
            }
            visible.extend(inner_within);
            leaves.extend(leaves_within);
        }
        let leaf_runs = runs(&leaves, self.leaf_nodes.len());
        let inner_runs = runs(&visible, self.inner.len());

        let mut open: Vec<u32> = Vec::new();
        let mut rest = leaves.iter().peekable();
        let leaf = |at: &u32| reader.leaves().get(*at as usize);
        for at in visible {
            let Some(node) = reader.inner().get(at as usize) else { continue };
            while let Some(at) = rest.next_if(|at| leaf(at).is_some_and(|leaf| leaf.node < node.node)) {
                self.add_leaf(leaf(at), &mut open);
            }
            self.close(&mut open, node.node);
            let parent = open.last().copied().unwrap_or(NONE);
            let leaves = index(self.leaf_nodes.len());
            open.push(index(self.inner.len()));
            self.inner.push(InnerEntry {
                range: NodeRange::new(NodeId(node.node), NodeId(node.last)),
                parent,
                end: 0,
                leaves: leaves..leaves,
                own_len: node.own_len,
                section: NONE,
            });
        }
        rest.for_each(|at| self.add_leaf(leaf(at), &mut open));
        self.close(&mut open, u32::MAX);
        while let Some(at) = open.pop() {
            self.end(at);
        }
        self.segments.push(SegmentSlice { reader: Arc::clone(reader), leaves: leaf_runs, inner: inner_runs });
    }

    fn add_leaf(&mut self, leaf: Option<&crate::format::text::LeafRecord>, open: &mut Vec<u32>) {
        let Some(leaf) = leaf else { return };
        self.close(open, leaf.node);
        self.leaf_nodes.push(NodeId(leaf.node));
        self.leaf_own.push(leaf.own_len);
        self.leaf_parents.push(open.last().copied().unwrap_or(NONE));
    }

    /// Ends the open inner nodes whose range ends before `node`.
    fn close(&mut self, open: &mut Vec<u32>, node: u32) {
        let ends = |at: &u32| self.inner.get(*at as usize).is_some_and(|entry| entry.range.last.0 < node);
        let keep = open.iter().rposition(|at| !ends(at)).map_or(0, |at| at + 1);
        for at in open.split_off(keep) {
            self.end(at);
        }
    }

    fn end(&mut self, at: u32) {
        let (inner, leaves) = (index(self.inner.len()), index(self.leaf_nodes.len()));
        if let Some(entry) = self.inner.get_mut(at as usize) {
            entry.end = inner;
            entry.leaves.end = leaves;
        }
    }

    /// Everything that follows from inner nodes and leaves.
    fn finish(&mut self) {
        self.own_before = before(self.leaf_own.iter().copied());
        self.inner_before = before(self.inner.iter().map(|node| node.own_len));
        let mut is_section = vec![false; self.inner.len()];
        for parent in &self.leaf_parents {
            if let Some(is_section) = is_section.get_mut(*parent as usize) {
                *is_section = true;
            }
        }
        let mut path_len: Vec<u64> = Vec::with_capacity(self.inner.len());
        for (at, is_section) in is_section.into_iter().enumerate() {
            let Some(node) = self.inner.get(at).cloned() else { continue };
            let above = path_len.get(node.parent as usize).copied().unwrap_or(0);
            path_len.push(above + u64::from(node.own_len));
            let len = self.subtree_len(index(at), &node);
            let (inner, range, leaves) = (index(at), node.range, node.leaves.clone());
            if node.parent == NONE {
                self.documents.push(DocumentEntry { inner, range, leaves: leaves.clone(), len, full_len: 0 });
            }
            if is_section {
                let section = index(self.sections.len());
                self.sections.push(SectionEntry { inner, range, leaves, len: above + len });
                if let Some(node) = self.inner.get_mut(at) {
                    node.section = section;
                }
            }
        }
        self.leaf_documents.reserve(self.leaf_nodes.len());
        self.leaf_full.reserve(self.leaf_nodes.len());
        for (at, document) in (0..).zip(&mut self.documents) {
            for leaf in document.leaves.clone() {
                let own = self.leaf_own.get(leaf as usize).copied().unwrap_or(0);
                let parent = self.leaf_parents.get(leaf as usize).copied().unwrap_or(NONE);
                let path = path_len.get(parent as usize).copied().unwrap_or(0);
                let full = u64::from(own) + path;
                document.full_len += full;
                self.leaf_documents.push(at);
                // The tally of the segment has shown that a path's terms fit.
                self.leaf_full.push(u32::try_from(full).unwrap_or(u32::MAX));
            }
            self.full_total += document.full_len;
        }
    }

    fn subtree_len(&self, at: u32, node: &InnerEntry) -> u64 {
        self.own_len(node.leaves.clone()) + self.inner_len(at..node.end)
    }

    /// Own terms of the leaves `range`.
    pub(super) fn own_len(&self, range: Range<u32>) -> u64 {
        difference(&self.own_before, range)
    }

    /// Own terms of the inner nodes `range`.
    pub(super) fn inner_len(&self, range: Range<u32>) -> u64 {
        difference(&self.inner_before, range)
    }

    /// How many leaves there are.
    #[must_use]
    pub fn leaf_count(&self) -> u32 {
        index(self.leaf_nodes.len())
    }

    /// The leaves, ascending.
    #[must_use]
    pub fn leaves(&self) -> &[NodeId] {
        &self.leaf_nodes
    }

    /// The index of leaf `node`, if it is in view.
    #[must_use]
    pub fn leaf_index(&self, node: NodeId) -> Option<u32> {
        self.leaf_nodes.binary_search(&node).ok().map(index)
    }

    /// The indexes of the leaves in `range`.
    #[must_use]
    pub fn leaves_in(&self, range: NodeRange) -> Range<u32> {
        let first = self.leaf_nodes.partition_point(|node| *node < range.first);
        let end = self.leaf_nodes.partition_point(|node| *node <= range.last);
        index(first)..index(end)
    }

    /// Terms of each leaf's own title and text.
    #[must_use]
    pub fn own_lens(&self) -> &[u32] {
        &self.leaf_own
    }

    /// Terms of each leaf's title, text and heading path.
    #[must_use]
    pub fn full_lens(&self) -> &[u32] {
        &self.leaf_full
    }

    /// The index of the section that is the parent of leaf `leaf`.
    #[must_use]
    pub fn section_of(&self, leaf: u32) -> Option<u32> {
        let parent = *self.leaf_parents.get(leaf as usize)?;
        self.inner.get(parent as usize).map(|node| node.section)
    }

    /// For each leaf the index of its document.
    #[must_use]
    pub fn documents_of_leaves(&self) -> &[u32] {
        &self.leaf_documents
    }

    /// The visible inner nodes, ascending.
    #[must_use]
    pub fn inner(&self) -> &[InnerEntry] {
        &self.inner
    }

    /// The sections, ascending.
    #[must_use]
    pub fn sections(&self) -> &[SectionEntry] {
        &self.sections
    }

    /// The documents, ascending.
    #[must_use]
    pub fn documents(&self) -> &[DocumentEntry] {
        &self.documents
    }

    /// Mean of [`own_lens`](Self::own_lens); 0 without leaves.
    #[must_use]
    pub fn mean_own_len(&self) -> f64 {
        super::bm25::mean(self.own_len(0..self.leaf_count()), self.leaf_count())
    }
}

/// Ordinals of the inner nodes that hold `node` and lie before it, root first.
fn ancestors(reader: &SegmentReader, node: u32) -> Vec<u32> {
    let mut at = reader.inner().partition_point(|inner| inner.node < node).checked_sub(1).map_or(NONE, index);
    let mut out = Vec::new();
    while let Some(inner) = reader.inner().get(at as usize) {
        if inner.last >= node {
            out.push(at);
        }
        // A parent's ordinal is below its child's: this ends.
        at = reader.inner_parents().get(at as usize).copied().unwrap_or(NONE);
    }
    out.reverse();
    out
}

fn ordinals(first: usize, end: usize) -> Range<u32> {
    index(first)..index(end)
}

/// Runs of consecutive `ordinals`, which become the indexes from `base` on.
fn runs(ordinals: &[u32], base: usize) -> Vec<Run> {
    let mut base = index(base);
    let mut out = Vec::new();
    for run in ordinals.chunk_by(|a, b| a + 1 == *b) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        out.push(Run { first: *first, last: *last, base });
        base += last - first + 1;
    }
    out
}

/// An index as it is stored. Nodes have 32-bit ids, so there are fewer than 2^32 of anything.
fn index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NONE)
}

fn before(lens: impl Iterator<Item = u32>) -> Vec<u64> {
    let mut total = 0;
    let mut out = vec![0];
    for len in lens {
        total += u64::from(len);
        out.push(total);
    }
    out
}

fn difference(before: &[u64], range: Range<u32>) -> u64 {
    let at = |index: u32| before.get(index as usize).copied().unwrap_or(0);
    at(range.end).saturating_sub(at(range.start))
}
