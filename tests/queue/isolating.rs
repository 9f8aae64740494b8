//! One app's trouble is its own: slots, breaker, rate, and operators who look.

use std::time::Duration;

use onced::clock::ManualTime;
use onced::event::StateName;
use onced::store::EventSelection;

use crate::harness::{App, Event, Front, Reply, now, route, until};
use crate::queue::{SECOND, START_MS, a_while, entries, github, hits, queue, until_entries, until_waits};

/// B79: a hanging receiver occupied the workers; deliveries that had nothing to do with it waited for minutes.
#[tokio::test]
async fn an_app_that_hangs_has_its_own_slots_alone_and_delays_no_other() {
    let (mut hanging, mut fast) = (App::start().await, App::start().await);
    let front = Front::start(&[queue("github", &hanging, ""), queue("stripe", &fast, "")].concat()).await;
    for number in 0..200 {
        front.post(&Event::github(&format!("e-{number}"), "{}")).await.assert(202, "accepted");
    }
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(hanging.hit().await);
    }
    for number in 0..20 {
        front.post(&Event::stripe(now(), format!("{{\"id\":\"evt_{number}\"}}"))).await.assert(202, "accepted");
        fast.answers(Reply::ok()).await;
    }
    hanging.assert_quiet();
    // Every slot that is free is used at once.
    held.remove(0).answer(Reply::ok());
    hanging.hit().await;
    hanging.assert_quiet();
}

#[tokio::test]
async fn a_breaker_opens_on_failures_in_a_row_probes_and_closes_and_uses_up_nobodys_attempts() {
    let app = App::absent().await;
    let lines = "[route.delivery]\nconcurrency = 1\nbreaker_failures = 3\nbreaker_probe = \"30s\"";
    let (front, time) = github(&app, lines).await;
    for number in 0..20 {
        front.post(&Event::github(&format!("e-{number}"), "{}")).await.assert(202, "accepted");
    }
    let attempts = |entries: &[onced::event::Event]| entries.iter().map(|entry| entry.delivery.attempts).sum::<u32>();
    let settled =
        |entries: &[onced::event::Event]| entries.iter().all(|entry| entry.state.name() != StateName::Delivering);
    let open = format!("onced_breaker_open{{app=\"{}\"}}", app.url().trim_start_matches("http://"));
    until("the breaker is open", || front.sample(&open) == 1.0).await;
    let all = until_entries(&front, "the end of three attempts", |all| settled(all) && attempts(all) >= 3).await;
    assert_eq!(attempts(&all), 3);
    // One probe, and another one, each when its time has come.
    for probes in 1..=3 {
        time.advance(29 * SECOND);
        assert_eq!(attempts(&entries(&front).await), 2 + probes);
        time.advance(SECOND);
        until_entries(&front, "a probe", |all| settled(all) && attempts(all) == 3 + probes).await;
    }
    let mut app = app.appear().await;
    time.advance(30 * SECOND);
    for _ in 0..20 {
        app.answers(Reply::ok()).await;
        time.advance(10 * SECOND);
    }
    assert_eq!(front.sample(&open), 0.0);
    let all = until_entries(&front, "all delivered", |all| {
        all.iter().all(|entry| entry.state.name() == StateName::Delivered)
    })
    .await;
    assert_eq!(attempts(&all), 20 + 6);
    app.assert_quiet();
}

/// Ten events that an app does not want stalled all that it wanted.
#[tokio::test]
async fn an_app_that_refuses_events_is_there() {
    let mut app = App::start().await;
    let (front, _time) = github(&app, "[route.delivery]\nconcurrency = 1\nbreaker_failures = 2").await;
    for (number, status) in [410, 500, 503, 404, 503, 429, 503, 200].into_iter().enumerate() {
        front.post(&Event::github(&format!("e-{number}"), "{}")).await.assert(202, "accepted");
        app.answers(Reply::status(status)).await;
    }
}

/// Routes that lead to one app learn from each other that it is down, and that it is back.
#[tokio::test]
async fn routes_to_one_app_share_its_breaker() {
    let app = App::absent().await;
    let time = ManualTime::new(u64::try_from(now()).unwrap() * 1_000);
    let lines = "[route.delivery]\nbreaker_failures = 1\nbreaker_probe = \"1m\"";
    let front = Front::on_clock(&[queue("github", &app, lines), queue("stripe", &app, lines)].concat(), &time).await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    until_waits(&front, 1).await;
    front.post(&Event::stripe(now(), "{\"id\":\"evt_1\"}")).await.assert(202, "accepted");
    let mut app = app.appear().await;
    a_while().await;
    app.assert_quiet();
    time.advance(60 * SECOND);
    app.answers(Reply::ok()).await;
    app.answers(Reply::ok()).await;
}

/// A breaker that is open keeps nobody for ever: what is too old is a dead letter though nobody was asked for it.
#[tokio::test]
async fn what_is_too_old_is_given_up_on_while_the_breaker_is_open_some_at_a_time() {
    let app = App::absent().await;
    let lines =
        "[route.delivery]\nbreaker_failures = 1\nbreaker_probe = \"1h\"\ngive_up_after = \"10m\"\nconcurrency = 1";
    let (front, time) = github(&app, lines).await;
    for number in 0..150 {
        front.post(&Event::github(&format!("e-{number}"), "{}")).await.assert(202, "accepted");
    }
    let dead = "onced_dead_letters{route=\"github\",cause=\"unreachable\"}";
    until_entries(&front, "one attempt", |all| all.iter().any(|entry| entry.delivery.attempts == 1)).await;
    time.advance(599 * SECOND);
    front.post(&Event::github("young", "{}")).await.assert(202, "accepted");
    let turns = std::cell::Cell::new(0_u32);
    until("the rounds of the housekeeping", || {
        turns.set(turns.get() + 1);
        if turns.get().is_multiple_of(2_000) {
            time.advance(10 * SECOND);
        }
        front.sample(dead) == 150.0
    })
    .await;
    let all = entries(&front).await;
    assert_eq!(all.iter().map(|entry| entry.delivery.attempts).sum::<u32>(), 1);
    assert_eq!(all.last().unwrap().state.name(), StateName::Queued, "the young one waits");
}

#[tokio::test]
async fn a_rate_spreads_the_hand_overs_over_time() {
    let mut app = App::start().await;
    let (front, time) = github(&app, "[route.delivery]\nrate = \"10/s\"").await;
    for number in 0..30 {
        front.post(&Event::github(&format!("e-{number}"), "{}")).await.assert(202, "accepted");
    }
    app.answers(Reply::ok()).await;
    for _ in 1..30 {
        a_while().await;
        app.assert_quiet();
        time.advance(Duration::from_millis(100));
        app.answers(Reply::ok()).await;
    }
}

/// A body of 20 MiB went out eight times at once, and the machine had none to spare.
#[tokio::test]
async fn large_bodies_go_out_a_few_at_a_time() {
    let mut app = App::start().await;
    let front = Front::start(&queue("github", &app, "")).await;
    for number in 0..4 {
        let body = vec![b'x'; 12 << 20];
        front.post(&Event::github(&format!("e-{number}"), body)).await.assert(202, "accepted");
    }
    let (first, second) = (app.hit().await, app.hit().await);
    // There is room for no third; a small one needs none.
    front.post(&Event::github("small", "{}")).await.assert(202, "accepted");
    assert_eq!(app.answers(Reply::ok()).await.header("onced-event-id"), Some("small"));
    app.assert_quiet();
    first.answer(Reply::ok());
    assert_eq!(app.answers(Reply::ok()).await.body.len(), 12 << 20);
    second.answer(Reply::ok());
    app.answers(Reply::ok()).await;
}

/// B29: while somebody looked at the queue, events were refused or lost.
#[tokio::test]
async fn operators_may_look_at_a_busy_queue() {
    const EVENTS: usize = 300;
    let mut app = App::start().await;
    let mut front = Front::start(&queue("github", &app, "[route.delivery]\nrate = \"1000/s\"")).await;
    let (mut sent, mut seen) = (0, 0);
    while seen < EVENTS {
        if sent < EVENTS {
            front.post(&Event::github(&format!("e-{sent}"), "{}")).await.assert(202, "accepted");
            sent += 1;
        }
        let store = front.daemon.ledger().store();
        store.events(EventSelection { limit: 100, ..EventSelection::default() }).await.unwrap();
        assert!(front.daemon.metrics().render().contains("onced_queue_events"));
        if sent % 50 == 7 {
            let (from, to) = if sent % 100 == 7 { ("1000/s", "2000/s") } else { ("2000/s", "1000/s") };
            front.reload(from, to).await.unwrap();
        }
        for hit in hits(&mut app).await {
            hit.answer(Reply::ok());
            seen += 1;
        }
    }
    until_entries(&front, "all delivered", |all| {
        all.len() == EVENTS && all.iter().all(|entry| entry.state.name() == StateName::Delivered)
    })
    .await;
    app.assert_quiet();
}

/// B79: calls of a sync route to the app that hangs are its own trouble too.
#[tokio::test]
async fn a_sync_route_to_the_same_app_does_not_wait_for_the_queue() {
    let mut app = App::start().await;
    let time = ManualTime::new(START_MS);
    let sync = route("github", &app, "").replacen("name = \"github\"", "name = \"now\"", 1);
    let sync = sync.replace("/hooks/github", "/hooks/now");
    let front =
        Front::on_clock(&[queue("github", &app, "[route.delivery]\nconcurrency = 1"), sync].concat(), &time).await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    let hanging = app.hit().await;
    let mut sender = front.sent(&Event::github("e-2", "{}").at("/hooks/now")).await;
    app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
    hanging.answer(Reply::ok());
}
