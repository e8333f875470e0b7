//! From headings and blocks in reading order to the nodes of a document.

use std::ops::Range;

use crate::error::Error;
use crate::error::Result;
use crate::ids::Span;
use crate::model::TokenCounter;
use crate::tree::Counted;
use crate::tree::Document;
use crate::tree::Node;
use crate::tree::NodeKind;

use super::options::Options;
use super::sentence::trim;
use super::split::Nature;
use super::split::Piece;
use super::split::Splitter;

/// Longest title in bytes; a longer heading is taken for text.
pub(super) const MAX_TITLE_BYTES: usize = 500;

/// Builds the tree of one text from top to bottom. Small texts of one section are packed into one leaf.
pub(super) struct Outline<'a> {
    splitter: Splitter<'a>,
    whole: usize,
    nodes: Vec<Node>,
    /// Level and index of the open sections, the root not among them.
    open: Vec<(u8, u32)>,
    /// Text not yet in a leaf.
    run: Option<Piece>,
    counted: Counted,
}

impl<'a> Outline<'a> {
    /// An outline of `text` with nothing but a root.
    pub(super) fn new(text: &'a str, options: &Options, counter: &'a dyn TokenCounter) -> Self {
        let splitter = Splitter { text, target: options.target_tokens, max: options.max_tokens, counter };
        Self {
            splitter,
            whole: options.max_whole_tokens,
            nodes: vec![Node::new(None, NodeKind::Document)],
            open: Vec::new(),
            run: None,
            counted: Counted::by(counter),
        }
    }

    /// Closes the sections at `level` and deeper and opens one called `title`.
    pub(super) fn section(&mut self, level: u8, title: &str) -> &mut Node {
        self.flush();
        while self.open.pop_if(|(open, _)| *open >= level).is_some() {}
        let index = self.nodes.len();
        self.open.push((level, u32::try_from(index).unwrap_or(u32::MAX)));
        let parent = self.open.iter().rev().nth(1).map_or(0, |(_, index)| *index);
        let mut node = Node::new(Some(parent), NodeKind::Section);
        clip(title, MAX_TITLE_BYTES).clone_into(&mut node.title);
        self.nodes.push(node);
        &mut self.nodes[index]
    }

    /// Closes all sections: what comes next lies below the root.
    pub(super) fn close_sections(&mut self) {
        self.flush();
        self.open.clear();
    }

    /// Adds prose, which may share a leaf with its neighbours.
    pub(super) fn prose(&mut self, range: Range<usize>) {
        for piece in self.splitter.split(range, Nature::Prose, self.splitter.max) {
            let Splitter { target, max, .. } = self.splitter;
            match &mut self.run {
                Some(run) if run.tokens < target && run.tokens + piece.tokens <= max => {
                    run.range.end = piece.range.end;
                    run.tokens += piece.tokens;
                    run.is_sum = true;
                }
                _ => {
                    self.flush();
                    self.run = Some(piece);
                }
            }
        }
    }

    /// Adds a block that shares its leaf with nothing and is cut only above the size kept whole; each part is
    /// called `title`.
    pub(super) fn block(&mut self, kind: NodeKind, range: Range<usize>, nature: Nature, title: &str) {
        self.flush();
        for piece in self.splitter.split(range, nature, self.whole) {
            let leaf = self.leaf(kind, &piece);
            clip(title, MAX_TITLE_BYTES).clone_into(&mut leaf.title);
        }
    }

    /// Adds a page's text, cut at lines; gives the new leaves to `each`.
    pub(super) fn page(&mut self, range: Range<usize>, mut each: impl FnMut(&mut Node)) {
        self.flush();
        for piece in self.splitter.split_page(range) {
            each(self.leaf(NodeKind::Text, &piece));
        }
    }

    /// Adds a passage, one leaf up to the size kept whole; gives the new leaves to `each`.
    pub(super) fn passage(&mut self, range: Range<usize>, mut each: impl FnMut(&mut Node)) {
        self.flush();
        for piece in self.splitter.split(range, Nature::Prose, self.whole) {
            each(self.leaf(NodeKind::Text, &piece));
        }
    }

    /// Tokens of `range`, or `None` if it is far too long for a leaf.
    pub(super) fn count(&self, range: &Range<usize>) -> Option<usize> {
        self.splitter.count(range)
    }

    fn flush(&mut self) {
        if let Some(run) = self.run.take() {
            self.leaf(NodeKind::Text, &run);
        }
    }

    fn leaf(&mut self, kind: NodeKind, piece: &Piece) -> &mut Node {
        let parent = self.open.last().map_or(0, |(_, index)| *index);
        let mut node = Node::new(Some(parent), kind);
        let range = trim(self.splitter.text, piece.range.clone());
        // A text above 4 GiB is refused before the tree is used.
        let at = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
        node.span = Span::new(at(range.start), at(range.end));
        if !piece.is_sum && range == piece.range {
            self.counted.note(node.span, &self.splitter.text[range], piece.tokens);
        }
        let index = self.nodes.len();
        self.nodes.push(node);
        &mut self.nodes[index]
    }

    /// The nodes, the root first, and the tokens of leaves that were counted whole.
    pub(super) fn finish(mut self) -> (Vec<Node>, Counted) {
        self.flush();
        (self.nodes, self.counted)
    }
}

/// Whether `text` may become the text of a document called `key`.
pub(super) fn check_text(key: &str, text: &str) -> Result<()> {
    if key.is_empty() || key.len() > Document::MAX_KEY_BYTES {
        return Err(Error::invalid(format!(
            "document {:?}: its key has {} bytes, not 1 to {}; give it another",
            clip(key, 80),
            key.len(),
            Document::MAX_KEY_BYTES
        )));
    }
    if text.len() > Document::MAX_TEXT_BYTES {
        return Err(Error::invalid(format!(
            "document {key:?}: its text has {} bytes, over {}; divide it",
            text.len(),
            Document::MAX_TEXT_BYTES
        )));
    }
    Ok(())
}

/// The last part of a path-like key without its extension: the title of a document that brings none.
pub(super) fn stem(key: &str) -> &str {
    let name = key.trim_end_matches('/').rsplit('/').next().unwrap_or(key);
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let stem = match name.rsplit_once('.') {
        Some((stem, extension))
            if !stem.is_empty()
                && extension.len() <= 8
                && extension.bytes().all(|b| b.is_ascii_alphanumeric()) =>
        {
            stem
        }
        _ => name,
    };
    clip(if stem.is_empty() { key } else { stem }, MAX_TITLE_BYTES)
}

/// The start of `text`, at most `bytes` long, on a character boundary.
pub(super) fn clip(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// `text` with each run of white space as one space, trimmed.
pub(super) fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::ingest::split::tests::Words;

    fn options() -> Options {
        Options { target_tokens: 4, max_tokens: 6, max_whole_tokens: 8, ..Options::default() }
    }

    #[test]
    fn levels_may_skip_and_a_higher_heading_closes_the_deeper_ones() {
        let counter = Words::default();
        let mut outline = Outline::new("", &options(), &counter);

        for (level, title) in [(4, "a"), (2, "b"), (5, "c"), (3, "d"), (1, "e")] {
            outline.section(level, title);
        }

        let parents: Vec<_> = outline.finish().0.iter().map(|node| node.parent).collect();
        assert_eq!(parents, [None, Some(0), Some(0), Some(2), Some(2), Some(0)]);
    }

    #[test]
    fn small_texts_share_a_leaf_and_blocks_do_not() {
        let text = "a b\n\nc\n\n|t|\n\nd e f\n\ng h i";
        let counter = Words::default();
        let mut outline = Outline::new(text, &options(), &counter);

        outline.prose(0..3);
        outline.prose(5..6);
        outline.block(NodeKind::Table, 8..11, Nature::Lines, "t");
        outline.prose(13..18);
        outline.prose(20..25);

        let leaves: Vec<_> =
            outline.finish().0.iter().skip(1).map(|node| (node.kind, &text[node.span.as_range()])).collect();
        assert_eq!(
            leaves,
            [(NodeKind::Text, "a b\n\nc"), (NodeKind::Table, "|t|"), (NodeKind::Text, "d e f\n\ng h i")]
        );
    }

    #[test]
    fn a_text_that_would_overfill_a_leaf_opens_the_next() {
        let text = "a b c\n\nd e f g";
        let counter = Words::default();
        let mut outline = Outline::new(text, &options(), &counter);

        outline.prose(0..5);
        outline.prose(7..14);

        // 3 + 4 tokens are above the maximum of 6.
        assert_eq!(outline.finish().0.len(), 3);
    }

    #[test]
    fn the_stem_of_a_key_is_its_file_name_without_extension() {
        assert_eq!(stem("notes/2024/plan.v2.md"), "plan.v2");
        assert_eq!(stem("a.jsonl.gz"), "a");
        assert_eq!(stem(".profile"), ".profile");
        assert_eq!(stem("Dr. Smith and Co"), "Dr. Smith and Co");
    }
}
