//! onced: claims and a webhook proxy for one Linux VM.

pub mod server;
