//! The control API and the command line: the real daemon, real HTTP over TCP and the Unix socket, time in the test's
//! hands.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod access;
mod answers;
mod bad_input;
mod bad_requests;
mod batches;
mod command_line;
mod harness;
mod letters;
mod lifecycle;
mod operations;
mod reading;
mod waits;
