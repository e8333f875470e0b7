//! Leaf vectors mixed with their context, scored without being stored.
//!
//! The mixed vector of leaf `i`, with `unit` the vector divided by its length (zeros stay zeros):
//!
//! `v'(i) = unit(v(i) + w v(i - 1) + w v(i + 1) + w unit(S))`, `S` = the sum of the leaf vectors of the section
//! of leaf `i`, `w` = [`WEIGHT`], a missing neighbour or section being zeros.
//!
//! A dot product is linear: once `s(j) = q . v(j)` is known for the leaves, so is `q . v'(i)`, but for two
//! lengths, `|S|` and that of the sum inside the outer `unit`. These are all that is stored.
//!
//! # Source
//!
//! Our own; chosen on passages of long documents.

use std::ops::Range;

use super::row::narrow;
use crate::error::{Error, Result};
use crate::format::vector::ContextNorms;

/// Share of each neighbour and of the section in a leaf's mixed vector; the leaf itself has 1.
const WEIGHT: f64 = 0.2;

/// The lengths that [`context_scores`] needs, for the `n` leaves of one document.
///
/// * `rows`: `n x d`, the leaf vectors in document order, as the space stores them.
/// * `dimension`: `d`, at least 1.
/// * `sections`: the leaves of each section, as index ranges that may nest.
/// * `section_of`: for each of the `n` leaves the index of its section in `sections`, if it has one.
/// * returns: `n` leaf norms and one norm a section, all finite for finite rows of moderate length.
///
/// # Errors
///
/// `InvalidInput` if the shapes do not fit each other, or a section lies outside the leaves.
///
/// # Complexity
///
/// `O((n + m) d)` time, `O(m d)` memory, for `m` sections.
pub fn context_norms(
    rows: &[f32],
    dimension: usize,
    sections: &[Range<usize>],
    section_of: &[Option<usize>],
) -> Result<ContextNorms> {
    let leaves = section_of.len();
    check(leaves, sections, section_of)?;
    if dimension == 0 || leaves.checked_mul(dimension) != Some(rows.len()) {
        let floats = rows.len();
        return Err(Error::invalid(format!(
            "{leaves} leaf vectors of dimension {dimension} in {floats} floats"
        )));
    }
    let sums = section_sums(rows, dimension, sections);
    let units: Vec<(Vec<f64>, f64)> = sums
        .into_iter()
        .map(|mut sum| {
            let norm = norm(&sum);
            if norm > 0.0 {
                for x in &mut sum {
                    *x /= norm;
                }
            }
            (sum, norm)
        })
        .collect();
    let leaf = |index: Option<usize>| index.and_then(|i| rows.chunks_exact(dimension).nth(i));
    let mut mixed = vec![0.0; dimension];
    let mut leaf_norms = Vec::with_capacity(leaves);
    for (i, section) in section_of.iter().enumerate() {
        mixed.fill(0.0);
        for (part, weight) in [(Some(i), 1.0), (i.checked_sub(1), WEIGHT), (i.checked_add(1), WEIGHT)] {
            for (out, x) in mixed.iter_mut().zip(leaf(part).unwrap_or_default()) {
                *out += weight * f64::from(*x);
            }
        }
        if let Some((unit, _)) = section.and_then(|section| units.get(section)) {
            for (out, x) in mixed.iter_mut().zip(unit) {
                *out += WEIGHT * x;
            }
        }
        leaf_norms.push(narrow(norm(&mixed)));
    }
    let section_norms = units.iter().map(|(_, norm)| narrow(*norm)).collect();
    Ok(ContextNorms { leaf_norms, section_norms })
}

/// `q . v'(i)` for each leaf, from `scores`, the dot products of the query with the leaf vectors.
///
/// * `scores`: `n` scores in document order; 0 for a leaf without a row.
/// * `sections`, `section_of`, `norms`: as given to and by [`context_norms`].
/// * returns: `n` scores; 0 where the mixed vector is zeros.
///
/// # Errors
///
/// `InvalidInput` if the shapes do not fit each other, or a section lies outside the leaves.
pub fn context_scores(
    scores: &[f32],
    sections: &[Range<usize>],
    section_of: &[Option<usize>],
    norms: &ContextNorms,
) -> Result<Vec<f32>> {
    check(scores.len(), sections, section_of)?;
    if norms.leaf_norms.len() != scores.len() || norms.section_norms.len() != sections.len() {
        return Err(Error::invalid(format!(
            "{} leaves and {} sections with norms of {} and {}",
            scores.len(),
            sections.len(),
            norms.leaf_norms.len(),
            norms.section_norms.len()
        )));
    }
    let mut sum = 0.0;
    let mut sums_before = vec![0.0];
    sums_before.extend(scores.iter().map(|score| {
        sum += f64::from(*score);
        sum
    }));
    let by_section: Vec<f64> = sections
        .iter()
        .zip(&norms.section_norms)
        .map(|(leaves, norm)| quotient(sums_before[leaves.end] - sums_before[leaves.start], *norm))
        .collect();
    let score =
        |index: Option<usize>| f64::from(index.and_then(|i| scores.get(i)).copied().unwrap_or_default());
    let mixed = section_of.iter().zip(&norms.leaf_norms).enumerate().map(|(i, (section, norm))| {
        let section = section.and_then(|s| by_section.get(s)).copied().unwrap_or_default();
        let around = score(i.checked_sub(1)) + score(i.checked_add(1)) + section;
        narrow(quotient(score(Some(i)) + WEIGHT * around, *norm))
    });
    Ok(mixed.collect())
}

fn quotient(x: f64, norm: f32) -> f64 {
    if norm > 0.0 { x / f64::from(norm) } else { 0.0 }
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn check(leaves: usize, sections: &[Range<usize>], section_of: &[Option<usize>]) -> Result<()> {
    if section_of.len() != leaves {
        return Err(Error::invalid(format!("{leaves} leaves with the sections of {}", section_of.len())));
    }
    if let Some(bad) = sections.iter().find(|s| s.start > s.end || s.end > leaves) {
        return Err(Error::invalid(format!("section {bad:?} in a document of {leaves} leaves")));
    }
    if let Some(bad) = section_of.iter().flatten().find(|s| **s >= sections.len()) {
        return Err(Error::invalid(format!("section {bad} of {}", sections.len())));
    }
    Ok(())
}

/// The sum of the rows of each section: a running sum of all rows, its value at the section's start taken from
/// that at its end, so that deep nesting costs nothing more.
fn section_sums(rows: &[f32], dimension: usize, sections: &[Range<usize>]) -> Vec<Vec<f64>> {
    let mut sums = vec![Vec::new(); sections.len()];
    let order = |at: fn(&Range<usize>) -> usize| {
        let mut order: Vec<usize> = (0..sections.len()).collect();
        order.sort_by_key(|index| at(&sections[*index]));
        order.into_iter().peekable()
    };
    let (mut starts, mut ends) = (order(|s| s.start), order(|s| s.end));
    let mut running = vec![0.0; dimension];
    let mut rows = rows.chunks_exact(dimension);
    let mut leaf = 0;
    loop {
        while let Some(index) = starts.next_if(|index| sections[*index].start <= leaf) {
            sums[index].clone_from(&running);
        }
        while let Some(index) = ends.next_if(|index| sections[*index].end <= leaf) {
            for (sum, end) in sums[index].iter_mut().zip(&running) {
                *sum = end - *sum;
            }
        }
        let Some(row) = rows.next() else { return sums };
        for (sum, x) in running.iter_mut().zip(row) {
            *sum += f64::from(*x);
        }
        leaf += 1;
    }
}

#[cfg(test)]
mod tests;
