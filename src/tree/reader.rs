//! A document's tree, read from the file.

use super::document::NodeKind;
use crate::error::{Error, Result};
use crate::format::tree::{ArchivedTreeColumns, TREE, TreeColumns, access};
use crate::ids::{NodeId, NodeRange, Span};

/// The tree of one document: `n` nodes in pre-order, `first ..= first + n - 1`.
///
/// Every link, span and string was checked when it was opened; no method can fail on what the file holds.
#[derive(Debug)]
pub struct Tree {
    range: NodeRange,
    columns: TreeColumns,
}

/// What the document record says its tree must be like.
#[derive(Debug, Clone, Copy)]
pub struct Claims {
    /// Id of the root.
    pub first: NodeId,
    /// Nodes.
    pub nodes: u32,
    /// Bytes of text.
    pub text_bytes: u32,
}

impl Tree {
    /// The tree in `archive`, which lay under `key` in the `trees` table.
    ///
    /// # Errors
    ///
    /// `Corrupt`, naming the column, if the archive is damaged, contradicts `claims`, or is no tree.
    pub fn open(key: &[u8], archive: &[u8], claims: Claims) -> Result<Self> {
        let archived = access(key, archive)?;
        check(archived, claims).map_err(|(field, why)| TREE.malformed(key, field, 0, why))?;
        let columns = rkyv::deserialize::<TreeColumns, rkyv::rancor::Error>(archived)
            .map_err(|error| TREE.malformed(key, "archive", 0, error))?;
        let last = NodeId(claims.first.0.saturating_add(claims.nodes - 1));
        Ok(Self { range: NodeRange::new(claims.first, last), columns })
    }

    /// Ids of all nodes.
    #[must_use]
    pub fn range(&self) -> NodeRange {
        self.range
    }

    /// Id of the root.
    #[must_use]
    pub fn root(&self) -> NodeId {
        self.range.first
    }

    fn at(&self, node: NodeId) -> Result<usize> {
        if self.range.contains(node) {
            return Ok((node.0 - self.range.first.0) as usize);
        }
        Err(Error::not_found(format!("node {node} is not among {}", self.range)))
    }

    fn id(&self, index: u32) -> NodeId {
        NodeId(self.range.first.0 + index)
    }

    /// Everything about `node`.
    ///
    /// # Errors
    ///
    /// `NotFound` if it is not of this document.
    pub fn node(&self, node: NodeId) -> Result<NodeView<'_>> {
        Ok(NodeView { tree: self, index: self.at(node)? })
    }

    /// All nodes in pre-order.
    #[must_use]
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeView<'_>> {
        (0..self.columns.parent.len()).map(|index| NodeView { tree: self, index })
    }

    /// The leaves below `node` in document order; `node` itself if it is one.
    ///
    /// # Errors
    ///
    /// `NotFound` if it is not of this document.
    pub fn leaves(&self, node: NodeId) -> Result<impl Iterator<Item = NodeView<'_>>> {
        let index = self.at(node)?;
        let last = self.columns.last[index] as usize;
        Ok((index..=last).map(|index| NodeView { tree: self, index }).filter(NodeView::is_leaf))
    }

    /// The children of `node` in document order.
    ///
    /// # Errors
    ///
    /// `NotFound` if it is not of this document.
    pub fn children(&self, node: NodeId) -> Result<impl Iterator<Item = NodeView<'_>>> {
        let index = self.at(node)?;
        let end = self.columns.last[index] as usize;
        let mut next = index + 1;
        Ok(std::iter::from_fn(move || {
            let child = (next <= end).then_some(NodeView { tree: self, index: next })?;
            next = self.columns.last[next] as usize + 1;
            Some(child)
        }))
    }

    /// Titles from the root down to `node`'s parent, or to `node` itself if it is an inner node; empty ones are
    /// left out.
    ///
    /// # Errors
    ///
    /// `NotFound` if it is not of this document.
    pub fn heading_path(&self, node: NodeId) -> Result<Vec<&str>> {
        let view = self.node(node)?;
        let own = (!view.is_leaf()).then_some(view);
        let mut path: Vec<&str> = own.into_iter().chain(view.ancestors()).map(|node| node.title()).collect();
        path.retain(|title| !title.is_empty());
        path.reverse();
        Ok(path)
    }
}

/// One node of a [`Tree`].
#[derive(Debug, Clone, Copy)]
pub struct NodeView<'a> {
    tree: &'a Tree,
    index: usize,
}

impl<'a> NodeView<'a> {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> NodeId {
        NodeId(self.tree.range.first.0 + u32::try_from(self.index).unwrap_or(u32::MAX))
    }

    /// Its parent; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<NodeView<'a>> {
        let parent = self.tree.columns.parent[self.index] as usize;
        (self.index > 0).then_some(NodeView { tree: self.tree, index: parent })
    }

    /// Its parent, its parent's parent, up to the root.
    pub fn ancestors(&self) -> impl Iterator<Item = NodeView<'a>> + use<'a> {
        std::iter::successors(self.parent(), NodeView::parent)
    }

    /// Ids of its subtree, itself first.
    #[must_use]
    pub fn range(&self) -> NodeRange {
        NodeRange::new(self.id(), self.tree.id(self.tree.columns.last[self.index]))
    }

    /// Distance from the root.
    #[must_use]
    pub fn level(&self) -> u8 {
        self.tree.columns.level[self.index]
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        NodeKind::from_byte(self.tree.columns.kind[self.index]).unwrap_or(NodeKind::Text)
    }

    /// Whether it holds text of its own.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.kind().is_leaf()
    }

    /// Tokens of the leaves of its subtree.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        self.tree.columns.tokens[self.index]
    }

    /// The text it covers: a leaf's own, an inner node's from its first leaf to its last.
    #[must_use]
    pub fn span(&self) -> Span {
        Span::new(self.tree.columns.start[self.index], self.tree.columns.end[self.index])
    }

    /// Page of the source, from 1; 0 if it has none.
    #[must_use]
    pub fn page(&self) -> u32 {
        self.tree.columns.page[self.index]
    }

    /// Heading or caption; may be empty.
    #[must_use]
    pub fn title(&self) -> &'a str {
        slice(&self.tree.columns.titles, &self.tree.columns.title_end, self.index)
    }

    /// Summary; may be empty.
    #[must_use]
    pub fn summary(&self) -> &'a str {
        slice(&self.tree.columns.summaries, &self.tree.columns.summary_end, self.index)
    }

    /// Attributes in ascending order of their keys.
    pub fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let columns = &self.tree.columns;
        let index = u32::try_from(self.index).unwrap_or(u32::MAX);
        let start = columns.attribute_node.partition_point(|node| *node < index);
        let end = columns.attribute_node.partition_point(|node| *node <= index);
        (start..end).map(|at| {
            let string = |at| slice(&columns.attributes, &columns.attribute_end, at);
            (string(2 * at), string(2 * at + 1))
        })
    }

    /// The attribute called `key`.
    #[must_use]
    pub fn attribute(&self, key: &str) -> Option<&'a str> {
        self.attributes().find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}

/// String `index` of a column of strings.
fn slice<'a>(bytes: &'a [u8], ends: &[u32], index: usize) -> &'a str {
    let start = index.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |end| *end as usize);
    let end = ends.get(index).map_or(start, |end| *end as usize);
    bytes.get(start..end).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}

type Fault = (&'static str, String);

/// Whether the columns are a tree. format-spec.md section 6.4, R-6.4.1 to.
fn check(columns: &ArchivedTreeColumns, claims: Claims) -> Result<(), Fault> {
    let n = claims.nodes as usize;
    if n == 0 {
        return Err(("parent", "a tree has at least one node".into()));
    }
    let lengths = [
        ("parent", columns.parent.len()),
        ("last", columns.last.len()),
        ("level", columns.level.len()),
        ("kind", columns.kind.len()),
        ("tokens", columns.tokens.len()),
        ("start", columns.start.len()),
        ("end", columns.end.len()),
        ("page", columns.page.len()),
        ("title_end", columns.title_end.len()),
        ("summary_end", columns.summary_end.len()),
    ];
    if let Some((field, len)) = lengths.into_iter().find(|(_, len)| *len != n) {
        return Err((field, format!("it has {len} rows, the document {n} nodes")));
    }
    let attributes = columns.attribute_node.len();
    if columns.attribute_end.len() != 2 * attributes {
        return Err(("attribute_end", "it has not two rows for each attribute".into()));
    }
    let ascending = columns.attribute_node.windows(2).all(|pair| pair[0] <= pair[1]);
    if !ascending || columns.attribute_node.last().is_some_and(|last| last.to_native() >= claims.nodes) {
        return Err(("attribute_node", "its nodes do not ascend, or are none".into()));
    }
    check_strings("titles", &columns.titles, &columns.title_end)?;
    check_strings("summaries", &columns.summaries, &columns.summary_end)?;
    check_strings("attributes", &columns.attributes, &columns.attribute_end)?;
    let last_of_all = columns.last[0].to_native();
    if last_of_all as usize != n - 1 || columns.parent[0].to_native() != 0 || columns.level[0] != 0 {
        return Err(("last", "the root does not span the document".into()));
    }
    // The nodes whose range holds the current one, outermost first.
    let mut open: Vec<usize> = Vec::new();
    for index in 0..n {
        let at = |what: &str| format!("node {index}: {what}");
        let (parent, last) = (columns.parent[index].to_native() as usize, columns.last[index].to_native());
        let Some(kind) = NodeKind::from_byte(columns.kind[index]) else {
            return Err(("kind", at(&format!("no kind {}", columns.kind[index]))));
        };
        if (kind == NodeKind::Document) != (index == 0) {
            return Err(("kind", at("the root, and it alone, is a document")));
        }
        if (last as usize) < index || (kind.is_leaf() && last as usize != index) {
            return Err(("last", at("its subtree ends before it, or it is a leaf with children")));
        }
        while open.pop_if(|node| (columns.last[*node].to_native() as usize) < index).is_some() {}
        if index > 0 {
            if open.last() != Some(&parent) {
                return Err(("parent", at("its parent is not the innermost node around it")));
            }
            if last > columns.last[parent].to_native() {
                return Err(("last", at("it does not lie inside its parent")));
            }
            if usize::from(columns.level[index]) != usize::from(columns.level[parent]) + 1 {
                return Err(("level", at("it is not one below its parent")));
            }
        }
        open.push(index);
        let (start, end) = (columns.start[index].to_native(), columns.end[index].to_native());
        if start > end || end > claims.text_bytes {
            return Err(("end", at("its span leaves the text")));
        }
    }
    Ok(())
}

fn check_strings(
    field: &'static str,
    bytes: &[u8],
    ends: &[rkyv::rend::unaligned::u32_ule],
) -> Result<(), Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| (field, error.to_string()))?;
    let mut start = 0;
    for end in ends {
        let end = end.to_native() as usize;
        if end < start || !text.is_char_boundary(end) {
            return Err((field, format!("a string ends at {end}, which is no end")));
        }
        start = end;
    }
    if start == bytes.len() { Ok(()) } else { Err((field, "bytes follow the last string".into())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tree::encode;
    use crate::model::TokenCounter;
    use crate::tree::{Document, Node};

    struct One;

    impl TokenCounter for One {
        fn count(&self, _: &str) -> usize {
            1
        }

        fn fingerprint(&self) -> &'static str {
            "one"
        }
    }

    /// root "t" ( "A" ( leaf, leaf ), "B" ( leaf ) )
    fn sample() -> (Vec<u8>, Claims) {
        let mut document = Document::new("k", "t");
        document.text = "ab".into();
        let section = |title: &str| Node { title: title.into(), ..Node::new(Some(0), NodeKind::Section) };
        let leaf = |parent, at| Node {
            span: Span::new(at, at + 1),
            attributes: [("id".to_owned(), format!("p{at}"))].into(),
            ..Node::new(Some(parent), NodeKind::Text)
        };
        document.nodes.extend([section("A"), leaf(1, 0), leaf(1, 1), section("B")]);
        let archive = encode(&document.columns(&One).expect("a sound tree")).expect("it fits");
        (archive, Claims { first: NodeId(10), nodes: 5, text_bytes: 2 })
    }

    #[test]
    fn a_tree_is_walked_by_ranges() {
        let (archive, claims) = sample();

        let tree = Tree::open(&[], &archive, claims).expect("it is whole");

        let ids = |nodes: Vec<NodeView<'_>>| nodes.iter().map(|node| node.id().0).collect::<Vec<_>>();
        assert_eq!(ids(tree.children(NodeId(10)).expect("there").collect()), [11, 14]);
        assert_eq!(ids(tree.leaves(NodeId(10)).expect("there").collect()), [12, 13]);
        assert_eq!(tree.heading_path(NodeId(13)).expect("there"), ["t", "A"]);
        assert_eq!(tree.heading_path(NodeId(14)).expect("there"), ["t", "B"]);
        assert_eq!(tree.node(NodeId(13)).expect("there").attribute("id"), Some("p1"));
        assert_eq!(tree.node(NodeId(11)).expect("there").range().last, NodeId(13));
        assert!(tree.node(NodeId(15)).is_err());
    }

    /// spec. A node inside the range of a section that is not its parent was taken: walked by ranges it
    /// was a child of the section, walked by parents one of the root.
    #[test]
    fn a_node_within_a_section_that_is_not_its_parent_is_refused() {
        let (archive, claims) = sample();
        let archived = access(&[], &archive).expect("it is whole");
        let mut columns =
            rkyv::deserialize::<TreeColumns, rkyv::rancor::Error>(archived).expect("it is whole");
        (columns.parent[3], columns.level[3]) = (0, 1);

        let error =
            Tree::open(&[], &encode(&columns).expect("it fits"), claims).expect_err("node 1 holds node 3");

        assert_eq!(error.corruption().map(|at| at.field.as_str()), Some("parent"));
    }

    /// Each byte damaged three ways: an error, or a tree whose every node can be read; never a panic.
    #[test]
    fn a_damaged_archive_never_panics() {
        let (archive, claims) = sample();
        let mut refused = 0;

        for at in 0..archive.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut damaged = archive.clone();
                damaged[at] ^= mask;
                match Tree::open(&[], &damaged, claims) {
                    Err(_) => refused += 1,
                    Ok(tree) => {
                        for node in tree.nodes() {
                            let _ = (node.title(), node.summary(), node.span(), node.attributes().count());
                            tree.heading_path(node.id()).expect("a node of the tree");
                        }
                    }
                }
            }
        }

        assert!(refused > archive.len(), "{refused} of {} were noticed", 3 * archive.len());
    }
}
