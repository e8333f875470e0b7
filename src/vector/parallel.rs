//! Work in contiguous pieces on scoped threads.

use std::ops::Range;
use std::thread;

use crate::error::Result;

/// Most threads one call starts.
const MOST_THREADS: usize = 64;

/// Fewest blocks worth a thread of their own.
const PIECE_BLOCKS: usize = 4;

/// `work` over contiguous pieces of `0..items`, results in order of pieces; the first error in that order.
pub(super) fn in_pieces<T: Send>(
    items: usize,
    threads: usize,
    work: impl Fn(Range<usize>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let pieces = threads.min(MOST_THREADS).min(items / PIECE_BLOCKS).max(1);
    let piece = |index: usize| index * items / pieces..(index + 1) * items / pieces;
    if pieces == 1 {
        return Ok(vec![work(0..items)?]);
    }
    let work = &work;
    thread::scope(|scope| {
        let workers: Vec<_> = (1..pieces)
            .map(|index| thread::Builder::new().spawn_scoped(scope, move || work(piece(index))).ok())
            .collect();
        let mut results = vec![work(piece(0))?];
        for (worker, index) in workers.into_iter().zip(1..) {
            results.push(match worker.map(thread::ScopedJoinHandle::join) {
                Some(Ok(result)) => result?,
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                // The system gave no thread: the work is done here.
                None => work(piece(index))?,
            });
        }
        Ok(results)
    })
}
