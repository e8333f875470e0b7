//! Prompt to completion.

use crate::error::Result;

/// A request to a language model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Standing instructions.
    pub system: String,
    /// The task and its material.
    pub user: String,
    /// Most tokens the answer may take.
    pub limit_tokens: usize,
}

/// A language model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Completion {
    /// The text.
    pub text: String,
    /// Tokens read, as the model counts them; 0 if it does not say.
    pub prompt_tokens: usize,
    /// Tokens written, as the model counts them; 0 if it does not say.
    pub completion_tokens: usize,
}

/// Completes prompts. evdb ships no client yet; a caller brings his own.
pub trait LanguageModel: Send + Sync {
    /// The model's answer to `prompt`.
    ///
    /// # Errors
    ///
    /// Whatever the model reports, as [`ErrorKind::Model`](crate::ErrorKind::Model). Methods treat a failed
    /// call as an empty answer where their paper does, and say so in the trace.
    fn complete(&self, prompt: &Prompt) -> Result<Completion>;

    /// Name and revision, for traces.
    fn name(&self) -> &str;
}
