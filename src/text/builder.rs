//! Making a segment.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;

use super::analyzer::Analyzer;
use super::arena::Arena;
use super::arena::List;
use super::assemble::Assembler;
use super::assemble::Occurrences;
use super::assemble::PartSink;
use super::assemble::SegmentParts;
use super::hash::WordMap;
use super::tally::MAX_DEPTH;
use crate::error::Error;
use crate::error::Result;
use crate::format::text::InnerRecord;
use crate::format::text::LeafRecord;
use crate::format::text::SegmentHeader;
use crate::format::text::prefix;
use crate::format::text::put_varint;
use crate::format::text::take_varint;
use crate::ids::NodeId;
use crate::ids::NodeRange;

/// Positions left out between two texts of a node, so that no phrase reaches from one into the other.
const GAP: u32 = 32;

/// Memory of a set beside its name, about.
const SET_BYTES: usize = 128;

/// Longest `key=value` of a set.
const MAX_SET_BYTES: usize = 64 << 10;

/// A node to index, without its terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeTerms {
    /// Its id, above those of all nodes before.
    pub node: NodeId,
    /// Its parent; 0 for a document's root.
    pub parent: NodeId,
    /// Its last descendant; itself if it has none.
    pub last: NodeId,
    /// Node kind, as stored.
    pub kind: u8,
    /// Distance from the root, which is 0.
    pub level: u8,
    /// Whether it is a leaf. A root is none.
    pub is_leaf: bool,
}

/// Collects nodes in pre-order, whole documents, and makes a segment of them.
///
/// ```
/// use evdb::ids::NodeId;
/// use evdb::text::{Analyzer, NodeTerms, SegmentBuilder};
///
/// let analyzer = Analyzer::default();
/// let mut builder = SegmentBuilder::new();
/// let root = NodeTerms { node: NodeId(1), parent: NodeId(0), last: NodeId(2), kind: 1, level: 0, is_leaf: false };
/// let leaf = NodeTerms { node: NodeId(2), parent: NodeId(1), last: NodeId(2), kind: 3, level: 1, is_leaf: true };
/// builder.add_text(root, &analyzer, &["Service agreement"])?;
/// builder.add_text(leaf, &analyzer, &["", "It ends in May."])?;
/// assert_eq!(builder.finish()?.header.leaf_count, 1);
/// # Ok::<(), evdb::Error>(())
/// ```
#[derive(Default)]
pub struct SegmentBuilder {
    leaves: Vec<LeafRecord>,
    inner: Vec<InnerRecord>,
    open: Vec<NodeRange>,
    before: u32,
    words: WordMap<u32>,
    terms: Vec<Term>,
    lists: Arena,
    sets: BTreeMap<Vec<u8>, RoaringBitmap>,
    /// Terms of the node to come: a term's id in the high half, a position in the low one.
    node_terms: Vec<u64>,
    posting: Vec<u8>,
    used_bytes: usize,
}

/// Where a term occurs so far.
#[derive(Default)]
struct Term {
    body: Gathered,
    heading: Option<Box<Gathered>>,
}

/// Postings with their positions as varints, one list for both so that a posting touches memory once:
/// `2 * gap + m`; the frequency less 2 if `m` is 1; as many positions, each less the one before. `gap` is the
/// ordinal less [`lowest`](Self::lowest).
#[derive(Default)]
struct Gathered {
    bytes: List,
    /// The ordinal of the last posting and 1, or 0.
    lowest: u32,
}

impl Gathered {
    /// Puts what has been gathered into `out`, in place of what it had.
    fn read(&self, arena: &Arena, bytes: &mut Vec<u8>, out: &mut Occurrences) {
        out.clear();
        arena.read(&self.bytes, bytes);
        let mut rest = bytes.as_slice();
        let mut positions = Vec::new();
        let mut lowest = 0;
        // What is read here was written here: no number is missing, none over 32 bits.
        let number = |rest: &mut &[u8]| take_varint(rest).unwrap_or(0);
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        while !rest.is_empty() {
            let gap = number(&mut rest);
            let term_freq = if gap % 2 == 1 { number(&mut rest) + 2 } else { 1 };
            let ordinal = lowest + narrow(gap / 2);
            lowest = ordinal + 1;
            positions.clear();
            let mut position = 0;
            for _ in 0..term_freq {
                position += number(&mut rest);
                positions.push(narrow(position));
            }
            out.push(ordinal, &positions);
        }
    }
}

impl SegmentBuilder {
    /// An empty builder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no node has been added.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.leaves.is_empty() && self.inner.is_empty()
    }

    /// About how many bytes of memory it holds. Grows with the text; the caller ends the segment between two
    /// documents when it is enough. It costs the same however much there is.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.used_bytes
            + usize::try_from(self.lists.used_bytes()).unwrap_or(usize::MAX)
            + self.leaves.capacity() * size_of::<LeafRecord>()
            + self.inner.capacity() * size_of::<InnerRecord>()
            + self.terms.capacity() * size_of::<Term>()
            + self.words.capacity() * (size_of::<(Box<str>, u32)>() + 1)
    }

    /// Adds `node`, whose own text has `terms`, each with its position, as often as it occurs.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if ids do not ascend, the parent is not the inner node added last whose range holds it,
    /// a leaf is a root or has descendants, the tree is deeper than 256 levels, or the builder would hold 4 GiB
    /// of postings.
    pub fn add_node<T: AsRef<str>>(
        &mut self,
        node: NodeTerms,
        terms: impl IntoIterator<Item = (T, u32)>,
    ) -> Result<()> {
        self.check(node)?;
        for (term, position) in terms {
            self.see(term.as_ref(), position);
        }
        self.add(node)
    }

    /// Adds `node`, whose own text is `texts` one after the other, such as title and text. Positions go on from
    /// text to text, with a gap of 32 behind each that has any.
    ///
    /// # Errors
    ///
    /// As for [`add_node`](Self::add_node).
    pub fn add_text(&mut self, node: NodeTerms, analyzer: &Analyzer, texts: &[&str]) -> Result<()> {
        self.check(node)?;
        let mut base = 0_u32;
        for text in texts {
            let see = &mut |term: &str, position: u32, _| self.see(term, base.saturating_add(position));
            let taken = analyzer.terms_with_positions(text, see);
            if taken > 0 {
                base = base.saturating_add(taken).saturating_add(GAP);
            }
        }
        self.add(node)
    }

    /// Adds the nodes of `range` to the set named `key_value`, such as `tenant=acme`. Ids outside of the
    /// segment's first and last node are left out.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the name has more than 65,536 bytes.
    pub fn add_set(&mut self, range: NodeRange, key_value: &str) -> Result<()> {
        if key_value.len() > MAX_SET_BYTES {
            return Err(Error::invalid(format!(
                "an attribute of {} bytes, over {MAX_SET_BYTES}, begins with {:?}",
                key_value.len(),
                key_value.get(..key_value.floor_char_boundary(60)).unwrap_or_default()
            )));
        }
        let key = [&[prefix::ATTRIBUTE], key_value.as_bytes()].concat();
        let known = self.sets.len();
        let key_bytes = key.len();
        self.sets.entry(key).or_default().insert_range(range.first.0..=range.last.0);
        // A range takes four bytes as a run; ids one by one take two.
        self.used_bytes += 4 + if self.sets.len() > known { key_bytes + SET_BYTES } else { 0 };
        Ok(())
    }

    /// The segment of all that was added.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the terms of one path, or the bytes of one list, are 2^32 or more.
    pub fn finish(self) -> Result<SegmentParts> {
        SegmentParts::collect(|sink| self.finish_into(sink))
    }

    /// Sends the segment of all that was added to `sink`; gives its header.
    ///
    /// # Errors
    ///
    /// As for [`finish`](Self::finish); and what `sink` reports.
    pub fn finish_into(self, sink: &mut dyn PartSink) -> Result<SegmentHeader> {
        let mut out = Assembler::new(&self.leaves, &self.inner, sink)?;
        let first = self.leaves.first().map_or(u32::MAX, |leaf| leaf.node);
        let first = self.inner.first().map_or(first, |node| node.node.min(first));
        let mut nodes = RoaringBitmap::new();
        nodes.insert_range(first..=self.before);
        for (key, set) in &self.sets {
            let set = set & &nodes;
            if !set.is_empty() {
                out.set(key, &set)?;
            }
        }
        let mut words: Vec<(Box<str>, u32)> = self.words.into_iter().collect();
        words.sort_unstable();
        let mut key = vec![prefix::TERM];
        let (mut body, mut heading) = (Occurrences::default(), Occurrences::default());
        let mut bytes = Vec::new();
        for (word, id) in &words {
            let Some(term) = self.terms.get(*id as usize) else { continue };
            key.truncate(1);
            key.extend_from_slice(word.as_bytes());
            term.body.read(&self.lists, &mut bytes, &mut body);
            heading.clear();
            if let Some(in_titles) = &term.heading {
                in_titles.read(&self.lists, &mut bytes, &mut heading);
            }
            out.term(&key, &body, &heading)?;
        }
        out.finish()
    }

    fn check(&mut self, node: NodeTerms) -> Result<()> {
        while self.open.pop_if(|open| open.last < node.node).is_some() {}
        let bad = |why: &str| {
            let message = format!("node {} (parent {}, last {}) {why}", node.node, node.parent, node.last);
            Err(Error::invalid(message))
        };
        if node.node.0 <= self.before {
            return bad(&format!("comes after node {}", self.before));
        }
        let parent = self.open.last().map_or(NodeId(0), |open| open.first);
        if node.parent != parent {
            return bad(&format!("lies within node {parent}"));
        }
        if node.last < node.node || self.open.last().is_some_and(|open| node.last > open.last) {
            return bad("does not end within its parent");
        }
        if node.is_leaf && (node.last != node.node || parent == NodeId(0)) {
            return bad("is a leaf, but has descendants or no parent");
        }
        if self.open.len() >= MAX_DEPTH {
            return bad("is deeper than 256 levels");
        }
        Ok(())
    }

    /// Notes one occurrence of `term` in the node to come.
    fn see(&mut self, term: &str, position: u32) {
        let id = if let Some(id) = self.words.get(term) {
            *id
        } else {
            // A segment has fewer than 2^32 terms: each takes some tens of bytes of memory.
            let id = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
            self.words.insert(term.into(), id);
            self.terms.push(Term::default());
            self.used_bytes += term.len() + 16;
            id
        };
        self.node_terms.push(u64::from(id) << 32 | u64::from(position));
    }

    fn add(&mut self, node: NodeTerms) -> Result<()> {
        let own_len = u32::try_from(self.node_terms.len())
            .map_err(|_| Error::invalid(format!("node {} has 2^32 terms or more", node.node)))?;
        let (kind, level) = (node.kind, node.level);
        let count = if node.is_leaf { self.leaves.len() } else { self.inner.len() };
        let ordinal = u32::try_from(count).map_err(|_| Error::invalid("a segment has 2^32 nodes or more"))?;
        if node.is_leaf {
            self.leaves.push(LeafRecord { node: node.node.0, own_len, kind, level });
        } else {
            let (first, last) = (node.node, node.last);
            self.inner.push(InnerRecord { node: first.0, last: last.0, own_len, kind, level });
            self.open.push(NodeRange::new(first, last));
        }
        self.before = node.node.0;
        for key in [[prefix::KIND, kind], [prefix::LEVEL, level]] {
            if let Some(set) = self.sets.get_mut(key.as_slice()) {
                set.insert(node.node.0);
            } else {
                self.sets.insert(key.to_vec(), RoaringBitmap::from([node.node.0]));
            }
        }
        self.node_terms.sort_unstable();
        for same in self.node_terms.chunk_by(|a, b| a >> 32 == b >> 32) {
            let id = same.first().and_then(|term| usize::try_from(term >> 32).ok());
            let Some(term) = id.and_then(|id| self.terms.get_mut(id)) else { continue };
            let gathered = if node.is_leaf { &mut term.body } else { term.heading.get_or_insert_default() };
            self.posting.clear();
            let gap = 2 * u64::from(ordinal - gathered.lowest);
            if let [_] = same {
                put_varint(&mut self.posting, gap);
            } else {
                put_varint(&mut self.posting, gap + 1);
                put_varint(&mut self.posting, same.len() as u64 - 2);
            }
            let mut before = 0;
            for position in same.iter().map(|term| term & u64::from(u32::MAX)) {
                put_varint(&mut self.posting, position - before);
                before = position;
            }
            self.lists.extend(&mut gathered.bytes, &self.posting)?;
            gathered.lowest = ordinal + 1;
        }
        self.node_terms.clear();
        Ok(())
    }
}
