//! Random forests, and segments of them in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use roaring::RoaringBitmap;

use crate::error::Error;
use crate::error::Result;
use crate::ids::NodeId;
use crate::ids::NodeRange;
use crate::ids::SegmentId;
use crate::text::NodeTerms;
use crate::text::PartSource;
use crate::text::SegmentBuilder;
use crate::text::SegmentParts;
use crate::text::SegmentReader;
use crate::text::TextIndex;
use crate::text::merge;

pub const WORDS: [&str; 6] = ["alpha", "beta", "gamma", "delta", "eps", "zeta"];

/// A node with its terms, for the index and for the oracle.
#[derive(Debug, Clone)]
pub struct Node {
    pub at: NodeTerms,
    pub terms: Vec<&'static str>,
    pub attribute: Option<&'static str>,
}

/// A forest from `steps`: (what to do, terms as indexes into [`WORDS`]).
pub fn forest(steps: &[(u8, Vec<u8>)]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut next = 1;
    for (step, terms) in steps {
        match step {
            // A new document, sometimes behind ids that were used and given up.
            8 | 9 => {
                open.clear();
                next += u32::from(*step == 9) * 3;
            }
            6 if open.len() > 1 => drop(open.pop()),
            _ => (),
        }
        let is_leaf = !open.is_empty() && *step < 6;
        let parent = open.last().map_or(NodeId(0), |at| nodes[*at].at.node);
        let level = u8::try_from(open.len()).unwrap();
        let kind = if is_leaf { 3 + step % 2 } else { 1 + u8::from(level > 0) };
        let node = NodeId(next);
        next += 1;
        for at in &open {
            nodes[*at].at.last = node;
        }
        if !is_leaf {
            open.push(nodes.len());
        }
        nodes.push(Node {
            at: NodeTerms { node, parent, last: node, kind, level, is_leaf },
            terms: terms.iter().map(|term| WORDS[usize::from(*term) % WORDS.len()]).collect(),
            attribute: (terms.len() % 3 == 1).then_some("color=red"),
        });
    }
    nodes
}

pub fn steps() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    prop::collection::vec((0_u8..10, prop::collection::vec(0_u8..6, 0..5)), 1..60)
}

/// Chunks of segments in memory.
#[derive(Default)]
pub struct Memory(pub BTreeMap<(u32, u8, u32), Arc<[u8]>>);

impl Memory {
    pub fn put(&mut self, id: u32, parts: &SegmentParts) {
        for (part, index, bytes) in &parts.chunks {
            self.0.insert((id, *part, *index), bytes.as_slice().into());
        }
    }
}

impl PartSource for Memory {
    fn part(&self, segment: SegmentId, part: u8, index: u32) -> Result<Arc<[u8]>> {
        let found = self.0.get(&(segment.0, part, index)).cloned();
        found.ok_or_else(|| Error::not_found(format!("chunk {segment}, {part}, {index}")))
    }

    fn list(
        &self,
        _: SegmentId,
        _: u8,
        _: u64,
        read: &mut dyn FnMut(&dyn PartSource) -> Result<Arc<[u8]>>,
    ) -> Result<Arc<[u8]>> {
        read(self)
    }
}

/// `terms`, each at the position of its place.
pub fn placed<T: AsRef<str>>(terms: impl IntoIterator<Item = T>) -> impl Iterator<Item = (T, u32)> {
    terms.into_iter().zip(0..)
}

/// The live nodes of `readers` as one segment.
pub fn merged(
    readers: &[&SegmentReader],
    source: &dyn PartSource,
    deleted: &RoaringBitmap,
) -> Result<SegmentParts> {
    SegmentParts::collect(|sink| merge(readers, source, deleted, sink))
}

/// One segment of `nodes`.
pub fn build(nodes: &[Node]) -> SegmentParts {
    let mut builder = SegmentBuilder::new();
    for node in nodes {
        builder.add_node(node.at, placed(&node.terms)).unwrap();
        if let Some(attribute) = node.attribute {
            builder.add_set(NodeRange::new(node.at.node, node.at.node), attribute).unwrap();
        }
    }
    builder.finish().unwrap()
}

/// Segments with the nodes of `groups`, opened, and where they lie.
pub fn open(groups: &[&[Node]]) -> (Vec<Arc<SegmentReader>>, Memory) {
    let mut memory = Memory::default();
    let mut readers = Vec::new();
    for (id, nodes) in (1..).zip(groups) {
        let parts = build(nodes);
        memory.put(id, &parts);
        readers.push(Arc::new(SegmentReader::open(SegmentId(id), &parts.header, &memory).unwrap()));
    }
    (readers, memory)
}

/// `nodes` in up to three groups of whole documents.
pub fn groups(nodes: &[Node]) -> Vec<&[Node]> {
    let documents: Vec<&[Node]> = nodes.chunk_by(|_, next| next.at.parent != NodeId(0)).collect();
    let starts: Vec<usize> =
        documents.iter().scan(0, |at, doc| Some(std::mem::replace(at, *at + doc.len()))).collect();
    let cut = |part: usize| starts.get(documents.len() * part / 3).copied().unwrap_or(nodes.len());
    [&nodes[..cut(1)], &nodes[cut(1)..cut(2)], &nodes[cut(2)..]]
        .into_iter()
        .filter(|group| !group.is_empty())
        .collect()
}

/// The nodes of `nodes` that are neither deleted nor below a deleted node.
pub fn live(nodes: &[Node], deleted: &RoaringBitmap) -> Vec<Node> {
    let gone = |node: &Node| {
        nodes.iter().any(|above| {
            deleted.contains(above.at.node.0)
                && above.at.node <= node.at.node
                && node.at.node <= above.at.last
        })
    };
    nodes.iter().filter(|node| !gone(node)).cloned().collect()
}

/// An index over `groups` of `nodes` without `deleted`.
pub fn index(groups: &[&[Node]], deleted: &RoaringBitmap) -> TextIndex {
    let (readers, memory) = open(groups);
    TextIndex::new(readers, Arc::new(deleted.clone()), Arc::new(memory)).unwrap()
}
