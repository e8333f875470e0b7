//! Vectors of entities and hyperedges: spaces whose rows stand for them.

use roaring::RoaringBitmap;

use super::read::ReadTransaction;
use super::read::VectorSpace;
use super::write::WriteTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::format::frame::HEADER_BYTES;
use crate::format::key;
use crate::format::vector::BLOCK;
use crate::format::vector::SPACE;
use crate::format::vector::VectorBlock;
use crate::ids::EntityId;
use crate::ids::HyperedgeId;
use crate::ids::NodeId;
use crate::ids::SpaceId;
use crate::vector::BlockSource;
use crate::vector::Metric;
use crate::vector::prepare;

/// What the rows of a vector space stand for, if not for leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsOf {
    /// For entities.
    Entities,
    /// For hyperedges.
    Hyperedges,
}

impl RowsOf {
    /// Of the space called `name` in the file.
    fn of(name: &str) -> Option<Self> {
        let (_, what) = name.rsplit_once('#')?;
        [Self::Entities, Self::Hyperedges].into_iter().find(|rows| rows.suffix() == what)
    }

    const fn suffix(self) -> &'static str {
        match self {
            Self::Entities => "entities",
            Self::Hyperedges => "hyperedges",
        }
    }

    /// How the space called `name` is called in the file.
    fn full(self, name: &str) -> String {
        format!("{name}#{}", self.suffix())
    }
}

impl WriteTransaction {
    /// The vector space called `name` whose rows stand for entities or hyperedges, made if there is none. The name
    /// may be that of a space of leaves.
    ///
    /// # Errors
    ///
    /// As [`open_space`](Self::open_space).
    pub fn open_object_space(
        &mut self,
        name: &str,
        rows: RowsOf,
        dimensions: usize,
        metric: Metric,
        fingerprint: &str,
    ) -> Result<SpaceId> {
        if name.contains('#') {
            return Err(Error::invalid(format!("space {name:?} has a #; leave it out")));
        }
        self.open_any_space(&rows.full(name), dimensions, metric, fingerprint)
    }

    /// Stores vectors of entities or hyperedges, by what the space is of. A vector stays; give other ones in a
    /// space of another name.
    ///
    /// * `rows`: ids and vectors, ids ascending and above all that the space has.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such space; `InvalidInput` if it is one of leaves, ids do not ascend or were not
    /// handed out, or a vector does not fit.
    pub fn put_object_vectors(&mut self, space: SpaceId, rows: &[(u32, &[f32])]) -> Result<()> {
        let (batch, _, graph) = self.graph_parts();
        let counters = graph.open(batch)?.counters;
        let pending = self.pending_space(space)?;
        let next = match RowsOf::of(&pending.record.name) {
            Some(RowsOf::Entities) => counters.next_entity,
            Some(RowsOf::Hyperedges) => counters.next_hyperedge,
            None => {
                let name = &pending.record.name;
                return Err(Error::invalid(format!("the rows of space {name:?} stand for leaves")));
            }
        };
        let waiting = pending.rows.last().map(|(id, _)| id.0);
        let mut last = waiting.or(pending.record.last_nodes.last().copied()).unwrap_or_default();
        let mut prepared = Vec::new();
        for (id, row) in rows {
            if *id <= last || *id >= next {
                return Err(Error::invalid(format!(
                    "vector {id} comes after {last}, and ids go up to {}",
                    next - 1
                )));
            }
            prepare(&pending.record, row, format_args!("vector {id}"), &mut prepared)?;
            last = *id;
        }
        for (id, row) in rows {
            pending.rows.push((NodeId(*id), row.to_vec()));
            pending.floats += row.len();
            pending.changed = true;
        }
        self.flush_many_vectors()
    }
}

impl ReadTransaction {
    /// The vector space called `name` whose rows stand for entities or hyperedges, if there is one. Its rows name
    /// their ids as nodes.
    #[must_use]
    pub fn object_space(&self, name: &str, rows: RowsOf) -> Option<VectorSpace<'_>> {
        self.any_space(&rows.full(name))
    }

    /// Ids of the `limit` live entities or hyperedges whose vectors are nearest to `vector`, with scores, best first,
    /// ties to the lower id.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such space; `InvalidInput` if the vector does not fit it; `Corrupt`; `Io`.
    pub fn nearest_objects(
        &self,
        name: &str,
        rows: RowsOf,
        vector: &[f32],
        limit: usize,
    ) -> Result<Vec<(u32, f32)>> {
        let space = self.object_space(name, rows).ok_or_else(|| {
            let known: Vec<&str> = self.all_space_names().collect();
            Error::not_found(format!(
                "there is no vector space {:?}; the file has {known:?}",
                rows.full(name)
            ))
        })?;
        let graph = self.graph()?;
        let live: RoaringBitmap = match rows {
            RowsOf::Entities => graph.entities().map(EntityId::get).collect(),
            RowsOf::Hyperedges => graph.hyperedges().map(HyperedgeId::get).collect(),
        };
        let flat = space.flat()?;
        let query = flat.query(vector)?;
        let found = flat.search(&query, Some(&live), &RoaringBitmap::new(), limit, 1)?;
        Ok(found.into_iter().map(|hit| (hit.node.0, hit.score)).collect())
    }

    /// The blocks of a space of entities or hyperedges decode, and each row is of one that there was.
    pub(super) fn check_object_space(&self, name: &str) -> Result<()> {
        let (Some(rows), Some(space)) = (RowsOf::of(name), self.any_space(name)) else {
            return if name.contains('#') {
                Err(SPACE.malformed(b"*", "name", 16, "it is of nothing known"))
            } else {
                Ok(())
            };
        };
        let counters = self.state.graph.counters.unwrap_or_default();
        let next = match rows {
            RowsOf::Entities => counters.next_entity,
            RowsOf::Hyperedges => counters.next_hyperedge,
        };
        let mut count = 0;
        for index in 0..space.block_count() {
            space.with_block(index, &mut |value| {
                let block = VectorBlock::of_value(space.id(), index, value)?;
                count += block.len();
                if block.nodes().all(|id| (1..next).contains(&id.0)) {
                    return Ok(());
                }
                let why = "it has a row of what there never was";
                Err(BLOCK.malformed(&key::two(space.id().0, index), "nodes", 64, why))
            })?;
        }
        let record = space.record();
        if (count, count) != (record.rows as usize, record.live as usize) {
            let why = format!("its blocks have {count} rows, its record says otherwise");
            return Err(SPACE.malformed(&key::one(space.id().0), "rows", HEADER_BYTES, why));
        }
        Ok(())
    }
}
