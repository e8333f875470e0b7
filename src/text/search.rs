//! The best leaves of the whole index.

use roaring::RoaringBitmap;

use super::bm25::Bm25;
use super::bm25::Scorer;
use super::index::TextIndex;
use crate::error::Result;
use crate::ids::NodeId;

/// A node and its score; higher is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The node.
    pub node: NodeId,
    /// Its score.
    pub score: f32,
}

impl TextIndex {
    /// The best `limit` leaves for `terms`, best first, ties to the lower id: BM25 over the full field with the
    /// statistics of all live leaves, whatever the filter. Leaves without any of the terms are not given.
    ///
    /// * `filter`: only leaves in it are given.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a posting list is damaged; and what the source reports.
    pub fn search<T: AsRef<str>>(
        &self,
        terms: &[T],
        filter: Option<&RoaringBitmap>,
        limit: usize,
    ) -> Result<Vec<Scored>> {
        let view = self.everything();
        let hits = self.hits(&view, terms)?;
        let scores = Scorer::new(&view, &hits, Bm25::default()).leaf_scores();
        let allowed = |node: NodeId| filter.is_none_or(|filter| filter.contains(node.0));
        let pairs = view.leaves().iter().zip(scores);
        let found = pairs.filter(|(node, score)| *score > 0.0 && allowed(**node));
        Ok(best(found.map(|(&node, score)| Scored { node, score }), limit))
    }
}

/// The best `limit` of `found`, best first, ties to the lower id.
fn best(found: impl Iterator<Item = Scored>, limit: usize) -> Vec<Scored> {
    let order = |a: &Scored, b: &Scored| b.score.total_cmp(&a.score).then(a.node.cmp(&b.node));
    let mut kept: Vec<Scored> = Vec::new();
    let mut bar = f32::NEG_INFINITY;
    if limit == 0 {
        return kept;
    }
    // Of those kept at any time the best `limit` are among the first; the rest is thrown away in bulk.
    for scored in found {
        if scored.score <= bar {
            continue;
        }
        kept.push(scored);
        if kept.len() >= limit.saturating_mul(2).max(64) {
            kept.select_nth_unstable_by(limit - 1, order);
            kept.truncate(limit);
            bar = kept.iter().map(|kept| kept.score).fold(f32::INFINITY, f32::min);
        }
    }
    kept.sort_unstable_by(order);
    kept.truncate(limit);
    kept
}
