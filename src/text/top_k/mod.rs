//! The best leaves for some terms, without scoring those that cannot be among them.
//!
//! Ordinals are taken window by window. In each, the lists that can add most (the essential ones: all others
//! together stay below the bar) are added up in 16-bit sums of bounds: what a frequency in a text of a length
//! class is worth at most, in units all lists share, rounded up. The leaves whose sum may still reach the bar
//! go through the other lists, one list after another; what is left waits in a pool. The bar rises with what
//! the best of the pool surely reach, and in the end the pool is scored exactly, in the order of the query's
//! terms, so that scores and ranks are those of scoring every leaf.
//!
//! A leaf's own text and the titles above it are two lists of a term: what occurrences add is concave in their
//! number and 0 at none, so the sum of both bounds is a bound. Titles are runs of leaves below a node.
//!
//! # Source
//!
//! Turtle, Flood: Query Evaluation: Strategies and Optimizations, Information Processing & Management 31(6),
//! 1995 (MaxScore); Ding, Suel: Faster Top-k Document Retrieval Using Block-Max Indexes, SIGIR 2011 (maxima of
//! blocks). Departures: bounds are summed in windows, in integers, and one list at a time.

mod all;
mod any;
mod best;
mod list;
mod options;
mod plan;
mod room;
mod score;
mod segment;
#[cfg(test)]
mod tests;

pub(super) use all::search_all;
pub(super) use any::search_any;
pub(super) use list::List;
pub(super) use list::Run;
pub use options::FieldWeights;
pub use options::MAX_TERMS;
pub use options::SearchOptions;
pub use options::WeightedTerm;
pub(super) use plan::BATCH;
pub(super) use plan::Order;
pub(super) use plan::Plan;
pub(super) use plan::Share;
pub(super) use plan::maxima_factor;
pub(super) use score::Formula;
pub(super) use segment::Segment;
