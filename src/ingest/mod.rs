//! From bytes to [`Document`]s.

mod balance;
mod decode;
mod detect;
mod front_matter;
mod html;
mod jsonl;
mod load;
mod markdown;
mod options;
mod outline;
mod path;
mod plain;
mod sentence;
mod split;

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

use crate::error::Result;
use crate::model::TokenCounter;
use crate::tree::Document;
use crate::tree::Node;

/// Gives a document its tree: the last step of every importer.
fn finish(
    document: &mut Document,
    mut nodes: Vec<Node>,
    options: &Options,
    counter: &dyn TokenCounter,
) -> Result<()> {
    if let Some(root) = nodes.first_mut() {
        root.title.clone_from(&document.title);
    }
    document.nodes = nodes;
    if options.balance {
        return balance(document, counter, None);
    }
    document.validate()
}
