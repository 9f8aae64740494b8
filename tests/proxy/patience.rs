//! The sender and the app each have a patience of their own: what happens when one of them has gone.

use onced::clock::Source;
use tokio::io::AsyncWriteExt as _;

use crate::harness::{App, Event, Front, Reply, now, route};

const IMPATIENT: &str = "answer_within = \"100ms\"\n";

#[tokio::test]
async fn a_late_success_is_confirmed_and_the_retry_gets_it() {
    let mut app = App::start().await;
    let front = Front::github(&app, IMPATIENT).await;
    let event = Event::github("e-1", "{}");
    let mut sender = front.sent(&event).await;
    let hit = app.hit().await;
    sender.answer().await.assert(503, "in_progress");
    hit.answer(Reply::ok());
    front.until_claims("confirmed", 1).await;
    front.post(&event).await.assert(200, "duplicate");
    app.assert_quiet();
}

#[tokio::test]
async fn a_late_failure_is_released_and_the_retry_is_handed_over() {
    let mut app = App::start().await;
    let front = Front::github(&app, IMPATIENT).await;
    let event = Event::github("e-1", "{}");
    let mut sender = front.sent(&event).await;
    let hit = app.hit().await;
    sender.answer().await.assert(503, "in_progress");
    hit.answer(Reply::status(500));
    front.until_claims("released", 1).await;
    let mut sender = front.sent(&event).await;
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "2");
    sender.answer().await.assert(200, "forwarded");
}

#[tokio::test]
async fn a_sender_that_hangs_up_does_not_end_what_the_app_does() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for (number, resets) in [(0, false), (1, true)] {
        let event = Event::github(&format!("good-{number}"), "{}");
        let sender = front.sent(&event).await;
        let hit = app.hit().await;
        if resets {
            sender.reset()
        } else {
            drop(sender)
        }
        hit.answer(Reply::ok());
        front.until_claims("confirmed", number + 1).await;
        front.post(&event).await.assert(200, "duplicate");

        let event = Event::github(&format!("bad-{number}"), "{}");
        let sender = front.sent(&event).await;
        let hit = app.hit().await;
        if resets {
            sender.reset()
        } else {
            drop(sender)
        }
        hit.answer(Reply::status(500));
        front.until_claims("released", number + 1).await;
        let mut sender = front.sent(&event).await;
        assert_eq!(app.answers(Reply::ok()).await.attempt(), "2");
        sender.answer().await.assert(200, "forwarded");
        front.until_claims("confirmed", number + 1).await;
    }
}

/// A sender that had gone before its claim was decided took its event along, and so did one whose end came together with
/// the last piece of its body: the transport dropped what it waited for.
#[tokio::test]
async fn the_event_of_a_sender_that_half_closes_at_once_is_finished() {
    let mut app = App::start().await;
    for manner in ["wait", "busy"] {
        let front = Front::github(&app, &format!("in_flight = \"{manner}\"\n")).await;
        for number in 0..20 {
            let body = vec![b'a'; usize::try_from(number).unwrap() * 30_000];
            let event = Event::github(&number.to_string(), body);
            let mut sender = front.sent(&event).await;
            sender.0.shutdown().await.unwrap();
            assert_eq!(app.answers(Reply::ok()).await.attempt(), "1");
            front.until_claims("confirmed", number + 1).await;
            front.post(&event).await.assert(200, "duplicate");
        }
    }
    app.assert_quiet();
}

/// Attempts outlive their senders, each with its body: an app that hangs gathered them without end.
#[tokio::test]
async fn no_more_than_a_thousand_attempts_of_a_route_are_under_way() {
    const PLACES: u64 = 1_000;
    let (mut app, mut other) = (App::start().await, App::start().await);
    let routes = [route("github", &app, "answer_within = \"25s\"\n"), route("stripe", &other, "")];
    let front = Front::start(&routes.concat()).await;
    let event = Event::github("e-1", "{}");
    drop(front.sent(&event).await);
    let hit = app.hit().await;
    for waiting in 1..PLACES {
        // Its sender goes; it waits for the first one all the same.
        drop(front.sent(&event).await);
        front.until_claims("in_progress", waiting).await;
    }
    let refused = Event::github("e-2", "{}");
    front.post(&refused).await.assert(503, "failed");
    front.post(&event).await.assert(503, "failed");
    assert_eq!(front.records().await, 1, "nothing was claimed");
    // This sender does not come again by itself, so even what was never tried is kept.
    let mut letters = front.letters().await;
    letters.sort_by_key(|letter| letter.sequence);
    let kept: Vec<_> = letters.iter().map(|letter| letter.key.as_ref().unwrap().id()).collect();
    assert_eq!((&kept[..], letters[0].delivery.attempts), (&["e-2", "e-1"][..], 0));
    let mut elsewhere = front.sent(&Event::stripe(now(), "{\"id\":\"evt_1\"}")).await;
    other.answers(Reply::ok()).await;
    elsewhere.answer().await.assert(200, "forwarded");
    hit.answer(Reply::ok());
    front.until_claims("done", PLACES - 1).await;
    let mut sender = front.sent(&refused).await;
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "1");
    sender.answer().await.assert(200, "forwarded");
    front.post(&event).await.assert(200, "duplicate");
    assert_eq!(front.letters().await, [], "what was handled after all is kept no longer");
}

#[tokio::test]
async fn a_sender_that_leaves_in_mid_body_leaves_no_trace() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{\"more\":true}");
    let whole = event.bytes();
    let part = &whole[..whole.len() - 5];
    for leave in [0, 1, 2] {
        let mut sender = front.sender().await;
        sender.send(part).await;
        match leave {
            0 => drop(sender),
            1 => sender.reset(),
            _ => {
                sender.0.shutdown().await.unwrap();
                let answer = sender.answer().await;
                assert_eq!((answer.status(), answer.header("connection")), (400, Some("close")));
                sender.assert_closed().await;
            }
        }
    }
    assert_eq!(front.records().await, 0);
    let mut sender = front.sent(&event).await;
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "1");
    sender.answer().await.assert(200, "forwarded");
}

#[tokio::test]
async fn a_stop_lets_an_attempt_end_and_its_sender_have_the_answer() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}");
    let mut sender = front.sent(&event).await;
    let hit = app.hit().await;
    let hooks = front.hooks.clone();
    let front = front
        .restarted(async {
            // Nobody new is let in once it has begun.
            while tokio::net::TcpStream::connect(&hooks).await.is_ok() {
                tokio::task::yield_now().await;
            }
            hit.answer(Reply::ok());
            let answer = sender.answer().await;
            answer.assert(200, "forwarded");
            assert_eq!(answer.header("connection"), Some("close"));
        })
        .await;
    front.post(&event).await.assert(200, "duplicate");
    app.assert_quiet();
}

#[tokio::test]
async fn a_stop_lets_an_attempt_end_whose_sender_has_gone() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}");
    let sender = front.sent(&event).await;
    let hit = app.hit().await;
    drop(sender);
    let hooks = front.hooks.clone();
    let front = front
        .restarted(async {
            while tokio::net::TcpStream::connect(&hooks).await.is_ok() {
                tokio::task::yield_now().await;
            }
            hit.answer(Reply::ok());
        })
        .await;
    front.post(&event).await.assert(200, "duplicate");
    app.assert_quiet();
}

/// The drain is bounded: an app that hangs holds up nobody for longer. What it was at is not known to be done.
#[tokio::test]
async fn a_stop_does_not_wait_for_an_app_beyond_its_deadline() {
    let mut app = App::start().await;
    let routes = format!("[shutdown]\ndrain = \"200ms\"\n{}", route("github", &app, "in_flight = \"busy\"\n"));
    let front = Front::surrounded(&routes, "", Source::machine()).await;
    let event = Event::github("e-1", "{}");
    let mut sender = front.sent(&event).await;
    let hit = app.hit().await;
    let front = front.restarted(async {}).await;
    sender.assert_closed().await;
    // What was in hand is kept, for GitHub does not come again, and its claim is given back.
    let letters = front.letters().await;
    assert_eq!(letters.len(), 1);
    let mut sender = front.sent(&event).await;
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "2");
    sender.answer().await.assert(200, "forwarded");
    drop(hit);
}
