//! What the caller supplies: traits for models, no clients.
//!
//! All are synchronous and take batches, so that a caller can be as parallel as he likes. An implementation
//! must be deterministic if answers are to be reproducible; evdb adds no randomness of its own.
//! Implementations that ship with evdb are in [`crate::providers`].

mod embedder;
mod entity_recognizer;
mod language_model;
#[cfg(any(test, feature = "testing"))]
pub mod scripted;
mod token_counter;

pub use embedder::Embedder;
pub use entity_recognizer::{EntityRecognizer, RecognizedEntity};
pub use language_model::{Completion, LanguageModel, Prompt};
pub use token_counter::TokenCounter;
