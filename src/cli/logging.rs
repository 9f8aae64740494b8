//! Where log lines go and what they look like: for people on a terminal, JSON otherwise. Always to stderr.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

/// The variable that chooses what is logged, in the syntax of `tracing_subscriber::EnvFilter`.
const VARIABLE: &str = "ONCED_LOG";
/// sled tells of each failure in several lines; ours say the same once.
const DEFAULT: &str = "info,sled=off";

/// Begins to log.
pub(super) fn start() {
    let filter = EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    // A subscriber that is there already is the embedding program's, and stays.
    let _already_there = if io::stderr().is_terminal() {
        builder.try_init().is_err()
    } else {
        builder.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init().is_err()
    };
}
