//! Killed under load, again and again: what was answered holds.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Answer, Client, token};
use crate::harness::{Daemon, House};

const CLIENTS: u64 = 4;
/// Short enough that many claims expire while the daemon is down.
const TTLS_MS: std::ops::Range<u64> = 300..2_500;
/// What the contract says, and what its clock and ours are rounded by.
const ACCURACY_MS: u64 = 50 + 2;

/// What the answers say of a key. A command without an answer may or may not have landed.
#[derive(Debug, Clone, PartialEq)]
enum Known {
    /// It expires between these two: the answer was written after the first was asked for, and before the second was read.
    Held {
        token: String,
        fence: u64,
        expires: (Instant, Instant),
        expires_at: String,
    },
    Free,
    Done,
}

/// What is known of a key, and since when; with the command that was under way.
#[derive(Debug, Clone)]
struct Entry {
    known: Option<Known>,
    since: Instant,
    unanswered: bool,
}

type Oracle = HashMap<String, Entry>;

/// Works on keys of its own until the daemon is gone; what it was told.
fn work(address: &str, name: &str, seed: u64, killed: &AtomicBool) -> Oracle {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut oracle = Oracle::new();
    let Ok(mut client) = Client::connect(address) else {
        return oracle;
    };
    for number in 0.. {
        // Mostly fresh keys, now and then one from before.
        let fresh = number == 0 || random.u8(..) < 180;
        let key = format!("{name}-{}", if fresh { number } else { random.u64(0..number) });
        if let Err(error) = step(&mut client, &mut oracle, &mut random, &key) {
            assert!(killed.load(Ordering::SeqCst), "{error} before the kill");
            break;
        }
    }
    oracle
}

/// One claim and perhaps its end.
fn step(client: &mut Client, oracle: &mut Oracle, random: &mut fastrand::Rng, key: &str) -> io::Result<()> {
    let (mine, ttl_ms) = (token(random.u64(..)), random.u64(TTLS_MS));
    let command = json!({"namespace": "a", "key": key, "token": mine, "processing_ttl": format!("{ttl_ms}ms")});
    let asked = Instant::now();
    let answer = ask(client, oracle, "claim", key, &command)?;
    let answered = Instant::now();
    if answer.status != 201 {
        assert!([200, 409].contains(&answer.status), "{}", answer.text);
        return Ok(());
    }
    assert!(!answer.is_degraded(), "{}", answer.text);
    let left = Duration::from_millis(answer.number("expires_in_ms"));
    let held = Known::Held {
        token: mine.clone(),
        fence: answer.number("fence"),
        expires: (asked + left, answered + left),
        expires_at: answer.text_of("expires_at"),
    };
    learn(oracle, key, held);
    match random.u8(..10) {
        0..4 => {
            let command = json!({"namespace": "a", "key": key, "token": mine, "confirmed_ttl": "1h"});
            let answer = ask(client, oracle, "confirm", key, &command)?;
            assert_eq!(answer.outcome(), "confirmed");
            learn(oracle, key, Known::Done);
        }
        4..6 => {
            let command = json!({"namespace": "a", "key": key, "token": mine});
            let answer = ask(client, oracle, "release", key, &command)?;
            if answer.outcome() == "released" {
                learn(oracle, key, Known::Free);
            }
        }
        _ => {}
    }
    Ok(())
}

fn ask(client: &mut Client, oracle: &mut Oracle, verb: &str, key: &str, command: &Value) -> io::Result<Answer> {
    let entry = oracle.entry(key.to_owned()).or_insert(Entry { known: None, since: Instant::now(), unanswered: false });
    entry.unanswered = true;
    let answer = client.post(verb, command)?;
    entry.unanswered = false;
    Ok(answer)
}

fn learn(oracle: &mut Oracle, key: &str, known: Known) {
    let entry = oracle.get_mut(key).unwrap();
    (entry.known, entry.since) = (Some(known), Instant::now());
}

/// Loads the daemon and kills it at a random moment; what the clients were told, and when it was killed.
fn load_and_kill(daemon: Daemon, round: u64, random: &mut fastrand::Rng, at_least: Duration) -> (Oracle, Instant) {
    let killed = AtomicBool::new(false);
    let address = daemon.address.clone();
    let life = at_least + Duration::from_millis(random.u64(20..400));
    let seeds: Vec<u64> = (0..CLIENTS).map(|_| random.u64(..)).collect();
    thread::scope(|scope| {
        let (killed, address) = (&killed, &address);
        let threads: Vec<_> = (0..CLIENTS)
            .zip(seeds)
            .map(|(client, seed)| scope.spawn(move || work(address, &format!("{round}-{client}"), seed, killed)))
            .collect();
        thread::sleep(life);
        killed.store(true, Ordering::SeqCst);
        let at = Instant::now();
        daemon.kill();
        let told = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        (told, at)
    })
}

/// Asks after everything that was told: first as somebody else, then as the holder. The highest fence that was told.
fn verify(client: &mut Client, told: &Oracle) -> u64 {
    let keys: Vec<&String> = told.keys().filter(|key| !told[*key].unanswered).collect();
    let reads: Vec<_> = keys
        .iter()
        .map(|key| json!({"command": "claim", "namespace": "a", "key": key, "token": token(7), "processing_ttl": "300ms"}))
        .collect();
    // Small batches: the time that is left is measured by each.
    let answers = reads.chunks(100).flat_map(|reads| {
        let before = Instant::now();
        let answers = client.batch(reads);
        let after = Instant::now();
        answers.into_iter().map(move |answer| (before, after, answer)).collect::<Vec<_>>()
    });
    let answers: Vec<_> = answers.collect();
    let mut fence = 0;
    let mut retries = Vec::new();
    for (key, (before, after, answer)) in keys.iter().zip(answers) {
        let (status, body) = (answer["status"].as_u64().unwrap(), &answer["body"]);
        let body = if body.is_null() { &answer } else { body };
        match told[*key].known.as_ref() {
            Some(Known::Done) => assert_eq!(status, 200, "{key} was confirmed: {answer}"),
            Some(Known::Held { token, fence: own, expires, expires_at }) => {
                fence = fence.max(*own);
                let left_ms =
                    |at: Instant, then| u64::try_from(at.saturating_duration_since(then).as_millis()).unwrap();
                let (least_ms, most_ms) = (left_ms(expires.0, after), left_ms(expires.1, before));
                if status == 409 {
                    let found_ms = body["expires_in_ms"].as_u64().unwrap();
                    assert!(found_ms <= most_ms + ACCURACY_MS, "{key} {most_ms} {answer}");
                    assert!(found_ms + ACCURACY_MS >= least_ms, "{key} {least_ms} {answer}");
                    if found_ms > 1_000 {
                        retries.push((key, token, expires_at, *own));
                    }
                } else {
                    assert_eq!(status, 201, "{key}: {answer}");
                    assert!(least_ms <= ACCURACY_MS, "{key} is held for another {least_ms} ms: {answer}");
                }
            }
            Some(Known::Free) | None => {}
        }
    }
    for (key, token, expires_at, own) in retries {
        let again = client.claim("a", key, token, "1s");
        assert_eq!(again.status, 201, "{key}: {}", again.text);
        assert_eq!(again.get("repeated"), json!(true), "{key}: {}", again.text);
        assert_eq!(again.number("fence"), own);
        let (then, now) = (millis(expires_at), millis(&again.text_of("expires_at")));
        assert!(then.abs_diff(now) <= u128::from(ACCURACY_MS), "{key}: {then} {now}");
    }
    fence
}

fn millis(rfc3339: &str) -> u128 {
    let time = humantime::parse_rfc3339(rfc3339).unwrap();
    time.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()
}

/// Once the longest lifetime is over every key can be had, or is done.
fn nothing_is_stuck(client: &mut Client, all: &Oracle) {
    thread::sleep(Duration::from_millis(TTLS_MS.end));
    let claims: Vec<_> = all
        .keys()
        .map(|key| json!({"command": "claim", "namespace": "a", "key": key, "processing_ttl": "1s"}))
        .collect();
    let answers = client.batch(&claims);
    for (entry, answer) in all.values().zip(answers) {
        let status = answer["status"].as_u64().unwrap();
        match &entry.known {
            Some(Known::Done) => assert_eq!(status, 200, "{answer}"),
            _ => assert!(status == 201 || status == 200 && entry.unanswered, "{entry:?} {answer}"),
        }
    }
}

/// The seed of a run, printed, so that it can be set again.
pub(crate) fn seed() -> u64 {
    let seed = std::env::var("ONCED_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("ONCED_SEED={seed}");
    seed
}

#[test]
fn what_was_answered_holds_over_fifty_kills_under_load() {
    let mut random = fastrand::Rng::with_seed(seed());
    let house = House::new();
    let mut all = Oracle::new();
    let mut highest_fence = 0;
    for round in 0..50 {
        let daemon = house.start();
        let first = daemon.client().claim("a", &format!("first-{round}"), &token(round), "300ms");
        assert!(first.number("fence") > highest_fence, "fences rise over kills");
        let (told, _) = load_and_kill(daemon, round, &mut random, Duration::ZERO);
        assert!(!told.is_empty(), "the clients did work");
        let daemon = house.start();
        let mut client = daemon.client();
        highest_fence = verify(&mut client, &told).max(highest_fence);
        all.extend(told);
        daemon.kill();
    }
    assert!(all.len() > 500, "{} keys", all.len());
    let done = all.values().filter(|entry| entry.known == Some(Known::Done)).count();
    assert!(done > 100, "{done} confirmed");
    nothing_is_stuck(&mut house.start().client(), &all);
}

/// sled keeps what is not synced in buffers of the process, so a kill takes it too: a second, and the sync itself.
#[test]
fn with_sync_by_interval_a_kill_takes_the_last_second_and_no_more() {
    const AT_RISK: Duration = Duration::from_millis(1_500);
    let mut random = fastrand::Rng::with_seed(seed());
    let mut house = House::new();
    house.settings = "sync = \"interval\"".into();
    let mut highest_fence = 0;
    for round in 0..5 {
        let (told, killed) = load_and_kill(house.start(), round, &mut random, AT_RISK * 2);
        let safe: Oracle = told.into_iter().filter(|(_, entry)| killed - entry.since > AT_RISK).collect();
        assert!(safe.len() > 50, "{} keys were safe", safe.len());
        let daemon = house.start();
        let mut client = daemon.client();
        let first = client.claim("a", &format!("first-{round}"), &token(round), "300ms");
        assert!(first.number("fence") > highest_fence, "fences rise over kills");
        highest_fence = verify(&mut client, &safe).max(highest_fence);
        daemon.kill();
    }
}

/// After a kill the numbers go on far above those in the database. The mark once spoke of the new number before any
/// commit had carried it, so a daemon that was killed, started, left idle for a second and killed again refused to start:
/// the store seemed to have lost its tail. So did one that was stopped in order.
#[test]
fn an_idle_daemon_can_be_killed_and_stopped_as_often_as_one_likes() {
    let house = House::new();
    let daemon = house.start();
    assert_eq!(daemon.client().claim("a", "k", &token(1), "1h").status, 201);
    daemon.kill();
    for stop in [false, true, false, false, true, true] {
        let daemon = house.start();
        let mut client = daemon.client();
        assert_eq!(client.claim("a", "k", &token(2), "1h").outcome(), "in_progress");
        // Longer than the mark's period, twice.
        thread::sleep(Duration::from_millis(2_300));
        if stop { daemon.stop() } else { daemon.kill() }
    }
    house.start();
}

/// With `sync = "interval"` a kill takes the numbers of the last second along. Each start after a kill counted from the
/// last synced number plus the same jump, so the second start gave out what the first had given out already.
#[test]
fn a_fence_never_comes_twice_though_no_claim_was_ever_synced() {
    let mut house = House::new();
    house.settings = "sync = \"interval\"".into();
    let mut highest = 0;
    for round in 0..4 {
        let daemon = house.start();
        let fence = daemon.client().claim("a", &format!("k-{round}"), &token(round), "1h").number("fence");
        daemon.kill();
        assert!(fence > highest, "{fence} after {highest}");
        highest = fence;
    }
}

/// A stop in order needs no jump: the numbers go on with the next one.
#[test]
fn numbers_go_on_without_a_gap_over_a_stop_in_order() {
    let house = House::new();
    let daemon = house.start();
    let first = daemon.client().claim("a", "one", &token(1), "1h").number("fence");
    daemon.stop();
    let daemon = house.start();
    let second = daemon.client().claim("a", "two", &token(2), "1h").number("fence");
    assert_eq!(second, first + 1);
}
