//! Events handed over by hand: one at a time through the guard or past it, or many by a filter.

use onced::clock::ManualTime;
use onced::delivery::Replayed;
use onced::event::{AttemptOutcome, Cause, Event as Entry, StateName};
use onced::store::{Actor, Filter};

use crate::harness::{App, Event, Front, Reply, route};
use crate::queue::{
    SECOND, START_MS, a_while, entries, entry, github, queue, until_entries, until_entry, until_state, until_waits,
};

const ONCE: &str = "[route.delivery]\nmax_attempts = 1";

fn forwarded(attempt: u32, status: u16) -> Replayed {
    let outcome = if status == 200 { AttemptOutcome::Delivered } else { AttemptOutcome::Answered };
    Replayed::Forwarded { attempt, outcome, status: Some(status) }
}

/// Replays an event, and lets the app do this. What became of the attempt before can be read a moment before it has ended for
/// those who would hand the event over.
async fn replay(front: &Front, app: &mut App, entry: &Entry, force: bool, status: u16) -> Replayed {
    let replaying = async {
        loop {
            match front.daemon.delivery().replay(entry.id, force).await.unwrap() {
                Replayed::InProgress => tokio::task::yield_now().await,
                replayed => return replayed,
            }
        }
    };
    tokio::join!(replaying, app.answers(Reply::status(status))).0
}

/// B84: to hand an item over again was ignored without a word, because a job of the same id was still there.
#[tokio::test]
async fn a_dead_letter_is_replayed_with_a_fresh_budget_and_its_own_id() {
    let mut app = App::start().await;
    let (front, time) = github(&app, "[route.delivery]\nmax_attempts = 2").await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    for attempt in 1..=2 {
        app.answers(Reply::status(500)).await;
        if attempt == 1 {
            time.advance(std::time::Duration::from_millis(until_waits(&front, 1).await));
        }
    }
    let dead = until_state(&front, StateName::Dead).await;
    time.advance(7 * 86_400 * SECOND);
    assert_eq!(replay(&front, &mut app, &dead, false, 500).await, forwarded(3, 500));
    // One attempt of two is gone; the next comes by itself.
    let gap = until_waits(&front, 3).await;
    assert!((5_000..=6_250).contains(&gap), "{gap}");
    time.advance(std::time::Duration::from_millis(gap));
    let seen = app.answers(Reply::ok()).await;
    assert_eq!((seen.attempt(), seen.header("onced-event-id")), ("4", Some("e-1")));
    assert_eq!(seen.header("onced-delivery"), Some(&*dead.id.to_string()));
    until_state(&front, StateName::Delivered).await;
    app.assert_quiet();
}

/// B84: a double click sent twice.
#[tokio::test]
async fn a_double_click_yields_one_hand_over_and_what_is_delivered_needs_force() {
    let mut app = App::start().await;
    let (front, _time) = github(&app, ONCE).await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    app.answers(Reply::status(500)).await;
    let dead = until_state(&front, StateName::Dead).await;
    let delivery = front.daemon.delivery();
    let clicks = async { tokio::join!(delivery.replay(dead.id, false), delivery.replay(dead.id, false)) };
    let answer = async {
        let hit = app.hit().await;
        a_while().await;
        hit.answer(Reply::ok())
    };
    let ((first, second), _seen) = tokio::join!(clicks, answer);
    let mut clicks = [first.unwrap(), second.unwrap()];
    clicks.sort_by_key(|click| *click == Replayed::InProgress);
    assert_eq!(clicks, [forwarded(2, 200), Replayed::InProgress]);

    assert_eq!(delivery.replay(dead.id, false).await, Ok(Replayed::Duplicate));
    app.assert_quiet();
    assert_eq!(replay(&front, &mut app, &dead, true, 500).await, forwarded(3, 500));
    let entry = entry(&front).await;
    assert_eq!(entry.state.name(), StateName::Delivered, "nothing makes it less handled");
    assert_eq!(delivery.replay(crate::queue::id_of(&"ab".repeat(16)), false).await, Ok(Replayed::Gone));
    app.assert_quiet();
}

/// An event that waited was replayed, and its own attempt went out beside it.
#[tokio::test]
async fn an_event_that_waits_or_is_under_way_is_handed_over_once_at_a_time() {
    let mut app = App::start().await;
    let (front, time) = github(&app, "").await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    let hit = app.hit().await;
    let under_way = entry(&front).await;
    assert_eq!(front.daemon.delivery().replay(under_way.id, false).await, Ok(Replayed::InProgress));
    hit.answer(Reply::status(500));
    let gap = until_waits(&front, 1).await;
    // Its time comes while it is being replayed.
    let replayed = front.daemon.delivery().replay(under_way.id, false);
    let answered = async {
        let hit = app.hit().await;
        time.advance(std::time::Duration::from_millis(gap));
        a_while().await;
        hit.answer(Reply::status(500))
    };
    let (replayed, _seen) = tokio::join!(replayed, answered);
    assert_eq!(replayed, Ok(forwarded(2, 500)));
    app.assert_quiet();
    let gap = until_waits(&front, 2).await;
    assert!(gap >= 10_000, "{gap}");
    time.advance(std::time::Duration::from_millis(gap));
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "3");
}

/// An app that was known to be down was not asked though somebody wanted it.
#[tokio::test]
async fn a_replay_goes_past_an_open_breaker_and_closes_it() {
    let app = App::absent().await;
    let lines = "[route.delivery]\nbreaker_failures = 1\nbreaker_probe = \"1h\"\nconcurrency = 1";
    let (front, _time) = github(&app, lines).await;
    for id in ["e-1", "e-2"] {
        front.post(&Event::github(id, "{}")).await.assert(202, "accepted");
    }
    let all = until_entries(&front, "one failure", |all| all.iter().any(|entry| !entry.delivery.log.is_empty())).await;
    let mut app = app.appear().await;
    let tried = all.iter().find(|entry| entry.delivery.attempts == 1).unwrap();
    assert_eq!(replay(&front, &mut app, tried, false, 200).await, forwarded(2, 200));
    assert_eq!(app.answers(Reply::ok()).await.header("onced-event-id"), Some("e-2"));
}

/// B84: a bulk job that its process did not survive was half done for ever.
#[tokio::test]
async fn many_dead_letters_are_queued_anew_by_a_filter_and_each_of_them_once() {
    const LETTERS: usize = 450;
    let mut app = App::start().await;
    let lines = "[route.delivery]\nmax_attempts = 1\nconcurrency = 50";
    let (front, time) = github(&app, lines).await;
    for number in 0..LETTERS {
        front.post(&Event::github(&format!("e-{number}"), "{}")).await.assert(202, "accepted");
        app.answers(Reply::status(if number % 3 == 0 { 404 } else { 500 })).await;
    }
    let dead = |all: &[Entry]| all.iter().all(|entry| entry.state.name() == StateName::Dead);
    until_entries(&front, "all dead", dead).await;
    time.advance(SECOND);
    // 404 and no other try, so that both kinds have one cause; the filter is the route's.
    let filter = Filter { route: Some("github".into()), cause: Some(Cause::AttemptsExhausted), ..Filter::default() };
    front.daemon.ledger().store().start_redrive(filter.clone(), Actor::new("the test")).await.unwrap();
    // Nobody has begun with it yet: the next start does.
    let front = front.restarted(async {}).await;
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < LETTERS {
        let again = app.answers(Reply::status(500)).await;
        assert!(seen.insert(again.header("onced-event-id").unwrap().to_owned()), "none goes out twice");
        assert_eq!(again.attempt(), "2");
    }
    until_entries(&front, "all dead again", dead).await;
    assert_eq!(front.daemon.ledger().store().unfinished_redrives().await.unwrap(), []);
    app.assert_quiet();
    let other = Filter { route: Some("stripe".into()), ..filter };
    front.daemon.delivery().redrive(other, Actor::new("the test")).await.unwrap();
    crate::harness::soon("the end of the redrive", async {
        while !front.daemon.ledger().store().unfinished_redrives().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    app.assert_quiet();
}

/// A sync route's dead letter is replayed like any other; who sent it is then told that it is handled.
#[tokio::test]
async fn a_dead_letter_of_a_sync_route_is_replayed_and_counts_as_handled() {
    let mut app = App::start().await;
    let front = Front::start(&route("github", &app, "")).await;
    let event = Event::github("e-1", "{\"a\":1}");
    let mut sender = front.sent(&event).await;
    app.answers(Reply::status(500)).await;
    sender.answer().await.assert(500, "forwarded");
    let letter = until_state(&front, StateName::Dead).await;
    let (replayed, seen) = tokio::join!(front.daemon.delivery().replay(letter.id, false), app.answers(Reply::ok()));
    assert_eq!(replayed, Ok(forwarded(2, 200)));
    assert_eq!((seen.attempt(), &seen.body[..]), ("2", &b"{\"a\":1}"[..]));
    until_state(&front, StateName::Delivered).await;
    front.post(&event).await.assert(200, "duplicate");
    app.assert_quiet();
}

/// A dead letter that was redriven was accepted like any event of a queue, and so its key was done: a sender that waits for
/// the app was told "handled before" of an event that no app had handled.
#[tokio::test]
async fn who_waits_for_the_app_is_not_told_that_an_event_in_the_queue_is_handled() {
    let mut app = App::start().await;
    let time = ManualTime::new(START_MS);
    let front = Front::on_clock(&route("github", &app, ONCE), &time).await;
    let event = Event::github("e-1", "{}");
    let mut sender = front.sent(&event).await;
    app.answers(Reply::status(500)).await;
    sender.answer().await.assert(500, "forwarded");
    let letter = until_state(&front, StateName::Dead).await;
    // A redrive takes what was given up on before it.
    time.advance(SECOND);
    front.daemon.delivery().redrive(Filter::default(), Actor::new("the test")).await.unwrap();
    let hit = app.hit().await;
    front.post(&event).await.assert(503, "in_progress");
    hit.answer(Reply::status(500));
    until_entry(&front, "dead again", |entry| entry.state.name() == StateName::Dead && entry.delivery.attempts == 2)
        .await;
    // Free again: who sends it now has an attempt of its own, whose number goes on.
    let mut sender = front.sent(&event).await;
    let seen = app.answers(Reply::ok()).await;
    assert_eq!((seen.attempt(), seen.header("onced-delivery")), ("3", Some(&*letter.id.to_string())));
    sender.answer().await.assert(200, "forwarded");
    front.post(&event).await.assert(200, "duplicate");
    app.assert_quiet();
}

/// Switched to a sync route, the events that a queue had given up on were told to be handled, for ever.
#[tokio::test]
async fn a_dead_letter_that_is_sent_again_to_a_route_without_a_queue_is_queued_anew() {
    let mut app = App::start().await;
    let (mut front, _time) = github(&app, ONCE).await;
    let event = Event::github("e-1", "{}");
    front.post(&event).await.assert(202, "accepted");
    app.answers(Reply::status(500)).await;
    until_state(&front, StateName::Dead).await;
    front.reload("mode = \"queue\"", "").await.unwrap();
    front.post(&event).await.assert(503, "in_progress");
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "2");
    until_state(&front, StateName::Delivered).await;
    front.post(&event).await.assert(200, "duplicate");
    app.assert_quiet();
}

/// A redrive of a sync route's dead letter is delivered by its lane.
#[tokio::test]
async fn a_dead_letter_of_a_sync_route_is_redriven_by_the_lane_of_its_route() {
    let mut app = App::start().await;
    let front = Front::start(&[route("github", &app, ""), queue("stripe", &app, "")].concat()).await;
    let mut sender = front.sent(&Event::github("e-1", "{}")).await;
    app.answers(Reply::status(500)).await;
    sender.answer().await.assert(500, "forwarded");
    until_state(&front, StateName::Dead).await;
    front.daemon.delivery().redrive(Filter::default(), Actor::new("the test")).await.unwrap();
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "2");
    until_entry(&front, "delivered", |entry| entry.state.name() == StateName::Delivered).await;
    assert_eq!(entries(&front).await.len(), 1);
}
