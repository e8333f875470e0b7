//! A vector to compare with.

use super::row;
use crate::error::Result;
use crate::format::vector::{Metric, SpaceRecord};
use crate::kernels;

/// A vector checked, and for cosine made a unit vector, for one space.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    vector: Vec<f32>,
    norm_bound: f32,
    metric: Metric,
}

impl Query {
    /// The query for `vector` in the space of `record`. Zeros are accepted: in a cosine or dot space they score
    /// every row 0.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the dimension is not the space's, an element is NaN or infinite, or the vector of a
    /// dot or L2 space is longer than [`MAX_NORM`](super::MAX_NORM).
    pub fn new(record: &SpaceRecord, vector: &[f32]) -> Result<Self> {
        let mut prepared = Vec::with_capacity(vector.len());
        let norm_bound = row::prepare(record, vector, "the query", &mut prepared)?;
        Ok(Self { vector: prepared, norm_bound, metric: record.metric })
    }

    /// The vector as it is compared.
    #[must_use]
    pub fn vector(&self) -> &[f32] {
        &self.vector
    }

    /// The exact score of each row of `rows`, `n x d` floats as bytes.
    pub(super) fn score_rows(&self, rows: &[u8], out: &mut Vec<f32>) {
        out.clear();
        out.resize(rows.len() / self.row_bytes(), 0.0);
        match self.metric {
            Metric::Cosine | Metric::Dot => kernels::dot_rows(&self.vector, rows, out),
            Metric::L2 => {
                kernels::l2_squared_rows(&self.vector, rows, out);
                for score in out {
                    // Not negation: a distance of 0 scores 0, not -0.
                    *score = 0.0 - *score;
                }
            }
        }
    }

    /// The exact score of one row.
    pub(super) fn score_row(&self, row: &[u8]) -> f32 {
        let mut score = [0.0];
        match self.metric {
            Metric::Cosine | Metric::Dot => kernels::dot_rows(&self.vector, row, &mut score),
            Metric::L2 => kernels::l2_squared_rows(&self.vector, row, &mut score),
        }
        if self.metric == Metric::L2 { 0.0 - score[0] } else { score[0] }
    }

    /// About the score of each row of `rows`; what the exact score may be above it at most.
    pub(super) fn score_rows_fast(&self, rows: &[u8], norm_bound: f32, out: &mut Vec<f32>) -> f64 {
        match self.metric {
            Metric::Cosine | Metric::Dot => {
                out.clear();
                out.resize(rows.len() / self.row_bytes(), 0.0);
                kernels::dot_fast_rows(&self.vector, rows, out);
                kernels::dot_error_bound(self.vector.len(), f64::from(self.norm_bound), f64::from(norm_bound))
            }
            Metric::L2 => {
                self.score_rows(rows, out);
                0.0
            }
        }
    }

    fn row_bytes(&self) -> usize {
        self.vector.len() * kernels::ELEMENT_BYTES
    }
}
