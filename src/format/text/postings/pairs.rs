//! Pairs of varints: lists that are short, and the ends of packed ones.

use super::BLOCK;
use super::Posting;
use crate::format::text::Damage;
use crate::format::text::Decoded;

/// Pairs in their stored bytes; fewer than [`BLOCK`], and nothing behind them.
#[derive(Debug, Clone, Copy)]
pub struct Pairs<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// How many pairs they are.
    pub count: usize,
    /// The lowest ordinal the first may have.
    pub first: u32,
    /// All ordinals are below.
    pub bound: u32,
    /// Where the bytes begin, for reports of damage.
    pub start: usize,
}

impl Pairs<'_> {
    /// Gives all postings at once.
    ///
    /// # Errors
    ///
    /// [`Damage`] if an ordinal reaches the bound, or the bytes do not end with the last pair.
    pub fn decode(&self, each: &mut impl FnMut(&[u32], &[u32])) -> Decoded<()> {
        let mut ids = [0_u32; BLOCK];
        let mut freqs = [1_u32; BLOCK];
        let mut rest = self.bytes;
        let mut lowest = u64::from(self.first);
        let at = |rest: &[u8]| self.start + self.bytes.len() - rest.len();
        for (id, freq) in ids.iter_mut().zip(&mut freqs).take(self.count) {
            let offset = at(rest);
            let bad = |why| Damage { field: "pair", offset, why };
            let gap = take_varint(&mut rest).ok_or(bad("the list is cut short"))?;
            let ordinal = lowest + gap / 2;
            *id = u32::try_from(ordinal)
                .ok()
                .filter(|id| *id < self.bound)
                .ok_or(bad("an ordinal is past the last node"))?;
            if gap % 2 == 1 {
                let more = take_varint(&mut rest).ok_or(bad("the list is cut short"))?;
                *freq = u32::try_from(more)
                    .ok()
                    .and_then(|more| more.checked_add(2))
                    .ok_or(bad("a frequency is over 32 bits"))?;
            }
            lowest = ordinal + 1;
        }
        if !rest.is_empty() {
            return Err(Damage { field: "pair", offset: at(rest), why: "bytes follow the last posting" });
        }
        each(ids.get(..self.count).unwrap_or(&[]), freqs.get(..self.count).unwrap_or(&[]));
        Ok(())
    }
}

/// Appends pairs of `postings` to `out`; ordinals from `lowest` on.
pub fn put_pairs(postings: &[Posting], mut lowest: u32, out: &mut Vec<u8>) {
    for posting in postings {
        put_pair(*posting, lowest, out);
        lowest = posting.ordinal + 1;
    }
}

/// Appends one pair to `out`; `lowest` is the ordinal before plus 1, or 0.
fn put_pair(posting: Posting, lowest: u32, out: &mut Vec<u8>) {
    let gap = 2 * u64::from(posting.ordinal - lowest);
    if posting.term_freq > 1 {
        put_varint(out, gap + 1);
        put_varint(out, u64::from(posting.term_freq - 2));
    } else {
        put_varint(out, gap);
    }
}

/// Appends `value` as LEB128: seven bits a byte, the lowest first, the high bit set on all but the last.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

/// Takes a varint of at most 35 bits off the front of `bytes`; `None` if there is none.
pub fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
