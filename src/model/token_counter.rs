//! Text to tokens: the unit of every budget.

/// Counts the tokens of a text. The unit of budgets and of the token counts a file stores.
pub trait TokenCounter: Send + Sync {
    /// Tokens in `text`; 0 for an empty text. Must not fail and must not panic, whatever the text.
    fn count(&self, text: &str) -> usize;

    /// Name and revision, 1 to 255 bytes. Stored in the file; opening it with another counter is an error.
    fn fingerprint(&self) -> &str;
}
