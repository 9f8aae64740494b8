//! The control API and the command line: the real daemon, real HTTP over TCP and the Unix socket, time in the test's
//! hands.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod access;
mod answers;
mod apps;
mod audit;
mod bad_input;
mod bad_requests;
mod batches;
mod command_line;
mod events;
mod harness;
mod letters;
mod lifecycle;
mod operations;
mod queue;
mod reading;
mod replay;
mod replay_to;
mod waits;
