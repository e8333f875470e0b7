//! Byte-pair encoding, as OpenAI's models count. The only place that names the crate behind it.
#![expect(clippy::doc_markdown, reason = "OpenAI is a name")]

use crate::model::TokenCounter;

/// Counts tokens of one of OpenAI's encodings. Special tokens in a text are counted as text.
///
/// The encoding is built at the first count, which takes a good tenth of a second; later ones are fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BpeCounter(Encoding);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    O200k,
    Cl100k,
}

impl BpeCounter {
    /// `o200k_base`, of GPT-4o and later.
    #[must_use]
    pub const fn o200k() -> Self {
        Self(Encoding::O200k)
    }

    /// `cl100k_base`, of GPT-4 and GPT-3.5.
    #[must_use]
    pub const fn cl100k() -> Self {
        Self(Encoding::Cl100k)
    }
}

impl TokenCounter for BpeCounter {
    fn count(&self, text: &str) -> usize {
        match self.0 {
            Encoding::O200k => bpe_openai::o200k_base().count(text),
            Encoding::Cl100k => bpe_openai::cl100k_base().count(text),
        }
    }

    fn fingerprint(&self) -> &'static str {
        match self.0 {
            Encoding::O200k => "o200k_base",
            Encoding::Cl100k => "cl100k_base",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits of o200k_base and cl100k_base, known from their published encoders.
    #[test]
    fn known_texts_have_their_known_counts() {
        for counter in [BpeCounter::o200k(), BpeCounter::cl100k()] {
            assert_eq!(counter.count(""), 0);
            // `hello`, ` world`
            assert_eq!(counter.count("hello world"), 2);
            // `tik`, `token`, ` is`, ` great`, `!`
            let name = counter.fingerprint();
            assert!((5..=6).contains(&counter.count("tiktoken is great!")), "{name}");
            // Digits go by threes: `123`, `456`, `7`
            assert_eq!(counter.count("1234567"), 3);
        }
    }

    /// A long run of one character must not take quadratic time.
    #[test]
    fn long_runs_are_counted() {
        let counter = BpeCounter::o200k();
        for text in
            [" ".repeat(200_000), "a".repeat(200_000), "\n".repeat(200_000), "\u{e9}\u{4e00}".repeat(50_000)]
        {
            let count = counter.count(&text);
            assert!(count > 0 && count <= text.len());
        }
    }
}
