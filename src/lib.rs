//! An embedded database for **evidence memory**: one `.evdb` file holds documents as trees, their text index
//! and their vectors, and finds, under a hard token budget, the evidence that answers a question.

pub mod db;
pub mod error;
pub mod format;
pub mod graph;
pub mod ids;
pub mod ingest;
pub mod kernels;
pub mod methods;
pub mod model;
pub mod providers;
pub mod query;
pub mod storage;
pub mod text;
pub mod tree;
pub mod vector;

pub use db::{Builder, Database, ReadTransaction, WriteTransaction};
pub use error::{Corruption, Error, ErrorKind, Result};
pub use ids::{DocumentId, EntityId, HyperedgeId, NodeId, NodeRange, SegmentId, SpaceId, Span};
pub use query::{Budget, Evidence, EvidenceList};
pub use tree::Document;
