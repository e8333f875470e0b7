//! Implementations of [`crate::model`] that ship with evdb, and vectors from files.
//!
//! | type | what |
//! |---|---|
//! | [`StaticEmbedder`] | a table lookup and a sum: instant, deterministic, of modest quality |
//! | [`TransformerEmbedder`] | models of BERT's family run in-process: semantic, deterministic |
//! | [`BpeCounter`] | tokens of OpenAI's encodings |
//! | [`WordPieceCounter`], [`WordPiece`] | tokens of BERT's uncased models |
//! | [`token_counter`] | a counter by the fingerprint a file stores |
//! | [`Npy`], [`Matrix`] | rows of an `.npy` file |

mod bpe;
mod names;
mod npy;
#[cfg(feature = "static-embedder")]
mod static_table;
mod transformer;
mod wordpiece;

pub use bpe::BpeCounter;
pub use names::{DEFAULT_TOKEN_COUNTER, token_counter};
pub use npy::{Matrix, Npy};
#[cfg(feature = "static-embedder")]
pub use static_table::StaticEmbedder;
pub use transformer::TransformerEmbedder;
pub use wordpiece::{WordPiece, WordPieceCounter};
