//! The hsa-replay command.
fn main() {}
