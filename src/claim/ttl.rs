//! Lifetimes and the points in time that they lead to.

use std::time::Duration;

/// The longest processing TTL, in milliseconds: 24 hours. A claim that lives longer unfinished is a stuck key.
pub const MAX_PROCESSING_MS: u64 = 24 * 3_600_000;
/// The longest confirmed TTL, in milliseconds: 90 days, past every provider's redelivery window.
pub const MAX_CONFIRMED_MS: u64 = 90 * 24 * 3_600_000;

/// How long a claim lives unfinished.
pub type ProcessingTtl = Ttl<MAX_PROCESSING_MS>;
/// How long a finished key is remembered.
pub type ConfirmedTtl = Ttl<MAX_CONFIRMED_MS>;

/// A lifetime of at least one millisecond and at most `MAX_MS`: no record can be without an expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ttl<const MAX_MS: u64>(u64);

/// Why a length of time is no lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be longer than 0 and at most {}", crate::quantity::format_duration(Duration::from_millis(*max_ms)))]
pub struct TtlError {
    max_ms: u64,
}

impl<const MAX_MS: u64> Ttl<MAX_MS> {
    /// The longest of this kind.
    pub const MAX: Self = Self(MAX_MS);

    /// Takes a length within the bounds.
    ///
    /// # Errors
    /// When it is zero, shorter than a millisecond, or longer than the maximum.
    pub fn new(length: Duration) -> Result<Self, TtlError> {
        match u64::try_from(length.as_millis()) {
            Ok(millis) if (1..=MAX_MS).contains(&millis) => Ok(Self(millis)),
            _ => Err(TtlError { max_ms: MAX_MS }),
        }
    }

    /// A number of minutes, brought into the bounds.
    #[must_use]
    pub const fn minutes(minutes: u64) -> Self {
        let millis = minutes * 60_000;
        if millis == 0 {
            return Self(1);
        }
        if millis > MAX_MS { Self::MAX } else { Self(millis) }
    }

    /// A number of milliseconds, brought into the bounds.
    #[must_use]
    pub fn clamped_ms(millis: u64) -> Self {
        Self(millis.clamp(1, MAX_MS))
    }

    /// The length in milliseconds.
    #[must_use]
    pub fn as_millis(self) -> u64 {
        self.0
    }

    /// The length.
    #[must_use]
    pub fn as_duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

/// A point on the store's own timeline, in milliseconds: it looks like Unix time, but it never steps while the daemon
/// runs and never goes back over restarts (see [`crate::clock`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The point `millis` after the timeline's zero.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds after the timeline's zero.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The point where a lifetime that begins here ends.
    #[must_use]
    pub fn plus<const MAX_MS: u64>(self, ttl: Ttl<MAX_MS>) -> Self {
        Self(self.0.saturating_add(ttl.0))
    }

    /// The point that a length of time leads to from here.
    #[must_use]
    pub fn after(self, length: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(length.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The point that a length of time has led from to here; never before the timeline's zero.
    #[must_use]
    pub fn before(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(length.as_millis()).unwrap_or(u64::MAX)))
    }

    /// How long it is from `earlier` to here; zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_has_bounds_on_both_sides() {
        let hour = 3_600;
        for (length, processing, confirmed) in [
            (Duration::ZERO, false, false),
            (Duration::from_micros(999), false, false),
            (Duration::from_millis(1), true, true),
            (Duration::from_secs(24 * hour), true, true),
            (Duration::from_millis(MAX_PROCESSING_MS + 1), false, true),
            (Duration::from_secs(90 * 24 * hour), false, true),
            (Duration::from_millis(MAX_CONFIRMED_MS + 1), false, false),
            (Duration::MAX, false, false),
        ] {
            assert_eq!(ProcessingTtl::new(length).is_ok(), processing, "{length:?}");
            assert_eq!(ConfirmedTtl::new(length).is_ok(), confirmed, "{length:?}");
        }
        let error = ProcessingTtl::new(Duration::ZERO).expect_err("zero");
        assert_eq!(error.to_string(), "must be longer than 0 and at most 1d");
    }
}
