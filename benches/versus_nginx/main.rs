//! onced against nginx, in front of the same app: how many signed events of 2 KiB a second each hands over, and how late
//! the answers come.
//!
//! onced verifies the signature, claims the event, hands it over, confirms it and answers when that is synced. nginx is a
//! plain proxy: it looks at nothing and keeps nothing, so the ratio says what all of that costs. The third row is what the
//! same safety costs without onced: nginx in front of an app that guards itself with Redis, `SET NX` before its work and
//! `SET` after it, `appendfsync always`, and checks no signature. One load generator, one machine, by turns.
//!
//!     cargo bench --bench versus_nginx -- --quick
//!
//! Without `--bench`, which `cargo bench` passes, or with `--test`, it is a short test that every event is answered as it
//! should be and reaches the app once. A rival that is not installed is left out with a word.

#[path = "../measure/mod.rs"]
mod measure;

use std::{env, error::Error, num::NonZeroUsize, path::Path, path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use tempfile::TempDir;

use measure::{
    app::App,
    event::{Events, Grant, SECRET},
    histogram::Histogram,
    keys::Keys,
    load::{Load, Round, Until},
    machine::{Machine, cpu_time},
    server::{self, Durability, Server},
    text::{Spread, latencies},
};

/// Load before the measured time.
const WARM_UP: Duration = Duration::from_millis(500);
/// What the short test asks for.
const SMOKE_ROUNDS: usize = 200;
const SMOKE_CONNECTIONS: usize = 4;

/// Measures onced against nginx.
#[derive(Parser)]
struct Options {
    /// Three runs of a second instead of five of three
    #[arg(long)]
    quick: bool,
    /// Numbers of connections
    #[arg(long, value_delimiter = ',', default_value = "1,64,256")]
    connections: Vec<NonZeroUsize>,
    /// Where data directories are made
    #[arg(long, default_value = env!("CARGO_TARGET_TMPDIR"))]
    dir: PathBuf,
    /// Passed by cargo bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    measure::run(|| bench(&Options::parse()), smoke)
}

/// Measures and prints.
fn bench(options: &Options) -> Result<(), Box<dyn Error>> {
    let machine = Machine::look(&options.dir)?;
    if machine.never_syncs() {
        return Err("the data directory is in memory, where nothing is ever synced; name a disk with --dir".into());
    }
    println!("{}", machine.describe(&options.dir));
    let (runs, seconds) = if options.quick { (3, 1) } else { (5, 3) };
    let until = Until::Elapsed { warm_up: WARM_UP, measured: Duration::from_secs(seconds) };
    println!("{runs} runs of {seconds} s each, by turns; events of 2 KiB, onced with sync = \"always\"\n");
    print_head();
    for connections in &options.connections {
        duel(&options.dir, connections.get(), runs, until)?;
    }
    Ok(())
}

/// Sends a few events and measures nothing: the bench itself still works.
fn smoke() -> Result<(), Box<dyn Error>> {
    print_head();
    duel(env!("CARGO_TARGET_TMPDIR").as_ref(), SMOKE_CONNECTIONS, 1, Until::Rounds(SMOKE_ROUNDS))
}

/// A proxy with the app behind it, and what was measured of them.
struct Rival {
    name: &'static str,
    // Stopped in this order: a proxy before its app, and a store after all who ask it.
    server: Server,
    app: App,
    _store: Option<Server>,
    _directory: TempDir,
    keys: Keys,
    answered: u64,
    rates: Vec<f64>,
    /// Processor time taken by the proxy, over all runs.
    cpu: Duration,
    latencies: Histogram,
}

impl Rival {
    fn new(name: &'static str, server: Server, app: App, store: Option<Server>, directory: TempDir) -> Self {
        let (keys, latencies) = (Keys::new(), Histogram::new());
        Self {
            name,
            server,
            app,
            _store: store,
            _directory: directory,
            keys,
            answered: 0,
            rates: Vec::new(),
            cpu: Duration::ZERO,
            latencies,
        }
    }

    fn onced(place: &Path) -> Result<Self, Box<dyn Error>> {
        let (app, directory) = (App::start(None)?, fresh(place)?);
        let more = format!(
            "[[route]]\nname = \"github\"\npath = \"/hooks/github\"\nprovider = \"github\"\n\
             secrets = [{{ file = {:?} }}]\nforward_to = \"http://{}/hooks/github\"\n",
            directory.path().join("secret"),
            app.address,
        );
        std::fs::write(directory.path().join("secret"), SECRET)?;
        let server = Server::onced(directory.path(), Durability::Always, &more, "hooks")?;
        Ok(Self::new("onced", server, app, None, directory))
    }

    fn nginx(name: &'static str, place: &Path, app: App, store: Option<Server>) -> Result<Self, Box<dyn Error>> {
        let directory = fresh(place)?;
        let server = Server::nginx(directory.path(), app.address)?;
        Ok(Self::new(name, server, app, store, directory))
    }

    fn run(&mut self, connections: usize, until: Until) -> Result<(), Box<dyn Error>> {
        let dialect = Events::new(&self.server.address.to_string(), Grant::Handled);
        let target = &self.server.target(false);
        let (before, cpu_before) = (self.keys.taken(), cpu_time(self.server.pid())?);
        let tally = Load { target, dialect: &dialect, round: Round::Claim, connections, until }.run(&mut self.keys)?;
        if let Some(refusal) = &tally.first_refusal {
            return Err(format!("{} refused {} events, first by: {refusal}", self.name, tally.refused).into());
        }
        self.answered += self.keys.taken() - before;
        let (handled, distinct) = (self.app.counts().all(), self.app.counts().distinct());
        if [handled, distinct] != [self.answered; 2] {
            let (name, answered) = (self.name, self.answered);
            return Err(
                format!("{name}: {answered} events were answered, {handled} handled, {distinct} of them once").into()
            );
        }
        self.cpu += cpu_time(self.server.pid())?.saturating_sub(cpu_before);
        self.rates.push(tally.rate());
        self.latencies.merge(&tally.latencies);
        Ok(())
    }
}

/// All rivals under the same load, by turns.
fn duel(place: &Path, connections: usize, runs: usize, until: Until) -> Result<(), Box<dyn Error>> {
    let mut rivals = vec![Rival::onced(place)?];
    if server::nginx_version().is_some() {
        rivals.push(Rival::nginx("nginx", place, App::start(None)?, None)?);
        if server::redis_version().is_some() {
            let directory = fresh(place)?;
            let redis = Server::redis(directory.path(), Durability::Always)?;
            let app = App::start(Some(redis.address))?;
            rivals.push(Rival::nginx("nginx + SET NX", place, app, Some(redis))?);
        } else {
            println!("skipped: there is no redis-server on the PATH");
        }
    } else {
        println!("skipped: there is no nginx on the PATH to compare with");
    }
    for _ in 0..runs {
        for rival in &mut rivals {
            rival.run(connections, until)?;
        }
    }
    let onced = rivals[0].rates.clone();
    rivals.iter().for_each(|rival| print_row(connections, rival, &onced));
    Ok(())
}

fn fresh(place: &Path) -> std::io::Result<TempDir> {
    tempfile::Builder::new().prefix("versus_nginx-").tempdir_in(place)
}

fn print_head() {
    let onced = env!("CARGO_PKG_VERSION");
    let version = |found: Option<String>| found.unwrap_or_else(|| "(not here)".to_owned());
    println!("onced {onced} · nginx {} · redis {}", version(server::nginx_version()), version(server::redis_version()));
    println!(
        "| conns | proxy          | events/s [min–max]           | onced to it        | p50, p99        | cpu an event |"
    );
    println!("|--:|---|---|---|---|--:|");
}

/// The ratio is that of onced to this rival, run by run.
fn print_row(connections: usize, rival: &Rival, onced: &[f64]) {
    let ratios = onced.iter().zip(&rival.rates).map(|(onced, rate)| onced / rate).collect();
    println!(
        "| {connections:>5} | {:<14} | {:<28} | {:<18} | {:<15} | {:>9.1} µs |",
        rival.name,
        Spread::of(rival.rates.clone()).rates(),
        Spread::of(ratios).ratios(),
        latencies(&rival.latencies),
        rival.cpu.as_secs_f64() * 1e6 / rival.answered.max(1) as f64,
    );
}
