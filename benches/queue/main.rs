//! The queue: how many signed events of 2 KiB a second it acknowledges, how fast it hands over what it has, and what a backlog
//! of a million costs in memory, disk and time.
//!
//! An acknowledged event is verified, and on the disk, synced, with its claim. Beside it stands nginx as a plain proxy of the
//! same request to the same app in the same run, by turns: it looks at nothing and keeps nothing, so the ratio says what the
//! safety costs.
//!
//!     cargo bench --bench queue -- --quick
//!
//! The backlog's size is set by `ONCED_BACKLOG`. Without `--bench`, which `cargo bench` passes, or with `--test`, it is a
//! short test that each event is acknowledged and handed over once.

mod accept;
mod backlog;
mod drain;
#[path = "../measure/mod.rs"]
mod measure;
mod queue;

use std::{env, error::Error, num::NonZeroUsize, path::Path, path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use tempfile::TempDir;

use accept::Duel;
use measure::{keys, load::Until, machine::Machine, server};

/// Load before the measured time.
const WARM_UP: Duration = Duration::from_millis(500);
/// Events that the drain is measured with.
const DRAINED: usize = 100_000;
/// Events of the backlog, unless the environment says otherwise.
const BACKLOG: usize = 1_000_000;
const BACKLOG_VARIABLE: &str = "ONCED_BACKLOG";
/// What the short test asks for.
const SMOKE_EVENTS: usize = 200;
const SMOKE_CONNECTIONS: usize = 4;

/// Measures onced's queue.
#[derive(Parser)]
struct Options {
    /// Three runs of a second instead of five of three, and a tenth of the events
    #[arg(long)]
    quick: bool,
    /// Numbers of connections
    #[arg(long, value_delimiter = ',', default_value = "1,64,256")]
    connections: Vec<NonZeroUsize>,
    /// What to measure
    #[arg(long, value_delimiter = ',', default_value = "accept,drain,backlog")]
    parts: Vec<Part>,
    /// Where data directories are made
    #[arg(long, default_value = env!("CARGO_TARGET_TMPDIR"))]
    dir: PathBuf,
    /// Passed by cargo bench
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Accept,
    Drain,
    Backlog,
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
    print_durability();
    let (runs, seconds, share) = if options.quick { (3, 1, 10) } else { (5, 3, 1) };
    let wants = |part| options.parts.contains(&part);
    if wants(Part::Accept) {
        let until = Until::Elapsed { warm_up: WARM_UP, measured: Duration::from_secs(seconds) };
        println!("\nAccepting: {runs} runs of {seconds} s each, by turns");
        accept::print_head();
        for connections in &options.connections {
            Duel::new(&options.dir, connections.get())?.run(runs, until)?;
        }
    }
    if wants(Part::Drain) {
        drain::measure(&options.dir, DRAINED / share, runs)?;
    }
    if wants(Part::Backlog) {
        let told = env::var(BACKLOG_VARIABLE).ok().map(|text| text.parse()).transpose()?;
        backlog::measure(&options.dir, told.unwrap_or(BACKLOG / share))?;
    }
    Ok(())
}

/// Puts a few events through all of it and measures nothing: the bench itself still works.
fn smoke() -> Result<(), Box<dyn Error>> {
    let spread = (0..1_000).all(|number| keys::number(&keys::nth(number)) == Some(number));
    assert!(spread, "a key's number can be told from it");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    print_durability();
    accept::print_head();
    Duel::new(place, SMOKE_CONNECTIONS)?.run(1, Until::Rounds(SMOKE_EVENTS))?;
    drain::measure(place, SMOKE_EVENTS, 1)?;
    backlog::measure(place, 2 * SMOKE_EVENTS)
}

fn print_durability() {
    let (onced, nginx) = (env!("CARGO_PKG_VERSION"), server::nginx_version());
    println!("onced {onced} · nginx {}", nginx.unwrap_or_else(|| "(not here)".to_owned()));
    println!("events of 2 KiB, signed; an acknowledged one is on the disk, synced, with its claim (sync = \"always\")");
}

fn fresh(place: &Path) -> std::io::Result<TempDir> {
    tempfile::Builder::new().prefix("queue-").tempdir_in(place)
}
