//! Byte-pair encoding, as OpenAI's models count. The only place that names the crate behind it.
#![expect(clippy::doc_markdown, reason = "OpenAI is a name")]

use std::cell::RefCell;

use bpe_openai::Tokenizer;

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
            Encoding::O200k => {
                O200K_PIECES.with_borrow_mut(|pieces| pieces.count(text, bpe_openai::o200k_base()))
            }
            Encoding::Cl100k => {
                CL100K_PIECES.with_borrow_mut(|pieces| pieces.count(text, bpe_openai::cl100k_base()))
            }
        }
    }

    fn fingerprint(&self) -> &'static str {
        match self.0 {
            Encoding::O200k => "o200k_base",
            Encoding::Cl100k => "cl100k_base",
        }
    }
}

/// Longest piece that is remembered: with its length it fills 16 bytes.
const MOST_PIECE_BYTES: usize = 15;

/// Pieces remembered by each thread and encoding, a power of two: 136 KiB.
const SLOTS: usize = 1 << 13;

thread_local! {
    static O200K_PIECES: RefCell<Pieces> = const { RefCell::new(Pieces { slots: Vec::new(), tokens: Vec::new() }) };
    static CL100K_PIECES: RefCell<Pieces> = const { RefCell::new(Pieces { slots: Vec::new(), tokens: Vec::new() }) };
}

/// Tokens of short pieces that were counted before. An encoding cuts a text into pieces (words with the blank
/// before them, numbers, punctuation) and each piece into tokens, on its own; most pieces come again and again.
struct Pieces {
    /// The piece and its length in each slot; 0 where free. A new piece takes the slot of another.
    slots: Vec<u128>,
    tokens: Vec<u8>,
}

impl Pieces {
    /// Tokens of `text`: exactly what `tokenizer` counts.
    fn count(&mut self, text: &str, tokenizer: &Tokenizer) -> usize {
        self.slots.resize(SLOTS, 0);
        self.tokens.resize(SLOTS, 0);
        let mut rest = text;
        let mut count = 0;
        while !rest.is_empty() {
            let bytes = plain_word(rest.as_bytes());
            let piece = if bytes > 0 { rest.get(..bytes) } else { tokenizer.split(rest).next() };
            let Some(piece) = piece.filter(|piece| !piece.is_empty()) else { break };
            count += self.tokens_of(piece.as_bytes(), tokenizer);
            rest = rest.get(piece.len()..).unwrap_or_default();
        }
        count
    }

    fn tokens_of(&mut self, piece: &[u8], tokenizer: &Tokenizer) -> usize {
        let mut key = [0; 16];
        let length = u8::try_from(piece.len()).unwrap_or(u8::MAX);
        let Some(place) = key.get_mut(..piece.len()).filter(|_| piece.len() <= MOST_PIECE_BYTES) else {
            return tokenizer.bpe.count(piece);
        };
        place.copy_from_slice(piece);
        let key = u128::from_le_bytes(key) | u128::from(length) << 120;
        let [a, b, c, d, e, f, g, h, high @ ..] = key.to_le_bytes();
        let low = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let mixed = (low ^ u64::from_le_bytes(high).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = usize::try_from(mixed >> (64 - SLOTS.ilog2())).unwrap_or_default();
        if self.slots[slot] != key {
            // A token has a byte at least, so a short piece has few.
            self.tokens[slot] = u8::try_from(tokenizer.bpe.count(piece)).unwrap_or(u8::MAX);
            self.slots[slot] = key;
        }
        self.tokens[slot].into()
    }
}

/// Length of the piece at the start of `text`, if it is a plain word: letters of ASCII, capitals first, then at
/// least one small one, perhaps behind one blank, with neither a letter nor an apostrophe nor anything beyond
/// ASCII behind it. Both encodings cut such a word off as it is, by the first of their patterns that can match
/// there. 0 if it is not.
fn plain_word(text: &[u8]) -> usize {
    let blank = usize::from(text.first() == Some(&b' '));
    let word = text.get(blank..).unwrap_or_default();
    let capitals = word.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let small = word.iter().skip(capitals).take_while(|byte| byte.is_ascii_lowercase()).count();
    let bytes = blank + capitals + small;
    let ends = match text.get(bytes) {
        None => true,
        Some(next) => next.is_ascii() && !next.is_ascii_alphabetic() && *next != b'\'',
    };
    if small > 0 && ends { bytes } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    proptest! {
        /// What the crate counts without shortcuts.
        #[test]
        fn counts_are_those_of_the_encodings(
            text in "([ \t\r\n]{0,3}|[a-z]{1,5}|[A-Z]{1,3}|['’.,!?/-]|[0-9]{1,4}|s|re|é|ß|大学|🚀|\u{301}|\\PC){0,60}"
        ) {
            for _ in 0..2 {
                prop_assert_eq!(BpeCounter::o200k().count(&text), bpe_openai::o200k_base().count(&*text));
                prop_assert_eq!(BpeCounter::cl100k().count(&text), bpe_openai::cl100k_base().count(&*text));
            }
        }
    }

    #[test]
    fn counts_of_prose_are_those_of_the_encodings() {
        for entry in
            std::fs::read_dir("examples/data/countries").expect("a folder of the repository").take(12)
        {
            let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("text");
            assert_eq!(BpeCounter::o200k().count(&text), bpe_openai::o200k_base().count(&*text));
            assert_eq!(BpeCounter::cl100k().count(&text), bpe_openai::cl100k_base().count(&*text));
        }
    }

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
