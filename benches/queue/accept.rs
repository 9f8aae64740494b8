//! Acknowledged events a second, beside nginx as a plain proxy.

use std::{error::Error, path::Path, time::Duration};

use tempfile::TempDir;

use crate::{
    fresh,
    measure::{
        address::Address,
        app::App,
        event::{Events, Grant},
        histogram::Histogram,
        keys::Keys,
        load::{Load, Round, Tally, Until},
        machine::cpu_time,
        server::{self, Server},
        text::{Spread, grouped, latencies},
    },
    queue::{Queue, draining},
};

/// What a queue ought to reach of nginx's rate, by connections.
const AIMS: [(usize, f64); 2] = [(64, 0.4), (256, 0.5)];

/// All rivals under one number of connections.
pub(crate) struct Duel {
    connections: usize,
    /// Acceptance alone: there is no app, and its breaker soon holds everything back.
    alone: Queue,
    /// An app takes what is accepted while more comes.
    live: Queue,
    app: App,
    nginx: Option<Nginx>,
    _nobody: Address,
}

/// nginx as a plain proxy of the same requests to such an app.
struct Nginx {
    server: Server,
    app: App,
    keys: Keys,
    _directory: TempDir,
}

/// What was measured of a rival.
struct Measured {
    rates: Vec<f64>,
    latencies: Histogram,
    cpu: Duration,
    events: u64,
}

impl Duel {
    pub(crate) fn new(place: &Path, connections: usize) -> Result<Self, Box<dyn Error>> {
        let (nobody, app) = (Address::reserve()?, App::start(None)?);
        let alone = Queue::start(place, nobody.address, "")?;
        let live = Queue::start(place, app.address, &draining("failures"))?;
        let nginx = match server::nginx_version() {
            None => None,
            Some(_) => Some(Nginx::start(place)?),
        };
        Ok(Self { connections, alone, live, app, nginx, _nobody: nobody })
    }

    /// Measures by turns, and prints.
    pub(crate) fn run(mut self, runs: usize, until: Until) -> Result<(), Box<dyn Error>> {
        let (mut alone, mut live, mut nginx) = (Measured::new(), Measured::new(), Measured::new());
        let mut behind = Vec::new();
        for _ in 0..runs {
            alone.add(self.alone.server.pid(), || self.alone.accept(self.connections, until))?;
            live.add(self.live.server.pid(), || self.live.accept(self.connections, until))?;
            // What is still to be handed over is no load of the next rival's.
            behind.push((self.live.keys.taken() - self.app.counts().distinct()) as f64);
            self.live.drain(&self.app)?;
            if let Some(rival) = &mut self.nginx {
                nginx.add(rival.server.pid(), || rival.proxy(self.connections, until))?;
            }
        }
        let waiting = self.alone.waiting()?;
        if waiting != self.alone.keys.taken() {
            return Err(format!("{} events were accepted, {waiting} wait", self.alone.keys.taken()).into());
        }
        let rival = nginx.rates.clone();
        alone.print(self.connections, "queue, no app", &rival);
        live.print(self.connections, "queue, live app", &rival);
        if self.nginx.is_some() {
            nginx.print(self.connections, "nginx", &[]);
        }
        println!(
            "        (with the live app {} events were yet to be handed over when the load ended)",
            Spread::of(behind).rates()
        );
        Ok(())
    }
}

impl Nginx {
    fn start(place: &Path) -> Result<Self, Box<dyn Error>> {
        let (app, directory) = (App::start(None)?, fresh(place)?);
        let server = Server::nginx(directory.path(), app.address)?;
        Ok(Self { server, app, keys: Keys::new(), _directory: directory })
    }

    fn proxy(&mut self, connections: usize, until: Until) -> Result<Tally, Box<dyn Error>> {
        let dialect = Events::new(&self.server.address.to_string(), Grant::Handled);
        let target = &self.server.target(false);
        let tally = Load { target, dialect: &dialect, round: Round::Claim, connections, until }.run(&mut self.keys)?;
        if let Some(refusal) = &tally.first_refusal {
            return Err(format!("nginx refused {} events, first by: {refusal}", tally.refused).into());
        }
        let (sent, had) = (self.keys.taken(), self.app.counts().distinct());
        if sent == had {
            Ok(tally)
        } else {
            Err(format!("nginx: {sent} events were answered, the app had {had}").into())
        }
    }
}

impl Measured {
    fn new() -> Self {
        Self { rates: Vec::new(), latencies: Histogram::new(), cpu: Duration::ZERO, events: 0 }
    }

    /// One run, by the process of this id.
    fn add(&mut self, pid: u32, run: impl FnOnce() -> Result<Tally, Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
        let before = cpu_time(pid)?;
        let tally = run()?;
        self.cpu += cpu_time(pid)?.saturating_sub(before);
        self.events += tally.granted;
        self.rates.push(tally.rate());
        self.latencies.merge(&tally.latencies);
        Ok(())
    }

    /// The ratio is that to nginx, run by run.
    fn print(&self, connections: usize, name: &str, rival: &[f64]) {
        let aim = AIMS.iter().find(|(aimed_at, _)| *aimed_at == connections);
        let ratios: Vec<_> = self.rates.iter().zip(rival).map(|(rate, rival)| rate / rival).collect();
        let (ratio, aim) = match (ratios.is_empty(), aim) {
            (true, _) => (String::new(), String::new()),
            (false, aim) => {
                (Spread::of(ratios).ratios(), aim.map(|(_, ratio)| format!("{ratio:.1}")).unwrap_or_default())
            }
        };
        println!(
            "| {connections:>5} | {name:<15} | {:<28} | {ratio:<18} | {aim:<4} | {:<15} | {:>9.1} µs | {:>9} |",
            Spread::of(self.rates.clone()).rates(),
            latencies(&self.latencies),
            self.cpu.as_secs_f64() * 1e6 / self.events.max(1) as f64,
            grouped(self.events as f64),
        );
    }
}

pub(crate) fn print_head() {
    println!(
        "| conns | rival           | events/s [min–max]           | of nginx's         | aim  | p50, p99        | cpu an event | events    |"
    );
    println!("|--:|---|---|---|---|---|--:|--:|");
}
