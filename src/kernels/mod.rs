//! Inner loops, the same to the last bit on every machine: dot products and squared distances of vectors, and
//! the search for the best texts.
//!
//! | module | what |
//! |---|---|
//! | `scalar` | the definition: one fixed order of summation |
//! | `dispatch` | the same code compiled for wider registers, chosen once |
//! | `postings` | sums of scores that reach a bar, lookups in posting lists |
//! | `fast` | dot products in an order of the library's choosing, with a bound on the difference |
//! | `int8` | linear layers over 8-bit numbers, exact in integers |
//! | `transformer` | attention, normalisation and GELU in a fixed order |
//!
//! Everything that ranks uses [`dot`] and [`l2_squared`]. [`dot_fast`] only finds candidates; what it finds is
//! scored again by [`dot`], so that equal files give equal answers whatever the processor.
//!
//! A row in a file is bytes, `f32` little-endian, at any alignment: the `_rows` forms read it as it lies.

mod dispatch;
mod fast;
mod int8;
mod postings;
mod scalar;
mod transformer;

pub use dispatch::{Level, dot, dot_rows, l2_squared, l2_squared_rows, level, use_level};
pub use fast::{dot_error_bound, dot_fast, dot_fast_rows};
pub use int8::{ByteLinear, ByteRows};
pub use postings::{BUCKET, Buckets, Candidate, VALUES, Values, narrow, rank_bits, take_sums};
pub use scalar::LANES;
pub use transformer::{AttentionScratch, Heads, attention, gelu, layer_norm};

/// Bytes of one element of a row in a file.
pub const ELEMENT_BYTES: usize = 4;

/// The floats of a row's bytes, `f32` little-endian; bytes beyond the last whole element are ignored.
#[must_use]
pub fn floats(bytes: &[u8]) -> impl ExactSizeIterator<Item = f32> + '_ {
    bytes.as_chunks::<ELEMENT_BYTES>().0.iter().map(|element| f32::from_le_bytes(*element))
}

/// Length of `vector`, summed in `f64` in order of elements; infinite or NaN if an element is.
#[must_use]
pub fn norm(vector: &[f32]) -> f64 {
    vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests;
