//! The command line of evdb.

fn main() {}
