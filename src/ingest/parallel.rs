//! Work on several threads, with the outcome of one.

use crate::error::Error;
use crate::error::Result;

/// Does `work` to every item, on `threads` threads; the error of the first item that had one.
pub(super) fn in_parallel<T: Send>(
    items: &mut [T],
    threads: usize,
    work: impl Fn(&mut T) -> Result<()> + Sync,
) -> Result<()> {
    if threads <= 1 || items.len() <= 1 {
        return items.iter_mut().try_for_each(work);
    }
    let queue = parking_lot::Mutex::new(items.iter_mut().enumerate());
    let first_error = parking_lot::Mutex::new(None::<(usize, Error)>);
    std::thread::scope(|scope| {
        let run = || {
            loop {
                let next = queue.lock().next();
                let Some((index, item)) = next else { return };
                if let Err(error) = work(item) {
                    let mut first = first_error.lock();
                    if first.as_ref().is_none_or(|(other, _)| index < *other) {
                        *first = Some((index, error));
                    }
                }
            }
        };
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
    first_error.into_inner().map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_and_the_first_error_is_the_outcome() {
        for threads in [1, 3] {
            let mut items: Vec<usize> = (0..100).collect();

            let done = in_parallel(&mut items, threads, |item| {
                *item += 1;
                Ok(())
            });

            assert!(done.is_ok() && items.iter().copied().eq(1..=100));
            let failed = in_parallel(&mut items, threads, |item| match *item {
                item if item % 30 == 0 => Err(Error::invalid(item.to_string())),
                _ => Ok(()),
            });
            assert!(failed.expect_err("30, 60 and 90 fail").to_string().contains("30"));
        }
    }
}
