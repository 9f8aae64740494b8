//! The HTTP transport, over real sockets: what senders can do to it, and what it does to apps.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod answers;
mod bodies;
mod crowds;
mod drain;
mod framing;
mod harness;
mod listeners;
mod pool;
mod tls;
