//! A disk that turns read-only or whose writes and syncs fail under a queue route, and is well again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::app::{App, Reply};
use super::event::Event;
use super::place::{PATIENCE, accepted, add_route, all_arrive, queueing, refused};
use crate::broken_disk::{Broken, EIO, EROFS};
use crate::full_disk::{BACK, is_ready};
use crate::harness::{Daemon, eventually};

const CLOSED: &str = "on_store_failure = \"closed\"\n";

/// Without a store a queue route hands an event over while its sender waits, and says to the app that it is unguarded.
#[test]
fn on_a_read_only_disk_an_open_route_hands_over_at_once_and_a_closed_one_refuses_and_both_come_back() {
    let app = App::new();
    app.appear();
    let mut house = queueing(&app, "");
    add_route(&mut house, "closed", &app, CLOSED);
    let Some(broken) = Broken::in_house(house) else { return };
    let daemon = broken.house.start();
    let (mut client, mut sender) = (daemon.client(), daemon.sender());
    for route in ["github", "closed"] {
        accepted(&Event::new(format!("before-{route}"), 2_000).send(&mut sender, route).unwrap());
    }
    daemon.until_empty();
    broken.fault(&format!("all {EROFS}"));
    let mut number = 0;
    eventually(PATIENCE, "the store is down", || {
        number += 1;
        let answer = Event::new(format!("into-{number}"), 2_000).send(&mut sender, "github").unwrap();
        answer.status == 200
    });
    assert!(!is_ready(&mut client));
    let before = app.count();
    let open = Event::new("open", 2_000).send(&mut sender, "github").unwrap();
    assert!((200..300).contains(&open.status), "{open:?}");
    let hits = app.hits();
    assert_eq!(hits.len(), before + 1, "it was handed over before the answer");
    assert_eq!(hits[before].event, "open");
    assert!(hits[before].degraded.is_some(), "{:?}", hits[before]);
    refused(&Event::new("closed", 2_000).send(&mut sender, "closed").unwrap());
    for route in ["github", "closed"] {
        let known = Event::new(format!("before-{route}"), 2_000).send(&mut sender, route).unwrap();
        assert!((200..300).contains(&known.status), "{known:?}");
    }
    assert_eq!(app.count(), before + 1, "what was accepted before is known, and so is what was refused");
    broken.heal();
    eventually(BACK, "events are taken again", || {
        let answer = Event::new("closed", 2_000).send(&mut sender, "closed").unwrap();
        answer.status == 202
    });
    assert!(is_ready(&mut client));
    let again = Event::new("open", 2_000).send(&mut sender, "github").unwrap();
    assert_eq!(again.header("onced-outcome"), Some("duplicate"), "what was handled in the outage is remembered");
    daemon.until_empty();
    let of_closed: Vec<_> = app.hits().into_iter().filter(|hit| hit.event == "closed").collect();
    assert_eq!(of_closed.len(), 1, "{of_closed:#?}");
}

/// A failed sync was swallowed and the event acknowledged; the pages it spoke of had been dropped.
#[test]
fn no_event_whose_sync_or_write_failed_is_acknowledged_and_after_a_restart_there_is_what_was() {
    const EVENTS: usize = 99;
    const FAULTS: usize = 3;
    for calls in ["sync", "write"] {
        let app = App::new();
        let Some(broken) = Broken::in_house(queueing(&app, CLOSED)) else { return };
        let daemon = broken.house.start();
        let (mut acknowledged, mut unkept) = (BTreeMap::new(), BTreeMap::new());
        for number in 0..EVENTS {
            if number % (EVENTS / FAULTS) == 10 {
                broken.fault(&format!("{calls} {EIO} once"));
            }
            let bytes = [2_000, 0, 40_000][number % 3];
            let event = Event::new(format!("e-{number}"), bytes);
            let answer = event.send(&mut daemon.sender(), "github").unwrap();
            if answer.status == 202 {
                acknowledged.insert(event.id.clone(), event.print());
                continue;
            }
            refused(&answer);
            unkept.insert(event.id.clone(), event.print());
            eventually(BACK, "ready again", || is_ready(&mut daemon.client()));
        }
        println!("{calls}: {} acknowledged, {} refused", acknowledged.len(), unkept.len());
        // The daemon's own mark may meet a fault before an event does.
        assert!((1..=2 * FAULTS).contains(&unkept.len()), "{} were refused", unkept.len());
        daemon.kill();
        app.appear();
        let daemon = broken.house.start();
        all_arrive(&app, &daemon, &acknowledged, &unkept);
        let arrived: BTreeSet<_> = app.hits().into_iter().map(|hit| hit.event).collect();
        let told_otherwise: Vec<_> = unkept.keys().filter(|id| arrived.contains(*id)).collect();
        assert!(told_otherwise.is_empty(), "refused, and there: {told_otherwise:?}");
    }
}

/// After a hiccup of the disk the worker looped over one error, filled the log and never handed over again.
#[test]
fn due_events_survive_write_errors_quietly_and_go_on_by_themselves() {
    const DUE: usize = 50;
    const OUTAGE: Duration = Duration::from_secs(8);
    let app = App::new();
    app.does(|_| Reply::Status(500));
    app.appear();
    let delivery = "[route.delivery]\nbackoff_base = \"500ms\"\nbackoff_cap = \"1s\"\n";
    let Some(broken) = Broken::in_house(queueing(&app, delivery)) else { return };
    let daemon = broken.house.start();
    let mut client = daemon.client();
    daemon.accepts_many("due", DUE, 2_000);
    app.until_count(DUE);
    broken.fault(&format!("all {EIO}"));
    let lines = daemon.log.lines().len();
    eventually(PATIENCE, "the store is down", || !is_ready(&mut client));
    let (before, cpu, begun) = (app.count(), cpu(&daemon), Instant::now());
    // An outage takes as long as it takes: what is looked at is what goes on meanwhile.
    while begun.elapsed() < OUTAGE {
        assert_eq!(client.get("/readyz").status, 503);
        thread::sleep(Duration::from_millis(250));
    }
    let share = (self::cpu(&daemon) - cpu).as_secs_f64() / begun.elapsed().as_secs_f64();
    let lines = daemon.log.lines().len() - lines;
    println!("{lines} lines of log, {:.1} % of a core", share * 100.0);
    assert!(lines < 100, "{:#?}", daemon.log.lines());
    assert!(share < 0.1, "{share}");
    assert!(app.count() - before <= DUE, "no attempt is made that cannot be written down");
    app.does(|_| Reply::Status(200));
    broken.heal();
    let took = eventually(BACK, "handed over again", || app.hits().iter().any(|hit| hit.status == Some(200)));
    println!("handed over again after {took:?}");
    daemon.until_empty();
    assert!(is_ready(&mut client));
    let sent: BTreeMap<_, _> = (0..DUE)
        .map(|number| Event::new(format!("due-{number}"), 2_000))
        .map(|event| (event.id.clone(), event.print()))
        .collect();
    all_arrive(&app, &daemon, &sent, &BTreeMap::new());
}

/// Processor time that a daemon has taken so far.
fn cpu(daemon: &Daemon) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{}/stat", daemon.child.id())).unwrap();
    // After the name: state, parent, …; user and kernel time, in hundredths of a second, are the twelfth and thirteenth.
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}
