//! onced: claims and a webhook proxy for one Linux VM.

pub mod claim;
pub mod ledger;
pub mod quantity;
pub mod store;
