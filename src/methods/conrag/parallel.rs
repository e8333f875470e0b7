//! Work side by side, results in order.

use crate::error::Result;

/// `work` on every item, on at most `threads` threads at a time; results in the order of the items, and of several errors
/// the first.
pub(super) fn in_order<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    if threads <= 1 || items.len() <= 1 {
        return items.iter().map(work).collect();
    }
    let mut done = Vec::with_capacity(items.len());
    for group in items.chunks(threads) {
        let results: Vec<Result<R>> = std::thread::scope(|scope| {
            let work = &work;
            let running: Vec<_> = group.iter().map(|item| scope.spawn(move || work(item))).collect();
            let ended = running.into_iter().map(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            ended.collect()
        });
        for result in results {
            done.push(result?);
        }
    }
    Ok(done)
}
