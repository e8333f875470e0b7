//! HTML: the readable text of a page, its headings as the tree.
//!
//! A stream of tokens, no tree of elements: nesting takes neither stack nor memory.

use std::ops::Range;

use html5gum::DefaultEmitter;
use html5gum::HtmlString;
use html5gum::StartTag;
use html5gum::Token;
use html5gum::Tokenizer;

use crate::error::Result;
use crate::model::TokenCounter;
use crate::tree::Document;
use crate::tree::NodeKind;

use super::options::Options;
use super::outline::MAX_TITLE_BYTES;
use super::outline::Outline;
use super::outline::check_text;
use super::outline::clip;
use super::outline::collapse;
use super::outline::stem;
use super::split::Nature;

/// The document of an HTML page. Its text is what a reader sees: blocks parted by blank lines, white space
/// collapsed except in `pre`, list items with a dash, the cells of a row joined by ` | `, images by their alt
/// text. Headings stand in the text and in no leaf.
///
/// Title: the only `h1` if `title` contains it, else `title`, else the first `h1`, else the last part of `key`
/// without its extension.
///
/// # Errors
///
/// `InvalidInput` if the key is empty or above 1,024 bytes, the text above 1 GiB, or an option is out of its
/// bounds.
pub fn html(key: &str, page: &str, options: &Options, counter: &dyn TokenCounter) -> Result<Document> {
    options.check()?;
    check_text(key, page)?;
    let mut reader = Reader::read(page, Strictness::SkipAsides);
    if !reader.skipping.is_empty() {
        // Something that is left out was never closed and took the rest of the page with it.
        reader = Reader::read(page, Strictness::KeepAsides);
    }
    let Reader { text, blocks, title, language, .. } = reader;
    check_text(key, &text)?;
    let heading = |block: &Block| match &block.what {
        What::Heading { level, title } => Some((*level, title.clone())),
        What::Leaf(_) => None,
    };
    let tops: Vec<String> =
        blocks.iter().filter_map(heading).filter(|(l, _)| *l == 1).map(|(_, t)| t).collect();
    let title = collapse(&title);
    let title = match tops.as_slice() {
        [only] if title.to_lowercase().contains(&only.to_lowercase()) => only,
        _ if !title.is_empty() => &title,
        [first, ..] => first,
        [] => stem(key),
    };
    let title = clip(title, MAX_TITLE_BYTES);
    let is_root = tops.len() == 1
        && blocks.iter().find_map(heading).is_some_and(|(level, own)| level == 1 && own == title);
    let mut outline = Outline::new(&text, options, counter);
    for Block { range, what } in blocks {
        match what {
            What::Heading { level: 1, .. } if is_root => {}
            What::Heading { level, title } => {
                outline.section(level, &title);
            }
            What::Leaf(NodeKind::Text) => outline.prose(range),
            What::Leaf(NodeKind::Image) => outline.block(NodeKind::Image, range, Nature::Prose, ""),
            What::Leaf(kind) => outline.block(kind, range, Nature::Lines, ""),
        }
    }
    let grown = outline.finish();
    let mut document = Document::new(key, title);
    document.language = language;
    document.text = text;
    super::finish(&mut document, grown, options, counter)?;
    Ok(document)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictness {
    /// Leaves out navigation, drawings, templates.
    SkipAsides,
    /// Leaves out scripts and styles alone.
    KeepAsides,
}

struct Block {
    range: Range<usize>,
    what: What,
}

enum What {
    Heading { level: u8, title: String },
    Leaf(NodeKind),
}

/// What the text at hand belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Prose,
    Heading(u8),
    Preformatted,
    Table,
    Title,
}

#[expect(clippy::struct_excessive_bools, reason = "four independent facts about the block at hand")]
struct Reader {
    strictness: Strictness,
    text: String,
    blocks: Vec<Block>,
    title: String,
    language: Option<String>,
    mode: Mode,
    /// The block at hand, white space collapsed unless preformatted.
    buffer: String,
    /// Rows of the table at hand; the row at hand is the buffer.
    rows: String,
    /// Whether the buffer holds images' texts and nothing else.
    only_images: bool,
    is_item: bool,
    last_was_item: bool,
    in_head: bool,
    /// Name of the element that is left out; empty if none is.
    skipping: Vec<u8>,
    /// How many elements of that name are open.
    skip_depth: usize,
}

impl Reader {
    fn read(page: &str, strictness: Strictness) -> Self {
        let mut reader = Self {
            strictness,
            text: String::new(),
            blocks: Vec::new(),
            title: String::new(),
            language: None,
            mode: Mode::Prose,
            buffer: String::new(),
            rows: String::new(),
            only_images: true,
            is_item: false,
            last_was_item: false,
            in_head: false,
            skipping: Vec::new(),
            skip_depth: 0,
        };
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        for token in Tokenizer::new_with_emitter(page, emitter) {
            let Ok(token) = token;
            match token {
                Token::StartTag(tag) => reader.start(&tag),
                Token::EndTag(tag) => reader.end(&tag.name),
                Token::String(text) => reader.string(&String::from_utf8_lossy(&text.value)),
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
            }
        }
        reader.end_table();
        reader.flush();
        reader
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = tag.name.as_slice();
        if !self.skipping.is_empty() {
            self.skip_depth += usize::from(name == self.skipping && !tag.self_closing);
            return;
        }
        if self.is_left_out(name) {
            // `<script/>` is an open script to a browser, `<svg/>` a closed drawing.
            if !(tag.self_closing && name == b"svg") {
                self.skipping = name.to_vec();
                self.skip_depth = 1;
            }
            return;
        }
        match name {
            b"html" => {
                self.language =
                    attribute(tag, b"lang").filter(|lang| lang.len() <= 35).or(self.language.take());
            }
            b"head" => self.in_head = true,
            b"title" => {
                self.flush();
                self.mode = Mode::Title;
            }
            b"meta" | b"link" | b"base" => {}
            b"img" => self.image(&attribute(tag, b"alt").unwrap_or_default()),
            b"br" if self.mode == Mode::Preformatted => self.buffer.push('\n'),
            b"br" => self.string("\n"),
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.end_table();
                self.flush();
                self.mode = Mode::Heading(name[1] - b'0');
            }
            b"table" => {
                self.end_table();
                self.flush();
                self.mode = Mode::Table;
            }
            b"tr" | b"caption" if self.mode == Mode::Table => self.end_row(),
            b"td" | b"th" if self.mode == Mode::Table => {
                let row = self.buffer.trim_end().len();
                self.buffer.truncate(row);
                if row > 0 {
                    self.buffer.push_str(" | ");
                }
            }
            b"pre" if self.mode != Mode::Table => {
                self.flush();
                self.mode = Mode::Preformatted;
            }
            b"li" | b"dt" if self.mode == Mode::Prose => {
                self.flush();
                self.is_item = true;
            }
            _ if is_block(name) => self.block_edge(),
            _ => {}
        }
        if is_block(name) && name != b"html" && name != b"head" {
            self.in_head = false;
        }
    }

    fn end(&mut self, name: &HtmlString) {
        let name = name.as_slice();
        if !self.skipping.is_empty() {
            if name == self.skipping {
                self.skip_depth -= 1;
            }
            if self.skip_depth == 0 {
                self.skipping.clear();
            }
            return;
        }
        match (name, self.mode) {
            (b"head", _) => self.in_head = false,
            (b"title", Mode::Title) => self.mode = Mode::Prose,
            (b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6", Mode::Heading(_))
            | (b"pre", Mode::Preformatted) => {
                self.flush();
            }
            (b"table", Mode::Table) => self.end_table(),
            (b"tr" | b"caption", Mode::Table) => self.end_row(),
            _ if is_block(name) => self.block_edge(),
            _ => {}
        }
    }

    fn is_left_out(&self, name: &[u8]) -> bool {
        match name {
            b"script" | b"style" => true,
            b"nav" | b"svg" | b"template" | b"noscript" | b"iframe" | b"noembed" | b"noframes" => {
                self.strictness == Strictness::SkipAsides
            }
            _ => false,
        }
    }

    /// A block begins or ends: a break in the text, within a cell or heading no more than a space.
    fn block_edge(&mut self) {
        match self.mode {
            Mode::Prose => self.flush(),
            Mode::Preformatted | Mode::Title => {}
            Mode::Heading(_) | Mode::Table => self.space(),
        }
    }

    fn string(&mut self, text: &str) {
        if !self.skipping.is_empty() {
            return;
        }
        match self.mode {
            Mode::Title => {
                if self.title.len() <= MAX_TITLE_BYTES {
                    self.title.push_str(text);
                }
            }
            Mode::Preformatted => {
                self.only_images = false;
                self.buffer.push_str(text);
            }
            _ if self.in_head && text.trim().is_empty() => {}
            _ => {
                self.in_head = false;
                self.only_images &= text.trim().is_empty();
                self.collapsed(text);
            }
        }
    }

    fn collapsed(&mut self, text: &str) {
        for part in text.split_inclusive(char::is_whitespace) {
            let word = part.trim_end();
            self.buffer.push_str(word);
            if word.len() < part.len() {
                self.space();
            }
        }
    }

    fn space(&mut self) {
        if !self.buffer.is_empty() && !self.buffer.ends_with(' ') {
            self.buffer.push(' ');
        }
    }

    fn image(&mut self, alt: &str) {
        if alt.trim().is_empty() || self.mode == Mode::Title {
            return;
        }
        if self.mode == Mode::Prose && self.only_images && !self.buffer.trim().is_empty() {
            self.buffer.truncate(self.buffer.trim_end().len());
            self.buffer.push_str(", ");
        }
        self.collapsed(alt);
    }

    fn end_row(&mut self) {
        let row = self.buffer.trim();
        if !row.is_empty() {
            self.rows.push_str(row);
            self.rows.push('\n');
        }
        self.buffer.clear();
    }

    fn end_table(&mut self) {
        if self.mode != Mode::Table {
            return;
        }
        self.end_row();
        let rows = std::mem::take(&mut self.rows);
        self.emit(rows.trim_end(), What::Leaf(NodeKind::Table));
        self.mode = Mode::Prose;
        self.only_images = true;
        self.is_item = false;
    }

    /// Ends the block at hand.
    fn flush(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        let text = buffer.trim();
        match self.mode {
            _ if text.is_empty() => {}
            Mode::Heading(level) if text.len() <= MAX_TITLE_BYTES => {
                self.emit(text, What::Heading { level, title: text.to_owned() });
            }
            Mode::Preformatted => self.emit(buffer.trim_matches('\n'), What::Leaf(NodeKind::Example)),
            Mode::Prose if self.only_images => self.emit(text, What::Leaf(NodeKind::Image)),
            _ => self.emit(text, What::Leaf(NodeKind::Text)),
        }
        // An empty item keeps its dash for the block inside it.
        if !text.is_empty() {
            self.is_item = false;
        }
        self.mode = Mode::Prose;
        self.only_images = true;
    }

    fn emit(&mut self, text: &str, what: What) {
        if text.is_empty() {
            return;
        }
        let is_item = self.is_item && matches!(what, What::Leaf(NodeKind::Text));
        if !self.text.is_empty() {
            self.text.push_str(if is_item && self.last_was_item { "\n" } else { "\n\n" });
        }
        let start = self.text.len();
        if is_item {
            self.text.push_str("- ");
        }
        self.text.push_str(text);
        self.last_was_item = is_item;
        self.blocks.push(Block { range: start..self.text.len(), what });
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    let value = tag.attributes.get(name)?;
    let value = String::from_utf8_lossy(value).trim().to_owned();
    (!value.is_empty()).then_some(value)
}

/// Elements that begin and end a paragraph.
fn is_block(name: &[u8]) -> bool {
    matches!(
        name,
        b"address"
            | b"article"
            | b"aside"
            | b"blockquote"
            | b"body"
            | b"center"
            | b"dd"
            | b"details"
            | b"dialog"
            | b"dir"
            | b"div"
            | b"dl"
            | b"dt"
            | b"fieldset"
            | b"figcaption"
            | b"figure"
            | b"footer"
            | b"form"
            | b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"h5"
            | b"h6"
            | b"header"
            | b"hgroup"
            | b"hr"
            | b"html"
            | b"li"
            | b"main"
            | b"menu"
            | b"nav"
            | b"ol"
            | b"option"
            | b"p"
            | b"pre"
            | b"section"
            | b"summary"
            | b"table"
            | b"tbody"
            | b"td"
            | b"tfoot"
            | b"th"
            | b"thead"
            | b"tr"
            | b"ul"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::ingest::split::tests::Words;

    fn read(page: &str) -> Document {
        let options = Options { balance: false, ..Options::default() };
        let document = html("site/page.html", page, &options, &Words::default()).expect("HTML never fails");
        document.validate().expect("a valid document");
        document
    }

    fn shape(document: &Document) -> Vec<(u32, &str, &str)> {
        let text = |node: &crate::tree::Node| node.span.as_range();
        let nodes = document.nodes.iter().skip(1);
        nodes
            .map(|node| {
                let said = if node.kind.is_leaf() { &document.text[text(node)] } else { node.title.as_str() };
                (node.parent.unwrap_or(0), node.kind.name(), said)
            })
            .collect()
    }

    #[test]
    fn headings_make_the_tree_and_blocks_the_leaves() {
        let document = read(
            "<!DOCTYPE html><html lang=en-GB><head><title>The  Plan - Site</title><style>p{}</style></head>\
             <body><nav><a>Home</a></nav><h1>The Plan</h1><p>One &amp;\n two&nbsp;three.<p>Next <b>b</b>old.\
             <h2>List</h2><ul><li>a<li>b</ul><pre>x\n  y</pre><p><img src=x alt='A cat'></p>\
             <script>if (a<b) {}</script><table><caption>Sums</caption><tr><th>N<th>S<tr><td>a</td><td><p>1</p></td>\
             </tr></table><p>See <img alt=dog> run.</body></html>",
        );

        assert_eq!((document.title.as_str(), document.language.as_deref()), ("The Plan", Some("en-GB")));
        assert_eq!(
            shape(&document),
            [
                (0, "text", "One & two three.\n\nNext bold."),
                (0, "section", "List"),
                (2, "text", "- a\n- b"),
                (2, "example", "x\n  y"),
                (2, "image", "A cat"),
                (2, "table", "Sums\nN | S\na | 1"),
                (2, "text", "See dog run."),
            ]
        );
        assert!(document.text.starts_with("The Plan\n\nOne"));
    }

    #[test]
    fn a_page_that_never_closes_its_navigation_is_still_read() {
        assert_eq!(shape(&read("<nav><a>Home</a><p>Text")), [(0, "text", "Home\n\nText")]);
        assert_eq!(shape(&read("<nav>Home</nav><p>Text")), [(0, "text", "Text")]);
    }

    #[test]
    fn a_heading_within_a_table_ends_it_as_a_mere_layout() {
        assert_eq!(
            shape(&read("<table><tr><td>Menu<td><h2>News</h2><p>Text</table>")),
            [(0, "table", "Menu |"), (0, "section", "News"), (2, "text", "Text")]
        );
    }

    #[test]
    fn a_page_without_title_is_called_after_its_heading_or_file() {
        assert_eq!(read("<h1>A</h1>x<h1>B</h1>y").title, "A");
        assert_eq!(read("x").title, "page");
        assert_eq!(shape(&read("")), []);
    }

    #[test]
    fn a_hundred_thousand_open_elements_take_no_stack_and_little_time() {
        let start = std::time::Instant::now();

        for tag in
            ["<div>", "<table><tr><td>", "<ul><li>", "<svg>", "<nav>", "<b a=1 a=2>", "<h1>", "&amp", "<!--"]
        {
            let document = read(&format!("{}text", tag.repeat(100_000)));
            assert!(tag == "<!--" || document.text.ends_with("text"), "{tag}");
        }

        assert!(start.elapsed().as_secs() < 20, "took {:?}", start.elapsed());
    }

    #[test]
    fn a_huge_table_is_cut_at_rows() {
        let document = read(&format!("<table>{}</table>", "<tr><td>some name<td>12".repeat(400)));

        assert!(document.nodes.len() > 4);
        let mut leaves = document.nodes[1..].iter().map(|node| &document.text[node.span.as_range()]);
        assert!(leaves.all(|leaf| leaf.starts_with("some name | 12") && leaf.ends_with("12")));
    }
}
