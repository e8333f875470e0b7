//! Sets of nodes to search within.

use roaring::RoaringBitmap;

use super::index::TextIndex;
use super::reader::SegmentReader;
use crate::error::Result;
use crate::ids::NodeRange;

impl TextIndex {
    /// The live nodes of kind `kind`.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a set is damaged; and what the source reports.
    pub fn nodes_of_kind(&self, kind: u8) -> Result<RoaringBitmap> {
        self.collect(|segment| segment.kind_set(self.source(), kind))
    }

    /// The live nodes at `level`, the root being at 0.
    ///
    /// # Errors
    ///
    /// As for [`nodes_of_kind`](Self::nodes_of_kind).
    pub fn nodes_at_level(&self, level: u8) -> Result<RoaringBitmap> {
        self.collect(|segment| segment.level_set(self.source(), level))
    }

    /// The live nodes with the attribute `key=value`.
    ///
    /// # Errors
    ///
    /// As for [`nodes_of_kind`](Self::nodes_of_kind).
    pub fn nodes_with_attribute(&self, key_value: &str) -> Result<RoaringBitmap> {
        self.collect(|segment| segment.attribute_set(self.source(), key_value))
    }

    /// The ids in `ranges`, live or not. Sets combine with `&`, `|` and `-`.
    #[must_use]
    pub fn nodes_in(ranges: &[NodeRange]) -> RoaringBitmap {
        let mut set = RoaringBitmap::new();
        for range in ranges {
            set.insert_range(range.first.0..=range.last.0);
        }
        set
    }

    fn collect(&self, set: impl Fn(&SegmentReader) -> Result<RoaringBitmap>) -> Result<RoaringBitmap> {
        let mut all = RoaringBitmap::new();
        for segment in self.segments() {
            all |= set(segment)?;
        }
        Ok(all - self.deleted())
    }
}
