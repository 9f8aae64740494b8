//! onced against Redis, as claim stores: how many keys a second each claims, durably, for one and for many clients, and
//! what a million live claims cost onced in memory, disk and start-up.
//!
//! The rival is what people write by hand: `SET key value NX EX 120` with an append-only file. `appendfsync always` meets
//! `sync = "always"`, where an answer says that the claim is on the disk, and `everysec` meets `"interval"`. One load
//! generator asks both, over TCP on loopback, for the same keys with the same lifetime. Both servers run all the time,
//! one is under load, and they take turns, so that the ratio of two neighbouring runs is worth more than either figure.
//!
//!     cargo bench --bench versus_redis -- --quick
//!
//! Without `--bench`, which `cargo bench` passes, or with `--test`, it is a short test that every request is answered as
//! it should be. Data go to a temporary directory below `target/tmp`, or `--dir`, and are removed. Expiry is not measured:
//! no row lasts as long as a claim.

mod duel;
mod footprint;
#[path = "../measure/mod.rs"]
mod measure;
mod onced;
mod redis;
mod report;

use std::{error::Error, num::NonZeroUsize, path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;

use duel::{Duel, Plan};
use measure::load::{Round, Until};
use measure::machine::Machine;
use measure::server::{self, Durability};

/// How long both rivals hold a claim.
const CLAIM_TTL_S: u32 = 120;
/// How long both remember a finished key: onced's default.
const CONFIRMED_TTL_S: u32 = 7 * 24 * 60 * 60;
/// Load before the measured time, for caches, branch predictors and the servers' growing buffers.
const WARM_UP: Duration = Duration::from_millis(300);
/// Keys in one request of a batch row.
const BATCH: usize = 100;
/// What the short test asks for.
const SMOKE_ROUNDS: usize = 200;
const SMOKE_CONNECTIONS: usize = 4;
const SMOKE_CLAIMS: usize = 1_000;

/// Measures onced against Redis.
#[derive(Parser)]
struct Options {
    /// Three runs of a second instead of five of three
    #[arg(long)]
    quick: bool,
    /// Also claim and confirm, against SET NX and SET
    #[arg(long)]
    pairs: bool,
    /// Also claims by the hundred, against a pipeline
    #[arg(long)]
    batch: bool,
    /// Over Unix sockets instead of TCP
    #[arg(long)]
    unix: bool,
    /// Numbers of connections
    #[arg(long, value_delimiter = ',', default_value = "1,64,256")]
    connections: Vec<NonZeroUsize>,
    /// Live claims for the figures of memory and start; 0 leaves them out
    #[arg(long, default_value_t = 1_000_000)]
    claims: usize,
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
    let directory = options.dir.display();
    let machine = Machine::look(&options.dir).map_err(|error| format!("looking at {directory}: {error}"))?;
    if machine.never_syncs() {
        return Err(format!("{directory} is in memory, where nothing is ever synced; name a disk with --dir").into());
    }
    println!("{}", machine.describe(&options.dir));
    let redis = print_rivals();
    let (runs, seconds) = if options.quick { (3, 1) } else { (5, 3) };
    let measured = Duration::from_secs(seconds);
    println!("{runs} runs of {seconds} s each, by turns, over {}\n", if options.unix { "Unix sockets" } else { "TCP" });
    let until = Until::Elapsed { warm_up: WARM_UP, measured };
    let plan = Plan { directory: options.dir.clone(), unix: options.unix, runs, until, redis };

    duels(&plan, &options.rows())?;
    if options.claims > 0 {
        footprint::measure(&plan, options.claims)?;
    }
    Ok(())
}

/// Asks each question a few times and measures nothing: the bench itself still works.
fn smoke() -> Result<(), Box<dyn Error>> {
    let redis = print_rivals();
    let connections = SMOKE_CONNECTIONS;
    let rows = [
        (Round::Claim, Durability::Always),
        (Round::Claim, Durability::Interval),
        (Round::Pair, Durability::Always),
        (Round::Batch(BATCH), Durability::Always),
    ];
    let rows = rows.map(|(round, durability)| Duel { round, durability, connections });
    for unix in [false, true] {
        let until = Until::Rounds(SMOKE_ROUNDS);
        let plan = Plan { directory: env!("CARGO_TARGET_TMPDIR").into(), unix, runs: 1, until, redis };
        duels(&plan, &rows)?;
        footprint::measure(&plan, SMOKE_CLAIMS)?;
    }
    Ok(())
}

/// Prints who is measured; says whether Redis is.
fn print_rivals() -> bool {
    let onced = env!("CARGO_PKG_VERSION");
    let redis = server::redis_version();
    match &redis {
        Some(redis) => println!("onced {onced} · redis {redis}, appendonly yes, save \"\""),
        None => println!("onced {onced} alone: there is no redis-server on the PATH to compare it with."),
    }
    redis.is_some()
}

impl Options {
    fn rows(&self) -> Vec<Duel> {
        let rounds = [(Round::Claim, true), (Round::Pair, self.pairs), (Round::Batch(BATCH), self.batch)];
        let mut rows = Vec::new();
        for (round, _) in rounds.into_iter().filter(|(_, wanted)| *wanted) {
            for durability in [Durability::Always, Durability::Interval] {
                let connections = self.connections.iter().map(|connections| connections.get());
                rows.extend(connections.map(|connections| Duel { round, durability, connections }));
            }
        }
        rows
    }
}

/// Runs and prints every row, and fails at the end if any key was refused.
fn duels(plan: &Plan, rows: &[Duel]) -> Result<(), Box<dyn Error>> {
    report::print_head();
    let mut refused = 0;
    for duel in rows {
        let (onced, redis) = duel.run(plan)?;
        report::print_row(*duel, &onced, redis.as_ref());
        refused += onced.refused + redis.map_or(0, |redis| redis.refused);
    }
    if refused == 0 { Ok(()) } else { Err(format!("{refused} keys were refused").into()) }
}
