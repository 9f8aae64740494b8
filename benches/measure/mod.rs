//! What the benches have in common: one load generator for all rivals, the keys that it asks for, the rivals as processes,
//! the app behind them, and the figures.
#![allow(dead_code, reason = "each bench takes what it needs")]

pub(crate) mod address;
pub(crate) mod app;
pub(crate) mod connection;
pub(crate) mod counts;
pub(crate) mod event;
pub(crate) mod histogram;
pub(crate) mod keys;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod server;
pub(crate) mod text;

use std::{env, error::Error, process::ExitCode};

/// Measures with `bench` when `cargo bench` asks for it, else tries with `smoke` whether the bench itself still works: a test
/// run passes the flags of the test harness too, which mean nothing here. A failure is told with its causes.
pub(crate) fn run(
    bench: impl FnOnce() -> Result<(), Box<dyn Error>>,
    smoke: impl FnOnce() -> Result<(), Box<dyn Error>>,
) -> ExitCode {
    let asked = |flag| env::args().any(|argument| argument == flag);
    let result = if asked("--bench") && !asked("--test") { bench() } else { smoke() };
    let Err(error) = result else { return ExitCode::SUCCESS };
    eprint!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprint!(": {error}");
        cause = error.source();
    }
    eprintln!();
    ExitCode::FAILURE
}
