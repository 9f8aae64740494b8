//! What senders' clocks say about ours.
//!
//! One stale timestamp is a late copy. Many in a row, all off by the same length, mean that a clock is wrong, and it is not
//! likely that of a provider: then an operator must look, and nothing else points at the clock, since all that senders are
//! told is "come again".

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Stale timestamps in a row that are no accident.
const ROW: u32 = 10;
/// How far apart their skews may be, in seconds: requests take a while, and clocks drift while they do.
const SPREAD_SECONDS: u64 = 60;

/// The last timestamps of each provider.
#[derive(Debug, Default)]
pub struct SenderClocks(Mutex<HashMap<Box<str>, Row>>);

/// Stale timestamps in a row.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// Our clock minus the sender's, of the first.
    skew_seconds: i64,
    length: u32,
}

impl SenderClocks {
    /// Notes a timestamp of a genuine request that was within its tolerance.
    pub fn fresh(&self, provider: &str) {
        self.rows().remove(provider);
    }

    /// Notes one that was not. `skew_seconds` is our clock minus the sender's.
    pub fn stale(&self, provider: &str, skew_seconds: i64) {
        let mut rows = self.rows();
        let row = rows.entry(provider.into()).or_insert(Row { skew_seconds, length: 0 });
        if row.skew_seconds.abs_diff(skew_seconds) > SPREAD_SECONDS {
            *row = Row { skew_seconds, length: 0 };
        }
        row.length = row.length.saturating_add(1);
    }

    /// The providers whose timestamps are off by one and the same length, and that length, by name.
    #[must_use]
    pub fn off(&self) -> Vec<(Box<str>, i64)> {
        let rows = self.rows();
        let off = rows.iter().filter(|(_, row)| row.length >= ROW);
        let mut off: Vec<_> = off.map(|(provider, row)| (provider.clone(), row.skew_seconds)).collect();
        off.sort_unstable();
        off
    }

    /// A panic elsewhere leaves the map whole.
    fn rows(&self) -> MutexGuard<'_, HashMap<Box<str>, Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_equal_skews_in_a_row_are_no_accident() {
        let clocks = SenderClocks::default();
        let off = |provider: &str, skew_seconds| vec![(Box::from(provider), skew_seconds)];
        for number in 0..9 {
            clocks.stale("slack", -600 - number);
            clocks.stale("stripe", 1_000 * number);
        }
        assert_eq!(clocks.off(), []);
        clocks.stale("slack", -640);
        clocks.stale("stripe", 9_000);
        assert_eq!(clocks.off(), off("slack", -600));
        // Another length begins another row, and a timestamp that is right ends it.
        clocks.stale("slack", -700);
        assert_eq!(clocks.off(), []);
        (0..9).for_each(|_| clocks.stale("slack", -700));
        assert_eq!(clocks.off(), off("slack", -700));
        clocks.fresh("slack");
        assert_eq!(clocks.off(), []);
    }
}
