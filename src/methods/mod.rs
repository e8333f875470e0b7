//! Papers as code: methods that choose evidence, built on [`crate::query`] and the trees.
//!
//! * [`bear`]: coarse to fine over document trees, with or without a language model.
//! * [`conrag`]: plans whose answers are bound into later questions.

pub mod bear;
pub mod conrag;
