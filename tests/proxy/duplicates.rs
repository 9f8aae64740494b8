//! What a second copy of an event gets, while the first is under way and after it.

use crate::harness::{App, Event, Front, Reply, SECRET, Sender, now, route, until};

#[tokio::test]
async fn a_handled_event_is_not_handed_over_again_and_its_sender_gets_200() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}");
    let mut sender = front.sent(&event).await;
    let reply = "HTTP/1.1 201 Made\r\nX-App: yes\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(app.answers(Reply::keep(reply)).await.attempt(), "1");
    let first = sender.answer().await;
    first.assert(201, "forwarded");
    assert_eq!((first.body.as_slice(), first.header("x-app")), (&b"hello"[..], Some("yes")));
    for _ in 0..3 {
        let repeat = front.post(&event).await;
        repeat.assert(200, "duplicate");
        assert_eq!(repeat.header("x-app"), None);
    }
    app.assert_quiet();
}

/// A retry was told "duplicate" while the first attempt ran; that attempt then failed, and the event was lost.
#[tokio::test]
async fn a_copy_of_an_unfinished_attempt_waits_and_takes_over_when_it_fails() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}");
    let mut first = front.sent(&event).await;
    let hit = app.hit().await;
    let mut second = front.sent(&event).await;
    front.until_claims("in_progress", 1).await;
    app.assert_quiet();
    assert_eq!(hit.answer(Reply::status(500)).attempt(), "1");
    first.answer().await.assert(500, "forwarded");
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "2");
    second.answer().await.assert(200, "forwarded");
    front.post(&event).await.assert(200, "duplicate");
    app.assert_quiet();
}

#[tokio::test]
async fn a_waiting_copy_mirrors_a_success() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}");
    let mut first = front.sent(&event).await;
    let hit = app.hit().await;
    let mut second = front.sent(&event).await;
    front.until_claims("in_progress", 1).await;
    hit.answer(Reply::status(202));
    first.answer().await.assert(202, "forwarded");
    second.answer().await.assert(200, "duplicate");
    app.assert_quiet();
}

#[tokio::test]
async fn of_several_waiting_copies_one_takes_over_and_the_others_go_on_waiting() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}");
    let mut first = front.sent(&event).await;
    let hit = app.hit().await;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(front.sent(&event).await);
    }
    front.until_claims("in_progress", 3).await;
    hit.answer(Reply::status(500));
    first.answer().await.assert(500, "forwarded");
    let hit = app.hit().await;
    app.assert_quiet();
    hit.answer(Reply::ok());
    let mut outcomes = Vec::new();
    for sender in &mut waiting {
        let answer = sender.answer().await;
        assert_eq!(answer.status(), 200);
        outcomes.push(answer.header("onced-outcome").unwrap().to_owned());
    }
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["duplicate", "duplicate", "forwarded"]);
    app.assert_quiet();
}

#[tokio::test]
async fn a_copy_that_has_waited_as_long_as_its_sender_does_is_told_to_come_again() {
    let mut app = App::start().await;
    let front = Front::github(&app, "answer_within = \"300ms\"\n").await;
    let event = Event::github("e-1", "{}");
    let mut first = front.sent(&event).await;
    let hit = app.hit().await;
    let mut second = front.sent(&event).await;
    first.answer().await.assert(503, "in_progress");
    second.answer().await.assert(503, "in_progress");
    hit.answer(Reply::ok());
    front.until_claims("confirmed", 1).await;
    front.post(&event).await.assert(200, "duplicate");
}

#[tokio::test]
async fn a_busy_route_answers_at_once() {
    let mut app = App::start().await;
    let front = Front::github(&app, "in_flight = \"busy\"\n").await;
    let event = Event::github("e-1", "{}");
    let mut first = front.sent(&event).await;
    let hit = app.hit().await;
    front.post(&event).await.assert(503, "in_progress");
    hit.answer(Reply::ok());
    first.answer().await.assert(200, "forwarded");
    front.post(&event).await.assert(200, "duplicate");
    app.assert_quiet();
}

/// Copies that arrived within one instant either all passed, or died of each other with a 500.
#[tokio::test]
async fn of_fifty_simultaneous_copies_exactly_one_is_handed_over() {
    const ROUNDS: usize = 200;
    let mut app = App::start().await;
    let front = Front::start(&route("stripe", &app, "")).await;
    let mut senders = Vec::new();
    for _ in 0..50 {
        senders.push(front.sender().await);
    }
    for round in 0..ROUNDS {
        let event = Event::stripe(now(), format!("{{\"id\":\"evt_{round}\"}}"));
        let bytes = event.bytes();
        let waited = front.claims("stripe", "in_progress");
        for sender in &mut senders {
            sender.send(&bytes).await;
        }
        let hit = app.hit().await;
        // Half the rounds end while the others are still arriving, half when all of them wait.
        if round % 2 == 0 {
            until("49 waiting copies", || front.claims("stripe", "in_progress") == waited + 49).await;
            app.assert_quiet();
        }
        hit.answer(Reply::ok());
        let answers = answers(&mut senders).await;
        assert_eq!(answers, (1, 49), "round {round}");
        front.post(&event).await.assert(200, "duplicate");
        app.assert_quiet();
    }
}

/// How many got the app's answer, and how many were told that it was handled.
async fn answers(senders: &mut [Sender]) -> (usize, usize) {
    let (mut forwarded, mut duplicates) = (0, 0);
    for sender in senders {
        let answer = sender.answer().await;
        assert_eq!(answer.status(), 200);
        match answer.header("onced-outcome") {
            Some("forwarded") => forwarded += 1,
            Some("duplicate") => duplicates += 1,
            other => panic!("{other:?}"),
        }
    }
    (forwarded, duplicates)
}

#[tokio::test]
async fn one_id_on_two_routes_is_two_events_unless_they_share_a_namespace() {
    let mut app = App::start().await;
    let url = app.url();
    let named = |name: &str, more: &str| {
        format!(
            "[[route]]\nname = \"{name}\"\nprovider = \"github\"\npath = \"/hooks/{name}\"\n\
             secrets = [{{ inline = \"{}\" }}]\nforward_to = \"{url}/{name}\"\n{more}\n",
            SECRET
        )
    };
    let shared = "namespace = \"both\"";
    let routes = [named("a", ""), named("b", ""), named("c", shared), named("d", shared)].concat();
    let front = Front::start(&routes).await;
    let event = Event::github("1", "{}");
    for (path, key) in [("a", "route:a:1"), ("b", "route:b:1"), ("c", "route:both:1")] {
        let mut sender = front.sent(&event.clone().at(&format!("/hooks/{path}"))).await;
        let seen = app.answers(Reply::ok()).await;
        assert_eq!(seen.header("idempotency-key"), Some(key));
        sender.answer().await.assert(200, "forwarded");
    }
    front.post(&event.at("/hooks/d")).await.assert(200, "duplicate");
    app.assert_quiet();
}
