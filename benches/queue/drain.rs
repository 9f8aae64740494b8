//! How fast a fast app gets what was accepted while it was away.

use std::{error::Error, path::Path, time::Duration};

use crate::{
    measure::{
        address::Address,
        app::App,
        load::Until,
        machine::peak_bytes,
        text::{Spread, bytes, grouped},
    },
    queue::{CONCURRENCY, Queue, draining},
};

/// Events a second that are aimed at.
const AIM: f64 = 10_000.0;
/// Connections that the events come over.
const SENDERS: usize = 64;
/// Which events are kept once they are delivered: none, and the default, under which they all are.
const RECORDS: [&str; 2] = ["off", "failures"];

/// Measures and prints, by turns.
pub(crate) fn measure(place: &Path, events: usize, runs: usize) -> Result<(), Box<dyn Error>> {
    println!(
        "\nDraining {} events to an app that comes up: concurrency {CONCURRENCY}, {runs} runs by turns, aim {}/s",
        grouped(events as f64),
        grouped(AIM)
    );
    println!("| record     | events/s [min–max]           | most memory |");
    println!("|---|---|--:|");
    let mut rates: [Vec<f64>; RECORDS.len()] = Default::default();
    let mut most = [0; RECORDS.len()];
    for _ in 0..runs {
        for (place_of, record) in RECORDS.iter().enumerate() {
            let address = Address::reserve()?;
            let mut queue = Queue::start(place, address.address, &draining(record))?;
            queue.accept(SENDERS.min(events), Until::Rounds(events))?;
            let app = App::appear(&address)?;
            let series = queue.drain(&app)?;
            let rate = rate(&series, 0, events as u64);
            rates[place_of].push(rate.ok_or("too few events were drained to say how fast")?);
            most[place_of] = most[place_of].max(peak_bytes(queue.server.pid())?);
        }
    }
    for ((record, rates), most) in RECORDS.iter().zip(rates).zip(most) {
        println!("| {record:<10} | {:<28} | {:>11} |", Spread::of(rates).rates(), bytes(most));
    }
    Ok(())
}

/// Events a second between two counts; none where they are too close together to be seen apart.
pub(crate) fn rate(series: &[(Duration, u64)], from: u64, to: u64) -> Option<f64> {
    let at = |wanted: u64| series.iter().find(|(_, count)| *count >= wanted);
    let ((begun, before), (ended, after)) = (at(from)?, at(to)?);
    (ended > begun).then(|| (after - before) as f64 / (*ended - *begun).as_secs_f64())
}
