//! Spreads hand-overs over time where a route has a rate: pure.
//!
//! As many as have a gap between each other, with a tenth of a second in hand: a machine that is busy for a moment may
//! catch up, and no second sees more than a tenth above its rate.

use std::time::Duration;

use super::settings::Rate;
use crate::claim::Timestamp;

/// What may be caught up with at once.
const IN_HAND: Duration = Duration::from_millis(100);

/// Of one lane.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Rate,
    /// When the next would be due if all were spread evenly, in nanoseconds on the timeline.
    next_ns: u128,
}

impl Bucket {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, next_ns: 0 }
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// When the next hand-over may begin.
    pub(super) fn free_at(&self) -> Timestamp {
        let in_hand_ns = IN_HAND.saturating_sub(self.rate.gap()).as_nanos();
        let free_ns = self.next_ns.saturating_sub(in_hand_ns);
        Timestamp::from_millis(u64::try_from(free_ns.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// Counts one that begins.
    pub(super) fn take(&mut self, now: Timestamp) {
        let now_ns = u128::from(now.as_millis()) * 1_000_000;
        self.next_ns = self.next_ns.max(now_ns) + self.rate.gap().as_nanos();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many begin in each second from the start on, where there is always one more.
    fn begun(rate: &str, seconds: usize) -> Vec<usize> {
        let mut bucket = Bucket::new(Rate::parse(rate).expect("a rate"));
        let (start, mut counts) = (1_000_000, vec![0; seconds]);
        for now_ms in start..start + 1_000 * seconds as u64 {
            let now = Timestamp::from_millis(now_ms);
            while bucket.free_at() <= now {
                bucket.take(now);
                counts[usize::try_from((now_ms - start) / 1_000).expect("a second")] += 1;
            }
        }
        counts
    }

    #[test]
    fn no_second_sees_more_than_its_rate_but_for_what_is_in_hand() {
        for (rate, counts) in [
            ("1/s", [1, 1, 1, 1]),
            ("10/s", [10, 10, 10, 10]),
            ("100/s", [109, 100, 100, 100]),
            ("10000/s", [10_990, 10_000, 10_000, 10_000]),
            ("30/m", [1, 0, 1, 0]),
        ] {
            let begun = begun(rate, counts.len());
            assert_eq!(begun, counts, "{rate}");
        }
    }

    #[test]
    fn what_was_left_out_for_long_is_not_made_up_for() {
        let mut bucket = Bucket::new(Rate::parse("100/s").expect("a rate"));
        bucket.take(Timestamp::from_millis(1_000));
        let late = Timestamp::from_millis(1_000_000);
        let mut count = 0;
        while bucket.free_at() <= late {
            bucket.take(late);
            count += 1;
        }
        assert_eq!(count, 10);
    }
}
