//! What was queued is delivered whatever happens meanwhile: restarts, stops that cut, disks that fail.

use std::collections::BTreeMap;
use std::time::Duration;

use onced::clock::ManualTime;
use onced::event::{AttemptOutcome, StateName};

use crate::harness::{App, Event, Front, Reply, until};
use crate::queue::{
    SECOND, START_MS, entries, github, hits, queue, until_entries, until_entry, until_state, until_waits,
};

/// B21: what was acknowledged was in memory only, and a restart lost it.
#[tokio::test]
async fn what_was_acknowledged_while_the_app_was_down_is_delivered_by_the_next_process() {
    let app = App::absent().await;
    let time = ManualTime::new(START_MS);
    let front = Front::on_clock(&queue("github", &app, "[route.delivery]\nbreaker_failures = 3"), &time).await;
    for number in 0..200 {
        front.post(&Event::github(&format!("e-{number}"), "{}")).await.assert(202, "accepted");
    }
    let front = front.restarted(async {}).await;
    let mut app = app.appear().await;
    let mut delivered = BTreeMap::new();
    while delivered.len() < 200 {
        // The breaker lets the first one through when its time has come, and back-off the last ones.
        time.advance(10 * SECOND);
        for hit in hits(&mut app).await {
            let seen = hit.answer(Reply::ok());
            let before = delivered.insert(seen.header("onced-event-id").unwrap().to_owned(), seen.attempt().to_owned());
            assert_eq!(before, None, "none is handed over again once it is delivered");
        }
    }
    until_entries(&front, "all delivered", |entries| {
        entries.iter().all(|entry| entry.state.name() == StateName::Delivered)
    })
    .await;
}

/// B22: the row said "pending", and the timer that would have run it had died with its process.
#[tokio::test]
async fn an_overdue_attempt_runs_at_the_next_start_and_is_counted_on() {
    let mut app = App::start().await;
    let (front, time) = github(&app, "[route.delivery]\nbackoff_base = \"2s\"").await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    let first = app.answers(Reply::status(500)).await;
    until_waits(&front, 1).await;
    let front = front.restarted(async { time.advance(20 * SECOND) }).await;
    let second = app.answers(Reply::status(500)).await;
    let gap = until_waits(&front, 2).await;
    assert!((4_000..=5_000).contains(&gap), "the back-off goes on from where it was: {gap}");
    time.advance(Duration::from_millis(gap));
    let third = app.answers(Reply::ok()).await;
    until_state(&front, StateName::Delivered).await;
    for (number, seen) in [first, second, third].iter().enumerate() {
        assert_eq!(seen.attempt(), (number + 1).to_string());
        assert_eq!((seen.header("onced-event-id"), &seen.body[..]), (Some("e-1"), &b"{}"[..]));
    }
    app.assert_quiet();
}

/// B31: the attempt happened and its record was lost; later ones could not be recognised as repeats.
#[tokio::test]
async fn an_attempt_that_a_stop_cuts_is_written_down_as_unknown_and_the_next_one_is_the_next_number() {
    let mut app = App::start().await;
    let time = ManualTime::new(START_MS);
    let routes = format!("{}\n[shutdown]\ndrain = \"50ms\"", queue("github", &app, ""));
    let front = Front::on_clock(&routes, &time).await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    let hit = app.hit().await;
    let front = front.restarted(async {}).await;
    let cut = hit.answer(Reply::ok());
    let entry = until_entry(&front, "waiting", |entry| entry.state.name() == StateName::Queued).await;
    let log: Vec<_> = entry.delivery.log.iter().map(|attempt| (attempt.number, attempt.outcome)).collect();
    assert_eq!(log, [(1, AttemptOutcome::Unknown)]);
    time.advance(7 * SECOND);
    let again = app.answers(Reply::ok()).await;
    assert_eq!((cut.attempt(), again.attempt()), ("1", "2"));
    assert_eq!(cut.header("onced-delivery"), again.header("onced-delivery"));
    assert_eq!(cut.body, again.body);
    let entry = until_state(&front, StateName::Delivered).await;
    let log: Vec<_> = entry.delivery.log.iter().map(|attempt| (attempt.number, attempt.outcome)).collect();
    assert_eq!(log, [(1, AttemptOutcome::Unknown), (2, AttemptOutcome::Delivered)]);
    app.assert_quiet();
}

#[tokio::test]
async fn a_stop_waits_for_the_attempts_that_are_under_way_and_begins_no_other() {
    let mut app = App::start().await;
    let front = Front::start(&queue("github", &app, "[route.delivery]\nconcurrency = 1")).await;
    for id in ["e-1", "e-2"] {
        front.post(&Event::github(id, "{}")).await.assert(202, "accepted");
    }
    let hit = app.hit().await;
    let hooks = front.hooks.clone();
    let front = front
        .restarted(async {
            // Not before the listeners are closed.
            while tokio::net::TcpStream::connect(&hooks).await.is_ok() {
                tokio::task::yield_now().await;
            }
            hit.answer(Reply::ok());
        })
        .await;
    let seen = app.answers(Reply::ok()).await;
    assert_eq!((seen.header("onced-event-id"), seen.attempt()), (Some("e-2"), "1"));
    let all = until_entries(&front, "both delivered", |entries| {
        entries.iter().all(|entry| entry.state.name() == StateName::Delivered)
    })
    .await;
    assert_eq!(all.iter().map(|entry| entry.delivery.attempts).collect::<Vec<_>>(), [1, 1]);
}

/// B24: after a storage hiccup the worker looped on the same error and did not come back when the storage did.
#[tokio::test]
async fn when_the_store_comes_back_so_does_the_delivery_and_what_was_answered_meanwhile_is_written_down() {
    let mut app = App::start().await;
    let (front, time) = github(&app, "[route.delivery]\nconcurrency = 2").await;
    for number in 0..10 {
        front.post(&Event::github(&format!("e-{number}"), "{}")).await.assert(202, "accepted");
    }
    let under_way = [app.hit().await, app.hit().await];
    front.lose_store().await;
    for hit in under_way {
        hit.answer(Reply::ok());
    }
    // Whoever cannot count its attempt does not make it.
    for _ in 0..100 {
        time.advance(SECOND);
        tokio::task::yield_now().await;
    }
    app.assert_quiet();
    front.regain_store(|| time.advance(SECOND)).await;
    let mut left = 8;
    while left > 0 {
        time.advance(SECOND);
        for hit in hits(&mut app).await {
            assert_eq!(hit.answer(Reply::ok()).attempt(), "1");
            left -= 1;
        }
    }
    until("the word on the first two", || {
        time.advance(SECOND);
        front.sample("onced_queue_events{route=\"github\",state=\"delivered\"}") == 10.0
    })
    .await;
    let all = entries(&front).await;
    assert_eq!((all.len(), all.iter().all(|entry| entry.delivery.attempts == 1)), (10, true));
    app.assert_quiet();
}

/// B82: after a downtime all overdue retries started in the same second and knocked the app over again.
#[tokio::test]
async fn after_a_downtime_what_is_overdue_is_shaped_by_the_limits_and_new_events_get_through() {
    const OVERDUE: usize = 300;
    let app = App::absent().await;
    let time = ManualTime::new(START_MS);
    let lines = "[route.delivery]\nconcurrency = 10\nbreaker_failures = 1000";
    let front = Front::on_clock(&queue("github", &app, lines), &time).await;
    for number in 0..OVERDUE {
        front.post(&Event::github(&format!("old-{number}"), "{}")).await.assert(202, "accepted");
    }
    until_entries(&front, "one attempt each", |entries| {
        entries.iter().all(|entry| entry.state.name() == StateName::Queued && entry.delivery.attempts == 1)
    })
    .await;
    let front = front.restarted(async { time.advance(3_600 * SECOND) }).await;
    let mut app = app.appear().await;
    let (mut at_once, mut seen, mut handed_over, mut new) = (0, Vec::new(), 0, 0);
    while handed_over < OVERDUE + 20 {
        // As many as there may be at once, and no more.
        let mut here = vec![app.hit().await];
        here.extend(hits(&mut app).await);
        at_once = at_once.max(here.len());
        if handed_over == 0 {
            for number in 0..20 {
                front.post(&Event::github(&format!("new-{number}"), "{}")).await.assert(202, "accepted");
            }
        }
        for hit in here {
            handed_over += 1;
            let status = if handed_over % 3 == 0 { 503 } else { 200 };
            let answered = hit.answer(Reply::status(status));
            let id = answered.header("onced-event-id").unwrap().to_owned();
            if id.starts_with("new") {
                new += 1;
                assert!(handed_over < 80, "a new event waited behind {handed_over}");
            }
            seen.push((id, answered.attempt().to_owned(), status));
        }
    }
    assert!(at_once <= 10, "{at_once}");
    assert_eq!(new, 20);
    let waiting = seen.iter().filter(|(_, _, status)| *status == 503).count();
    let waits = |entry: &onced::event::Event| entry.state.name() == StateName::Queued;
    let all = until_entries(&front, "the end of all attempts", |entries| {
        entries.iter().filter(|entry| waits(entry)).count() == waiting
            && entries.iter().all(|entry| entry.state.name() != StateName::Delivering)
    })
    .await;
    // Each has its own later step of the back-off.
    let now = front.daemon.ledger().clock().now();
    for entry in all.iter().filter(|entry| waits(entry)) {
        let gap = entry.state.due().unwrap().at.since(now).as_millis();
        let steps = if entry.delivery.attempts == 1 { 5_000..=6_250 } else { 10_000..=12_500 };
        assert!(steps.contains(&gap), "{gap} after {} attempts", entry.delivery.attempts);
    }
    app.assert_quiet();
}
