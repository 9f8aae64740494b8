//! Routes that go, come back, lead elsewhere or are switched: what they had queued goes with them.

use onced::delivery::Replayed;
use onced::event::StateName;

use crate::harness::{App, Event, Front, Reply, SECRET, route, until};
use crate::queue::{SECOND, a_while, entry, github, queue, until_entries, until_entry, until_state, until_waits};

#[tokio::test]
async fn events_of_a_route_that_is_gone_are_parked_and_go_on_when_it_is_back() {
    let mut app = App::start().await;
    let (mut front, time) = github(&app, "").await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    app.answers(Reply::status(500)).await;
    until_waits(&front, 1).await;
    let whole = queue("github", &app, "");
    front.reload(&whole, "").await.unwrap();
    time.advance(3_600 * SECOND);
    a_while().await;
    app.assert_quiet();
    let age = "onced_queue_oldest_seconds{route=\"github\"}";
    until("the age of what is parked", || {
        time.advance(SECOND);
        front.sample(age) >= 3_600.0
    })
    .await;
    let parked = entry(&front).await;
    assert_eq!((parked.state.name(), parked.delivery.attempts), (StateName::Queued, 1));
    assert_eq!(front.daemon.delivery().replay(parked.id, false).await, Ok(Replayed::Parked));
    assert!(!front.daemon.delivery().is_working("github"));
    // The place where the routes stood is the end of the config.
    front.reload("[store]", &format!("{whole}\n[store]")).await.unwrap();
    assert!(front.daemon.delivery().is_working("github"));
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "2");
    until_state(&front, StateName::Delivered).await;
}

#[tokio::test]
async fn a_changed_target_takes_the_waiting_events_along() {
    let (mut old, mut new) = (App::start().await, App::start().await);
    let (mut front, time) = github(&old, "").await;
    for id in ["e-1", "e-2"] {
        front.post(&Event::github(id, "{}")).await.assert(202, "accepted");
        old.answers(Reply::status(503)).await;
    }
    until_entries(&front, "both wait", |all| all.iter().all(|entry| entry.delivery.log.len() == 1)).await;
    front.reload(&format!("{}/in", old.url()), &format!("{}/elsewhere", new.url())).await.unwrap();
    time.advance(10 * SECOND);
    for _ in 0..2 {
        let seen = new.answers(Reply::ok()).await;
        assert_eq!((seen.target(), seen.attempt()), (&b"/elsewhere"[..], "2"));
    }
    let all = until_entries(&front, "both delivered", |all| {
        all.iter().all(|entry| entry.state.name() == StateName::Delivered)
    })
    .await;
    assert!(all.iter().all(|entry| new.url().ends_with(&*entry.delivery.app)));
    old.assert_quiet();
}

/// A path was called otherwise, and what had come by the old one had no app any more.
#[tokio::test]
async fn a_path_that_is_called_otherwise_takes_the_waiting_events_along() {
    let mut app = App::start().await;
    let (mut front, time) = github(&app, "").await;
    front.post(&Event::github("e-1", "{}").at("/hooks/github?a=b")).await.assert(202, "accepted");
    app.answers(Reply::status(503)).await;
    until_waits(&front, 1).await;
    front.reload("path = \"/hooks/github\"", "path = \"/hooks/away\"").await.unwrap();
    time.advance(10 * SECOND);
    let seen = app.answers(Reply::ok()).await;
    assert_eq!((seen.target(), seen.attempt()), (&b"/in?a=b"[..], "2"));
    until_state(&front, StateName::Delivered).await;
}

/// Of a prefix nobody can tell any more what followed it: such an event is a dead letter in the end, and not lost. The app
/// is not blamed for it.
#[tokio::test]
async fn an_event_that_cannot_be_addressed_any_more_waits_and_leaves_the_breaker_alone() {
    let mut app = App::start().await;
    let time = onced::clock::ManualTime::new(crate::queue::START_MS);
    let lines = "[route.delivery]\nbreaker_failures = 1";
    let routes = queue("github", &app, lines).replace("/hooks/github", "/hooks/*");
    let mut front = Front::on_clock(&routes, &time).await;
    front.post(&Event::github("e-1", "{}").at("/hooks/a")).await.assert(202, "accepted");
    app.answers(Reply::status(500)).await;
    until_waits(&front, 1).await;
    front.reload("/hooks/*", "/away/*").await.unwrap();
    time.advance(10 * SECOND);
    until_waits(&front, 2).await;
    front.post(&Event::github("e-2", "{}").at("/away/b")).await.assert(202, "accepted");
    assert_eq!(app.answers(Reply::ok()).await.target(), b"/inb");
    app.assert_quiet();
}

#[tokio::test]
async fn a_route_that_is_switched_to_sync_goes_on_with_what_it_had_queued() {
    let mut app = App::start().await;
    let (mut front, time) = github(&app, "").await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    app.answers(Reply::status(503)).await;
    until_waits(&front, 1).await;
    front.reload("mode = \"queue\"", "mode = \"sync\"").await.unwrap();
    let mut sender = front.sent(&Event::github("e-2", "{}")).await;
    app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
    time.advance(10 * SECOND);
    let seen = app.answers(Reply::ok()).await;
    assert_eq!((seen.header("onced-event-id"), seen.attempt()), (Some("e-1"), "2"));
    until_entry(&front, "delivered", |entry| entry.state.name() == StateName::Delivered).await;
    front.post(&Event::github("e-1", "{}")).await.assert(200, "duplicate");
}

#[tokio::test]
async fn a_reload_changes_the_limits_for_what_waits() {
    let mut app = App::start().await;
    let mut front = Front::start(&queue("github", &app, "[route.delivery]\nconcurrency = 1")).await;
    for number in 0..5 {
        front.post(&Event::github(&format!("e-{number}"), "{}")).await.assert(202, "accepted");
    }
    let mut held = vec![app.hit().await];
    app.assert_quiet();
    front.reload("concurrency = 1", "concurrency = 3").await.unwrap();
    held.extend([app.hit().await, app.hit().await]);
    app.assert_quiet();
    front.reload("concurrency = 3", "concurrency = 1").await.unwrap();
    held.remove(0).answer(Reply::ok());
    held.remove(0).answer(Reply::ok());
    a_while().await;
    app.assert_quiet();
    held.remove(0).answer(Reply::ok());
    app.answers(Reply::ok()).await;
    app.answers(Reply::ok()).await;
}

#[tokio::test]
async fn what_follows_a_prefix_and_the_query_go_along() {
    let mut app = App::start().await;
    let routes = queue("github", &app, "").replace("/hooks/github", "/hooks/*");
    let front = Front::start(&routes).await;
    let target = "/hooks/a%2Fb//c;v=1?q=%27&&=&q";
    front.post(&Event::github("e-1", "{}").at(target)).await.assert(202, "accepted");
    assert_eq!(app.answers(Reply::ok()).await.target(), b"/ina%2Fb//c;v=1?q=%27&&=&q");
    let plain = Front::start(&route("github", &app, "").replace("/hooks/github", "/hooks/*")).await;
    let mut sender = plain.sent(&Event::github("e-1", "{}").at(target)).await;
    assert_eq!(app.answers(Reply::ok()).await.target(), b"/ina%2Fb//c;v=1?q=%27&&=&q", "as on a sync route");
    sender.answer().await.assert(200, "forwarded");
}

/// An open route was given a secret, and what anybody had sent before was handed over as verified; or the other way round.
#[tokio::test]
async fn an_event_is_called_verified_by_what_verified_it_whatever_holds_for_its_route_later() {
    let mut app = App::start().await;
    let secret = format!("secrets = [{{ inline = \"{SECRET}\" }}]");
    let open = "verify = \"none\"\nevent_id.header = \"X-GitHub-Delivery\"";
    for (before, after, verified_by) in [(&*secret, open, Some("github")), (open, &*secret, None)] {
        let time = onced::clock::ManualTime::new(crate::queue::START_MS);
        let config = crate::queue::queue("github", &app, "").replace(&secret, before);
        let mut front = Front::on_clock(&config, &time).await;
        front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
        let first = app.answers(Reply::status(503)).await;
        let gap = crate::queue::until_waits(&front, 1).await;
        front.reload(before, after).await.unwrap();
        time.advance(std::time::Duration::from_millis(gap));
        let second = app.answers(Reply::ok()).await;
        for seen in [first, second] {
            assert_eq!(seen.header("onced-verified"), verified_by, "{before}");
        }
        until_state(&front, StateName::Delivered).await;
    }
}
