//! The container: one plain redb file with a fixed, small set of tables. The only module that names redb.
//!
//! Keys and values are bytes; every value is a framed record ([`crate::format::frame`]) and is checked when it
//! is read. redb does not verify what it reads and may panic on a damaged page, so every call into it is
//! shielded: a panic inside redb becomes an [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) that names the
//! container. (A program built with `panic = "abort"` loses that, and only that, protection.)
//!
//! * [`Store`]: the open file.
//! * [`Snapshot`]: one committed state, for readers.
//! * [`Batch`]: a write transaction.
//! * [`tables`]: every table of the file.

#![deny(clippy::indexing_slicing, clippy::expect_used)]

mod batch;
#[cfg(feature = "testing")]
pub mod faults;
mod overlay;
mod shield;
mod snapshot;
mod store;
pub mod tables;

pub use batch::Batch;
pub use snapshot::Snapshot;
pub use store::{Options, Store, TableSpace};
