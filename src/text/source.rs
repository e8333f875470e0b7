//! Where the bytes of segments come from.

use std::ops::Deref;
use std::ops::Range;
use std::sync::Arc;

use crate::error::Error;
use crate::error::Result;
use crate::format::frame;
use crate::format::key;
use crate::format::text;
use crate::format::text::CHUNK_BYTES;
use crate::format::text::Part;
use crate::format::text::SegmentHeader;
use crate::ids::SegmentId;

/// Where the chunks of segments are kept. A snapshot: a segment's chunks never change.
pub trait PartSource: Send + Sync {
    /// Payload of chunk `index` of part `part` of `segment`, its frame opened.
    ///
    /// # Errors
    ///
    /// `Corrupt` if there is none or its frame is damaged; `Io` if it cannot be read.
    fn part(&self, segment: SegmentId, part: u8, index: u32) -> Result<Arc<[u8]>>;

    /// The list at byte `offset` of part `part`, which lies in several chunks: what `read` puts together from
    /// the source it is given. A source may keep it, so that it is not put together again.
    ///
    /// # Errors
    ///
    /// What `read` reports.
    fn list(
        &self,
        segment: SegmentId,
        part: u8,
        offset: u64,
        read: &mut dyn FnMut(&dyn PartSource) -> Result<Arc<[u8]>>,
    ) -> Result<Arc<[u8]>>;
}

/// Bytes of a list: part of a chunk, put together from several, or made of a dictionary's value.
#[derive(Debug, Clone)]
pub struct ListBytes(Bytes);

#[derive(Debug, Clone)]
enum Bytes {
    Shared(Arc<[u8]>, Range<usize>),
    Few([u8; 8], usize),
}

impl ListBytes {
    pub(super) const NONE: Self = Self(Bytes::Few([0; 8], 0));

    /// The first eight of `bytes`.
    pub(super) fn few(bytes: &[u8]) -> Self {
        let mut few = [0; 8];
        for (to, from) in few.iter_mut().zip(bytes) {
            *to = *from;
        }
        Self(Bytes::Few(few, bytes.len()))
    }
}

impl Deref for ListBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Shared(chunk, range) => chunk.get(range.clone()).unwrap_or_default(),
            Bytes::Few(bytes, len) => bytes.get(..*len).unwrap_or(bytes),
        }
    }
}

/// The bytes `range` of `part`.
pub fn list_bytes(
    id: SegmentId,
    header: &SegmentHeader,
    part: Part,
    source: &dyn PartSource,
    range: Range<u64>,
) -> Result<ListBytes> {
    let Range { start: offset, end } = range;
    if offset == end {
        return Ok(ListBytes::NONE);
    }
    let out_of = || damaged(id, part, offset, "offset", &"a list lies outside of its part");
    if end > header.size_bytes(part) {
        return Err(out_of());
    }
    let chunk_bytes = CHUNK_BYTES as u64;
    let index_of = |at: u64| u32::try_from(at / chunk_bytes).map_err(|_| out_of());
    let (first, last) = (index_of(offset)?, index_of(end - 1)?);
    let within = |at: u64, index: u32| {
        usize::try_from(at.saturating_sub(u64::from(index) * chunk_bytes)).unwrap_or(CHUNK_BYTES)
    };
    if first == last {
        let chunk = chunk(id, header, part, first, source)?;
        return Ok(ListBytes(Bytes::Shared(chunk, within(offset, first)..within(end, first))));
    }
    let mut read = |source: &dyn PartSource| {
        let mut bytes = Vec::new();
        // Memory follows what is there: each chunk is as long as it should be, or this ends.
        for index in first..=last {
            let chunk = chunk(id, header, part, index, source)?;
            let range = within(offset, index)..within(end, index).min(chunk.len());
            bytes.extend_from_slice(chunk.get(range).ok_or_else(out_of)?);
        }
        Ok(bytes.into())
    };
    let bytes = source.list(id, part as u8, offset, &mut read)?;
    // One that was kept of the same offset, asked for with another length.
    let bytes = if bytes.len() as u64 == end - offset { bytes } else { read(source)? };
    let len = bytes.len();
    Ok(ListBytes(Bytes::Shared(bytes, 0..len)))
}

/// A corruption at byte `offset` of the stream of `part`.
pub fn damaged(id: SegmentId, part: Part, offset: u64, field: &str, why: &dyn std::fmt::Display) -> Error {
    let index = u32::try_from(offset / CHUNK_BYTES as u64).unwrap_or(u32::MAX);
    let within = usize::try_from(offset % CHUNK_BYTES as u64).unwrap_or(0);
    text::PART.malformed(&key::three(id.0, part as u8, index), field, frame::HEADER_BYTES + within, why)
}

/// Chunk `index` of `part`, as long as the header says it is.
fn chunk(
    id: SegmentId,
    header: &SegmentHeader,
    part: Part,
    index: u32,
    source: &dyn PartSource,
) -> Result<Arc<[u8]>> {
    let start = u64::from(index) * CHUNK_BYTES as u64;
    let chunk = source.part(id, part as u8, index)?;
    let expected = header.size_bytes(part).saturating_sub(start).min(CHUNK_BYTES as u64);
    if chunk.len() as u64 == expected {
        return Ok(chunk);
    }
    let why = format!("the chunk has {} bytes where the header gives it {expected}", chunk.len());
    Err(damaged(id, part, start, "payload", &why))
}

/// All chunks of `part`, one after the other.
pub fn read_part(
    id: SegmentId,
    header: &SegmentHeader,
    part: Part,
    source: &dyn PartSource,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut index = 0;
    // Each turn adds a chunk of the length the header gives it or fails: memory follows what is there.
    while (out.len() as u64) < header.size_bytes(part) {
        out.extend_from_slice(&chunk(id, header, part, index, source)?);
        index += 1;
    }
    Ok(out)
}
