//! The sender's timestamp: where it stands, how it is read, and how far from our clock it may be.
//!
//! A freshness check only means something where the sender stamps every attempt anew. Where a retry carries the stamp
//! of the first attempt, the check would refuse exactly the retries this program exists for. Therefore a profile says
//! which it is, and an unset tolerance is [`Tolerance::Off`] for senders that do not restamp.

use super::{Header, Place, Pointer, rfc3339};
use serde::Deserialize;
use std::borrow::Cow;
use std::fmt;

/// The least tolerance that a profile can bring about. Some SDKs use 5 s; but a sender's backlog and two unsynchronised
/// clocks pass that in ordinary operation, and a replay inside the window is met by the memory of ids. An operator who
/// sets a tolerance may go below.
const MIN_DERIVED_TOLERANCE_SECONDS: u64 = 300;

/// A point of time: whole seconds since 1970-01-01T00:00:00Z.
///
/// Whole seconds, because senders sign whole seconds: with fractions on our side alone, a stamp exactly at the edge of
/// the tolerance would pass or fail by the millisecond at which it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixSeconds(pub i64);

impl UnixSeconds {
    /// `self - stamp`: positive where the stamp is old, negative where it is ahead of us (our clock may be slow).
    pub(super) fn skew_seconds(self, stamp: Self) -> i64 {
        self.0.saturating_sub(stamp.0)
    }
}

/// The timestamp of a signature scheme.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timestamp {
    /// Where it stands.
    pub place: TimestampPlace,
    /// What it counts.
    pub unit: TimestampUnit,
    /// What the sender's documentation or SDK tolerates; absent where it names no number.
    pub tolerance_seconds: Option<u64>,
    /// Whether every attempt is stamped (and signed) anew.
    pub restamped_on_retry: bool,
}

/// Where a timestamp stands: a [`Place`], `{ field = "t" }` inside the signature's list, or `{ claim = "iat" }` of a token.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenPlace")]
pub enum TimestampPlace {
    /// A text of its own.
    Text(Place),
    /// An entry of the list that the signature is in, by its name.
    Field(String),
    /// A claim of the token.
    Claim(String),
}

/// [`TimestampPlace`] as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WrittenPlace {
    Header(Header),
    Pointer(Pointer),
    Form(String),
    Query(String),
    Field(String),
    Claim(String),
}

impl From<WrittenPlace> for TimestampPlace {
    fn from(written: WrittenPlace) -> Self {
        match written {
            WrittenPlace::Header(header) => Self::Text(Place::Header(header)),
            WrittenPlace::Pointer(pointer) => Self::Text(Place::Pointer(pointer)),
            WrittenPlace::Form(field) => Self::Text(Place::Form(field)),
            WrittenPlace::Query(parameter) => Self::Text(Place::Query(parameter)),
            WrittenPlace::Field(name) => Self::Field(name),
            WrittenPlace::Claim(name) => Self::Claim(name),
        }
    }
}

/// What a timestamp counts since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimestampUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds; cut to whole seconds for the comparison.
    Milliseconds,
    /// Not a number but a date and a time with an offset (RFC 3339), of which the fraction is cut off.
    Rfc3339,
}

/// How far a stamp may be from our clock, in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// Any stamp passes.
    Off,
    /// At most this many seconds of difference, the bound included.
    Seconds(u64),
}

impl Tolerance {
    pub(super) fn admits(self, skew_seconds: i64) -> bool {
        match self {
            Self::Off => true,
            Self::Seconds(bound) => skew_seconds.unsigned_abs() <= bound,
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Seconds(bound) => write!(f, "{bound}s"),
        }
    }
}

impl Timestamp {
    /// The tolerance that holds where the operator has set none.
    pub fn default_tolerance(&self) -> Tolerance {
        match self.restamped_on_retry {
            true => Tolerance::Seconds(self.tolerance_seconds.unwrap_or(0).max(MIN_DERIVED_TOLERANCE_SECONDS)),
            false => Tolerance::Off,
        }
    }

    /// Whether it stands in this place.
    pub(super) fn is_in(&self, wanted: &Place) -> bool {
        matches!(&self.place, TimestampPlace::Text(place) if place == wanted)
    }

    /// The name of its entry, where it stands in the list that the signature is in.
    pub(super) fn field(&self) -> Option<&str> {
        match &self.place {
            TimestampPlace::Field(name) => Some(name),
            TimestampPlace::Text(_) | TimestampPlace::Claim(_) => None,
        }
    }

    /// Reads a stamp; `None` is "not a timestamp", which a number beyond 64 bits is too.
    pub(super) fn read(&self, text: &[u8]) -> Option<UnixSeconds> {
        match self.unit {
            TimestampUnit::Seconds => digits(text),
            TimestampUnit::Milliseconds => digits(text).map(|count| count / 1000),
            TimestampUnit::Rfc3339 => rfc3339::seconds(text),
        }
        .map(UnixSeconds)
    }
}

/// The timestamp of a request: its text as sent, and the moment it says. Both are empty for senders that have none.
#[derive(Default)]
pub(super) struct Stamped<'r> {
    pub(super) text: Cow<'r, [u8]>,
    pub(super) at: Option<UnixSeconds>,
}

/// Digits and nothing else: no sign, blank, exponent or fraction. Library parsers take some of them, and then a text that
/// the MAC covers means one thing to us and another to the app.
fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}
