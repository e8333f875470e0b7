//! What a vector must be to enter a space or to ask it.

use std::fmt::Display;

use crate::error::{Error, ErrorKind, Result};
use crate::format::vector::{Metric, SpaceRecord};
use crate::kernels;

/// Longest vector of a dot or L2 space, 2^60: no score or partial sum of two of them leaves the range of `f32`.
pub const MAX_NORM: f64 = 1_152_921_504_606_846_976.0;

/// Writes to `out` what the space stores, or compares, for `vector`; what its length is at most.
///
/// Cosine spaces keep the direction alone: the vector divided by its length, summed and divided in `f64`. A
/// vector of zeros has no direction and stays zeros: its score is 0 against everything. Other spaces keep the
/// vector as it is.
///
/// # Errors
///
/// `InvalidInput`, beginning with `name`, if the dimension is another, an element is NaN or infinite, or the
/// vector of a dot or L2 space is longer than [`MAX_NORM`].
pub fn prepare(record: &SpaceRecord, vector: &[f32], name: impl Display, out: &mut Vec<f32>) -> Result<f32> {
    let dimension = record.dimension as usize;
    if vector.len() != dimension {
        return Err(Error::invalid(format!(
            "{name} has dimension {}; space {:?} has {dimension}",
            vector.len(),
            record.name
        )));
    }
    if let Some((index, element)) = vector.iter().enumerate().find(|(_, x)| !x.is_finite()) {
        return Err(Error::invalid(format!("{name} is {element} in dimension {index}, not a finite number")));
    }
    let norm = kernels::norm(vector);
    out.clear();
    match record.metric {
        Metric::Cosine if norm > 0.0 => out.extend(vector.iter().map(|x| narrow(f64::from(*x) / norm))),
        Metric::Cosine | Metric::Dot | Metric::L2 => out.extend_from_slice(vector),
    }
    if record.metric != Metric::Cosine && norm > MAX_NORM {
        return Err(Error::invalid(format!("{name} has length {norm:e}, over 2^60 = {MAX_NORM:e}")));
    }
    // Rounded up: a millionth is far more than the error of the sum and of the conversion.
    Ok(narrow(kernels::norm(out) * (1.0 + 1e-6)).next_up())
}

/// Says whether vectors of `fingerprint` and `dimension` belong in the space.
///
/// # Errors
///
/// `Model`, naming both sides, if the space was made by another embedder; `InvalidInput` if only the dimension
/// differs.
pub fn expect_embedder(record: &SpaceRecord, fingerprint: &str, dimension: usize) -> Result<()> {
    if record.fingerprint != fingerprint {
        return Err(Error::new(
            ErrorKind::Model,
            format!(
                "space {:?} holds vectors of {:?}, not of {fingerprint:?}; use that embedder or a new space",
                record.name, record.fingerprint
            ),
        ));
    }
    if record.dimension as usize != dimension {
        return Err(Error::invalid(format!(
            "the embedder gives dimension {dimension}; space {:?} has {}",
            record.name, record.dimension
        )));
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest f32")]
pub(super) fn narrow(x: f64) -> f32 {
    x as f32
}
