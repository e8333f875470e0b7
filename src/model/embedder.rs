//! Text to vectors.

use crate::error::Result;

/// Turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// Length `d` of every vector, the same for the life of the value; 1 to 65,535.
    fn dimensions(&self) -> usize;

    /// What made the vectors: model name and revision, 1 to 255 bytes. Stored with the space; using the space
    /// with another fingerprint is an error, never a silent mix.
    fn fingerprint(&self) -> &str;

    /// Vectors for `texts`, in the same order.
    ///
    /// * `texts`: `n` texts, `n` may be 0; a text may be empty.
    /// * `out`: `n x d` floats, row by row; written whole. Need not be of unit length; a text without any
    ///   content gets zeros.
    ///
    /// # Errors
    ///
    /// Whatever the model reports, as [`ErrorKind::Model`](crate::ErrorKind::Model).
    fn embed(&self, texts: &[&str], out: &mut [f32]) -> Result<()>;
}
