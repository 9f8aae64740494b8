//! Many dead letters put back by one command, which a kill interrupts.

use std::collections::BTreeMap;
use std::thread;

use serde_json::Value;

use super::app::{App, Hit, Reply};
use super::event::Event;
use super::place::{PATIENCE, assert_recognisable, letters, queueing};
use crate::client::Client;
use crate::harness::{Daemon, eventually};

const LETTERS: usize = 1_000;
const CONCURRENCY: usize = 8;
const BODY: usize = 100;
/// The hand-overs after whose arrival the daemon is killed: one while most are yet to be put back, one amid them.
const KILLED_AT: [usize; 2] = [1, 400];

/// A replay of many was cut by a crash; begun again it sent to all who had had it, or never went on.
#[test]
fn a_redrive_of_a_thousand_goes_on_after_kills_and_sends_nothing_twice_that_was_recorded() {
    let app = App::new();
    app.does(|_| Reply::Status(500));
    app.appear();
    let delivery = format!("[route.delivery]\nconcurrency = {CONCURRENCY}\nmax_attempts = 1\n");
    let house = queueing(&app, &delivery);
    let mut daemon = house.start();
    daemon.accepts_many("e", LETTERS, BODY);
    eventually(PATIENCE, "all are dead letters", || count(&mut daemon.client()) == LETTERS as u64);
    assert_eq!((letters(&mut daemon.client()).len(), app.count()), (LETTERS, LETTERS));

    app.does(|_| Reply::Status(200));
    let mut client = daemon.client();
    // Whoever asks is told when the job is done, which this daemon does not live to see.
    let asked = thread::spawn(move || client.send("POST", "/v1/dead-letters/redrive", r#"{"route": "github"}"#));
    for at in KILLED_AT {
        app.until_count(LETTERS + at);
        daemon.kill();
        app.settle();
        daemon = house.start();
        println!("{} dead letters are left", count(&mut daemon.client()));
    }
    if let Ok(answer) = asked.join().unwrap() {
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    eventually(PATIENCE, "no dead letter is left", || count(&mut daemon.client()) == 0);
    daemon.until_empty();

    let hits = app.hits();
    let redriven = &hits[LETTERS..];
    let sent: BTreeMap<_, _> = (0..LETTERS)
        .map(|number| Event::new(format!("e-{number}"), BODY))
        .map(|event| (event.id.clone(), event.print()))
        .collect();
    assert_recognisable(&hits, &sent);
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    redriven.iter().for_each(|hit| *times.entry(&hit.event).or_default() += 1);
    assert_eq!(times.len(), LETTERS, "each was put back");
    let twice: Vec<_> = times.iter().filter(|(_, times)| **times > 1).map(|(event, _)| *event).collect();
    println!("{} of {LETTERS} were in the app's hands at one of {} kills", twice.len(), KILLED_AT.len());
    assert!(twice.len() <= CONCURRENCY * KILLED_AT.len(), "{twice:?}");
    assert_unknown(&mut daemon.client(), redriven, &twice);
    assert_eq!(audited(&daemon), 1, "one command, one entry");
}

/// An event that came twice says that nobody knows how the first time ended.
fn assert_unknown(client: &mut Client, redriven: &[Hit], twice: &[&str]) {
    for event in twice {
        let hit = redriven.iter().find(|hit| hit.event == *event).unwrap();
        let whole = client.get(&format!("/v1/events/{}", hit.delivery)).text;
        assert!(whole.contains("\"unknown\""), "{whole}");
    }
}

fn count(client: &mut Client) -> u64 {
    client.metric("onced_dead_letters{", "route=\"github\"")
}

fn audited(daemon: &Daemon) -> usize {
    let audit = daemon.client().get("/v1/audit?limit=100");
    let entries = audit.get("items").as_array().unwrap_or_else(|| panic!("{}", audit.text)).clone();
    let of_redrive = |entry: &&Value| entry["action"].as_str().is_some_and(|action| action.contains("redrive"));
    entries.iter().filter(of_redrive).count()
}
