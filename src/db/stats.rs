//! What is in the file, and what it takes.

use super::read::ReadTransaction;
use crate::error::Result;
use crate::format::graph::GraphSegmentEntry;
use crate::storage::TableSpace;

/// Counts, and a ledger of space.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Stats {
    /// Program and version that made the file.
    pub creator: String,
    /// Format version.
    pub format_version: u32,
    /// Fingerprint of the token counter.
    pub token_counter: String,
    /// Fingerprint of the analyzer.
    pub analyzer: String,
    /// Commits so far.
    pub commits: u64,
    /// Documents.
    pub documents: u32,
    /// Nodes, roots and sections included.
    pub nodes: u32,
    /// Leaves.
    pub leaves: u32,
    /// Tokens of all leaves.
    pub leaf_tokens: u64,
    /// Mean tokens of a leaf.
    pub mean_leaf_tokens: f64,
    /// Bytes of all texts, before compression.
    pub text_bytes: u64,
    /// Live segments of the text index.
    pub segments: usize,
    /// Bytes of their chunks.
    pub segment_bytes: u64,
    /// The vector spaces.
    pub spaces: Vec<SpaceStats>,
    /// The graph.
    pub graph: GraphStats,
    /// What each table takes.
    pub tables: Vec<TableSpace>,
    /// Bytes of all tables.
    pub table_bytes: u64,
    /// Bytes of the file; `None` in memory.
    pub file_bytes: Option<u64>,
    /// Bytes of the file that hold no table: free pages, to be reused before the file grows.
    pub free_bytes: Option<u64>,
}

/// The graph: what is live of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct GraphStats {
    /// Entities.
    pub entities: usize,
    /// Hyperedges.
    pub hyperedges: usize,
    /// Nodes that support a hyperedge, summed over the hyperedges.
    pub supports: usize,
    /// Nodes that mention an entity, summed over the entities.
    pub mentions: usize,
    /// Live segments.
    pub segments: usize,
    /// Bytes of these.
    pub segment_bytes: u64,
}

/// One vector space.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SpaceStats {
    /// Its name.
    pub name: String,
    /// What made the vectors.
    pub fingerprint: String,
    /// Length of a vector.
    pub dimension: u32,
    /// How vectors are compared.
    pub metric: String,
    /// Rows stored.
    pub rows: u32,
    /// Rows of nodes that are still there.
    pub live: u32,
    /// Bytes a row takes, its node id included.
    pub bytes_per_row: u32,
}

impl ReadTransaction {
    /// Counts, and a ledger of space.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn stats(&self) -> Result<Stats> {
        let shared = self.shared();
        let counters = &self.state.counters;
        let tables = shared.store.space()?;
        let table_bytes = tables
            .iter()
            .map(|table| table.stored_bytes + table.metadata_bytes + table.fragmented_bytes)
            .sum();
        let file_bytes = shared.path.as_ref().and_then(|path| path.metadata().ok()).map(|meta| meta.len());
        let spaces = self.all_space_names().filter_map(|name| self.any_space(name)).map(|space| {
            let record = space.record();
            SpaceStats {
                name: record.name.clone(),
                fingerprint: record.fingerprint.clone(),
                dimension: record.dimension,
                metric: record.metric.name().to_owned(),
                rows: record.rows,
                live: record.live,
                bytes_per_row: record.dimension * 4 + 4,
            }
        });
        let graph = self.graph()?;
        let (supports, mentions) = graph.link_counts();
        let segments = &self.state.graph.manifest.segments;
        let graph = GraphStats {
            entities: graph.entity_count(),
            hyperedges: graph.hyperedge_count(),
            supports,
            mentions,
            segments: segments.len(),
            segment_bytes: segments.iter().map(GraphSegmentEntry::bytes).sum(),
        };
        Ok(Stats {
            creator: shared.identity.creator.clone(),
            format_version: shared.identity.format_version,
            token_counter: shared.identity.token_counter.clone(),
            analyzer: shared.identity.analyzer.clone(),
            commits: counters.commits,
            documents: counters.documents,
            nodes: counters.nodes,
            leaves: counters.leaves,
            leaf_tokens: counters.leaf_tokens,
            mean_leaf_tokens: self.mean_leaf_tokens(),
            text_bytes: counters.text_bytes,
            segments: self.state.manifest.segments.len(),
            segment_bytes: self.state.manifest.segments.iter().map(|entry| entry.bytes).sum(),
            spaces: spaces.collect(),
            graph,
            tables,
            table_bytes,
            file_bytes,
            free_bytes: file_bytes.map(|bytes| bytes.saturating_sub(table_bytes)),
        })
    }
}
