//! The table, as Markdown.

use std::time::Duration;

use crate::{
    duel::{Duel, Figures},
    load::Round,
    server::Durability,
};

/// Prints the head of the table.
pub(crate) fn print_head() {
    println!(
        "| {:<9} | {:<19} | {:>5} | {:<28} | {:<28} | {:<18} | {:<15} | {:<15} |",
        "keys by",
        "sync / appendfsync",
        "conns",
        "onced keys/s [min–max]",
        "redis keys/s [min–max]",
        "ratio [min–max]",
        "onced p50, p99",
        "redis p50, p99",
    );
    println!("|---|---|--:|---|---|---|---|---|");
}

/// Prints the row of one duel, and the refusals that spoil it.
pub(crate) fn print_row(duel: Duel, onced: &Figures, redis: Option<&Figures>) {
    let none = || "–".to_owned();
    println!(
        "| {:<9} | {:<19} | {:>5} | {:<28} | {:<28} | {:<18} | {:<15} | {:<15} |",
        work(duel.round),
        durability(duel.durability),
        duel.connections,
        Spread::of(onced.rates.clone()).rates(),
        redis.map_or_else(none, |redis| Spread::of(redis.rates.clone()).rates()),
        redis.map_or_else(none, |redis| Spread::of(ratios(onced, redis)).ratios()),
        latencies(onced),
        redis.map_or_else(none, latencies),
    );
    for (name, figures) in [("onced", Some(onced)), ("redis", redis)] {
        if let Some((figures, refusal)) = figures.and_then(|figures| Some((figures, figures.first_refusal.as_ref()?))) {
            println!("  {name} refused {} keys, first by: {refusal}", figures.refused);
        }
    }
}

fn work(round: Round) -> String {
    match round {
        Round::Claim => "claim".to_owned(),
        Round::Pair => "pair".to_owned(),
        Round::Batch(keys) => format!("batch {keys}"),
    }
}

fn durability(durability: Durability) -> String {
    let (onced, redis) = durability.settings();
    format!("{onced} / {redis}")
}

/// Each run of onced against the run of Redis that followed it.
fn ratios(onced: &Figures, redis: &Figures) -> Vec<f64> {
    onced.rates.iter().zip(&redis.rates).map(|(onced, redis)| onced / redis).collect()
}

/// A median with the extremes.
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median =
            if values.len().is_multiple_of(2) { (values[middle - 1] + values[middle]) / 2.0 } else { values[middle] };
        Self { median, min: values[0], max: values[values.len() - 1] }
    }

    fn rates(&self) -> String {
        format!("{} [{}–{}]", grouped(self.median), grouped(self.min), grouped(self.max))
    }

    fn ratios(&self) -> String {
        format!("{:.2} [{:.2}–{:.2}]", self.median, self.min, self.max)
    }
}

fn latencies(figures: &Figures) -> String {
    let millis = |latency: Duration| {
        let millis = latency.as_secs_f64() * 1e3;
        if millis < 10.0 { format!("{millis:.2}") } else { format!("{millis:.1}") }
    };
    let [p50, p99] = [0.5, 0.99].map(|share| millis(figures.latencies.quantile(share)));
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
