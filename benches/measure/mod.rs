//! What the benches have in common: one load generator for all rivals, the keys that it asks for, the rivals as processes,
//! and the figures.
#![allow(dead_code, reason = "each bench takes what it needs")]

pub(crate) mod connection;
pub(crate) mod histogram;
pub(crate) mod keys;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod server;
pub(crate) mod text;
