//! A file that is only read, with whatever is written kept in memory: redb checks a file only when it may write.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use parking_lot::Mutex;
use redb::StorageBackend;

/// Bytes that are kept together once one of them is written.
const PAGE_BYTES: u64 = 4_096;

/// A file under a layer of changed pages. It takes no locks: whoever uses it holds the file by other means.
#[derive(Debug)]
pub(super) struct Overlay {
    file: Mutex<File>,
    file_bytes: u64,
    changes: Mutex<Changes>,
}

#[derive(Debug)]
struct Changes {
    len: u64,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl Overlay {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let file_bytes = file.metadata()?.len();
        let changes = Mutex::new(Changes { len: file_bytes, pages: BTreeMap::new() });
        Ok(Self { file: Mutex::new(file), file_bytes, changes })
    }

    fn read_file(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut file = self.file.lock();
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(out)
    }

    /// The page as the file has it, zeros beyond its end.
    fn original(&self, page: u64) -> io::Result<Vec<u8>> {
        let start = page * PAGE_BYTES;
        let there = self.file_bytes.saturating_sub(start).min(PAGE_BYTES);
        let there = usize::try_from(there).map_err(io::Error::other)?;
        let mut bytes = vec![0; there];
        if there > 0 {
            self.read_file(start, &mut bytes)?;
        }
        bytes.resize(usize::try_from(PAGE_BYTES).map_err(io::Error::other)?, 0);
        Ok(bytes)
    }

    /// Calls `each` with every page that `bytes` bytes from `offset` touch, the range inside the page, and the
    /// range inside the bytes.
    fn pieces(
        offset: u64,
        bytes: usize,
        mut each: impl FnMut(u64, std::ops::Range<usize>, std::ops::Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < bytes {
            let at = offset + done as u64;
            let from = usize::try_from(at % PAGE_BYTES).map_err(io::Error::other)?;
            let room = usize::try_from(PAGE_BYTES).map_err(io::Error::other)? - from;
            let len = room.min(bytes - done);
            each(at / PAGE_BYTES, from..from + len, done..done + len)?;
            done += len;
        }
        Ok(())
    }
}

impl StorageBackend for Overlay {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.changes.lock().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let changes = self.changes.lock();
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > changes.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if changes.pages.is_empty() && changes.len <= self.file_bytes {
            drop(changes);
            return self.read_file(offset, out);
        }
        Self::pieces(offset, out.len(), |page, inside, place| {
            let original;
            let bytes = if let Some(bytes) = changes.pages.get(&page) {
                bytes
            } else {
                original = self.original(page)?;
                &original
            };
            if let (Some(bytes), Some(out)) = (bytes.get(inside), out.get_mut(place)) {
                out.copy_from_slice(bytes);
            }
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.changes.lock().len = len;
        Ok(())
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        let pages = &mut self.changes.lock().pages;
        Self::pieces(offset, data.len(), |page, inside, place| {
            let bytes = match pages.entry(page) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => entry.insert(self.original(page)?),
            };
            if let (Some(bytes), Some(data)) = (bytes.get_mut(inside), data.get(place)) {
                bytes.copy_from_slice(data);
            }
            Ok(())
        })
    }
}
