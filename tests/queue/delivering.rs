//! Hand-overs of queued events: when there is another, when there is none, and what is written down.

use std::time::Duration;

use onced::event::{AttemptOutcome, Cause, DueLane, StateName};

use crate::harness::{App, Event, Front, Reply, SECRET, now, standard_digest, stripe_digest};
use crate::queue::{SECOND, entry, github, queue, until_entries, until_state, until_waits};

/// What an app does with an event.
enum Does {
    Status(u16),
    /// Says this and closes.
    Says(Vec<u8>),
    Resets,
    Hangs,
}

/// What becomes of the event.
#[derive(Clone, Copy)]
enum Becomes {
    Delivered,
    /// It waits, and this is written down of the attempt.
    Waiting(AttemptOutcome),
    /// A dead letter after three.
    Rejected,
}

impl Does {
    fn says(text: &str) -> Self {
        Self::Says(text.into())
    }

    fn reply(&self) -> Option<Reply> {
        match self {
            Self::Status(status) => Some(Reply::status(*status)),
            Self::Says(bytes) => Some(Reply::Close(bytes.clone())),
            Self::Resets => Some(Reply::Reset(Vec::new())),
            Self::Hangs => None,
        }
    }
}

/// B77: 408 or 429 were treated as final and the event dropped on the first try.
#[tokio::test]
async fn what_the_app_does_decides_whether_the_event_comes_again() {
    use AttemptOutcome::{Answered, Lost, TimedOut};
    let long_head = format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "a".repeat(70_000));
    let long_body = format!("HTTP/1.1 500 No\r\nContent-Length: 99999\r\n\r\n{}", "a".repeat(99_999));
    let statuses = [
        (&[200, 201, 202, 204, 299][..], Becomes::Delivered),
        (&[408, 425, 429, 500, 502, 503, 504, 599], Becomes::Waiting(Answered)),
        (&[301, 304, 400, 401, 404, 410, 422, 600, 999], Becomes::Rejected),
    ];
    let statuses =
        statuses.into_iter().flat_map(|(all, becomes)| all.iter().map(move |one| (Does::Status(*one), becomes)));
    let others = [
        (Does::says(""), Becomes::Waiting(Lost)),
        (Does::says("HTTP/1.1 2"), Becomes::Waiting(Lost)),
        (Does::says("SPAM\r\n\r\n"), Becomes::Waiting(Lost)),
        (Does::says(&long_head), Becomes::Waiting(Lost)),
        (Does::Resets, Becomes::Waiting(Lost)),
        (Does::Hangs, Becomes::Waiting(TimedOut)),
        // The status line decides, whatever becomes of the rest.
        (Does::says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), Becomes::Delivered),
        (Does::says(&long_body), Becomes::Waiting(Answered)),
    ];
    let mut rows = 0;
    for (row, (does, becomes)) in statuses.chain(others).enumerate() {
        let mut app = App::start().await;
        let (front, time) = github(&app, "max_duration = \"300ms\"").await;
        front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
        let mut held = Vec::new();
        let last = if let Becomes::Rejected = becomes { 3 } else { 1 };
        for attempt in 1..=last {
            let hit = app.hit().await;
            match does.reply() {
                Some(reply) => assert_eq!(hit.answer(reply).attempt(), attempt.to_string(), "row {row}"),
                None => held.push(hit),
            }
            if attempt < last {
                let gap = until_waits(&front, attempt).await;
                time.advance(Duration::from_millis(gap));
            }
        }
        match becomes {
            Becomes::Delivered => drop(until_state(&front, StateName::Delivered).await),
            Becomes::Waiting(outcome) => {
                let gap = until_waits(&front, 1).await;
                assert!((5_000..=6_250).contains(&gap), "row {row}: {gap}");
                let entry = entry(&front).await;
                assert_eq!(entry.delivery.log[0].outcome, outcome, "row {row}");
                assert_eq!(entry.state.due().unwrap().lane, DueLane::Retry, "row {row}");
            }
            Becomes::Rejected => {
                let entry = until_state(&front, StateName::Dead).await;
                assert_eq!(entry.delivery.cause, Some(Cause::Rejected), "row {row}");
            }
        }
        app.assert_quiet();
        rows += 1;
    }
    assert_eq!(rows, 30);
}

/// B77: an app that could not be reached, by its name or at its address, lost its event at once.
#[tokio::test]
async fn an_app_that_is_not_there_is_asked_again_until_it_is() {
    let app = App::absent().await;
    let (front, time) = github(&app, "").await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    for attempt in 1..=4 {
        let gap = until_waits(&front, attempt).await;
        time.advance(Duration::from_millis(gap));
    }
    let gap = until_waits(&front, 5).await;
    let mut app = app.appear().await;
    time.advance(Duration::from_millis(gap));
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "6");
    let entry = until_state(&front, StateName::Delivered).await;
    assert_eq!(entry.delivery.log[0].outcome, AttemptOutcome::NeverReached);

    let time = onced::clock::ManualTime::new(crate::queue::START_MS);
    let named = queue("github", &app, "").replace(&app.url(), "http://app.invalid:3000");
    let front = Front::on_clock(&named, &time).await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    until_waits(&front, 1).await;
    assert_eq!(crate::queue::entry(&front).await.delivery.log[0].outcome, AttemptOutcome::NeverReached);
}

/// B76: after many attempts the doubled delay wrapped round and the retry loop ran hot.
#[tokio::test]
async fn the_gaps_grow_from_the_base_to_the_cap_on_the_clock() {
    let mut app = App::start().await;
    let lines = "[route.delivery]\nbackoff_base = \"1s\"\nbackoff_cap = \"5s\"\nbreaker_failures = 1000";
    let (front, time) = github(&app, lines).await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    for attempt in 1..=70 {
        assert_eq!(app.answers(Reply::status(503)).await.attempt(), attempt.to_string());
        let gap = until_waits(&front, attempt).await;
        assert!((1_000..=5_000).contains(&gap), "{attempt}: {gap}");
        assert!(attempt < 4 || gap == 5_000, "{attempt}: {gap}");
        // Not a moment earlier.
        time.advance(Duration::from_millis(gap - 1));
        until_waits(&front, attempt).await;
        app.assert_quiet();
        time.advance(Duration::from_millis(1));
    }
    app.answers(Reply::ok()).await;
    let entry = until_state(&front, StateName::Delivered).await;
    assert_eq!((entry.delivery.attempts, entry.delivery.log.len()), (71, 20));
}

#[tokio::test]
async fn what_the_app_asks_for_is_waited_for() {
    let mut app = App::start().await;
    let (front, time) = github(&app, "[route.delivery]\nretry_after_cap = \"10m\"").await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    let asks =
        |value: &str| Reply::keep(&format!("HTTP/1.1 429 Later\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n"));
    // The test's clock shows 08:00:00 at its start.
    for (attempt, value, gap_s) in [
        (1, "90", 90..=90),
        (2, "Fri, 15 Jan 2027 08:05:00 GMT", 210..=210),
        (3, "86400", 600..=600),
        (4, "soon", 40..=50),
    ] {
        assert_eq!(app.answers(asks(value)).await.attempt(), attempt.to_string());
        let gap = until_waits(&front, attempt).await;
        assert!(gap_s.contains(&(gap / 1_000)), "{value}: {gap}");
        time.advance(Duration::from_millis(gap));
    }
    app.answers(Reply::ok()).await;
    until_state(&front, StateName::Delivered).await;
}

/// B87: alarms meant nothing, because what the app refused and what never reached it were in one bin.
#[tokio::test]
async fn an_event_is_given_up_on_with_its_cause_after_its_time_or_its_attempts() {
    let give_up = "[route.delivery]\ngive_up_after = \"1m\"\nbackoff_base = \"10s\"";
    let most = "[route.delivery]\nmax_attempts = 2";
    for (lines, status, cause, attempts) in [
        (give_up, Some(500), Cause::TooOld, 4..=5),
        (give_up, None, Cause::Unreachable, 4..=5),
        (most, Some(500), Cause::AttemptsExhausted, 2..=2),
        ("", Some(404), Cause::Rejected, 3..=3),
    ] {
        let mut app = App::start().await;
        let (front, time) = github(&app, lines).await;
        front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
        let dead = loop {
            let hit = app.hit().await;
            hit.answer(status.map_or(Reply::Close(Vec::new()), Reply::status));
            let settled = |entry: &onced::event::Event| entry.state.name() != StateName::Delivering;
            let entry = crate::queue::until_entry(&front, "the end of an attempt", settled).await;
            match entry.state.due() {
                Some(due) => time.advance(due.at.since(front.daemon.ledger().clock().now())),
                None => break entry,
            }
        };
        assert_eq!((dead.state.name(), dead.delivery.cause), (StateName::Dead, Some(cause)));
        assert!(attempts.contains(&dead.delivery.attempts), "{cause:?}: {}", dead.delivery.attempts);
        assert_eq!(dead.delivery.last_status, status);
        assert!(dead.delivery.first_at.unwrap().since(dead.received_at) < SECOND);
        assert!(cause != Cause::TooOld || dead.delivery.last_at.unwrap().since(dead.received_at) == 60 * SECOND);
        let sample = format!("onced_dead_letters{{route=\"github\",cause=\"{}\"}}", cause.as_str());
        assert_eq!(front.sample(&sample), 1.0);
        app.assert_quiet();
    }
}

/// B81: events waited in a queue for longer than five minutes; the consumer checked the sender's timestamp and rejected
/// every one.
#[tokio::test]
async fn a_delayed_event_carries_its_senders_signature_untouched_and_a_fresh_one_of_ours() {
    let mut app = App::start().await;
    let signed = format!("sign_secret = {{ inline = \"{SECRET}\" }}");
    let (body, sent_at) = (br#"{"id":"evt_1"}"#, now());
    let time = onced::clock::ManualTime::new(u64::try_from(sent_at).unwrap() * 1_000);
    let front = Front::on_clock(&queue("stripe", &app, &signed), &time).await;
    front.post(&Event::stripe(sent_at, body)).await.assert(202, "accepted");
    let mut at = sent_at;
    for attempt in 1..=3_u32 {
        let seen = app.answers(Reply::status(if attempt < 3 { 503 } else { 200 })).await;
        let theirs = format!("t={sent_at},v1={}", stripe_digest(SECRET, sent_at, body));
        assert_eq!(seen.header("stripe-signature"), Some(&*theirs));
        assert_eq!(seen.header("webhook-timestamp"), Some(&*at.to_string()), "{attempt}");
        let ours = format!("v1,{}", standard_digest("route:stripe:evt_1", at, body));
        assert_eq!((seen.header("webhook-signature"), seen.attempt()), (Some(&*ours), &*attempt.to_string()));
        if attempt < 3 {
            until_waits(&front, attempt).await;
            time.advance(600 * SECOND);
            at += 600;
        }
    }
    let entry = until_state(&front, StateName::Delivered).await;
    // A week later, by hand: the edge has checked its freshness when that meant something.
    time.advance(6 * 86_400 * SECOND);
    let (replayed, seen) = tokio::join!(front.daemon.delivery().replay(entry.id, true), app.answers(Reply::ok()));
    assert!(matches!(replayed, Ok(onced::delivery::Replayed::Forwarded { attempt: 4, .. })), "{replayed:?}");
    assert_eq!(seen.header("webhook-timestamp"), Some(&*(at + 6 * 86_400).to_string()));
}

/// B86: an older event arrived after a newer one, and nothing told the app so.
#[tokio::test]
async fn each_event_goes_as_soon_as_it_can_and_tells_its_place() {
    let mut app = App::start().await;
    let (front, time) = github(&app, "[route.delivery]\nconcurrency = 1").await;
    front.post(&Event::github("e-1", "{}")).await.assert(202, "accepted");
    app.answers(Reply::status(500)).await;
    let gap = until_waits(&front, 1).await;
    let mut order = Vec::new();
    for id in ["e-2", "e-3"] {
        time.advance(SECOND);
        front.post(&Event::github(id, "{}")).await.assert(202, "accepted");
        order.push(app.answers(Reply::ok()).await);
    }
    time.advance(Duration::from_millis(gap));
    order.push(app.answers(Reply::ok()).await);
    let told = |name: &str| order.iter().map(|seen| seen.header(name).unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(told("onced-event-id"), ["e-2", "e-3", "e-1"]);
    let sequences: Vec<u64> = told("onced-sequence").iter().map(|text| text.parse().unwrap()).collect();
    assert!(sequences[2] < sequences[0] && sequences[0] < sequences[1], "{sequences:?}");
    let arrivals = told("onced-received-at");
    assert!(arrivals[2] < arrivals[0] && arrivals[0] < arrivals[1], "{arrivals:?}");
}

/// B90: the app closed a kept connection at the moment at which it was used again, and some events failed.
#[tokio::test]
async fn a_connection_that_the_app_has_closed_costs_no_event_its_delivery() {
    let mut app = App::start().await;
    let (front, time) = github(&app, "").await;
    let closes = || Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec());
    let resets = || Reply::Reset(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec());
    for number in 0..100 {
        front.post(&Event::github(&format!("e-{number}"), "{}")).await.assert(202, "accepted");
        app.answers(if number % 2 == 0 { closes() } else { resets() }).await;
    }
    // One that meets a dying connection after all is tried again, and the app can tell.
    let all = |entries: &[onced::event::Event]| {
        entries.len() == 100 && entries.iter().all(|entry| entry.state.name() != StateName::Delivering)
    };
    let entries = until_entries(&front, "the end of all attempts", all).await;
    let waiting = entries.iter().filter(|entry| entry.state.name() != StateName::Delivered).count();
    time.advance(7 * SECOND);
    for _ in 0..waiting {
        assert_eq!(app.answers(Reply::ok()).await.attempt(), "2");
    }
    until_entries(&front, "all delivered", |entries| {
        entries.iter().all(|entry| entry.state.name() == StateName::Delivered)
    })
    .await;
    app.assert_quiet();
}
