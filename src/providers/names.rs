//! Token counters by name.

use std::sync::Arc;

use super::bpe::BpeCounter;
use super::wordpiece::WordPieceCounter;
use crate::error::{Error, Result};
use crate::model::TokenCounter;

/// Fingerprint of the counter of a new file.
pub const DEFAULT_TOKEN_COUNTER: &str = "o200k_base";

/// The counter of `fingerprint`: `o200k_base`, `cl100k_base`, or `wordpiece` (in full `wordpiece
/// bert-base-uncased`).
///
/// # Errors
///
/// `NotFound`, listing the known ones, for any other.
pub fn token_counter(fingerprint: &str) -> Result<Arc<dyn TokenCounter>> {
    match fingerprint {
        DEFAULT_TOKEN_COUNTER => Ok(Arc::new(BpeCounter::o200k())),
        "cl100k_base" => Ok(Arc::new(BpeCounter::cl100k())),
        "wordpiece" | WordPieceCounter::FINGERPRINT => Ok(Arc::new(WordPieceCounter)),
        _ => Err(Error::not_found(format!(
            "no token counter {fingerprint:?} is built in; known are o200k_base, cl100k_base and {}",
            WordPieceCounter::FINGERPRINT
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_found_by_its_own_fingerprint() {
        for name in ["o200k_base", "cl100k_base", "wordpiece"] {
            let counter = token_counter(name).expect("it is known");

            let again = token_counter(counter.fingerprint()).expect("it is known");

            assert_eq!(again.fingerprint(), counter.fingerprint());
        }
    }

    #[test]
    fn an_unknown_counter_is_an_error_that_lists_the_known_ones() {
        let error = token_counter("p50k").map(|_| ()).expect_err("unknown");

        assert_eq!(
            error.to_string(),
            "no token counter \"p50k\" is built in; known are o200k_base, cl100k_base and wordpiece bert-base-uncased"
        );
    }
}
