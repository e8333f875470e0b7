//! Where blocks come from.

use crate::error::Result;

/// The blocks of one space, in one snapshot.
pub trait BlockSource: Sync {
    /// How many there are; they are numbered from 0.
    fn block_count(&self) -> u32;

    /// Calls `read` once with the whole value of block `index`; its frame has been verified.
    ///
    /// # Errors
    ///
    /// What the storage or `read` reports; `Corrupt` if the block is missing.
    fn with_block(&self, index: u32, read: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;
}
