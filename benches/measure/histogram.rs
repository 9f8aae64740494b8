//! Latencies in logarithmic buckets: 1 µs to 60 s, each bucket at most 1.6 % wide.

use std::time::Duration;

/// Buckets to each doubling, as a power of two.
const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;
/// Longer ones are counted as this long.
const LONGEST_US: u64 = 60_000_000;

/// How many requests took how long.
#[derive(Clone)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; bucket(LONGEST_US) + 1], total: 0 }
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(LONGEST_US).min(LONGEST_US);
        self.counts[bucket(micros)] += 1;
        self.total += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    /// The latency that `share` (0 to 1) of the requests did not exceed, rounded up to the end of its bucket.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let rank = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        Duration::from_micros(found.map_or(0, |bucket| lowest(bucket + 1) - 1))
    }
}

/// Values below `SUB` have a bucket each; above, the top `SUB_BITS` bits after the leading one choose it.
fn bucket(micros: u64) -> usize {
    let shift = (micros | SUB).ilog2() - SUB_BITS;
    (u64::from(shift) * SUB + (micros >> shift)) as usize
}

/// The smallest value of a bucket.
fn lowest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / SUB).saturating_sub(1);
    (bucket - shift * SUB) << shift
}
