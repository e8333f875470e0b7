//! Exact search over all rows, and scores and rows of chosen nodes.

use std::ops::Range;

use roaring::RoaringBitmap;

use super::parallel;
use super::query::Query;
use super::scored::{Scored, Top};
use super::source::BlockSource;
use crate::error::{Error, Result};
use crate::format::vector::{BLOCK, SpaceRecord, VectorBlock};
use crate::format::{frame, key};
use crate::ids::{NodeId, NodeRange, SpaceId};
use crate::kernels;

/// A reader of every row of a space in one snapshot.
///
/// Useful for: exact results, filters that few nodes pass, spaces up to some hundred thousand rows.
#[derive(Clone, Copy)]
pub struct Flat<'a> {
    space: SpaceId,
    record: &'a SpaceRecord,
    source: &'a dyn BlockSource,
}

/// Rows side by side: `n x d`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    dimension: usize,
    data: Vec<f32>,
}

impl Rows {
    /// Length of a row.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Row `index`; empty beyond the last.
    #[must_use]
    pub fn row(&self, index: usize) -> &[f32] {
        self.data.chunks_exact(self.dimension.max(1)).nth(index).unwrap_or_default()
    }

    /// All rows, one after the other.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }
}

impl<'a> Flat<'a> {
    /// A reader of the blocks of `source`, which are those of the space of `record`.
    ///
    /// # Errors
    ///
    /// `Corrupt` if record and source differ in how many blocks there are.
    pub fn new(space: SpaceId, record: &'a SpaceRecord, source: &'a dyn BlockSource) -> Result<Self> {
        let (listed, there) = (record.block_count()?, source.block_count());
        if listed != there {
            let why = format!("the space's record lists {listed} blocks, {there} are there");
            let key = key::two(space.get(), listed.min(there));
            return Err(BLOCK.malformed(&key, "block", frame::HEADER_BYTES, why));
        }
        Ok(Self { space, record, source })
    }

    /// The query for `vector`; see [`Query::new`].
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the vector is of another dimension, not finite or too long.
    pub fn query(&self, vector: &[f32]) -> Result<Query> {
        Query::new(self.record, vector)
    }

    /// The best `limit` nodes, best first: of all, or of those in `filter`, without those in `deleted`.
    ///
    /// The result is that of scoring every row by the fixed-order kernel, whatever `threads` (0 counts as 1)
    /// and the processor: faster kernels only rule out rows that even with their error stay below the best.
    ///
    /// # Errors
    ///
    /// What the source reports; `Corrupt` if a block is damaged.
    ///
    /// # Complexity
    ///
    /// `O(n d)` for the `n` rows of the blocks in which a node of the filter may be.
    pub fn search(
        &self,
        query: &Query,
        filter: Option<&RoaringBitmap>,
        deleted: &RoaringBitmap,
        limit: usize,
        threads: usize,
    ) -> Result<Vec<Scored>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let blocks: Vec<u32> = (0..self.source.block_count())
            .filter(|block| {
                let nodes = self.nodes_of(*block);
                filter.is_none_or(|filter| filter.range_cardinality(nodes) > 0)
            })
            .collect();
        let best = parallel::in_pieces(blocks.len(), threads, |piece| {
            let mut scan = Scan { query, filter, deleted, top: Top::new(limit), scores: Vec::new() };
            self.each_block(&blocks, piece, |_, block| {
                scan.block(block);
                Ok(())
            })?;
            Ok(scan.top)
        })?;
        let mut best = best.into_iter();
        let mut top = best.next().unwrap_or_else(|| Top::new(limit));
        for other in best {
            top.extend(other.into_sorted());
        }
        Ok(top.into_sorted())
    }

    /// The exact score of every row whose node lies in one of `ranges`, by ascending node, each once.
    ///
    /// Removed nodes are not left out: a range of live nodes has none. Only blocks that may hold a node of a
    /// range are read.
    ///
    /// # Errors
    ///
    /// What the source reports; `Corrupt` if a block is damaged.
    pub fn score_all(
        &self,
        query: &Query,
        ranges: &[NodeRange],
        threads: usize,
    ) -> Result<Vec<(NodeId, f32)>> {
        let ranges = merged(ranges);
        let mut blocks: Vec<u32> = Vec::new();
        for range in &ranges {
            let after = blocks.last().map_or(0, |last| last + 1);
            blocks.extend(self.blocks_of(*range).filter(|block| *block >= after));
        }
        let pieces = parallel::in_pieces(blocks.len(), threads, |piece| {
            let (mut found, mut scores) = (Vec::new(), Vec::new());
            self.each_block(&blocks, piece, |_, block| {
                score_ranges(query, &ranges, block, &mut scores, &mut found);
                Ok(())
            })?;
            Ok(found)
        })?;
        Ok(pieces.concat())
    }

    /// The exact score of each of `nodes`, in the order given; `None` for a node that has no row.
    ///
    /// # Errors
    ///
    /// What the source reports; `Corrupt` if a block is damaged.
    pub fn score_ids(&self, query: &Query, nodes: &[NodeId]) -> Result<Vec<Option<f32>>> {
        let mut found = vec![None; nodes.len()];
        self.each_row(nodes, |position, row| found[position] = Some(query.score_row(row)))?;
        Ok(found)
    }

    /// Whether each of `nodes` has a row, in the order given.
    ///
    /// # Errors
    ///
    /// As [`score_ids`](Self::score_ids).
    pub fn has_rows(&self, nodes: &[NodeId]) -> Result<Vec<bool>> {
        let mut found = vec![false; nodes.len()];
        self.each_row(nodes, |position, _| found[position] = true)?;
        Ok(found)
    }

    /// The rows of `nodes` as they are stored, in the order given; zeros for a node that has no row.
    ///
    /// # Errors
    ///
    /// What the source reports; `Corrupt` if a block is damaged; `InvalidInput` if the rows do not fit memory.
    pub fn rows(&self, nodes: &[NodeId]) -> Result<Rows> {
        let dimension = self.record.dimension as usize;
        let Some(elements) = nodes.len().checked_mul(dimension) else {
            return Err(Error::invalid(format!(
                "{} rows of dimension {dimension} fit no memory",
                nodes.len()
            )));
        };
        let mut data = vec![0.0; elements];
        self.each_row(nodes, |position, row| {
            for (out, element) in data[position * dimension..].iter_mut().zip(kernels::floats(row)) {
                *out = element;
            }
        })?;
        Ok(Rows { dimension, data })
    }

    /// The nodes that block `index` may hold, by the directory.
    fn nodes_of(&self, index: u32) -> std::ops::RangeInclusive<u32> {
        let index = index as usize;
        let last = self.record.last_nodes.get(index).copied().unwrap_or(u32::MAX);
        let before = index.checked_sub(1).and_then(|i| self.record.last_nodes.get(i)).copied();
        before.map_or(0, |node| node.saturating_add(1))..=last
    }

    /// The blocks that may hold a node of `range`.
    fn blocks_of(&self, range: NodeRange) -> Range<u32> {
        let from = |node: u32| {
            let block = self.record.last_nodes.partition_point(|last| *last < node);
            u32::try_from(block).unwrap_or(u32::MAX)
        };
        from(range.first.get())..from(range.last.get()).saturating_add(1).min(self.source.block_count())
    }

    fn each_block(
        &self,
        blocks: &[u32],
        piece: Range<usize>,
        mut read: impl FnMut(u32, &VectorBlock<'_>) -> Result<()>,
    ) -> Result<()> {
        for index in blocks.get(piece).unwrap_or_default() {
            self.source.with_block(*index, &mut |value| {
                let block = VectorBlock::of_value(self.space, *index, value)?;
                block.expect(self.space, *index, self.record)?;
                read(*index, &block)
            })?;
        }
        Ok(())
    }

    /// Calls `read` with position in `nodes` and bytes of each row there is, block by block.
    fn each_row(&self, nodes: &[NodeId], mut read: impl FnMut(usize, &[u8])) -> Result<()> {
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_unstable_by_key(|position| nodes[*position]);
        let mut order = order.as_slice();
        while let Some(first) = order.first() {
            let node = nodes[*first];
            let Some(index) = self.blocks_of(NodeRange::new(node, node)).next() else { break };
            let (_, last) = self.nodes_of(index).into_inner();
            let (here, beyond) = order.split_at(order.partition_point(|p| nodes[*p].get() <= last));
            self.each_block(&[index], 0..1, |_, block| {
                for position in here {
                    if let Some(row) = block.row_of(nodes[*position]) {
                        read(*position, block.row(row));
                    }
                }
                Ok(())
            })?;
            order = beyond;
        }
        Ok(())
    }
}

/// One thread's part of a search.
struct Scan<'a> {
    query: &'a Query,
    filter: Option<&'a RoaringBitmap>,
    deleted: &'a RoaringBitmap,
    top: Top,
    scores: Vec<f32>,
}

/// Rows of a block of which one in this many passes the filter are scored one by one.
const SPARSE: u64 = 8;

impl Scan<'_> {
    fn block(&mut self, block: &VectorBlock<'_>) {
        let mut nodes = block.nodes();
        if let (Some(filter), Some(first), Some(last)) =
            (self.filter, nodes.next(), block.nodes().next_back())
            && first <= last
        {
            let nodes = first.get()..=last.get();
            if filter.range_cardinality(nodes.clone()) < block.len() as u64 / SPARSE {
                for node in filter.range(nodes).map(NodeId) {
                    if let Some(row) = block.row_of(node) {
                        self.offer(node, block.row(row));
                    }
                }
                return;
            }
        }
        let mut scores = std::mem::take(&mut self.scores);
        let margin = self.query.score_rows_fast(block.data(), block.norm_bound, &mut scores);
        let mut threshold = self.threshold();
        for (index, (score, node)) in scores.iter().zip(block.nodes()).enumerate() {
            if f64::from(*score) + margin >= threshold
                && self.filter.is_none_or(|filter| filter.contains(node.get()))
            {
                self.offer(node, block.row(index));
                threshold = self.threshold();
            }
        }
        self.scores = scores;
    }

    fn threshold(&self) -> f64 {
        self.top.threshold().map_or(f64::NEG_INFINITY, f64::from)
    }

    /// Scores the row exactly and keeps it if it is among the best.
    fn offer(&mut self, node: NodeId, row: &[u8]) {
        if !self.deleted.contains(node.get()) {
            let score = self.query.score_row(row);
            self.top.offer(Scored { node, score });
        }
    }
}

fn score_ranges(
    query: &Query,
    ranges: &[NodeRange],
    block: &VectorBlock<'_>,
    scores: &mut Vec<f32>,
    found: &mut Vec<(NodeId, f32)>,
) {
    let (Some(first), Some(last)) = (block.nodes().next(), block.nodes().next_back()) else { return };
    let from = ranges.partition_point(|range| range.last < first);
    for range in ranges.iter().skip(from).take_while(|range| range.first <= last) {
        let start = block.first_row_from(range.first);
        let end = match range.last.get().checked_add(1) {
            Some(after) => block.first_row_from(NodeId(after)),
            None => block.len(),
        };
        if start < end {
            query.score_rows(block.rows(start..end), scores);
            found.extend(block.nodes().skip(start).zip(scores.iter().copied()));
        }
    }
}

/// `ranges` by ascending node, those that overlap or touch made one.
fn merged(ranges: &[NodeRange]) -> Vec<NodeRange> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<NodeRange> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.first.get() <= last.last.get().saturating_add(1) => {
                last.last = last.last.max(range.last);
            }
            _ => merged.push(range),
        }
    }
    merged
}
