//! The graph over the nodes: who is named where, and the ways from one passage to another.
//!
//! * [`paths`]: names of a text by rule, and multi-hop retrieval along shared names.

pub mod paths;
