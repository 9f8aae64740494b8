//! A backlog: what it costs to fill, to hold, to start with and to drain, and whether the last event costs what the first did.

use std::{
    error::Error,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    drain::rate,
    measure::{
        address::Address,
        app::App,
        load::Until,
        machine::{peak_bytes, resident_bytes},
        text::{bytes, grouped},
    },
    queue::{Queue, draining},
};

/// Connections that the events come over.
const SENDERS: usize = 64;
/// Parts in which filling and draining are looked at.
const WINDOWS: usize = 10;
/// How much slower the last tenth may be drained than the first.
const AIM: f64 = 0.8;
/// How long space may take to be given back.
const SETTLING: Duration = Duration::from_secs(30);
const SAMPLE: Duration = Duration::from_millis(100);

/// Measures and prints.
pub(crate) fn measure(place: &Path, events: usize) -> Result<(), Box<dyn Error>> {
    println!("\nA backlog of {} events of 2 KiB, record = \"off\"", grouped(events as f64));
    let address = Address::reserve()?;
    let queue = Queue::start(place, address.address, &draining("off"))?;
    println!("empty: {}; {}", memory(&queue)?, queue.disk()?.describe());
    let queue = fill(queue, events)?;
    let mut queue = queue;
    for (how, kill) in [("a kill", true), ("a stop", false)] {
        queue = queue.restarted(kill)?;
        println!("start after {how}: ready in {:.2} s; {}", queue.server.ready_after.as_secs_f64(), memory(&queue)?);
        holds(&queue, events)?;
    }
    println!("held: {}", queue.disk()?.describe());
    empty(&queue, &address, events)?;
    let queue = queue.restarted(false)?;
    println!(
        "start when all is gone: ready in {:.2} s; {}; {}",
        queue.server.ready_after.as_secs_f64(),
        memory(&queue)?,
        queue.disk()?.describe()
    );
    Ok(())
}

/// Accepts all events while there is no app, in parts.
fn fill(mut queue: Queue, events: usize) -> Result<Queue, Box<dyn Error>> {
    let watch = Watch::over(queue.server.pid())?;
    let mut rates = Vec::new();
    for _ in 0..WINDOWS {
        rates.push(queue.accept(SENDERS.min(events), Until::Rounds(events / WINDOWS))?.rate());
    }
    println!(
        "filled at {}/s at the start, {} in the middle, {} at the end; {}; {}",
        grouped(rates[0]),
        grouped(rates[WINDOWS / 2]),
        grouped(rates[WINDOWS - 1]),
        watch.end(),
        memory(&queue)?
    );
    println!("full: {}", queue.disk()?.describe());
    holds(&queue, events)?;
    Ok(queue)
}

fn holds(queue: &Queue, events: usize) -> Result<(), Box<dyn Error>> {
    let waiting = queue.waiting()?;
    let whole = waiting == events as u64 && queue.keys.taken() == waiting;
    if whole { Ok(()) } else { Err(format!("of {events} accepted events {waiting} wait").into()) }
}

/// Lets the app come, and waits until it has all of them and the disk has its space back.
fn empty(queue: &Queue, address: &Address, events: usize) -> Result<(), Box<dyn Error>> {
    let (watch, app) = (Watch::over(queue.server.pid())?, App::appear(address)?);
    let series = queue.drain(&app)?;
    let (events, tenth) = (events as u64, (events / WINDOWS) as u64);
    let (first, last) = (rate(&series, 0, tenth), rate(&series, events - tenth, events));
    let of_it = first.zip(last).map(|(first, last)| format!("{:.2}", last / first));
    let told = |rate: Option<f64>| rate.map_or_else(|| "?".to_owned(), grouped);
    println!(
        "drained at {}/s; the first tenth at {}/s, the last at {}/s: {} of it, aim {AIM}; {}; {}",
        told(rate(&series, 0, events)),
        told(first),
        told(last),
        of_it.unwrap_or_else(|| "?".to_owned()),
        watch.end(),
        memory(queue)?
    );
    println!("gone: {}", queue.disk()?.describe());
    let (begun, mut least) = (Instant::now(), queue.disk()?);
    let mut after = Duration::ZERO;
    while begun.elapsed() < SETTLING.min(series.last().map_or(SETTLING, |(took, _)| *took * 2)) {
        thread::sleep(SAMPLE);
        let now = queue.disk()?;
        if now.total < least.total {
            (least, after) = (now, begun.elapsed());
        }
    }
    println!("at its least {:.1} s later: {}", after.as_secs_f64(), least.describe());
    Ok(())
}

fn memory(queue: &Queue) -> Result<String, Box<dyn Error>> {
    let pid = queue.server.pid();
    Ok(format!("memory {} now, {} at most so far", bytes(resident_bytes(pid)?), bytes(peak_bytes(pid)?)))
}

/// Looks at a process's memory until it is told to stop.
struct Watch {
    most: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    fn over(pid: u32) -> std::io::Result<Self> {
        let (most, over) = (Arc::new(AtomicU64::new(resident_bytes(pid)?)), Arc::new(AtomicBool::new(false)));
        let (seen, told) = (Arc::clone(&most), Arc::clone(&over));
        let thread = thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                // A process that has ended has no more to say.
                seen.fetch_max(resident_bytes(pid).unwrap_or(0), Ordering::Relaxed);
                thread::sleep(SAMPLE);
            }
        });
        Ok(Self { most, over, thread })
    }

    fn end(self) -> String {
        self.over.store(true, Ordering::Relaxed);
        // A panic of it has been printed.
        let _panicked = self.thread.join();
        format!("meanwhile at most {}", bytes(self.most.load(Ordering::Relaxed)))
    }
}
