//! Making a segment.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;

use super::analyzer::Analyzer;
use super::hash::WordMap;
use super::tally::MAX_DEPTH;
use super::tally::Tally;
use crate::error::Error;
use crate::error::Result;
use crate::format::text::CHUNK_BYTES;
use crate::format::text::InnerRecord;
use crate::format::text::LeafRecord;
use crate::format::text::ListRecord;
use crate::format::text::Part;
use crate::format::text::Posting;
use crate::format::text::SegmentHeader;
use crate::format::text::encode_pairs;
use crate::format::text::encode_set;
use crate::format::text::prefix;
use crate::format::text::put_pair;
use crate::ids::NodeId;
use crate::ids::NodeRange;

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

/// A finished segment: its header, and the chunks of its parts as `(part, index, payload)` in that order.
/// No payload has more than [`CHUNK_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentParts {
    /// What is to be known before the parts are read.
    pub header: SegmentHeader,
    /// Part number, index of the chunk, payload without frame.
    pub chunks: Vec<(u8, u32, Vec<u8>)>,
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
    sets: BTreeMap<Vec<u8>, RoaringBitmap>,
    node_terms: Vec<u32>,
    used_bytes: usize,
}

/// Postings of a term so far.
#[derive(Default)]
struct Term {
    body: Pairs,
    heading: Option<Box<Pairs>>,
}

/// Postings as pairs; see `format::text::PostingList`.
#[derive(Default)]
struct Pairs {
    bytes: Vec<u8>,
    lowest: u32,
    count: u32,
}

impl Pairs {
    /// Appends a posting; gives by how many bytes memory grew.
    fn push(&mut self, posting: Posting) -> usize {
        let before = self.bytes.capacity();
        put_pair(posting, self.lowest, &mut self.bytes);
        self.lowest = posting.ordinal + 1;
        self.count += 1;
        self.bytes.capacity() - before
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
    /// documents when it is enough.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let sets: usize = self.sets.values().map(RoaringBitmap::serialized_size).sum();
        self.used_bytes
            + sets
            + self.leaves.capacity() * size_of::<LeafRecord>()
            + self.inner.capacity() * size_of::<InnerRecord>()
            + self.terms.capacity() * size_of::<Term>()
            + self.words.capacity() * (size_of::<(Box<str>, u32)>() + 1)
    }

    /// Adds `node`, whose own text has `terms`, each as often as it occurs.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if ids do not ascend, the parent is not the inner node added last whose range holds it,
    /// a leaf is a root or has descendants, or the tree is deeper than 256 levels.
    pub fn add_node<T: AsRef<str>>(
        &mut self,
        node: NodeTerms,
        terms: impl IntoIterator<Item = T>,
    ) -> Result<()> {
        self.check(node)?;
        for term in terms {
            self.see(term.as_ref());
        }
        self.add(node)
    }

    /// Adds `node`, whose own text is `texts` one after the other, such as title and text.
    ///
    /// # Errors
    ///
    /// As for [`add_node`](Self::add_node).
    pub fn add_text(&mut self, node: NodeTerms, analyzer: &Analyzer, texts: &[&str]) -> Result<()> {
        self.check(node)?;
        for text in texts {
            analyzer.terms(text, &mut |term| self.see(term));
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
        self.sets.entry(key).or_default().insert_range(range.first.0..=range.last.0);
        Ok(())
    }

    /// The segment of all that was added.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the terms of one path, or the bytes of one list, are 2^32 or more.
    pub fn finish(self) -> Result<SegmentParts> {
        let mut out = Assembler::new();
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
        for (word, id) in &words {
            let Some(term) = self.terms.get(*id as usize) else { continue };
            key.truncate(1);
            key.extend_from_slice(word.as_bytes());
            let none = Pairs::default();
            let heading = term.heading.as_deref().unwrap_or(&none);
            out.term(
                &key,
                (term.body.count, heading.count),
                |out| encode_pairs(&term.body.bytes, term.body.count, None, out),
                |out| encode_pairs(&heading.bytes, heading.count, None, out),
            )?;
        }
        out.finish(&self.leaves, &self.inner)
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
    fn see(&mut self, term: &str) {
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
        self.node_terms.push(id);
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
        for same in self.node_terms.chunk_by(|a, b| a == b) {
            let Some(term) = same.first().and_then(|id| self.terms.get_mut(*id as usize)) else { continue };
            let term_freq = u32::try_from(same.len()).unwrap_or(u32::MAX);
            let pairs = if node.is_leaf { &mut term.body } else { term.heading.get_or_insert_default() };
            self.used_bytes += pairs.push(Posting { ordinal, term_freq });
        }
        self.node_terms.clear();
        Ok(())
    }
}

/// Writes dictionary, list records and lists side by side, keys ascending.
pub(super) struct Assembler {
    dictionary: fst::MapBuilder<Vec<u8>>,
    list_count: u32,
    lists: Vec<u8>,
    postings: Vec<u8>,
}

impl Assembler {
    pub(super) fn new() -> Self {
        let dictionary = fst::MapBuilder::memory();
        Self { dictionary, list_count: 0, lists: Vec::new(), postings: Vec::new() }
    }

    /// Adds `set` under `key`.
    pub(super) fn set(&mut self, key: &[u8], set: &RoaringBitmap) -> Result<()> {
        let mut set = set.clone();
        // Equal sets get equal bytes, whatever they were made from.
        set.remove_run_compression();
        set.optimize();
        // Node ids begin at 1, so a set has fewer than 2^32 of them.
        let count = u32::try_from(set.len()).unwrap_or(u32::MAX);
        self.term(key, (count, 0), |out| encode_set(&set, out), |_| ())
    }

    /// Adds under `key` the lists that `body` and `heading` append, which hold `counts` postings.
    pub(super) fn term(
        &mut self,
        key: &[u8],
        counts: (u32, u32),
        body: impl FnOnce(&mut Vec<u8>),
        heading: impl FnOnce(&mut Vec<u8>),
    ) -> Result<()> {
        let too_long = || Error::invalid("a posting list would have 4 GiB or more");
        let start = self.postings.len();
        body(&mut self.postings);
        let middle = self.postings.len();
        heading(&mut self.postings);
        let record = ListRecord {
            offset: start as u64,
            body_bytes: u32::try_from(middle - start).map_err(|_| too_long())?,
            heading_bytes: u32::try_from(self.postings.len() - middle).map_err(|_| too_long())?,
            body_count: counts.0,
            heading_count: counts.1,
        };
        record.encode(&mut self.lists);
        self.dictionary.insert(key, u64::from(self.list_count)).map_err(unsorted)?;
        self.list_count += 1;
        Ok(())
    }

    /// The segment of these lists and the nodes they are about.
    pub(super) fn finish(self, leaves: &[LeafRecord], inner: &[InnerRecord]) -> Result<SegmentParts> {
        let tally = Tally::of(leaves, inner).map_err(|damage| Error::invalid(damage.why))?;
        let dictionary = self.dictionary.into_inner().map_err(unsorted)?;
        let mut leaf_bytes = Vec::with_capacity(leaves.len() * LeafRecord::WIDTH);
        for leaf in leaves {
            leaf.encode(&mut leaf_bytes);
        }
        let mut inner_bytes = Vec::with_capacity(inner.len() * InnerRecord::WIDTH);
        for node in inner {
            node.encode(&mut inner_bytes);
        }
        let ids = || leaves.iter().map(|leaf| leaf.node).chain(inner.iter().map(|node| node.node));
        let header = SegmentHeader {
            first_node: ids().min().unwrap_or(0),
            last_node: ids().max().unwrap_or(0),
            leaf_count: u32::try_from(leaves.len()).unwrap_or(u32::MAX),
            inner_count: u32::try_from(inner.len()).unwrap_or(u32::MAX),
            section_count: tally.section_count,
            document_count: tally.document_count,
            own_terms: tally.own_terms,
            full_terms: tally.full_terms,
            list_count: self.list_count,
            dictionary_bytes: dictionary.len() as u64,
            postings_bytes: self.postings.len() as u64,
        };
        let parts = [dictionary, self.lists, leaf_bytes, inner_bytes, self.postings];
        let mut chunks = Vec::new();
        for (part, bytes) in Part::ALL.into_iter().zip(parts) {
            for (index, chunk) in (0..).zip(bytes.chunks(CHUNK_BYTES)) {
                chunks.push((part as u8, index, chunk.to_vec()));
            }
        }
        Ok(SegmentParts { header, chunks })
    }
}

fn unsorted(error: fst::Error) -> Error {
    Error::invalid("the terms of a segment cannot be made a dictionary").with_source(error)
}
