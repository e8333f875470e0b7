//! Finished segments that wait for the commit, outside of the file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::segments::missing;
use crate::error::{Error, Result};
use crate::format::text::SegmentHeader;
use crate::ids::SegmentId;
use crate::text::PartSink;

/// Bytes that are kept in memory before there is a file.
const MEMORY_BYTES: usize = 4 << 20;

/// Where chunks lie until the commit has taken them over: small ones in memory, the others in a file without a
/// name beside the database, where there is room for the index anyway and the same people may read; in the
/// system's folder for such files if that one cannot be written to; all in memory for a database in memory.
/// The system takes the file back when it is closed, thus after a crash too.
pub(super) struct Spill {
    /// `None` for a database in memory.
    folder: Option<PathBuf>,
    medium: Mutex<Medium>,
}

enum Medium {
    Memory(Vec<u8>),
    File { file: File, end: u64 },
}

/// A segment of a spill.
pub(super) struct Spilled {
    pub(super) header: SegmentHeader,
    chunks: BTreeMap<(u8, u32), Place>,
}

#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    bytes: usize,
}

impl Spilled {
    /// Part and index of each chunk, ascending.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (u8, u32)> {
        self.chunks.keys().copied()
    }

    /// Bytes of all chunks.
    pub(super) fn bytes(&self) -> u64 {
        self.chunks.values().map(|place| place.bytes as u64).sum()
    }
}

fn failed(what: &str, error: std::io::Error) -> Error {
    Error::io(what, "the temporary file of index segments", error)
}

impl Spill {
    /// For the database at `path`; for one in memory, `None`.
    pub(super) fn beside(path: Option<&Path>) -> Self {
        let folder = path.map(|path| path.parent().unwrap_or(path));
        let folder = folder.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        Self { folder: folder.map(Path::to_path_buf), medium: Mutex::new(Medium::Memory(Vec::new())) }
    }

    /// The segment that `write` sends to its sink. Several threads may do so at once.
    pub(super) fn add(
        &self,
        write: impl FnOnce(&mut dyn PartSink) -> Result<SegmentHeader>,
    ) -> Result<Spilled> {
        let mut adding = Adding { spill: self, chunks: BTreeMap::new() };
        let header = write(&mut adding)?;
        Ok(Spilled { header, chunks: adding.chunks })
    }

    fn put(&self, payload: &[u8]) -> Result<Place> {
        let bytes = payload.len();
        let mut medium = self.medium.lock();
        if let (Medium::Memory(memory), Some(folder)) = (&*medium, &self.folder)
            && memory.len() + bytes > MEMORY_BYTES
        {
            let file = tempfile::tempfile_in(folder).or_else(|_| tempfile::tempfile());
            let mut file = file.map_err(|error| failed("make", error))?;
            file.write_all(memory).map_err(|error| failed("write", error))?;
            *medium = Medium::File { file, end: memory.len() as u64 };
        }
        match &mut *medium {
            Medium::Memory(memory) => {
                let offset = memory.len() as u64;
                memory.extend_from_slice(payload);
                Ok(Place { offset, bytes })
            }
            Medium::File { file, end } => {
                let offset = *end;
                file.seek(SeekFrom::Start(offset))
                    .and_then(|_| file.write_all(payload))
                    .map_err(|error| failed("write", error))?;
                *end += bytes as u64;
                Ok(Place { offset, bytes })
            }
        }
    }

    fn get(&self, place: Place) -> Result<Arc<[u8]>> {
        match &mut *self.medium.lock() {
            Medium::Memory(memory) => {
                let start = usize::try_from(place.offset).unwrap_or(usize::MAX);
                let end = start.saturating_add(place.bytes);
                Ok(memory.get(start..end).unwrap_or_default().into())
            }
            Medium::File { file, .. } => {
                let mut payload = vec![0; place.bytes];
                file.seek(SeekFrom::Start(place.offset))
                    .and_then(|_| file.read_exact(&mut payload))
                    .map_err(|error| failed("read", error))?;
                Ok(payload.into())
            }
        }
    }
}

/// A segment on its way into a spill.
struct Adding<'a> {
    spill: &'a Spill,
    chunks: BTreeMap<(u8, u32), Place>,
}

impl PartSink for Adding<'_> {
    fn chunk(&mut self, part: u8, index: u32, payload: &[u8]) -> Result<()> {
        self.chunks.insert((part, index), self.spill.put(payload)?);
        Ok(())
    }
}

/// The segments of a spill, under ids counted down from the highest, which no segment of a file has.
pub(super) struct SpilledChunks<'a> {
    pub(super) spill: &'a Spill,
    pub(super) segments: &'a [Spilled],
}

impl SpilledChunks<'_> {
    /// The id of segment `at` while it is read from here.
    pub(super) fn id(at: usize) -> SegmentId {
        SegmentId(u32::MAX - u32::try_from(at).unwrap_or(u32::MAX))
    }

    /// Whether `segment` is one of these.
    pub(super) fn holds(&self, segment: SegmentId) -> bool {
        self.segments.len() > (u32::MAX - segment.0) as usize
    }

    /// As [`PartSource::part`](crate::text::PartSource::part).
    pub(super) fn part(&self, segment: SegmentId, part: u8, index: u32) -> Result<Arc<[u8]>> {
        let spilled = self.segments.get((u32::MAX - segment.0) as usize);
        let place = spilled.and_then(|spilled| spilled.chunks.get(&(part, index)));
        self.spill.get(*place.ok_or_else(|| missing(segment, part, index))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(leaf_count: u32) -> SegmentHeader {
        SegmentHeader { leaf_count, ..SegmentHeader::default() }
    }

    /// Two threads write three chunks each; every chunk comes back from its own segment.
    fn chunks_come_back(path: Option<&Path>) {
        let spill = Spill::beside(path);
        let add = |segment: u8| {
            spill.add(|sink| {
                (0..3).try_for_each(|index| {
                    sink.chunk(5, index, &vec![segment; 1_000_000 * (index as usize + 1)])
                })?;
                Ok(header(segment.into()))
            })
        };
        let segments: Vec<Spilled> = std::thread::scope(|scope| {
            let both = [1, 2].map(|segment| scope.spawn(move || add(segment)));
            both.into_iter().map(|one| one.join().expect("no panic").expect("room")).collect()
        });

        let chunks = SpilledChunks { spill: &spill, segments: &segments };

        for (at, segment) in [1_u8, 2].into_iter().enumerate() {
            let id = SpilledChunks::id(at);
            assert!(chunks.holds(id));
            assert_eq!(segments[at].header, header(segment.into()));
            for index in 0..3 {
                let chunk = chunks.part(id, 5, index).expect("it was put there");
                assert_eq!(*chunk, *vec![segment; 1_000_000 * (index as usize + 1)]);
            }
            assert!(chunks.part(id, 5, 3).is_err() && chunks.part(id, 4, 0).is_err());
        }
        assert!(!chunks.holds(SpilledChunks::id(2)) && !chunks.holds(SegmentId(1)));
    }

    #[test]
    fn chunks_come_back_from_memory() {
        chunks_come_back(None);
    }

    #[test]
    fn chunks_come_back_from_a_file_that_nobody_sees() {
        let folder = tempfile::tempdir().expect("a folder");

        chunks_come_back(Some(&folder.path().join("some.evdb")));

        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_no_hindrance() {
        chunks_come_back(Some(Path::new("/no/such/folder/some.evdb")));
    }
}
