//! onced: claims and a webhook proxy for one Linux VM.

pub mod api;
pub mod chain;
pub mod claim;
pub mod cli;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod ledger;
pub mod metrics;
pub mod provider;
pub mod proxy;
pub mod quantity;
pub mod server;
pub mod store;
pub mod sweep;
