//! Markdown: the source verbatim, its headings as the tree, its blocks as leaves.

use std::ops::Range;

use pulldown_cmark::Event;
use pulldown_cmark::Options as Dialect;
use pulldown_cmark::Parser;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;

use crate::error::Result;
use crate::model::TokenCounter;
use crate::tree::Document;
use crate::tree::NodeKind;

use super::front_matter::front_matter;
use super::options::Options;
use super::outline::MAX_TITLE_BYTES;
use super::outline::Outline;
use super::outline::check_text;
use super::outline::clip;
use super::outline::collapse;
use super::outline::stem;
use super::sentence::trim;
use super::split::Nature;

/// The document of a Markdown text: the text is the source verbatim, leaves are spans of it.
///
/// Title: `title` of the front matter, else the first heading of level 1, else the last part of `key` without
/// its extension.
///
/// # Errors
///
/// `InvalidInput` if the key is empty or above 1,024 bytes, the text above 1 GiB, or an option is out of its
/// bounds.
pub fn markdown(key: &str, text: &str, options: &Options, counter: &dyn TokenCounter) -> Result<Document> {
    options.check()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check_text(key, text)?;
    let matter = front_matter(text);
    let blocks = blocks(text, matter.end);
    let first = blocks.iter().find_map(|block| match &block.what {
        What::Heading { level: 1, title } => Some(title.as_str()),
        _ => None,
    });
    let title = matter.title.as_deref().or(first).map_or_else(|| stem(key).to_owned(), collapse);
    let title = clip(&title, MAX_TITLE_BYTES);
    let root = root_heading(&blocks, title);
    let mut outline = Outline::new(text, options, counter);
    for (index, Block { range, what }) in blocks.into_iter().enumerate() {
        match what {
            What::Heading { .. } if Some(index) == root => {}
            What::Heading { level, title } => {
                outline.section(level, &title);
            }
            What::Rule => {}
            What::Prose => outline.prose(range),
            What::List(items) => match outline.count(&range) {
                Some(tokens) if tokens <= options.max_tokens => outline.prose(range),
                _ => items.into_iter().for_each(|item| outline.prose(item)),
            },
            What::Code => outline.block(NodeKind::Example, range, Nature::Lines, ""),
            What::Image { alt } => outline.block(NodeKind::Image, range, Nature::Prose, &alt),
            What::Table { header } => {
                // The parts of a table that is split are told apart by its header row.
                let is_whole = outline.count(&range).is_some_and(|tokens| tokens <= options.max_whole_tokens);
                outline.block(NodeKind::Table, range, Nature::Lines, if is_whole { "" } else { &header });
            }
        }
    }
    let grown = outline.finish();
    let mut document = Document::new(key, title);
    document.language = matter.language;
    document.attributes = matter.attributes;
    text.clone_into(&mut document.text);
    super::finish(&mut document, grown, options, counter)?;
    Ok(document)
}

/// The one heading of level 1 that is the document's own title, not a section: no heading comes before it, and
/// it says the same as `title`.
fn root_heading(blocks: &[Block], title: &str) -> Option<usize> {
    let is_heading = |block: &Block| matches!(block.what, What::Heading { .. });
    let first = blocks.iter().position(is_heading)?;
    let is_top = |block: &Block| matches!(block.what, What::Heading { level: 1, .. });
    let same = matches!(&blocks[first].what, What::Heading { level: 1, title: own }
        if own.to_lowercase() == title.to_lowercase());
    (same && blocks.iter().filter(|block| is_top(block)).count() == 1).then_some(first)
}

/// A block at the outermost level.
#[derive(Debug)]
struct Block {
    range: Range<usize>,
    what: What,
}

#[derive(Debug)]
enum What {
    Heading { level: u8, title: String },
    Rule,
    Prose,
    List(Vec<Range<usize>>),
    Code,
    Image { alt: String },
    Table { header: String },
}

/// The blocks of `text` from `start` on, in order; what no block covers (link definitions) is prose, so that
/// every character that is not white space lies in one block.
fn blocks(text: &str, start: usize) -> Vec<Block> {
    let mut found = Found { text, at: start, blocks: Vec::new() };
    let dialect = Dialect::ENABLE_TABLES | Dialect::ENABLE_FOOTNOTES | Dialect::ENABLE_STRIKETHROUGH;
    let mut depth = 0_usize;
    let mut reader = Reader::default();
    for (event, range) in Parser::new_ext(&text[start..], dialect).into_offset_iter() {
        let range = start + range.start..start + range.end;
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    reader = Reader::new(&tag);
                } else {
                    reader.start(&tag, depth, &range);
                }
                depth += 1;
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    found.push(range, std::mem::take(&mut reader).finish());
                } else {
                    reader.end(tag);
                }
            }
            Event::Rule if depth == 0 => found.push(range, What::Rule),
            Event::Text(text) | Event::Code(text) => reader.text(&text),
            Event::SoftBreak | Event::HardBreak => reader.text(" "),
            Event::InlineHtml(_) | Event::FootnoteReference(_) => reader.prose = true,
            _ if depth == 0 => found.push(range, What::Prose),
            _ => {}
        }
    }
    found.gap(text.len());
    found.blocks
}

struct Found<'a> {
    text: &'a str,
    /// Where the last block ends.
    at: usize,
    blocks: Vec<Block>,
}

impl Found<'_> {
    fn push(&mut self, range: Range<usize>, what: What) {
        let start = self.text.floor_char_boundary(range.start.max(self.at));
        let end = self.text.floor_char_boundary(range.end);
        self.gap(start);
        if self.at < end {
            self.at = end;
            self.blocks.push(Block { range: start..end, what });
        }
    }

    /// Takes what lies before `to` and in no block as prose.
    fn gap(&mut self, to: usize) {
        let range = trim(self.text, self.at..to);
        if !range.is_empty() {
            self.blocks.push(Block { range, what: What::Prose });
        }
        self.at = self.at.max(to);
    }
}

/// Reads one block at the outermost level, event by event.
#[derive(Default)]
struct Reader {
    kind: Outer,
    /// Text of a heading; of the images of a paragraph; of the header row of a table.
    title: String,
    items: Vec<Range<usize>>,
    /// Images open.
    images: usize,
    has_image: bool,
    /// Whether a paragraph has anything but images.
    prose: bool,
    in_header: bool,
}

#[derive(Default, PartialEq, Eq)]
enum Outer {
    #[default]
    Other,
    Heading(u8),
    Paragraph,
    List,
    Code,
    Table,
}

impl Reader {
    fn new(tag: &Tag<'_>) -> Self {
        let kind = match tag {
            Tag::Heading { level, .. } => Outer::Heading(*level as u8),
            Tag::Paragraph => Outer::Paragraph,
            Tag::List(_) => Outer::List,
            Tag::CodeBlock(_) => Outer::Code,
            Tag::Table(_) => Outer::Table,
            _ => Outer::Other,
        };
        Self { kind, ..Self::default() }
    }

    fn start(&mut self, tag: &Tag<'_>, depth: usize, range: &Range<usize>) {
        match tag {
            Tag::Item if self.kind == Outer::List && depth == 1 => self.items.push(range.clone()),
            Tag::Image { .. } => {
                self.images += 1;
                if self.has_image && self.kind == Outer::Paragraph {
                    self.title.push_str(", ");
                }
                self.has_image = true;
            }
            Tag::TableHead => self.in_header = true,
            Tag::TableCell if self.in_header && !self.title.is_empty() => self.title.push_str(" | "),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Image => self.images = self.images.saturating_sub(1),
            TagEnd::TableHead => self.in_header = false,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let is_blank = text.trim().is_empty();
        let wanted = match self.kind {
            Outer::Heading(_) => true,
            Outer::Paragraph => {
                self.prose |= self.images == 0 && !is_blank;
                self.images > 0
            }
            Outer::Table => self.in_header,
            _ => false,
        };
        if wanted && self.title.len() <= MAX_TITLE_BYTES {
            self.title.push_str(text);
        }
    }

    fn finish(self) -> What {
        let title = collapse(&self.title);
        match self.kind {
            // A heading without words opens nothing; one that is too long is a text.
            Outer::Heading(level) if (1..=MAX_TITLE_BYTES).contains(&title.len()) => {
                What::Heading { level, title }
            }
            Outer::Paragraph if self.has_image && !self.prose => What::Image { alt: title },
            Outer::List => What::List(self.items),
            Outer::Code => What::Code,
            Outer::Table => What::Table { header: title },
            _ => What::Prose,
        }
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
