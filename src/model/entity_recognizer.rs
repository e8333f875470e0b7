//! Text to names.

use std::ops::Range;

use crate::error::Result;

/// A name in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecognizedEntity {
    /// Where it stands, in bytes of the text, on boundaries of characters.
    pub range: Range<usize>,
    /// What it is, as the recognizer calls it: `name`, `person`, `place`; not empty.
    pub kind: String,
}

/// Finds the names in sentences.
pub trait EntityRecognizer: Send + Sync {
    /// What found them: rules or model, with their version; 1 to 255 bytes.
    fn fingerprint(&self) -> &str;

    /// The names in each of `sentences`, in the same order. Names may overlap and contain each other; of each
    /// sentence they come in the order of their importance to the caller, or of the text.
    ///
    /// # Errors
    ///
    /// Whatever the model reports, as [`ErrorKind::Model`](crate::ErrorKind::Model).
    fn recognize(&self, sentences: &[&str]) -> Result<Vec<Vec<RecognizedEntity>>>;
}
