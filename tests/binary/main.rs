//! The real binary, where a process matters: it is killed, its disk is filled, made read-only or broken, its clock stepped.
//!
//! Some of it needs root or tools of the system (strace, libfaketime, a C compiler). What is not there is skipped with a
//! line that says so; where `CI=true` an absent tool is a failure.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod broken_disk;
mod client;
mod descriptors;
mod full_disk;
mod harness;
mod kill;
mod notify;
mod private;
mod queue;
mod refusals;
mod reload;
mod stop;
mod sync;
mod tools;
mod wall_clock;
