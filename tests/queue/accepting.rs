//! Acceptance: what is stored, what the sender is told, and what it is told again.

use onced::event::StateName;

use crate::harness::{App, Event, Front, Reply, SECRET, hmac, route};
use crate::queue::{entries, github, id_of, queue, until_entries, until_state};

#[tokio::test]
async fn an_event_is_acknowledged_before_its_app_has_it_and_repeats_get_the_same_whatever_became_of_it() {
    let mut app = App::start().await;
    let front = Front::start(&queue("github", &app, "")).await;
    let event = Event::github("e-1", "{}");
    let answer = front.post(&event).await;
    answer.assert(202, "accepted");
    assert_eq!((answer.header("content-type"), &answer.body[..]), (Some("application/json"), &b"{}"[..]));
    let hit = app.hit().await;
    front.post(&event).await.assert(202, "duplicate");
    hit.answer(Reply::ok());
    until_state(&front, StateName::Delivered).await;
    let answer = front.post(&event).await;
    answer.assert(202, "duplicate");
    assert_eq!((answer.header("content-type"), &answer.body[..]), (Some("application/json"), &b"{}"[..]));
    assert_eq!(front.sample("onced_hooks_total{route=\"github\",outcome=\"accepted\"}"), 1.0);
    app.assert_quiet();
}

#[tokio::test]
async fn the_app_is_told_what_it_would_be_told_at_once_and_the_place_in_the_queue() {
    let mut app = App::start().await;
    let (front, _time) = github(&app, &format!("sign_secret = {{ inline = \"{SECRET}\" }}")).await;
    front.post(&Event::github("e-1", "{}").at("/hooks/github?a=%2F&b").with("Onced-Attempt", "7")).await;
    front.post(&Event::github("e-2", "{}")).await;
    let (first, second) = (app.answers(Reply::ok()).await, app.answers(Reply::ok()).await);
    assert_eq!(first.target(), b"/in?a=%2F&b");
    for (name, value) in [
        ("onced-event-id", "e-1"),
        ("onced-attempt", "1"),
        ("onced-verified", "github"),
        ("idempotency-key", "route:github:e-1"),
        ("webhook-id", "route:github:e-1"),
        ("x-github-delivery", "e-1"),
        ("x-forwarded-for", "127.0.0.1"),
        ("host", "hooks.example"),
        ("content-length", "2"),
    ] {
        assert_eq!(first.values(name), [value.as_bytes()], "{name}");
    }
    let received_at = first.header("onced-received-at").unwrap();
    assert!(("2027-01-15T07:59:58Z"..="2027-01-15T08:00:00.000Z").contains(&received_at), "{received_at}");
    let entries = until_entries(&front, "two delivered events", |entries| {
        entries.len() == 2 && entries.iter().all(|entry| entry.state.name() == StateName::Delivered)
    })
    .await;
    for (seen, entry) in [first, second].iter().zip(&entries) {
        assert_eq!(id_of(seen.header("onced-delivery").unwrap()), entry.id);
        assert_eq!(seen.header("onced-sequence"), Some(&*entry.sequence.to_string()));
    }
    assert!(entries[0].sequence < entries[1].sequence);
}

/// B14: two copies arrived within the same instant; both passed the check, or one died with an error.
#[tokio::test]
async fn of_many_copies_at_once_one_is_handed_over_and_all_are_acknowledged() {
    let mut app = App::start().await;
    let front = Front::start(&queue("github", &app, "")).await;
    for round in 0..10 {
        let event = Event::github(&format!("e-{round}"), "{}");
        let mut senders = Vec::new();
        for _ in 0..50 {
            senders.push(front.sender().await);
        }
        let (half, rest) = (event.bytes()[..20].to_vec(), event.bytes()[20..].to_vec());
        for sender in &mut senders {
            sender.send(&half).await;
        }
        for sender in &mut senders {
            sender.send(&rest).await;
        }
        let mut accepted = 0;
        for sender in &mut senders {
            let answer = sender.answer().await;
            assert_eq!(answer.status(), 202);
            accepted += usize::from(answer.header("onced-outcome") == Some("accepted"));
        }
        assert_eq!(accepted, 1, "round {round}");
        assert_eq!(app.answers(Reply::ok()).await.header("onced-event-id"), Some(&*format!("e-{round}")));
    }
    app.assert_quiet();
}

/// B107: the gateway answered a bare 200; the sender wanted a fixed text and took the rest for failure.
#[tokio::test]
async fn the_acknowledgement_is_the_routes_or_else_the_profiles() {
    let app = App::start().await;
    let text = "[route.delivery]\nacknowledge = { status = 200, content_type = \"text/plain\", body = \"[accepted]\" }";
    let empty = "[route.delivery]\nacknowledge = { status = 202 }";
    for (more, status, content_type, body) in [
        ("", 202, Some("application/json"), "{}"),
        (text, 200, Some("text/plain"), "[accepted]"),
        (empty, 202, None, ""),
    ] {
        let front = Front::start(&queue("github", &app, more)).await;
        for outcome in ["accepted", "duplicate"] {
            let answer = front.post(&Event::github("e-1", "{}")).await;
            answer.assert(status, outcome);
            assert_eq!((answer.header("content-type"), &answer.body[..]), (content_type, body.as_bytes()), "{more}");
        }
    }
}

/// B107: a handshake was put into the queue, and its sender never saw its challenge.
#[tokio::test]
async fn a_handshake_is_answered_and_never_queued() {
    let mut app = App::start().await;
    let front = Front::start(&queue("slack", &app, "")).await;
    let body = br#"{"type":"url_verification","challenge":"3eZbrw1aB"}"#;
    let at = crate::harness::now().to_string();
    let digest = hex::encode(hmac(SECRET.as_bytes(), &[b"v0:", at.as_bytes(), b":", body]));
    let event = Event::bare("/hooks/slack", body)
        .with("X-Slack-Request-Timestamp", at)
        .with("X-Slack-Signature", format!("v0={digest}"));
    let answer = front.post(&event).await;
    answer.assert(200, "handshake");
    assert_eq!(answer.body, b"3eZbrw1aB");
    assert_eq!(entries(&front).await, []);
    app.assert_quiet();
}

#[tokio::test]
async fn what_is_not_the_senders_is_refused_and_leaves_nothing() {
    let mut app = App::start().await;
    let front = Front::start(&queue("github", &app, "")).await;
    front.post(&Event::github("e-1", "{}").altered("X-Hub-Signature-256", "sha256=00")).await.assert(401, "unverified");
    assert_eq!((entries(&front).await.len(), front.records().await), (0, 0));
    app.assert_quiet();
}

#[tokio::test]
async fn an_event_without_an_id_is_taken_as_the_route_says() {
    let mut app = App::start().await;
    let anonymous = Event::github("", "{}").without("X-GitHub-Delivery");
    let front = Front::start(&queue("github", &app, "on_missing_id = \"reject\"")).await;
    front.post(&anonymous).await.assert(422, "failed");

    let front = Front::start(&queue("github", &app, "on_missing_id = \"forward\"")).await;
    for _ in 0..2 {
        front.post(&anonymous).await.assert(202, "accepted");
        let seen = app.answers(Reply::ok()).await;
        assert_eq!((seen.attempt(), seen.header("onced-degraded")), ("1", Some("no_event_id")));
    }

    let front = Front::start(&queue("github", &app, "on_missing_id = \"hash\"")).await;
    front.post(&anonymous).await.assert(202, "accepted");
    front.post(&anonymous).await.assert(202, "duplicate");
    app.answers(Reply::ok()).await;
    app.assert_quiet();
}

/// B47, B49, B111: the relay's copy did not verify, came in chunks, and one odd byte in a header crashed it.
#[tokio::test]
async fn bytes_and_header_values_come_out_as_they_came_in_however_long_the_body() {
    let mut app = App::start().await;
    let front = Front::start(&queue("github", &app, "")).await;
    let all: Vec<u8> = (0x80..=0xFF).collect();
    let odd: &[(&str, &[u8])] = &[("X-Shop", b"caf\xe9"), ("X-E", b"\xc3\xa9"), ("X-All", &all), ("X-Two", b"a")];
    let escapes = br#"{"id":"e-1","m":"\u001B[0m \/path\/ \u00261 e1 2e2"}"#.to_vec();
    let bodies = [Vec::new(), escapes, b"{\"id\":\"e-3\",\"m\":\"\xff\xfe\"}".to_vec(), vec![b'x'; 300_000]];
    for (number, body) in bodies.iter().enumerate() {
        for chunked in [false, true] {
            let mut event = Event::github(&format!("e-{number}-{chunked}"), body).with("X-Two", "b");
            for (name, value) in odd {
                event = event.with(name, value);
            }
            let mut sender = front.sender().await;
            let bytes = if chunked { event.chunked(&[body.len() / 2]) } else { event.bytes() };
            sender.send(bytes).await;
            sender.answer().await.assert(202, "accepted");
            let seen = app.answers(Reply::ok()).await;
            assert_eq!(seen.body, *body, "{number} {chunked}");
            for (name, value) in &odd[..3] {
                assert_eq!(seen.values(name), [*value], "{name}");
            }
            assert_eq!(seen.values("x-two"), [b"b", b"a"], "in their order");
            let digest = hex::encode(hmac(SECRET.as_bytes(), &[&seen.body]));
            assert_eq!(seen.header("x-hub-signature-256"), Some(&*format!("sha256={digest}")));
            assert_eq!(seen.values("content-length"), [body.len().to_string().as_bytes()]);
            assert_eq!(seen.header("transfer-encoding"), None);
        }
    }
}

/// The sender had hung up, and its event went with the connection.
#[tokio::test]
async fn a_sender_that_hangs_up_does_not_cut_the_acceptance() {
    let mut app = App::start().await;
    let front = Front::start(&queue("github", &app, "")).await;
    for number in 0..20 {
        let sender = front.sent(&Event::github(&format!("e-{number}"), "{}")).await;
        // With the event on the wire whole; it may be gone before it is read, and then nobody was told anything.
        sender.reset();
    }
    front.post(&Event::github("last", "{}")).await.assert(202, "accepted");
    let entries = entries(&front).await;
    for _ in &entries {
        app.answers(Reply::ok()).await;
    }
    until_entries(&front, "all delivered", |entries| {
        entries.iter().all(|entry| entry.state.name() == StateName::Delivered)
    })
    .await;
}

/// An attempt was under way when its route was switched to a queue, and its duplicate was acknowledged.
#[tokio::test]
async fn a_copy_of_an_event_whose_sync_attempt_is_under_way_is_not_acknowledged() {
    let mut app = App::start().await;
    let mut front = Front::start(&route("github", &app, "mode = \"sync\"")).await;
    let event = Event::github("e-1", "{}");
    let mut first = front.sent(&event).await;
    let hit = app.hit().await;
    front.reload("mode = \"sync\"", "mode = \"queue\"").await.unwrap();
    front.post(&event).await.assert(503, "in_progress");
    hit.answer(Reply::status(500));
    first.answer().await.assert(500, "forwarded");
    front.post(&event).await.assert(202, "accepted");
    app.answers(Reply::ok()).await;
    until_entries(&front, "handled", |entries| entries.iter().any(|entry| entry.state.name() == StateName::Delivered))
        .await;
    front.post(&event).await.assert(202, "duplicate");
    app.assert_quiet();
}

#[tokio::test]
async fn without_its_store_a_queue_route_refuses_or_hands_over_at_once_as_it_says() {
    let mut app = App::start().await;
    let event = Event::github("e-1", "{}");
    let front = Front::start(&queue("github", &app, "on_store_failure = \"closed\"")).await;
    front.lose_store().await;
    front.post(&event).await.assert(503, "degraded");
    app.assert_quiet();

    let front = Front::start(&queue("github", &app, "")).await;
    front.lose_store().await;
    let mut sender = front.sent(&event).await;
    let seen = app.answers(Reply::status(201)).await;
    assert_eq!(seen.header("onced-degraded"), Some("io_error"));
    sender.answer().await.assert(201, "forwarded");
    front.regain_store(|| ()).await;
    // What was handled meanwhile is remembered.
    front.post(&event).await.assert(202, "duplicate");
    app.assert_quiet();
}

/// The store was down, and the repeat of an accepted event got a plain 200 where its sender takes the acknowledgement alone for
/// success.
#[tokio::test]
async fn a_repeat_gets_the_same_acknowledgement_while_the_store_is_down() {
    let mut app = App::start().await;
    let front = Front::start(&queue(
        "github",
        &app,
        "[route.delivery]\nacknowledge = { status = 201, content_type = \"text/plain\", body = \"taken\" }",
    ))
    .await;
    let event = Event::github("e-1", "{}");
    front.post(&event).await.assert(201, "accepted");
    app.answers(Reply::ok()).await;
    until_state(&front, StateName::Delivered).await;
    front.lose_store().await;
    let mut sender = front.sent(&event).await;
    let answer = tokio::select! {
        answer = sender.answer() => answer,
        _ = app.answers(Reply::ok()) => panic!("it was handed over again"),
    };
    answer.assert(201, "duplicate");
    assert_eq!(answer.body, b"taken");
}

/// The disk was filled to the last byte before the first sender was refused.
#[tokio::test]
async fn without_room_the_sender_is_told_to_come_again_on_an_open_route_too() {
    let mut app = App::absent().await;
    for limit in ["max_event_bytes = \"1KiB\"\n", "min_free = \"1024TiB\"\n"] {
        let front = Front::start(&format!("{limit}{}", queue("github", &app, ""))).await;
        let answer = front.post(&Event::github("e-1", vec![b'x'; 2_000])).await;
        answer.assert(503, "failed");
        assert_eq!((entries(&front).await.len(), front.records().await), (0, 0), "{limit}");
    }
    app.assert_quiet();
}

/// The disk was short, and repeats of what was safe in the queue were refused: their sender gave up on the endpoint.
#[tokio::test]
async fn without_room_a_repeat_is_acknowledged_and_a_dead_event_queued_again() {
    let mut app = App::start().await;
    let lines = "[route.delivery]\nmax_attempts = 1";
    // One event has room, and two have not.
    for (bytes, most) in [(10_000, "17KiB"), (100_000, "150KiB")] {
        let time = onced::clock::ManualTime::new(crate::queue::START_MS);
        let config = format!("max_event_bytes = \"{most}\"\n{}", queue("github", &app, lines));
        let front = Front::on_clock(&config, &time).await;
        let event = Event::github("e-1", vec![b'x'; bytes]);
        front.post(&event).await.assert(202, "accepted");
        app.answers(Reply::status(500)).await;
        until_state(&front, StateName::Dead).await;
        front.post(&Event::github("e-2", vec![b'x'; bytes])).await.assert(503, "failed");
        front.post(&event).await.assert(202, "duplicate");
        assert_eq!(app.answers(Reply::ok()).await.attempt(), "2", "{bytes}");
        until_state(&front, StateName::Delivered).await;
        front.post(&event).await.assert(202, "duplicate");
        app.assert_quiet();
    }
}

/// A person pressed "redeliver", and was told that all was well.
#[tokio::test]
async fn a_dead_event_that_is_sent_again_is_queued_again() {
    let mut app = App::start().await;
    let (front, time) = github(&app, "[route.delivery]\nmax_attempts = 1").await;
    let event = Event::github("e-1", "{}");
    front.post(&event).await.assert(202, "accepted");
    app.answers(Reply::status(500)).await;
    until_state(&front, StateName::Dead).await;
    time.advance(std::time::Duration::from_secs(3_600));
    front.post(&event).await.assert(202, "duplicate");
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "2");
    until_state(&front, StateName::Delivered).await;
    front.post(&event).await.assert(202, "duplicate");
    app.assert_quiet();
}
