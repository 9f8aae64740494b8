//! A disk that is full, read-only or failing under a queue route, and comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::app::{App, Reply};
use super::event::{Event, Print};
use super::place::{Disk, PATIENCE, accepted, add_route, assert_recognisable, queueing};
use crate::broken_disk::{Broken, EIO, EROFS};
use crate::client::{Answer, Client, token};
use crate::full_disk::{BACK, is_ready};
use crate::harness::{Daemon, House, eventually};
use crate::tools::SmallDisk;

const CLOSED: &str = "on_store_failure = \"closed\"\n";
const MIB: u64 = 1 << 20;

/// The outcome that a sender was told, and the status.
fn told(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.header("onced-outcome").unwrap_or("none"))
}

/// That the sender is asked to come again, for want of a store.
#[track_caller]
fn refused(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
}

/// Sends events until one is refused; those that were acknowledged.
fn until_refused(client: &mut Client, name: &str, bytes: usize) -> BTreeMap<String, Print> {
    let mut acknowledged = BTreeMap::new();
    for number in 0.. {
        let event = Event::new(format!("{name}-{number}"), bytes);
        let answer = event.send(client, "github").unwrap();
        if answer.status != 202 {
            refused(&answer);
            break;
        }
        accepted(&answer);
        acknowledged.insert(event.id.clone(), event.print());
    }
    acknowledged
}

/// Whatever was acknowledged is handed over, and all that is handed over was sent.
fn all_arrive(app: &App, daemon: &Daemon, acknowledged: &BTreeMap<String, Print>, others: &BTreeMap<String, Print>) {
    daemon.until_empty();
    let hits = app.hits();
    let sent = acknowledged.iter().chain(others).map(|(id, print)| (id.clone(), *print)).collect();
    assert_recognisable(&hits, &sent);
    let delivered: BTreeSet<_> = hits.iter().filter(|hit| hit.status == Some(200)).map(|hit| &hit.event).collect();
    let missing: Vec<_> = acknowledged.keys().filter(|id| !delivered.contains(id)).collect();
    assert!(missing.is_empty(), "of {}: {missing:?}", acknowledged.len());
}

/// The queue took the last of the disk and with it everything else on the machine. Below `min_free` it takes nothing more,
/// whatever the route says of failures; claims go on, and so do deliveries, which make room.
#[test]
fn below_the_free_space_that_is_to_stay_no_event_is_taken_until_deliveries_have_made_room() {
    let Some(disk) = SmallDisk::mount(64) else { return };
    let app = App::new();
    let mut house = House::on(disk.path());
    house.settings = "min_free = \"24MiB\"".into();
    add_route(&mut house, "github", &app, "record = \"off\"\n[route.delivery]\nbreaker_probe = \"100ms\"\n");
    let daemon = house.start();
    let mut client = daemon.client();
    let mut acknowledged = until_refused(&mut daemon.sender(), "large", 200_000);
    acknowledged.extend(until_refused(&mut daemon.sender(), "small", 2_000));
    println!("{} events on {:?}", acknowledged.len(), Disk::of(&house.store));
    assert!(acknowledged.len() > 20, "{}", acknowledged.len());
    assert!(is_ready(&mut client) || client.get("/readyz").text.contains("free"), "{}", client.get("/readyz").text);
    let claimed = client.claim("a", "k", &token(1), "1h");
    assert!(claimed.status == 201 && !claimed.is_degraded(), "{}", claimed.text);
    let first = Event::new("large-0", 200_000);
    assert_eq!(told(&first.send(&mut daemon.sender(), "github").unwrap()), (202, "duplicate"));
    daemon.kill();

    app.appear();
    let daemon = house.start();
    all_arrive(&app, &daemon, &acknowledged, &BTreeMap::new());
    let late = Event::new("late", 200_000);
    eventually(PATIENCE, "there is room again", || late.send(&mut daemon.sender(), "github").unwrap().status == 202);
    acknowledged.insert(late.id.clone(), late.print());
    all_arrive(&app, &daemon, &acknowledged, &BTreeMap::new());
}

/// A full disk left half a queue behind that did not start even when there was room again.
#[test]
fn on_a_full_disk_nothing_is_acknowledged_that_is_not_kept_and_it_all_goes_on_when_there_is_room() {
    let Some(disk) = SmallDisk::mount(64) else { return };
    let app = App::new();
    let mut house = House::on(disk.path());
    house.settings = "min_free = \"0B\"".into();
    add_route(
        &mut house,
        "github",
        &app,
        &format!(
            "{CLOSED}[route.delivery]\nbreaker_probe = \"100ms\"\nbackoff_base = \"100ms\"\nbackoff_cap = \"1s\"\n"
        ),
    );
    let daemon = house.start();
    let mut acknowledged = BTreeMap::new();
    for number in 0..20 {
        let event = Event::new(format!("before-{number}"), 2_000);
        daemon.accepts(&event);
        acknowledged.insert(event.id.clone(), event.print());
    }
    let lines = daemon.log.lines().len();
    disk.fill(2 * MIB);
    let mut sender = daemon.sender();
    let mut unkept = BTreeMap::new();
    for (round, bytes) in [300_000, 20_000, 2_000, 0].into_iter().enumerate() {
        acknowledged.extend(until_refused(&mut sender, &format!("full-{round}"), bytes));
    }
    // Held for a while: whatever is refused is refused in the right way, and what is known stays known.
    let hold = Instant::now();
    for number in 0.. {
        let event = Event::new(format!("hold-{number}"), 20_000);
        let answer = event.send(&mut sender, "github").unwrap();
        if answer.status == 202 {
            acknowledged.insert(event.id.clone(), event.print());
        } else {
            refused(&answer);
            unkept.insert(event.id.clone(), event.print());
        }
        let known = Event::new("before-1", 2_000).send(&mut sender, "github").unwrap();
        assert_eq!(known.status, 202, "{known:?}");
        if hold.elapsed() > Duration::from_secs(3) {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert!(!unkept.is_empty());
    daemon.kill();
    match house.try_start() {
        Ok(daemon) => daemon.kill(),
        Err(refused) => assert!(refused.text().contains("free some space"), "{}", refused.text()),
    }
    disk.free();
    let daemon = house.start();
    println!("{} lines of log in the outage", daemon.log.lines().len() + lines);
    let after = Event::new("after", 300_000);
    eventually(BACK, "events are taken again", || after.send(&mut daemon.sender(), "github").unwrap().status == 202);
    acknowledged.insert(after.id.clone(), after.print());
    app.appear();
    all_arrive(&app, &daemon, &acknowledged, &unkept);
    let late: Vec<_> = app.hits().into_iter().filter(|hit| unkept.contains_key(&hit.event)).collect();
    assert!(late.is_empty(), "the sender was told that it was not kept, and it was: {late:#?}");
}

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
    assert_eq!(told(&again), (202, "duplicate"), "what was handled in the outage is remembered");
    daemon.until_empty();
    let of_closed: Vec<_> = app.hits().into_iter().filter(|hit| hit.event == "closed").collect();
    assert_eq!(of_closed.len(), 1, "{of_closed:#?}");
}

/// A failed sync was swallowed and the event acknowledged; the pages it spoke of had been dropped.
#[test]
fn no_event_whose_sync_or_write_failed_is_acknowledged_and_after_a_restart_there_is_what_was() {
    const EVENTS: usize = 100;
    const FAULTS: usize = 5;
    for calls in ["sync", "write"] {
        let app = App::new();
        let Some(broken) = Broken::in_house(queueing(&app, CLOSED)) else { return };
        let daemon = broken.house.start();
        let (mut acknowledged, mut unkept) = (BTreeMap::new(), BTreeMap::new());
        for number in 0..EVENTS {
            if number % (EVENTS / FAULTS) == 10 {
                // Back from the one before.
                eventually(PATIENCE, "ready", || is_ready(&mut daemon.client()));
                broken.fault(&format!("{calls} {EIO} once"));
            }
            let bytes = [2_000, 0, 40_000][number % 3];
            let event = Event::new(format!("e-{number}"), bytes);
            let answer = event.send(&mut daemon.sender(), "github").unwrap();
            let kept = answer.status == 202;
            if !kept {
                refused(&answer);
            }
            if kept { &mut acknowledged } else { &mut unkept }.insert(event.id.clone(), event.print());
        }
        println!("{calls}: {} acknowledged, {} refused", acknowledged.len(), unkept.len());
        assert!(
            unkept.len() >= FAULTS && acknowledged.len() >= EVENTS / 2,
            "{} and {}",
            unkept.len(),
            acknowledged.len()
        );
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

/// Space that bodies had taken was never given back.
#[test]
fn the_disk_space_of_a_backlog_comes_back_when_it_is_gone() {
    let app = App::new();
    let house = queueing(&app, "record = \"off\"\n[route.delivery]\nconcurrency = 16\nbreaker_probe = \"100ms\"\n");
    let daemon = house.start();
    let empty = Disk::of(&house.store);
    daemon.accepts_many("large", 200, 200_000);
    daemon.accepts_many("middle", 2_000, 20_000);
    daemon.accepts_many("small", 2_000, 2_000);
    let full = Disk::of(&house.store);
    println!("empty {empty:?}\nfull  {full:?}");
    assert!(full.contents > 40 * MIB && full.bodies > 39 * MIB, "{full:?}");
    app.appear();
    daemon.until_empty();
    let mut gone = Disk::of(&house.store);
    eventually(PATIENCE, "space is given back", || {
        gone = Disk::of(&house.store);
        gone.contents <= 32 * MIB && gone.bodies < MIB
    });
    println!("gone  {gone:?}");
    daemon.stop();
    let daemon = house.start();
    println!("after a restart {:?}", Disk::of(&house.store));
    daemon.stop();
}
