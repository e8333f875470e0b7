//! Reading every byte of a segment, for `verify`.

use std::ops::Range;

use fst::Streamer;

use super::assemble::Occurrences;
use super::reader::In;
use super::reader::PartSource;
use super::reader::SegmentReader;
use crate::error::Result;
use crate::format::text::Part;
use crate::format::text::prefix;

impl SegmentReader {
    /// Decodes every list, every set and all positions of the segment, and holds against them what is stored
    /// beside them: the number of leaves of the full field, bounds, and that nothing lies between two entries.
    ///
    /// # Errors
    ///
    /// `Corrupt` for the first one that is damaged; and what `source` reports.
    pub fn check(&self, source: &dyn PartSource) -> Result<()> {
        let mut keys = self.dictionary().stream();
        let mut ends = Ends { postings: 0, positions: 0 };
        let (mut body, mut heading) = (Occurrences::default(), Occurrences::default());
        while let Some((key, value)) = keys.next() {
            if key.first() == Some(&prefix::TERM) {
                let postings = self.postings_at(source, value)?;
                body.clear();
                heading.clear();
                self.occurrences(source, &postings, In::Bodies, |id, at| body.push(id, at))?;
                self.occurrences(source, &postings, In::Headings, |id, at| heading.push(id, at))?;
                let found = self.tally().full_count(&body.postings, &heading.postings);
                if postings.full_count() != found {
                    let why = format!("it is {}, the lists give {found}", postings.full_count());
                    return Err(self.wrong(Part::Postings, value >> 1, "full_count", &why));
                }
                if let Some((end, positions)) = self.extent(&postings) {
                    ends.entry(self, value >> 1..end)?;
                    ends.positions(self, positions)?;
                }
            } else {
                let set = self.set_at(source, value)?;
                let (_, bytes, start) = self.set_head(source, value)?;
                debug_assert!(!set.is_empty() || bytes > 0);
                ends.entry(self, value >> 1..start + u64::from(bytes))?;
            }
        }
        ends.entry(self, self.header().postings_bytes..u64::MAX)?;
        ends.positions(self, self.header().positions_bytes..u64::MAX)
    }
}

/// Where the last entry and the last positions ended.
struct Ends {
    postings: u64,
    positions: u64,
}

impl Ends {
    fn entry(&mut self, reader: &SegmentReader, next: Range<u64>) -> Result<()> {
        let before = std::mem::replace(&mut self.postings, next.end);
        let why = "an entry does not begin where the one before ends";
        if next.start == before { Ok(()) } else { Err(reader.wrong(Part::Postings, before, "offset", why)) }
    }

    fn positions(&mut self, reader: &SegmentReader, next: Range<u64>) -> Result<()> {
        let before = std::mem::replace(&mut self.positions, next.end);
        let why = "positions do not begin where those before end";
        if next.start == before { Ok(()) } else { Err(reader.wrong(Part::Positions, before, "offset", why)) }
    }
}
