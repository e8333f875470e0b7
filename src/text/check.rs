//! Reading every list of a segment, for `verify`.

use fst::Streamer;

use super::reader::PartSource;
use super::reader::SegmentReader;
use crate::error::Result;
use crate::format::text::prefix;

impl SegmentReader {
    /// Decodes every list and every set of the segment.
    ///
    /// # Errors
    ///
    /// `Corrupt` for the first one that is damaged; and what `source` reports.
    pub fn check(&self, source: &dyn PartSource) -> Result<()> {
        let mut keys = self.dictionary().stream();
        while let Some((key, rank)) = keys.next() {
            if key.first() == Some(&prefix::TERM) {
                let postings = self.postings_at(source, rank)?;
                self.body_blocks(&postings, |_, _| true, |_, _| {})?;
                self.heading_blocks(&postings, |_, _| true, |_, _| {})?;
            } else {
                self.set_at(source, rank)?;
            }
        }
        Ok(())
    }
}
