//! The table, as Markdown.

use crate::{
    duel::{Duel, Figures},
    measure::{
        load::Round,
        server::Durability,
        text::{Spread, latencies},
    },
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
        latencies(&onced.latencies),
        redis.map_or_else(none, |redis| latencies(&redis.latencies)),
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
