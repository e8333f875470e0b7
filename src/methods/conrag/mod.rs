//! ConRAG: three views of a passage agree on it, and a plan binds answers into later questions.
//!
//! * [`Plan`]: sub-questions with slots, checked, ordered and bound.
//!
//! # Source
//!
//! ConRAG, arXiv 2605.28093, and the code of its first release.

mod plan;

pub use self::plan::MAX_STEPS;
pub use self::plan::NOT_FOUND;
pub use self::plan::Plan;
pub use self::plan::Step;
