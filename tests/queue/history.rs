//! The history: what of events that went well is kept, and for how long.

use onced::event::StateName;

use crate::harness::{App, Event, Front, Reply, route};
use crate::queue::{SECOND, entries, entry, github, queue, until_entries, until_entry};

/// With `record = "all"` the history has what went well too, and nobody waits for it.
#[tokio::test]
async fn a_sync_route_that_records_all_keeps_what_its_app_has_handled() {
    let mut app = App::start().await;
    let front = Front::start(&route("github", &app, "record = \"all\"")).await;
    for number in ["e-1", "e-2"] {
        let mut sender = front.sent(&Event::github(number, "{}").with("X-Odd", "caf\u{e9}")).await;
        app.answers(Reply::ok()).await;
        sender.answer().await.assert(200, "forwarded");
    }
    let all = until_entries(&front, "two entries", |entries| entries.len() == 2).await;
    for entry in &all {
        assert_eq!((entry.state.name(), entry.delivery.attempts), (StateName::Passed, 1));
        assert_eq!(entry.delivery.last_status, Some(200));
        let (_, content) = front.daemon.ledger().store().event_content(entry.id).await.unwrap().unwrap();
        assert_eq!(&content.body[..], b"{}");
        assert!(content.headers.iter().any(|line| *line.value == *"caf\u{e9}".as_bytes()));
    }
    let front = Front::start(&route("github", &app, "")).await;
    let mut sender = front.sent(&Event::github("e-1", "{}")).await;
    app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
    assert_eq!(entries(&front).await, []);
}

/// `record = "off"` keeps a delivered event no longer than its app needs.
#[tokio::test]
async fn a_route_that_records_nothing_forgets_what_is_delivered() {
    let mut app = App::start().await;
    let front = Front::start(&queue("github", &app, "record = \"off\"")).await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    let hit = app.hit().await;
    until_entry(&front, "being delivered", |entry| entry.state.name() == StateName::Delivering).await;
    assert_eq!(entry(&front).await.delivery.attempts, 1);
    hit.answer(Reply::ok());
    until_entries(&front, "nothing", <[_]>::is_empty).await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "duplicate");
    app.assert_quiet();
}

/// The history had swallowed what nobody had delivered yet.
#[tokio::test]
async fn what_is_delivered_is_trimmed_with_time_and_what_is_not_never() {
    let mut app = App::start().await;
    let lines = "[route.delivery]\nmax_attempts = 1\nretry_after_cap = \"1d\"\n[history]\nkeep = \"1h\"";
    let (front, time) = github(&app, lines).await;
    for (id, status) in [("delivered", 200), ("dead", 500)] {
        front.post(&Event::github(id, "{}")).await.assert(202, "accepted");
        app.answers(Reply::status(status)).await;
    }
    front.post(&Event::github("under way", "{}")).await.assert(202, "accepted");
    let _under_way = app.hit().await;
    let states = |all: &[onced::event::Event]| all.iter().map(|entry| entry.state.name()).collect::<Vec<_>>();
    let [delivered, dead, delivering] = [StateName::Delivered, StateName::Dead, StateName::Delivering];
    until_entries(&front, "the end of two", |all| states(all) == [delivered, dead, delivering]).await;
    time.advance(3_601 * SECOND);
    until_entries(&front, "one fewer", |all| states(all) == [dead, delivering]).await;
    // Its key is remembered for as long as it was to be.
    front.post(&Event::github("delivered", "{}")).await.assert(202, "duplicate");
    app.assert_quiet();
}
