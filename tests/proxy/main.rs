//! The webhook proxy, end to end: the daemon as it ships, a scripted app behind it, and raw sockets in front.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod binary;
mod duplicates;
mod handshakes;
mod harness;
mod identity;
mod outcomes;
mod partner;
mod passing;
mod patience;
mod pool;
mod reloading;
mod replies;
mod targets;
mod vectors;
mod verifying;
