//! Papers as code: methods that choose evidence, built on [`crate::query`] and the trees.
//!
//! * [`bear`]: coarse to fine over document trees, with or without a language model.

pub mod bear;
