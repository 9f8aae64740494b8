//! The wall clock is stepped by a year and back: nobody is let in early, nothing is forgotten, nothing is put off.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::{Client, token};
use crate::harness::{Daemon, House, eventually};
use crate::tools;

const TTL_MS: u64 = 5_000;

/// A house with a wall clock of its own.
fn house() -> Option<House> {
    let library = tools::libfaketime()?;
    let mut house = House::new();
    house.environment = vec![
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME_TIMESTAMP_FILE", house.beside("wall").display().to_string()),
        ("FAKETIME_NO_CACHE", "1".into()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
    ];
    step(&house, "+0");
    Some(house)
}

/// Sets the wall clock to so much beside the real one.
fn step(house: &House, by: &str) {
    let beside = house.beside("wall.new");
    fs::write(&beside, format!("{by}\n")).unwrap();
    fs::rename(beside, house.beside("wall")).unwrap();
}

/// Days by which the daemon's wall clock is off, as it shows in its log.
fn days_off(daemon: &Daemon) -> i64 {
    let last = daemon.log.lines().last().unwrap().clone();
    let last: Value = serde_json::from_str(&last).unwrap();
    let shown = humantime::parse_rfc3339(last["timestamp"].as_str().unwrap()).unwrap();
    let (now, day) = (std::time::SystemTime::now(), 86_400.0);
    let off = match shown.duration_since(now) {
        Ok(ahead) => ahead.as_secs_f64() / day,
        Err(behind) => -behind.duration().as_secs_f64() / day,
    };
    off.round() as i64
}

/// The key is held by somebody else, for what is left of its real time.
fn held(client: &mut Client, since: Instant) {
    let answer = client.claim("a", "held", &token(2), "1h");
    let left_ms = TTL_MS - u64::try_from(since.elapsed().as_millis()).unwrap();
    assert_eq!(answer.outcome(), "in_progress", "{}", answer.text);
    assert!(answer.number("retry_after_ms").abs_diff(left_ms) < 300, "{left_ms} {}", answer.text);
    let after: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=TTL_MS / 1_000).contains(&after), "{after}");
    assert_eq!(client.claim("a", "done", &token(2), "1h").outcome(), "done");
}

fn prepare(client: &mut Client) -> Instant {
    assert_eq!(client.claim("a", "done", &token(1), "1h").status, 201);
    assert_eq!(client.confirm("a", "done").status, 200);
    let since = Instant::now();
    assert_eq!(client.claim("a", "held", &token(1), &format!("{TTL_MS}ms")).status, 201);
    since
}

/// It can be had once its real time is over, and not long after.
fn expires(client: &mut Client, since: Instant) {
    let left = Duration::from_millis(TTL_MS).saturating_sub(since.elapsed());
    thread::sleep(left.saturating_sub(Duration::from_millis(200)));
    assert_eq!(client.claim("a", "held", &token(2), "1h").outcome(), "in_progress");
    thread::sleep(Duration::from_millis(350));
    let answer = client.claim("a", "held", &token(2), "1h");
    assert_eq!(answer.outcome(), "claimed", "{}", answer.text);
    assert_eq!(answer.text_of("previous"), "expired");
    assert_eq!(client.claim("a", "done", &token(2), "1h").outcome(), "done");
}

#[test]
fn a_wall_clock_that_is_stepped_while_the_daemon_runs_changes_nothing_but_is_told() {
    let Some(house) = house() else { return };
    let daemon = house.start();
    let mut client = daemon.client();
    let since = prepare(&mut client);
    for (by, days) in [("+365d", 365), ("-1d", -1)] {
        let lines = daemon.log.lines().len();
        step(&house, by);
        eventually(Duration::from_secs(4), "the step is told", || {
            held(&mut client, since);
            daemon.log.lines()[lines..].iter().any(|line| line.contains("the wall clock was stepped"))
        });
        assert_eq!(days_off(&daemon), days, "the wall clock is really faked");
    }
    expires(&mut client, since);
}

#[test]
fn a_wall_clock_that_is_stepped_while_the_daemon_is_down_changes_nothing_but_is_told() {
    let Some(house) = house() else { return };
    let daemon = house.start();
    let since = prepare(&mut daemon.client());
    daemon.kill();
    for (by, days) in [("+365d", 365), ("-1d", -1)] {
        step(&house, by);
        let daemon = house.start();
        held(&mut daemon.client(), since);
        assert_eq!(days_off(&daemon), days, "the wall clock is really faked");
        let told = daemon.log.entry("the wall clock was stepped while the daemon was down");
        let step_ms = told.unwrap_or_else(|| panic!("{:#?}", daemon.log.lines()))["step_ms"].as_i64().unwrap();
        assert!(step_ms.abs() > 86_000_000, "{step_ms}");
        daemon.stop();
    }
    expires(&mut house.start().client(), since);
}
