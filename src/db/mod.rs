//! The database as one thing: a file, its readers and its writer.
//!
//! # Promises
//!
//! * **One file, one transaction.** Documents, trees, texts, the text index, vectors and the graph change together or not
//!   at all; a crash at any write leaves the last committed state.
//! * **Snapshots.** A [`ReadTransaction`] sees one committed state for as long as it lives. Any number of
//!   readers beside one writer.
//! * **Nothing in a file panics.** A damaged or hostile file gives an error that names table, key, field, byte
//!   and section of the format specification, or the right answer.
//! * **Same file, same question, same models: same bytes out**, whatever the number of threads or the
//!   processor. Ties go to the lower id.
//! * **Statistics are exact** after any sequence of inserts, replacements and deletions.
//!
//! # Caveats
//!
//! * A long-lived reader keeps old pages from being reused: the file grows while it lives.
//! * One process at a time. A second one gets `Locked`.
//! * Network file systems that do not honour locks are not safe.
//! * Another embedder means another vector space; vectors of two models are never mixed.
//! * Deleted nodes leave holes in vector blocks until they are compacted.

mod database;
mod dump;
mod graph;
mod graph_check;
mod graph_read;
mod graph_segments;
mod graph_vectors;
mod indexing;
mod paths;
mod prepared;
mod read;
mod segments;
mod spill;
mod stats;
mod texts;
mod tiers;
mod verify;
mod write;

pub use database::{Builder, Database};
pub use dump::DumpOptions;
pub use graph_read::EntityInfo;
pub use graph_read::HyperedgeInfo;
pub use graph_vectors::RowsOf;
pub use prepared::PreparedDocument;
pub use read::{DocumentInfo, Norms, ReadTransaction, Roots, VectorSpace};
pub use stats::GraphStats;
pub use stats::Stats;
pub(crate) use texts::content_hash;
pub use verify::{Verification, VerifyOptions};
pub use write::{Upsert, WriteTransaction};
