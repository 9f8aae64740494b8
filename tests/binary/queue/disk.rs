//! A disk that is full under a queue route, and has room again.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use super::app::App;
use super::event::{Event, Print};
use super::place::{Disk, PATIENCE, accepted, add_route, all_arrive, refused};
use crate::client::{Client, token};
use crate::full_disk::{BACK, is_ready};
use crate::harness::{House, eventually};
use crate::tools::SmallDisk;

const MIB: u64 = 1 << 20;

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
    let again = first.send(&mut daemon.sender(), "github").unwrap();
    assert_eq!((again.status, again.header("onced-outcome")), (202, Some("duplicate")));
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
    let delivery = "breaker_probe = \"100ms\"
backoff_base = \"100ms\"
backoff_cap = \"1s\"
";
    add_route(
        &mut house,
        "github",
        &app,
        &format!(
            "on_store_failure = \"closed\"
[route.delivery]
{delivery}"
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
    let lines = daemon.log.lines().len() - lines;
    assert!(lines < 100, "{:#?}", daemon.log.lines());
    daemon.kill();
    match house.try_start() {
        Ok(daemon) => daemon.kill(),
        Err(refused) => assert!(refused.text().contains("free some space"), "{}", refused.text()),
    }
    disk.free();
    let daemon = house.start();
    println!("{} acknowledged, {} refused, {lines} lines of log", acknowledged.len(), unkept.len());
    let after = Event::new("after", 300_000);
    eventually(BACK, "events are taken again", || after.send(&mut daemon.sender(), "github").unwrap().status == 202);
    acknowledged.insert(after.id.clone(), after.print());
    app.appear();
    all_arrive(&app, &daemon, &acknowledged, &unkept);
    let late: Vec<_> = app.hits().into_iter().filter(|hit| unkept.contains_key(&hit.event)).collect();
    assert!(late.is_empty(), "the sender was told that it was not kept, and it was: {late:#?}");
}
