//! Queue routes, end to end: the daemon as it ships, a scripted app behind it, and raw sockets in front. Time is the test's
//! own where it matters.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod accepting;
mod delivering;
#[path = "../proxy/harness/mod.rs"]
#[allow(dead_code, unused_imports, reason = "it is the proxy's harness, and not all of it is needed here")]
mod harness;
mod isolating;
mod queue;
mod recovering;
mod replaying;
mod routing;
