//! From bytes to [`Document`]s.
//!
//! | source | document | sections | leaves |
//! |---|---|---|---|
//! | [plain text](plain()) | the text verbatim | none: [`balance`] makes some | paragraphs, small ones packed |
//! | [Markdown](markdown()) | the source verbatim; front matter as attributes | headings outside quotes and lists | blocks |
//! | [HTML](html()) | the text a reader sees | `h1` to `h6` | blocks |
//! | [JSONL](jsonl()) | the passages with equal `doc`, parted by blank lines | `section`, `session` or `page` | passages |
//!
//! What becomes what, in Markdown and HTML:
//!
//! | in the source | leaf |
//! |---|---|
//! | paragraphs, lists, quotes, anything else | `text`; neighbours in one section share a leaf up to the target |
//! | a table | `table`, whole up to [`Options::max_whole_tokens`], else cut at rows |
//! | code | `example`, whole up to the same size, else cut at lines |
//! | images alone in a paragraph | `image`; the alt text is its title (Markdown) or its text (HTML) |
//! | a heading | a section, and no leaf; one above 500 bytes is a paragraph |
//! | a rule, a script, a style, navigation | nothing |
//!
//! Rules for all:
//!
//! * A leaf is a trimmed span of the document's text. Spans are in order and do not overlap; every character that
//!   is not white space, a heading, a rule or front matter lies in one.
//! * A text above [`Options::max_tokens`] is cut into pieces of even size near the target: at blank lines, else
//!   [sentence ends](sentences()), else line ends, else words, else characters. In time linear in its length.
//! * The only first-level heading, if it comes before all others and is the title, is the root itself.
//! * An empty source is a document with a root and no leaf.
//! * A document that brings no sections gets a balanced tree by [`balance`], by words; to group by vectors, switch
//!   [`Options::balance`] off and call it yourself.
//! * Nothing in a source makes an importer panic, overflow the stack or take quadratic time.
//!
//! Graphs: [`import_statements`] reads triples and relations of any extractor, [`wiki_links`] the links of a page.
//!
//! Not for: binary formats (PDF, office documents), which [`detect`] names and refuses.

mod balance;
mod decode;
mod detect;
pub mod extract;
mod front_matter;
mod html;
mod jsonl;
mod load;
mod markdown;
mod options;
mod outline;
mod parallel;
mod path;
mod plain;
mod sentence;
mod split;
mod statements;
mod wiki;

pub use balance::Rows;
pub use balance::balance;
pub use detect::Kind;
pub use detect::detect;
pub use detect::is_gzip;
pub use html::html;
pub use jsonl::jsonl;
pub use load::GivenVectors;
pub use load::Loader;
pub use load::Progress;
pub use load::RowOrder;
pub use load::SpaceEmbedder;
pub use load::leaf_texts;
pub use load::warnings;
pub use markdown::markdown;
pub use options::Options;
pub use options::Report;
pub use options::Warning;
pub use path::read_path;
pub use plain::plain;
pub use sentence::sentences;
pub use statements::StatementReport;
pub use statements::import_statements;
pub use wiki::LINK;
pub use wiki::PAGE;
pub use wiki::wiki_links;

use crate::error::Result;
use crate::model::TokenCounter;
use crate::tree::Counted;
use crate::tree::Document;
use crate::tree::Node;

/// Gives a document its tree, as an outline finished it: the last step of every importer.
fn finish(
    document: &mut Document,
    (mut nodes, counted): (Vec<Node>, Counted),
    options: &Options,
    counter: &dyn TokenCounter,
) -> Result<()> {
    if let Some(root) = nodes.first_mut() {
        root.title.clone_from(&document.title);
    }
    document.nodes = nodes;
    document.counted = counted;
    if options.balance {
        return balance(document, counter, None);
    }
    document.validate()
}

#[cfg(test)]
mod tests;
