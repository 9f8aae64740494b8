//! The `onced` program.
fn main() {}
