//! Where log lines go and what they look like: for people on a terminal, JSON otherwise. Always to stderr.

use std::env::{self, VarError};
use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

/// The variable that chooses what is logged, in the syntax of `tracing_subscriber::EnvFilter`.
const VARIABLE: &str = "ONCED_LOG";
/// sled tells of each failure in several lines; ours say the same once.
const DEFAULT: &str = "info,sled=off";

/// Begins to log. A choice that cannot be read is told of once, and the default holds.
pub(super) fn start() {
    let (filter, trouble) = match chosen(env::var(VARIABLE)) {
        Ok(filter) => (filter, None),
        Err(trouble) => (EnvFilter::new(DEFAULT), Some(trouble)),
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    // A subscriber that is there already is the embedding program's, and stays.
    let _already_there = if io::stderr().is_terminal() {
        builder.try_init().is_err()
    } else {
        builder.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init().is_err()
    };
    if let Some(trouble) = trouble {
        tracing::warn!(error = trouble, "{VARIABLE} cannot be read; logging as if it were {DEFAULT}");
    }
}

fn chosen(value: Result<String, VarError>) -> Result<EnvFilter, String> {
    let text = match value {
        Ok(text) => text,
        Err(VarError::NotPresent) => DEFAULT.to_owned(),
        Err(error @ VarError::NotUnicode(_)) => return Err(error.to_string()),
    };
    EnvFilter::try_new(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_taken_or_told_of() {
        for good in ["debug", "warn,onced=trace", "info,sled=off"] {
            assert!(chosen(Ok(good.to_owned())).is_ok(), "{good}");
        }
        assert!(chosen(Err(VarError::NotPresent)).is_ok());
        for bad in ["info,onced=loud", "onced=[", "=debug=info"] {
            assert!(chosen(Ok(bad.to_owned())).is_err(), "{bad}");
        }
        assert!(chosen(Err(VarError::NotUnicode("\u{fffd}".into()))).is_err());
    }
}
