//! The segments of a snapshot as one index.

use std::sync::Arc;
use std::sync::OnceLock;

use roaring::RoaringBitmap;

use super::hits::TermHits;
use super::live::Live;
use super::reader::SegmentReader;
use super::source::PartSource;
use super::statistics::Statistics;
use super::view::View;
use crate::error::Error;
use crate::error::Result;
use crate::ids::NodeRange;

/// The text index as one snapshot sees it: its segments, which nodes are deleted, and where lists are read.
pub struct TextIndex {
    segments: Vec<Arc<SegmentReader>>,
    /// The live nodes of each segment, `None` if all are; made on first use.
    live: Vec<OnceLock<Option<Live>>>,
    deleted: Arc<RoaringBitmap>,
    source: Arc<dyn PartSource>,
    everything: OnceLock<Arc<View>>,
    statistics: Statistics,
}

impl std::fmt::Debug for TextIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextIndex").field("segments", &self.segments).finish_non_exhaustive()
    }
}

impl TextIndex {
    /// The index of `segments`, ascending and disjoint, without the nodes of `deleted`. With a node its
    /// descendants are deleted too, whether named or not.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the segments do not ascend.
    pub fn new(
        segments: Vec<Arc<SegmentReader>>,
        deleted: Arc<RoaringBitmap>,
        source: Arc<dyn PartSource>,
    ) -> Result<Self> {
        if !segments.is_sorted_by(|a, b| a.header().last_node < b.header().first_node) {
            return Err(Error::invalid("text segments must ascend and be disjoint"));
        }
        let live = segments.iter().map(|_| OnceLock::new()).collect();
        Ok(Self {
            segments,
            live,
            deleted,
            source,
            everything: OnceLock::new(),
            statistics: Statistics::default(),
        })
    }

    /// Its segments, ascending.
    #[must_use]
    pub fn segments(&self) -> &[Arc<SegmentReader>] {
        &self.segments
    }

    /// The segments, each with its live nodes, or `None` if all are.
    pub(super) fn segments_with_live(&self) -> impl Iterator<Item = (&Arc<SegmentReader>, Option<&Live>)> {
        let pairs = self.segments.iter().zip(&self.live);
        pairs.map(|(reader, live)| (reader, live.get_or_init(|| Live::of(reader, &self.deleted)).as_ref()))
    }

    pub(super) const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The deleted nodes.
    #[must_use]
    pub fn deleted(&self) -> &RoaringBitmap {
        &self.deleted
    }

    /// Where lists are read.
    #[must_use]
    pub fn source(&self) -> &dyn PartSource {
        &*self.source
    }

    /// The view of everything; made once, on first use.
    pub fn everything(&self) -> Arc<View> {
        let view = self.everything.get_or_init(|| Arc::new(View::new(self.segments_with_live(), None)));
        Arc::clone(view)
    }

    /// The view of `scope`: sorted, disjoint ranges. It is not kept; the caller may.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the ranges are not sorted and disjoint, or one is empty.
    pub fn view(&self, scope: &[NodeRange]) -> Result<View> {
        if !scope.is_sorted_by(|a, b| a.last < b.first) || scope.iter().any(|range| range.last < range.first)
        {
            return Err(Error::invalid("the ranges of a scope must be sorted and disjoint"));
        }
        Ok(View::new(self.segments_with_live(), Some(scope)))
    }

    /// Where each distinct term of `terms` occurs in `view`; see [`View::hits`].
    ///
    /// # Errors
    ///
    /// `Corrupt` if a posting list is damaged; and what the source reports.
    pub fn hits<T: AsRef<str>>(&self, view: &View, terms: &[T]) -> Result<Vec<TermHits>> {
        view.hits(&*self.source, terms)
    }

    /// At most `limit` terms that begin with `start`, ascending, each with how many nodes of its segments
    /// hold it, deleted ones included.
    ///
    /// # Errors
    ///
    /// As for [`SegmentReader::terms_with_prefix`].
    pub fn terms_with_prefix(&self, start: &str, limit: usize) -> Result<Vec<(String, u64)>> {
        let mut all = std::collections::BTreeMap::new();
        for segment in &self.segments {
            for (term, leaves, inner) in segment.terms_with_prefix(self.source(), start, limit)? {
                *all.entry(term).or_insert(0) += u64::from(leaves) + u64::from(inner);
            }
        }
        // The first `limit` of each segment hold the first `limit` of all.
        Ok(all.into_iter().take(limit).collect())
    }
}
