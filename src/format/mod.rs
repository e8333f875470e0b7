//! The bytes of the file: one module per chapter of `format-spec.md`. No I/O; bytes in, values out.
//!
//! | spec | module |
//! |---|---|
//! | 3.1, 3.2 records in bincode | [`codec`] |
//! | 3.6 record frames and checksums | [`frame`] |
//! | 3.1 keys | [`key`] |
//! | 7 text index | [`text`] |
//!
//! Nothing here trusts its input: every decoder is given bytes that may come from a damaged or hostile file.

pub mod codec;
pub mod frame;
pub mod key;
pub mod text;
