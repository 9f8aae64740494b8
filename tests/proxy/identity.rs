//! Which events are the same event.

use std::time::Duration;

use onced::clock::ManualTime;
use onced::metrics::ByReason;

use crate::harness::{App, Event, Front, Reply, Seen, now, route};

/// A route that is signed like GitHub's, whose id is elsewhere.
fn keyed_on(app: &App, event_id: &str, more: &str) -> String {
    route("github", app, &format!("event_id = {event_id}\n{more}"))
}

/// Signed like GitHub's, without a delivery id.
fn unnamed(body: &str) -> Event {
    Event::github("", body).without("X-GitHub-Delivery")
}

async fn passes(front: &Front, app: &mut App, event: &Event) -> Seen {
    let mut sender = front.sent(event).await;
    let seen = app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
    seen
}

/// "Nothing" was hashed like any value, and the second unrelated event was dropped as a repeat of the first.
#[tokio::test]
async fn events_without_an_id_are_all_handed_over() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let events = [unnamed("{}"), Event::github("", "{}"), Event::github(" ", "{}"), Event::github("\t ", "{}")];
    let mut deliveries = std::collections::BTreeSet::new();
    for event in events.iter().chain(&events) {
        let seen = passes(&front, &mut app, event).await;
        assert_eq!((seen.header("onced-event-id"), seen.header("idempotency-key")), (None, None));
        assert_eq!((seen.attempt(), seen.header("onced-degraded")), ("1", Some("no_event_id")));
        deliveries.insert(seen.header("onced-delivery").unwrap().to_owned());
    }
    assert_eq!(deliveries.len(), 8);
    let labels = ByReason { namespace: "route:github".to_owned(), reason: "no_event_id" };
    assert_eq!(front.daemon.metrics().degraded.get_or_create(&labels).get(), 8);

    let front = Front::start(&keyed_on(&app, "{ pointer = \"/data/id\" }", "")).await;
    let bodies = [
        "",
        "{",
        "[]",
        "{}",
        r#"{"id":"1"}"#,
        r#"{"data":null}"#,
        r#"{"data":{"id":null}}"#,
        r#"{"data":{"id":""}}"#,
        r#"{"data":{"id":" "}}"#,
        r#"{"data":{"id":{}}}"#,
        r#"{"data":{"id":[]}}"#,
        r#"{"data":{"id":false}}"#,
        r#"{"data":{"id":"a","id":"b"}}"#,
    ];
    for body in bodies.iter().chain(&bodies) {
        passes(&front, &mut app, &unnamed(body)).await;
    }
    assert_eq!(front.records().await, 0);
}

#[tokio::test]
async fn an_event_without_an_id_can_be_refused() {
    let mut app = App::start().await;
    let front = Front::github(&app, "on_missing_id = \"reject\"\n").await;
    for event in [unnamed("{}"), Event::github("", "{}"), Event::github(" ", "{}")] {
        front.post(&event).await.assert(422, "failed");
    }
    // Who cannot sign is not told about ids.
    let forged = unnamed("{}").altered("X-Hub-Signature-256", "sha256=00");
    front.post(&forged).await.assert(401, "unverified");
    assert_eq!(front.records().await, 0);
    app.assert_quiet();
}

#[tokio::test]
async fn the_hash_of_a_body_can_stand_in_for_ten_minutes() {
    let mut app = App::start().await;
    let time = ManualTime::new(1_800_000_000_000);
    let front = Front::on_clock(&route("github", &app, "on_missing_id = \"hash\"\n"), &time).await;
    let first = passes(&front, &mut app, &unnamed("{}")).await;
    assert_eq!(first.header("onced-event-id"), None);
    front.post(&unnamed("{}")).await.assert(200, "duplicate");
    passes(&front, &mut app, &unnamed("{} ")).await;
    time.advance(Duration::from_secs(599));
    front.post(&unnamed("{}")).await.assert(200, "duplicate");
    time.advance(Duration::from_secs(2));
    assert_eq!(passes(&front, &mut app, &unnamed("{}")).await.attempt(), "1");
}

#[tokio::test]
async fn an_event_with_an_id_is_remembered_as_long_as_the_route_says() {
    let mut app = App::start().await;
    let time = ManualTime::new(1_800_000_000_000);
    let front = Front::on_clock(&route("github", &app, "confirmed_ttl = \"2d\"\n"), &time).await;
    let event = Event::github("e-1", "{}");
    passes(&front, &mut app, &event).await;
    time.advance(Duration::from_secs(2 * 86_400 - 1));
    front.post(&event).await.assert(200, "duplicate");
    time.advance(Duration::from_secs(2));
    passes(&front, &mut app, &event).await;
}

/// 64-bit ids read as floating point lost their last digits.
#[tokio::test]
async fn different_digits_are_different_events() {
    let mut app = App::start().await;
    let front = Front::start(&keyed_on(&app, "{ pointer = \"/id\" }", "")).await;
    for id in [
        "9007199254740992",
        "9007199254740993",
        "2868860079149422351",
        "2868860079149422352",
        "12345678901234567890123",
        "1e3",
        "1000",
        "1000.0",
    ] {
        let event = unnamed(&format!("{{\"id\":{id}}}"));
        let seen = passes(&front, &mut app, &event).await;
        assert_eq!(seen.header("onced-event-id"), Some(id));
        assert_eq!(seen.header("idempotency-key"), Some(format!("route:github:{id}").as_str()));
        front.post(&event).await.assert(200, "duplicate");
    }
    // Within one field, a number and the same number as text are one id.
    front.post(&unnamed(r#"{"id":"1000"}"#)).await.assert(200, "duplicate");
    app.assert_quiet();
}

#[tokio::test]
async fn the_label_on_a_body_does_not_decide_whether_it_is_read() {
    let mut app = App::start().await;
    let front = Front::start(&keyed_on(&app, "{ pointer = \"/id\" }", "")).await;
    for (number, labels) in [
        &[][..],
        &["application/json; charset=utf-8"],
        &["APPLICATION/JSON"],
        &["application/vnd.x+json"],
        &["text/plain; charset=UTF-8"],
        &["application/octet-stream"],
        &["application/json", "text/plain"],
    ]
    .into_iter()
    .enumerate()
    {
        let bare = unnamed(&format!("{{\"id\":\"e-{number}\"}}"));
        let event = labels.iter().fold(bare, |event, label| event.with("Content-Type", label));
        let seen = passes(&front, &mut app, &event).await;
        let labels: Vec<_> = labels.iter().map(|label| label.as_bytes()).collect();
        assert_eq!(seen.values("content-type"), labels);
        assert_eq!(seen.header("onced-event-id"), Some(format!("e-{number}").as_str()));
        front.post(&event).await.assert(200, "duplicate");
    }
}

/// Form encoding puts the JSON into one field; the signature is over the form.
#[tokio::test]
async fn an_id_can_stand_in_a_form() {
    let mut app = App::start().await;
    let event_id = "{ form = \"payload\", pointer = \"/trigger_id\" }";
    let front = Front::start(&keyed_on(&app, event_id, "")).await;
    let body = "a=1&payload=%7B%22trigger_id%22%3A%22e-5+%C3%A9%22%2C+%22m%22%3A1%7D&b=%26";
    let event = unnamed(body).with("Content-Type", "application/x-www-form-urlencoded");
    let seen = passes(&front, &mut app, &event).await;
    assert_eq!(seen.body, body.as_bytes());
    assert_eq!(seen.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(seen.header("onced-event-id"), Some("e-5 é"));
    front.post(&event).await.assert(200, "duplicate");

    // And one in a header needs no look at the body.
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", body).with("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(passes(&front, &mut app, &event).await.body, body.as_bytes());
    front.post(&event).await.assert(200, "duplicate");
}

#[tokio::test]
async fn an_id_is_bytes_of_any_length() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let long = "x".repeat(5_000);
    let ids: [&[u8]; 6] = [b"caf\xe9", b"caf\xc3\xa9", long.as_bytes(), &long.as_bytes()[1..], b"a:b", b"onced:a"];
    for id in ids {
        let event = Event::github("", "{}").altered("X-GitHub-Delivery", id);
        let seen = passes(&front, &mut app, &event).await;
        assert_eq!(seen.values("onced-event-id"), [id]);
        front.post(&event).await.assert(200, "duplicate");
    }
    app.assert_quiet();
}

#[tokio::test]
async fn what_we_say_about_an_event_is_the_same_over_its_attempts_but_for_the_attempt() {
    let mut app = App::start().await;
    let front = Front::start(&route("standard-webhooks", &app, "")).await;
    let event = Event::standard("m-1", now(), "{}");
    let mut sender = front.sent(&event).await;
    let first = app.answers(Reply::status(500)).await;
    sender.answer().await.assert(500, "forwarded");
    let second = passes(&front, &mut app, &event).await;
    for (seen, attempt) in [(&first, "1"), (&second, "2")] {
        assert_eq!(seen.header("onced-event-id"), Some("m-1"));
        assert_eq!(seen.header("onced-attempt"), Some(attempt));
        assert_eq!(seen.header("onced-verified"), Some("standard-webhooks"));
        assert_eq!(seen.header("idempotency-key"), Some("route:standard-webhooks:m-1"));
        assert_eq!((seen.header("onced-degraded"), seen.header("onced-sequence")), (None, None));
        let at = humantime::parse_rfc3339(seen.header("onced-received-at").unwrap()).unwrap();
        assert!(at.elapsed().unwrap() < Duration::from_secs(60));
    }
    assert_eq!(first.header("onced-delivery"), second.header("onced-delivery"));
    assert_eq!(first.header("onced-delivery").unwrap().len(), 32);
    let other = passes(&front, &mut app, &Event::standard("m-2", now(), "{}")).await;
    assert_ne!(first.header("onced-delivery"), other.header("onced-delivery"));
}

#[tokio::test]
async fn the_senders_own_idempotency_key_stays() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}").with("Idempotency-Key", "\"theirs\"");
    let seen = passes(&front, &mut app, &event).await;
    assert_eq!(seen.values("idempotency-key"), [b"\"theirs\""]);
}
