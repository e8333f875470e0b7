//! Frequencies of four bits, and the list of those that need more.

use super::TOP_FREQ;
use crate::format::text::Damage;
use crate::format::text::Decoded;

/// Bytes of an escape: ordinal, frequency.
const ESCAPE_BYTES: usize = 8;

/// Nibble `index` of `bytes`, the low half of a byte first; 0 past the end.
#[must_use]
pub fn nibble(bytes: &[u8], index: usize) -> u8 {
    let byte = bytes.get(index / 2).copied().unwrap_or(0);
    if index.is_multiple_of(2) { byte & 15 } else { byte >> 4 }
}

/// Appends the nibbles of `freqs` to `out`, those above 15 as 15.
pub(super) fn put_nibbles(freqs: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let mut low = None;
    for freq in freqs {
        let [nibble, ..] = freq.min(TOP_FREQ).to_le_bytes();
        match low.take() {
            None => low = Some(nibble),
            Some(low) => out.push(low | nibble << 4),
        }
    }
    out.extend(low);
}

/// Ascending ordinals whose nibble is 15, each with its frequency, which is 15 or above.
#[derive(Debug, Clone, Copy)]
pub struct Escapes<'a>(&'a [[u8; ESCAPE_BYTES]]);

impl<'a> Escapes<'a> {
    /// Those of a list that has none.
    pub(super) const NONE: Self = Self(&[]);

    /// The `count` escapes that are all of `bytes`, which begin at `start`. `nibble` gives the nibble of an
    /// ordinal, if it has one.
    pub(super) fn parse(
        bytes: &'a [u8],
        count: u64,
        start: usize,
        nibble: impl Fn(u32) -> Option<u8>,
    ) -> Decoded<Self> {
        let (escapes, rest) = bytes.as_chunks::<ESCAPE_BYTES>();
        let bad = |at: usize, why| Err(Damage { field: "escapes", offset: start + at * ESCAPE_BYTES, why });
        if !rest.is_empty() || escapes.len() as u64 != count {
            return bad(0, "the bytes do not end with the escapes");
        }
        let mut lowest = 0;
        for (at, escape) in escapes.iter().enumerate() {
            let (ordinal, freq) = parts(*escape);
            if u64::from(ordinal) < lowest || freq < TOP_FREQ {
                return bad(at, "an escape is out of order, or needs none");
            }
            if nibble(ordinal) != Some(15) {
                return bad(at, "an escape is of no posting that has one");
            }
            lowest = u64::from(ordinal) + 1;
        }
        Ok(Self(escapes))
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The frequency of `ordinal`, whose nibble is 15.
    #[must_use]
    pub fn get(&self, ordinal: u32) -> Option<u32> {
        let at = self.0.binary_search_by_key(&ordinal, |escape| parts(*escape).0).ok()?;
        self.0.get(at).map(|escape| parts(*escape).1)
    }
}

const fn parts([o0, o1, o2, o3, f0, f1, f2, f3]: [u8; ESCAPE_BYTES]) -> (u32, u32) {
    (u32::from_le_bytes([o0, o1, o2, o3]), u32::from_le_bytes([f0, f1, f2, f3]))
}

pub(super) fn put_escape(ordinal: u32, freq: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&ordinal.to_le_bytes());
    out.extend_from_slice(&freq.to_le_bytes());
}
