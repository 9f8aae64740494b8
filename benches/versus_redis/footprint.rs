//! What many live claims cost onced in memory and on disk, and how soon it serves again after a stop and after a kill.

use std::{error::Error, path::Path};

use crate::{
    duel::{Plan, ttl},
    measure::keys::{Key, Keys, nth},
    measure::load::{Load, Round, Until},
    measure::machine::{disk_bytes, resident_bytes},
    measure::server::{Durability, Server},
    measure::text::{bytes, grouped},
    onced::{Onced, is_held},
};

const BATCH: usize = 1_000;
/// Enough to keep commits and parsing going side by side.
const CONNECTIONS: usize = 4;
/// Longer than the measurement takes, so that all claims stay live.
const TTL: &str = "6h";

/// Measures with `claims` live claims, rounded up to whole batches, and prints.
pub(crate) fn measure(plan: &Plan, claims: usize) -> Result<(), Box<dyn Error>> {
    let directory = plan.fresh_directory()?;
    let start = || Server::onced(directory.path(), Durability::Always, &ttl(TTL), "api");
    let server = start()?;
    let empty = resident_bytes(server.pid())?;
    let keys = load(&server, claims.div_ceil(BATCH))?;
    print_size(&server, directory.path(), keys.taken(), empty)?;

    server.stop()?;
    let server = start()?;
    print_start(&server, "SIGTERM", &keys)?;
    server.kill()?;
    let server = start()?;
    print_start(&server, "kill -9", &keys)?;
    server.stop()?;
    Ok(())
}

/// Claims fresh keys and returns them.
fn load(server: &Server, batches: usize) -> Result<Keys, Box<dyn Error>> {
    let mut keys = Keys::new();
    let dialect = Onced::new(server.address.to_string(), BATCH);
    let load = Load {
        target: &server.target(false),
        dialect: &dialect,
        round: Round::Batch(BATCH),
        connections: CONNECTIONS,
        until: Until::Rounds(batches),
    };
    let tally = load.run(&mut keys)?;
    if let Some(refusal) = tally.first_refusal {
        return Err(format!("{} claims were refused, first by {refusal}", tally.refused).into());
    }
    let (count, rate) = (grouped(keys.taken() as f64), grouped(tally.rate()));
    println!("\nonced with {count} live claims, sync = \"always\", claimed {rate} a second in batches of {BATCH}:");
    Ok(keys)
}

fn print_size(server: &Server, directory: &Path, claims: u64, empty: u64) -> Result<(), Box<dyn Error>> {
    let resident = resident_bytes(server.pid())?;
    let disk = disk_bytes(&directory.join("store"))?;
    let (memory_each, disk_each) = (resident.saturating_sub(empty) / claims, disk / claims);
    println!("  memory   {}, {memory_each} B a claim above the {} when empty", bytes(resident), bytes(empty));
    println!("  disk     {}, {disk_each} B a claim", bytes(disk));
    Ok(())
}

/// Prints how soon `server` was ready, once it is sure that it still holds the first, a middle and the last claim.
fn print_start(server: &Server, after: &str, keys: &Keys) -> Result<(), Box<dyn Error>> {
    let last = keys.taken() - 1;
    for key in [0, last / 2, last].map(nth) {
        check_held(server, &key, after)?;
    }
    let (ready, resident) = (server.ready_after.as_secs_f64(), bytes(resident_bytes(server.pid())?));
    println!(
        "  start    ready {ready:.2} s after a start that follows {after}, with {resident} of memory; claims still held"
    );
    Ok(())
}

fn check_held(server: &Server, key: &Key, after: &str) -> Result<(), Box<dyn Error>> {
    if is_held(server.address, key)? {
        return Ok(());
    }
    Err(format!("after {after} the claim of {} is lost", String::from_utf8_lossy(key)).into())
}
