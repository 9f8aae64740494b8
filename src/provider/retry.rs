//! How long a sender may come back with an event, by itself and by a person's hand.

use crate::quantity::format_duration;
use serde::Deserialize;
use std::{fmt, time::Duration};

/// Both ways in which an event can arrive again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// From the first attempt to the last one that the sender makes by itself.
    pub automatic: Redelivery,
    /// For how long a person can ask the sender to deliver it once more.
    pub manual: Redelivery,
    /// `false` where the sender may end its retries before that, for reasons that cannot be seen from here.
    #[serde(default = "assured")]
    pub assured: bool,
}

fn assured() -> bool {
    true
}

/// Retries that end sooner do not bring an event back: what makes an app fail, such as a deployment gone wrong, takes people
/// longer than this to notice and to mend.
const MIN_RELIABLE_WINDOW_SECONDS: u64 = 3_600;

impl Retry {
    /// Why the sender's own retries cannot be relied on, so that a failed event must be kept here or it may be lost; `None`
    /// where they can be.
    pub fn unreliable_because(&self) -> Option<&'static str> {
        match self.automatic {
            Redelivery::Never | Redelivery::WithinSeconds(0) => Some("the sender never tries again by itself"),
            Redelivery::Unpublished => Some("the sender does not say for how long it tries again, if it does"),
            Redelivery::WithinSeconds(span) if span < MIN_RELIABLE_WINDOW_SECONDS => {
                Some("the sender's retries are over within the hour")
            }
            Redelivery::Unlimited | Redelivery::WithinSeconds(_) if !self.assured => {
                Some("the sender may end its retries early")
            }
            Redelivery::Unlimited | Redelivery::WithinSeconds(_) => None,
        }
    }
}

/// A way of arriving again: `"never"`, `"unpublished"`, `"unlimited"` or `{ within_seconds = 259200 }`.
///
/// Four cases and not an optional number, because "does not retry" (a failed event must be kept here) and "does not say"
/// ask for opposite behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Redelivery {
    /// It does not happen.
    Never,
    /// It happens, or may; the sender does not say for how long.
    Unpublished,
    /// It happens without an end.
    Unlimited,
    /// It happens within this many seconds of the first attempt.
    WithinSeconds(u64),
}

impl Redelivery {
    /// The span, where it is known and has an end.
    pub fn window(self) -> Option<Duration> {
        match self {
            Self::WithinSeconds(seconds) => Some(Duration::from_secs(seconds)),
            Self::Never | Self::Unpublished | Self::Unlimited => None,
        }
    }
}

impl fmt::Display for Redelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Unpublished => f.write_str("not published"),
            Self::Unlimited => f.write_str("without a limit"),
            Self::WithinSeconds(seconds) => write!(f, "within {}", format_duration(Duration::from_secs(*seconds))),
        }
    }
}
