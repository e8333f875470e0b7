//! Rows to blocks.

use super::row;
use crate::error::{Error, Result};
use crate::format::key;
use crate::format::vector::{BlockParts, SpaceRecord, VectorBlock, capacity};
use crate::ids::{NodeId, SpaceId};

/// A block to store: its key in the `vectors` table and its whole value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramedBlock {
    /// Its number in the space.
    pub block: u32,
    /// `key::two(space, block)`.
    pub key: [u8; 8],
    /// Frame and payload; replaces what was stored under the key.
    pub value: Vec<u8>,
}

/// Appends rows to a space: fills its last block, then starts new ones. Holds one block in memory.
///
/// The space's record is brought up to date as blocks are finished; store it in the same transaction. If
/// anything fails, or the transaction is aborted, read the record anew. Generations must not repeat even then
/// where blocks are found by `(block, generation)`: raise [`SpaceRecord::generation`] above the aborted ones.
#[derive(Debug)]
pub struct BlockWriter<'a> {
    space: SpaceId,
    record: &'a mut SpaceRecord,
    block: u32,
    last_node: Option<u32>,
    nodes: Vec<u32>,
    data: Vec<u8>,
    norm_bound: f32,
    /// Whether rows were added to the open block.
    changed: bool,
    prepared: Vec<f32>,
}

impl<'a> BlockWriter<'a> {
    /// A writer at the end of the space; `last_block` is the whole value of its last block, frame verified, or
    /// `None` if it has no block.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the space has blocks and none is given, `Corrupt` if the block is damaged.
    pub fn new(space: SpaceId, record: &'a mut SpaceRecord, last_block: Option<&[u8]>) -> Result<Self> {
        let block = record.block_count()?;
        let last_node = record.last_nodes.last().copied();
        let mut writer = Self {
            space,
            record,
            block,
            last_node,
            nodes: Vec::new(),
            data: Vec::new(),
            norm_bound: 0.0,
            changed: false,
            prepared: Vec::new(),
        };
        let Some(index) = block.checked_sub(1) else { return Ok(writer) };
        let Some(value) = last_block else {
            return Err(Error::invalid(format!("space {space} has {block} blocks; its last one is needed")));
        };
        let last = VectorBlock::of_value(space, index, value)?;
        last.expect(space, index, writer.record)?;
        if last.len() < writer.capacity() {
            writer.block = index;
            writer.nodes = last.nodes().map(NodeId::get).collect();
            writer.data = last.data().to_vec();
            writer.norm_bound = last.norm_bound;
        }
        Ok(writer)
    }

    /// Adds the row of `node`; the block it filled, if it did.
    ///
    /// * `vector`: `d` floats; cosine spaces store it at unit length, zeros as zeros.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `node` is not above every node in the space, or the vector is of another dimension,
    /// not finite or too long.
    pub fn append(&mut self, node: NodeId, vector: &[f32]) -> Result<Option<FramedBlock>> {
        if let Some(last) = self.last_node.filter(|last| node.get() <= *last) {
            return Err(Error::invalid(format!("the vector of node {node} comes after that of node {last}")));
        }
        let name = format_args!("the vector of node {node}");
        let norm_bound = row::prepare(self.record, vector, name, &mut self.prepared)?;
        let (Some(rows), Some(live)) = (self.record.rows.checked_add(1), self.record.live.checked_add(1))
        else {
            return Err(Error::invalid("a space holds at most 2^32 - 1 rows"));
        };
        (self.record.rows, self.record.live) = (rows, live);
        self.norm_bound = self.norm_bound.max(norm_bound);
        self.data.extend(self.prepared.iter().flat_map(|x| x.to_le_bytes()));
        self.nodes.push(node.get());
        self.last_node = Some(node.get());
        self.changed = true;
        if self.nodes.len() < self.capacity() { Ok(None) } else { self.seal().map(Some) }
    }

    /// The last block, if rows were added to it.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the space has as many blocks as 32 bits count.
    pub fn finish(mut self) -> Result<Option<FramedBlock>> {
        if self.changed { self.seal().map(Some) } else { Ok(None) }
    }

    fn capacity(&self) -> usize {
        capacity(self.record.dimension)
    }

    fn seal(&mut self) -> Result<FramedBlock> {
        let Some(next_block) = self.block.checked_add(1) else {
            return Err(Error::invalid("a space has at most 2^32 - 1 blocks"));
        };
        let Some(next_generation) = self.record.generation.checked_add(1) else {
            return Err(Error::invalid("a space has at most 2^64 - 1 generations"));
        };
        let parts = BlockParts {
            space: self.space,
            block: self.block,
            generation: self.record.generation,
            metric: self.record.metric,
            dimension: self.record.dimension,
            norm_bound: self.norm_bound,
            data: &self.data,
            nodes: &self.nodes,
        };
        let key = key::two(self.space.get(), self.block);
        let sealed = FramedBlock { block: self.block, key, value: parts.seal()? };
        self.record.generation = next_generation;
        self.record.last_nodes.truncate(self.block as usize);
        self.record.last_nodes.extend(self.last_node);
        self.block = next_block;
        self.nodes.clear();
        self.data.clear();
        self.norm_bound = 0.0;
        self.changed = false;
        Ok(sealed)
    }
}
