//! What can be set about the delivery of events, route by route, and about what is kept of those that are finished.
//!
//! Every route has a lane, a sync one too: what it had queued before it was switched is delivered, and so is a dead letter of
//! it that is redriven. A route that is gone has none, and its events are parked.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::app::{ForwardTo, RoutePath, SigningKey};
use crate::claim::ConfirmedTtl;
use crate::event::RetryPolicy;

/// How the events of one route go to its app.
#[derive(Debug, Clone)]
pub struct LaneSettings {
    /// The route's name, by which its events are kept.
    pub route: Box<str>,
    /// How long a finished event is remembered, where it becomes so by its hand-over.
    pub confirmed_ttl: ConfirmedTtl,
    /// The path that its senders call; what follows a prefix goes on to the app.
    pub path: RoutePath,
    /// The app.
    pub forward_to: ForwardTo,
    /// How long the app may take; then the outcome counts as unknown, and the event is handed over again.
    pub max_duration: Duration,
    /// What every attempt is signed with; `None` where the app does not ask for it.
    pub signing_key: Option<SigningKey>,
    /// When an event is handed over again, and when it is given up on.
    pub policy: RetryPolicy,
    /// How many events of this route the app works on at once; never 0.
    pub concurrency: usize,
    /// How many events of this route the app is given in a time; `None` is as many as it takes.
    pub rate: Option<Rate>,
    /// How many failures in a row open the breaker; never 0.
    pub breaker_failures: u32,
    /// How often an open breaker lets one event through, to see whether the app is back.
    pub breaker_probe: Duration,
    /// Whether a delivered event is kept for the history; one that is not goes at once.
    pub keep_delivered: bool,
}

/// What is kept of events that are finished. Unfinished ones and dead letters are not touched by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistorySettings {
    /// How long a finished event is kept.
    pub keep: Duration,
    /// What finished events may take, in bytes; the oldest go first.
    pub max_bytes: u64,
}

/// Why a text is no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from 1 to {} and a unit, one of /s, /m, /h, such as 100/s", Rate::MAX_EVENTS)]
pub struct RateError;

/// So many events in so long, such as `100/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    events: NonZeroU32,
    unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
}

impl Rate {
    /// Beyond it a rate limits nothing that one machine does.
    pub const MAX_EVENTS: u32 = 1_000_000;

    /// Reads `100/s`, `30/m` or `500/h`.
    ///
    /// # Errors
    /// When the text is something else, or no event would ever pass.
    pub fn parse(text: &str) -> Result<Self, RateError> {
        let (digits, unit) = text.split_once('/').ok_or(RateError)?;
        let unit = match unit {
            "s" => Unit::Second,
            "m" => Unit::Minute,
            "h" => Unit::Hour,
            _ => return Err(RateError),
        };
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let events = digits.parse().ok().filter(|events: &NonZeroU32| plain && events.get() <= Self::MAX_EVENTS);
        Ok(Self { events: events.ok_or(RateError)?, unit })
    }

    /// How many events.
    #[must_use]
    pub fn events(self) -> NonZeroU32 {
        self.events
    }

    /// In how long.
    #[must_use]
    pub fn within(self) -> Duration {
        Duration::from_secs(match self.unit {
            Unit::Second => 1,
            Unit::Minute => 60,
            Unit::Hour => 3_600,
        })
    }

    /// From one event to the next, where they are spread evenly.
    #[must_use]
    pub fn gap(self) -> Duration {
        self.within() / self.events.get()
    }
}

/// As it is written in the config.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Second => "s",
            Unit::Minute => "m",
            Unit::Hour => "h",
        };
        write!(f, "{}/{unit}", self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_and_a_unit_of_time() {
        let rows: &[(&str, Option<Duration>)] = &[
            ("100/s", Some(Duration::from_millis(10))),
            ("1/s", Some(Duration::from_secs(1))),
            ("30/m", Some(Duration::from_secs(2))),
            ("1/h", Some(Duration::from_secs(3_600))),
            ("1000000/s", Some(Duration::from_micros(1))),
            ("1000001/s", None),
            ("0/s", None),
            ("+1/s", None),
            ("-1/s", None),
            ("1.5/s", None),
            ("/s", None),
            ("100", None),
            ("100/", None),
            ("100/d", None),
            ("100 /s", None),
            ("100/s/s", None),
            ("off", None),
        ];
        for (text, gap) in rows {
            assert_eq!(Rate::parse(text).ok().map(Rate::gap), *gap, "{text}");
        }
        let rate = Rate::parse("030/m").expect("a rate");
        assert_eq!((rate.to_string(), rate.within()), ("30/m".to_owned(), Duration::from_secs(60)));
    }
}
