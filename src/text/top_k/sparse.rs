//! Lists unpacked.

use std::cell::RefCell;

use crate::format::text::Decoded;
use crate::format::text::PostingList;
use crate::format::text::TOP_FREQ;

/// Postings unpacked: ordinals, and their frequencies up to 15 as bytes.
#[derive(Debug, Default)]
pub struct Sparse {
    pub ids: Vec<u32>,
    pub rows: Vec<u8>,
    /// The postings with a frequency from 15 on, ascending.
    pub high: Vec<(u32, u32)>,
}

thread_local! {
    /// Memory of lists that were unpacked, for the next ones: the system is slow to give as much each time.
    static SPARE: RefCell<Vec<(Vec<u32>, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
}

/// As many unpacked lists are kept for the next, and none of more postings.
const SPARE_LISTS: usize = 32;
const SPARE_POSTINGS: usize = 1 << 16;

impl Sparse {
    /// An empty one.
    fn new() -> Self {
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop());
        let (ids, rows) = spare.ok().flatten().unwrap_or_default();
        Self { ids, rows, high: Vec::new() }
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        if (1..=SPARE_POSTINGS).contains(&self.ids.capacity()) {
            self.ids.clear();
            self.rows.clear();
            let memory = (std::mem::take(&mut self.ids), std::mem::take(&mut self.rows));
            // At the end of a thread there is nobody to keep it for.
            let _ = SPARE.try_with(|spare| {
                let mut spare = spare.borrow_mut();
                if spare.len() < SPARE_LISTS {
                    spare.push(memory);
                }
            });
        }
    }
}

/// The postings of `list`.
///
/// # Errors
///
/// What is damaged.
pub fn unpack(list: &PostingList<'_>) -> Decoded<Sparse> {
    let mut sparse = Sparse::new();
    sparse.ids.reserve(list.count() as usize);
    sparse.rows.reserve(list.count() as usize);
    list.blocks(
        |_, _| true,
        |ids, freqs| {
            sparse.ids.extend_from_slice(ids);
            sparse.rows.extend(freqs.iter().map(|freq| row_of(*freq)));
            if freqs.iter().fold(0, |most, freq| *freq.max(&most)) >= TOP_FREQ {
                let high = ids.iter().copied().zip(freqs.iter().copied());
                sparse.high.extend(high.filter(|(_, freq)| *freq >= TOP_FREQ));
            }
        },
    )?;
    Ok(sparse)
}

/// The frequency, 15 for those above.
pub fn row_of(freq: u32) -> u8 {
    let [row, ..] = freq.min(TOP_FREQ).to_le_bytes();
    row
}

/// How many of `ids`, which ascend, are below `end`; fast if few are.
pub fn gallop(ids: &[u32], end: u32) -> usize {
    let mut step = 8;
    while ids.get(step).is_some_and(|id| *id < end) {
        step *= 2;
    }
    let from = if step == 8 { 0 } else { step / 2 };
    let near = ids.get(from..ids.len().min(step + 1)).unwrap_or_default();
    from + near.partition_point(|id| *id < end)
}
