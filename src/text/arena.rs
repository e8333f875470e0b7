//! Many byte lists that grow side by side in few large blocks of memory.

use crate::error::Error;
use crate::error::Result;

/// Bytes of a block; a multiple of every slice.
const BLOCK_BYTES: usize = 1 << 18;

/// Bytes of the first slice of a list; each further one is twice as long, up to [`LAST_LEVEL`].
const FIRST_BYTES: usize = 16;

/// Slices from this one on have the same length: 2 KiB.
const LAST_LEVEL: u8 = 7;

/// Bytes at the end of a slice that say where the next one begins.
const LINK_BYTES: usize = 4;

/// Where a list begins and where it goes on. New ones have no byte.
#[derive(Debug, Clone, Copy, Default)]
pub struct List {
    first: u32,
    /// Where the next byte goes.
    at: u32,
    /// Where the link of the last slice lies.
    end: u32,
    level: u8,
}

/// The memory of lists. A vector for each would cost an allocation at every doubling, and there is a list for
/// each term of a segment; here a list is a chain of slices, each linked to the next by its last four bytes.
#[derive(Default)]
pub struct Arena {
    blocks: Vec<Box<[u8]>>,
    /// First byte that belongs to no slice.
    free: u64,
}

impl Arena {
    /// Bytes that belong to slices.
    pub const fn used_bytes(&self) -> u64 {
        self.free
    }

    /// Appends `bytes` to `list`, which is one of this arena's.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the arena would have 4 GiB or more.
    pub fn extend(&mut self, list: &mut List, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if list.at == list.end {
                self.grow(list)?;
            }
            let room = bytes.len().min((list.end - list.at) as usize);
            let (now, later) = bytes.split_at(room);
            if let Some(to) = self.get_mut(list.at, room) {
                to.copy_from_slice(now);
            }
            // The room is below 2^32: it lies between two offsets.
            list.at += u32::try_from(room).unwrap_or(0);
            bytes = later;
        }
        Ok(())
    }

    /// Puts the bytes of `list` into `out`, in place of what it had.
    pub fn read(&self, list: &List, out: &mut Vec<u8>) {
        out.clear();
        let (mut start, mut level) = (list.first, 0);
        while list.end > 0 {
            // Slices are at most 2 KiB, and no slice reaches 2^32.
            let end = start + u32::try_from(slice_bytes(level) - LINK_BYTES).unwrap_or(0);
            let last = end == list.end;
            let until = if last { list.at } else { end };
            out.extend_from_slice(self.get(start, (until - start) as usize));
            let link = self.get(end, LINK_BYTES).first_chunk();
            let (false, Some(link)) = (last, link) else { return };
            start = u32::from_le_bytes(*link);
            level = (level + 1).min(LAST_LEVEL);
        }
    }

    /// Adds a slice to `list`.
    fn grow(&mut self, list: &mut List) -> Result<()> {
        let is_first = list.end == 0;
        let level = if is_first { 0 } else { (list.level + 1).min(LAST_LEVEL) };
        let size = slice_bytes(level);
        let block = BLOCK_BYTES as u64;
        if self.free % block + size as u64 > block {
            self.free = self.free.next_multiple_of(block);
        }
        let (Ok(start), Ok(end)) = (u32::try_from(self.free), u32::try_from(self.free + size as u64)) else {
            return Err(Error::invalid("the lists of a segment would take 4 GiB of memory or more"));
        };
        if self.free == self.blocks.len() as u64 * block {
            self.blocks.push(vec![0; BLOCK_BYTES].into());
        }
        self.free = u64::from(end);
        if is_first {
            list.first = start;
        } else if let Some(link) = self.get_mut(list.end, LINK_BYTES) {
            link.copy_from_slice(&start.to_le_bytes());
        }
        (list.at, list.end, list.level) = (start, end - 4, level);
        Ok(())
    }

    fn get(&self, at: u32, len: usize) -> &[u8] {
        let within = at as usize % BLOCK_BYTES;
        let block = self.blocks.get(at as usize / BLOCK_BYTES);
        block.and_then(|block| block.get(within..within + len)).unwrap_or_default()
    }

    fn get_mut(&mut self, at: u32, len: usize) -> Option<&mut [u8]> {
        let within = at as usize % BLOCK_BYTES;
        self.blocks.get_mut(at as usize / BLOCK_BYTES)?.get_mut(within..within + len)
    }
}

const fn slice_bytes(level: u8) -> usize {
    FIRST_BYTES << level
}

// Every slice fits into a block.
const _: () = assert!(BLOCK_BYTES.is_multiple_of(slice_bytes(LAST_LEVEL)));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_grow_side_by_side_come_back_whole() {
        let mut arena = Arena::default();
        let mut lists = vec![(List::default(), Vec::new()); 50];
        for turn in 0_u8..200 {
            for (number, (list, expected)) in lists.iter_mut().enumerate().skip(1) {
                let bytes = vec![turn; number * usize::from(turn % 5)];
                arena.extend(list, &bytes).unwrap();
                expected.extend(bytes);
            }
        }
        let mut out = vec![9];

        for (list, expected) in &lists {
            arena.read(list, &mut out);
            assert_eq!(&out, expected);
        }
        assert!(arena.used_bytes() > BLOCK_BYTES as u64, "{}", arena.used_bytes());
    }
}
