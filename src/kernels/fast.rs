//! Dot products by simsimd: any order of summation, fused or not, with a bound on what that changes.
#![allow(unsafe_code, reason = "bytes of a file are viewed as floats where they are aligned")]

use simsimd::SpatialSimilarity;

use super::dispatch::{self, Level};
use super::scalar;

/// About the dot product of `a` and `b`: within [`dot_error_bound`] of [`dot`](super::dot).
///
/// Under [`Level::Scalar`] it is [`dot`](super::dot) itself.
///
/// # Panics
///
/// If the lengths differ.
#[must_use]
pub fn dot_fast(a: &[f32], b: &[f32]) -> f32 {
    if dispatch::level() == Level::Scalar {
        return dispatch::dot(a, b);
    }
    match SpatialSimilarity::dot(a, b) {
        Some(score) => narrow(score),
        None => dispatch::dot(a, b),
    }
}

/// [`dot_fast`] of `query` with each row; shapes as for [`dot_rows`](super::dot_rows).
///
/// Rows that are not aligned to 4 bytes are scored by [`dot_rows`](super::dot_rows).
///
/// # Panics
///
/// If `rows` is not of `n * d * 4` bytes.
pub fn dot_fast_rows(query: &[f32], rows: &[u8], out: &mut [f32]) {
    dispatch::assert_shape(query, rows, out);
    match view(rows) {
        Some(floats) if dispatch::level() != Level::Scalar && !query.is_empty() => {
            let dimension = query.len();
            for row in scalar::in_streams(out.len()) {
                out[row] = dot_fast(query, &floats[row * dimension..][..dimension]);
            }
        }
        _ => dispatch::dot_rows(query, rows, out),
    }
}

/// An upper bound of `|dot_fast(a, b) - dot(a, b)|` for vectors of dimension `d` and finite norms.
///
/// Any order of summing `d` products, each operation rounded to nearest in `f32` with unit roundoff
/// `u = 2^-24`, errs by at most `g * |a| * |b|`, `g = d u / (1 - d u)`; fused operations round less. So two
/// orders differ by at most `2 g |a| |b|`. One more `u` is for the rounding of simsimd's `f64` to `f32`,
/// `2^-125` an element for results below the normal range, and 1 % for the rounding of this formula itself.
///
/// # Source
///
/// Higham: Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM 2002, equation (3.5). Departure: none.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a dimension is far below 2^52")]
pub fn dot_error_bound(dimension: usize, norm_a: f64, norm_b: f64) -> f64 {
    let roundoff = 2.0_f64.powi(-24);
    let n = dimension as f64 + 1.0;
    let g = n * roundoff / (1.0 - n * roundoff);
    1.01 * (2.0 * g * norm_a * norm_b + n * 2.0_f64.powi(-125))
}

#[expect(clippy::cast_possible_truncation, reason = "to the nearest f32, which the bound allows for")]
fn narrow(score: f64) -> f32 {
    score as f32
}

/// `rows` as floats, if this machine is little-endian and they are aligned.
fn view(rows: &[u8]) -> Option<&[f32]> {
    if cfg!(target_endian = "big") {
        return None;
    }
    // SAFETY: any four bytes are a valid f32, and `align_to` puts only aligned ones in the middle.
    let (before, floats, after) = unsafe { rows.align_to::<f32>() };
    (before.is_empty() && after.is_empty()).then_some(floats)
}
