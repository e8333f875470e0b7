//! Plain text: paragraphs at blank lines, no headings.

use crate::error::Result;
use crate::model::TokenCounter;
use crate::tree::Document;

use super::options::Options;
use super::outline::Outline;
use super::outline::check_text;
use super::outline::stem;
use super::split::paragraphs;

/// The document of a plain text: the text verbatim, its paragraphs packed into leaves, titled by the last part
/// of `key` without its extension.
///
/// # Errors
///
/// `InvalidInput` if the key is empty or above 1,024 bytes, the text above 1 GiB, or an option is out of its
/// bounds.
pub fn plain(key: &str, text: &str, options: &Options, counter: &dyn TokenCounter) -> Result<Document> {
    options.check()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check_text(key, text)?;
    let mut outline = Outline::new(text, options, counter);
    for paragraph in paragraphs(text) {
        outline.prose(paragraph);
    }
    let grown = outline.finish();
    let title = stem(key);
    let mut document = Document::new(key, title);
    text.clone_into(&mut document.text);
    super::finish(&mut document, grown, options, counter)?;
    Ok(document)
}
