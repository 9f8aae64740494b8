//! The webhook proxy, end to end: the daemon as it ships, a scripted app behind it, and raw sockets in front.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod binary;
mod duplicates;
mod framing;
mod handshakes;
mod harness;
mod identity;
mod killed;
mod letters;
mod limits;
mod outcomes;
mod partner;
mod passing;
mod paths;
mod patience;
mod pool;
mod reloading;
mod replies;
mod targets;
mod tls;
#[path = "../binary/tools.rs"]
#[allow(dead_code, reason = "it is the toolbox of the tests of the binary, and little of it is needed here")]
mod tools;
mod vectors;
mod verifying;
