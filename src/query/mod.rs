//! Asking: scores are fused, evidence is packed under a hard budget, each step leaves a trace.
//!
//! * [`Signals`]: how every leaf in scope matches a question.
//! * [`Search`], [`Filter`]: ranked leaves, by words, vectors or both.
//! * [`Budget`]: a ceiling in tokens, never exceeded.
//! * [`Rrf`], [`min_max`], [`weighted`], [`hybrid`]: lists of scores made one.
//! * [`LeafScore`]: the default score of a leaf from its words, its vector and its surroundings.
//! * [`ScoreMap`], [`Fusion`], [`ConsensusG1`], [`ConsensusG3`]: sparse scores of several views made one.
//! * [`find_entities`], [`expand`], [`page_rank`], [`beam_paths`], [`project`]: the graph, asked.
//! * [`FindPaths`]: leaves that what matches leads to, with the way to each.
//! * [`Mmr`]: the same ranking with less repetition.
//! * [`Pool`]: what several searches found, by kind, within a size.
//! * [`ScoredLeaves`]: leaves of a snapshot, with scores, as candidates for packing.
//! * [`Packing`]: from a ranking to an [`EvidenceList`], which [`Format`] renders.
//! * [`sources`], [`toc`]: what there is, in short lists.
//! * [`list_media`], [`find_label`], [`fragment_window`], [`page_neighbours`]: images, tables, captions, what is around.
//! * [`table_lookup`], [`table_rows`]: rows of tables, exactly.
//! * [`Trace`]: what each step saw, kept and spent.
//!
//! Scores: higher is better; ties go to the lower id or index; NaN ranks lowest. Nothing depends on the order
//! of a hash table or on the number of threads.

mod budget;
mod catalogue;
mod consensus;
mod evidence;
mod filter;
mod fuse;
mod graph;
mod leaf_score;
mod leaves;
mod media;
mod mmr;
mod pack;
mod paths;
mod pool;
mod render;
mod scope;
mod scores;
mod search;
mod tables;
mod trace;

pub use budget::Budget;
pub use catalogue::{Listed, MAX_HEADINGS, MAX_SOURCES, Source, TocEntry, sources, toc};
pub use consensus::{
    Agreed, Bonus, ConsensusG1, ConsensusG3, EntityHit, EntityScore, RelationHit, RelationPool, Views,
};
pub use evidence::{Cut, CutReason, Evidence, EvidenceList};
pub use filter::Filter;
pub use fuse::{Rrf, Scored, hybrid, min_max, weighted};
pub use graph::{EntityQuery, beam_paths, expand, find_entities, page_rank, project, projected};
pub use leaf_score::{LeafParts, LeafScore, LeafSignals};
pub use leaves::{Parts, ScoredLeaves};
pub use media::{
    CaptionLine, Labelled, MAX_MEDIA, Media, MediaFilter, MediaList, MediaScope, Neighbour, PageNeighbours,
    find_label, fragment_window, list_media, page_neighbours,
};
pub use mmr::Mmr;
pub use pack::{Candidate, EvidenceSource, OnOverflow, Packing};
pub use paths::{BaseWeights, FindPaths, PathHit, PathStep, SentenceVectors, sentence_space};
pub use pool::{Pool, PoolHit, PoolKind, PoolOrigin, PoolSearch, PoolUnit, Pooled};
pub use render::{Format, Headings};
pub use scope::{Question, QuestionVector, Signals};
pub use scores::{Fusion, Pooling, ScoreMap};
pub use search::{Hit, Place, Search, SearchMode};
pub use tables::{FoundRows, MAX_ROWS, Table, TableRow, table_lookup, table_rows};
pub use trace::{Step, Trace};
