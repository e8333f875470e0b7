//! From a [`Document`] to the columns that the file keeps.

use super::document::{Document, NodeKind};
use crate::error::{Error, Result};
use crate::format::tree::TreeColumns;
use crate::model::TokenCounter;

impl Document {
    /// The columns of the tree, with the tokens of each subtree as `counter` counts its leaves.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if [`validate`](Document::validate) finds a fault, or if the titles, summaries or
    /// attributes take over 4 GiB.
    pub fn columns(&self, counter: &dyn TokenCounter) -> Result<TreeColumns> {
        self.validate()?;
        let mut columns = TreeColumns::default();
        for (index, node) in (0_u32..).zip(&self.nodes) {
            let parent = node.parent.unwrap_or(0);
            let level = match node.parent {
                Some(parent) => columns.level.get(parent as usize).map_or(0, |level| level.saturating_add(1)),
                None => 0,
            };
            let text = self.text.get(node.span.as_range()).unwrap_or_default();
            let is_leaf = node.kind.is_leaf();
            let tokens = if is_leaf { self.counted.tokens(node.span, text, counter) } else { 0 };
            columns.parent.push(parent);
            columns.last.push(index);
            columns.level.push(level);
            columns.kind.push(node.kind as u8);
            columns.tokens.push(fit(tokens)?);
            columns.start.push(if node.kind.is_leaf() { node.span.start } else { u32::MAX });
            columns.end.push(if node.kind.is_leaf() { node.span.end } else { 0 });
            columns.page.push(node.page);
            columns.titles.extend_from_slice(node.title.as_bytes());
            columns.title_end.push(fit(columns.titles.len())?);
            columns.summaries.extend_from_slice(node.summary.as_bytes());
            columns.summary_end.push(fit(columns.summaries.len())?);
            for (key, value) in &node.attributes {
                columns.attribute_node.push(index);
                for string in [key, value] {
                    columns.attributes.extend_from_slice(string.as_bytes());
                    columns.attribute_end.push(fit(columns.attributes.len())?);
                }
            }
        }
        columns.close_subtrees();
        Ok(columns)
    }

    /// How many nodes are leaves.
    #[must_use]
    pub fn leaf_count(&self) -> usize {
        self.nodes.iter().filter(|node| NodeKind::is_leaf(node.kind)).count()
    }
}

/// Bottom-up sums; a child comes after its parent, so one pass from the end does it.
trait CloseSubtrees {
    fn close_subtrees(&mut self);
}

impl CloseSubtrees for TreeColumns {
    fn close_subtrees(&mut self) {
        for index in (1..self.parent.len()).rev() {
            let parent = self.parent[index] as usize;
            self.last[parent] = self.last[parent].max(self.last[index]);
            self.tokens[parent] = self.tokens[parent].saturating_add(self.tokens[index]);
            self.start[parent] = self.start[parent].min(self.start[index]);
            self.end[parent] = self.end[parent].max(self.end[index]);
        }
        for (start, end) in self.start.iter_mut().zip(&mut self.end) {
            if *start > *end {
                (*start, *end) = (0, 0);
            }
        }
    }
}

fn fit(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|_| Error::invalid(format!("{number} does not fit 32 bits")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Span;
    use crate::tree::Node;

    struct Bytes;

    impl TokenCounter for Bytes {
        fn count(&self, text: &str) -> usize {
            text.len()
        }

        fn fingerprint(&self) -> &'static str {
            "bytes"
        }
    }

    /// root( section( ab, cd ), ef, empty section ): sums, ranges and covers follow from the leaves.
    #[test]
    fn inner_nodes_sum_and_cover_their_leaves() {
        let mut document = Document::new("k", "t");
        document.text = "ab cd ef".into();
        let leaf = |parent, start, end| Node {
            span: Span::new(start, end),
            ..Node::new(Some(parent), NodeKind::Text)
        };
        document.nodes.extend([
            Node::new(Some(0), NodeKind::Section),
            leaf(1, 0, 2),
            leaf(1, 3, 5),
            leaf(0, 6, 8),
            Node::new(Some(0), NodeKind::Section),
        ]);

        let columns = document.columns(&Bytes).expect("a sound tree");

        assert_eq!(columns.last, [5, 3, 2, 3, 4, 5]);
        assert_eq!(columns.tokens, [6, 4, 2, 2, 2, 0]);
        assert_eq!(columns.start, [0, 0, 0, 3, 6, 0]);
        assert_eq!(columns.end, [8, 5, 2, 5, 8, 0]);
        assert_eq!(columns.level, [0, 1, 2, 2, 1, 1]);
    }

    #[test]
    fn a_parent_off_the_path_is_refused() {
        let mut document = Document::new("k", "t");
        document.nodes.extend([
            Node::new(Some(0), NodeKind::Section),
            Node::new(Some(0), NodeKind::Section),
            Node::new(Some(1), NodeKind::Section),
        ]);

        let error = document.columns(&Bytes).expect_err("node 1 is closed");

        assert!(error.to_string().contains("node 3"), "{error}");
    }
}
