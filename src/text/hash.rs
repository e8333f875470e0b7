//! A hasher for words: fast, and seeded for each process, so that a document cannot be made of colliding words.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::hash::Hasher;
use std::hash::RandomState;

/// A map from words; its order is nobody's business.
pub type WordMap<V> = HashMap<Box<str>, V, WordState>;

/// Makes [`WordHasher`]s of one random seed.
#[derive(Clone)]
pub struct WordState(u64, u64);

impl Default for WordState {
    fn default() -> Self {
        let random = RandomState::new();
        Self(random.hash_one(1), random.hash_one(2) | 1)
    }
}

impl BuildHasher for WordState {
    type Hasher = WordHasher;

    fn build_hasher(&self) -> WordHasher {
        WordHasher(self.0, self.1)
    }
}

/// Folded 128-bit multiplication of eight bytes at a time.
pub struct WordHasher(u64, u64);

impl WordHasher {
    fn mix(&mut self, word: u64) {
        let [a, b, c, d, e, f, g, h, low @ ..] =
            (u128::from(self.0 ^ word) * u128::from(self.1 ^ 0x9e37_79b9_7f4a_7c15)).to_be_bytes();
        self.0 = u64::from_be_bytes([a, b, c, d, e, f, g, h]) ^ u64::from_be_bytes(low).rotate_left(23);
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        self.mix(u64::from_le_bytes(last) ^ ((bytes.len() as u64) << 56));
    }

    fn write_u8(&mut self, _: u8) {
        // `str` ends with 0xff so that tuples of strings differ; the length is in the last word already.
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
