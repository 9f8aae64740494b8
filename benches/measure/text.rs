//! Figures as they are printed.

use std::time::Duration;

use super::histogram::Histogram;

/// A median with the extremes.
pub(crate) struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median =
            if values.len().is_multiple_of(2) { (values[middle - 1] + values[middle]) / 2.0 } else { values[middle] };
        Self { median, min: values[0], max: values[values.len() - 1] }
    }

    pub(crate) fn rates(&self) -> String {
        format!("{} [{}–{}]", grouped(self.median), grouped(self.min), grouped(self.max))
    }

    pub(crate) fn ratios(&self) -> String {
        format!("{:.2} [{:.2}–{:.2}]", self.median, self.min, self.max)
    }
}

/// The median and the 99th percentile.
pub(crate) fn latencies(latencies: &Histogram) -> String {
    let millis = |latency: Duration| {
        let millis = latency.as_secs_f64() * 1e3;
        if millis < 10.0 { format!("{millis:.2}") } else { format!("{millis:.1}") }
    };
    let [p50, p99] = [0.5, 0.99].map(|share| millis(latencies.quantile(share)));
    format!("{p50}, {p99} ms")
}

/// `1,234,567`: a whole number with its thousands apart.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `12.3 MiB`.
pub(crate) fn bytes(count: u64) -> String {
    format!("{:.1} MiB", count as f64 / f64::from(1 << 20))
}
