//! onced: claims and a webhook proxy for one Linux VM.

pub mod api;
pub mod claim;
pub mod config;
pub mod daemon;
pub mod ledger;
pub mod proxy;
pub mod quantity;
pub mod store;
