//! What the app does, what the sender is told of it, and what becomes of the claim.

use std::time::Duration;

use onced::clock::{ManualTime, Source};

use crate::harness::{App, Event, Front, Reply, now, route};

/// The app may take this long where a test waits for it to take longer.
const SHORT: &str = "max_duration = \"200ms\"\n";

fn close(text: &str) -> Reply {
    Reply::Close(text.into())
}

fn too_large_a_head() -> Reply {
    close(&format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "a".repeat(70_000)))
}

/// Answers after which nobody knows what the app did, and the time-out.
pub(crate) fn unknown() -> Vec<(&'static str, Option<Reply>, u16)> {
    vec![
        ("closed without a byte", Some(close("")), 502),
        ("closed in the status line", Some(close("HTTP/1.1 2")), 502),
        ("reset after the body", Some(Reply::Reset(Vec::new())), 502),
        ("a body cut short", Some(close("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")), 502),
        ("chunks cut short", Some(close("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")), 502),
        ("no HTTP", Some(close("SPAM\r\n\r\n")), 502),
        (
            "an unasked upgrade",
            Some(close("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n")),
            502,
        ),
        ("an endless head", Some(too_large_a_head()), 502),
        ("two lengths", Some(close("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")), 502),
        ("a coding that is not taken", Some(close("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab")), 502),
        (
            "chunks in another coding",
            Some(close("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n1\r\na\r\n0\r\n\r\n")),
            502,
        ),
        ("silence", None, 504),
        ("a head and silence", Some(Reply::keep("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")), 504),
    ]
}

/// Sends an event once, lets the app do this (or nothing), and gives the answer's status and outcome.
async fn attempt(front: &Front, app: &mut App, event: &Event, number: &str, reply: Option<Reply>) -> (u16, String) {
    let mut sender = front.sent(event).await;
    let hit = app.hit().await;
    let answer = match reply {
        Some(reply) => {
            assert_eq!(hit.answer(reply).attempt(), number);
            sender.answer().await
        }
        None => {
            let answer = sender.answer().await;
            drop(hit);
            answer
        }
    };
    app.assert_quiet(); // nothing is ever sent twice
    (answer.status(), answer.header("onced-outcome").unwrap().to_owned())
}

#[tokio::test]
async fn a_success_is_relayed_and_confirmed() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for status in [200, 201, 202, 299] {
        let event = Event::github(&status.to_string(), "{}");
        let told = attempt(&front, &mut app, &event, "1", Some(Reply::status(status))).await;
        assert_eq!(told, (status, "forwarded".to_owned()));
        front.post(&event).await.assert(200, "duplicate");
    }
    app.assert_quiet();
}

#[tokio::test]
async fn any_other_status_is_relayed_and_the_event_may_come_again() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for status in [400, 401, 403, 404, 408, 410, 422, 429, 500, 501, 502, 503, 504, 599] {
        let event = Event::github(&status.to_string(), "{}");
        let reply = format!("HTTP/1.1 {status} Said\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno");
        let mut sender = front.sent(&event).await;
        assert_eq!(app.answers(Reply::keep(&reply)).await.attempt(), "1");
        let answer = sender.answer().await;
        answer.assert(status, "forwarded");
        assert_eq!((answer.body.as_slice(), answer.header("retry-after")), (&b"no"[..], Some("7")));
        let told = attempt(&front, &mut app, &event, "2", Some(Reply::ok())).await;
        assert_eq!(told, (200, "forwarded".to_owned()), "{status}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let mut app = App::start().await;
    let mut elsewhere = App::start().await;
    let front = Front::github(&app, "").await;
    for status in [300, 301, 302, 303, 304, 307, 308] {
        let event = Event::github(&status.to_string(), "{}");
        let to = elsewhere.url();
        let reply = format!("HTTP/1.1 {status} There\r\nLocation: {to}/\r\nContent-Length: 0\r\n\r\n");
        let told = attempt(&front, &mut app, &event, "1", Some(Reply::keep(&reply))).await;
        assert_eq!(told, (502, "failed".to_owned()), "{status}");
        let told = attempt(&front, &mut app, &event, "2", Some(Reply::ok())).await;
        assert_eq!(told.0, 200, "{status}");
    }
    elsewhere.assert_quiet();
}

#[tokio::test]
async fn an_app_that_is_not_there_is_a_502_and_the_event_may_come_again() {
    let app = App::absent().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}");
    front.post(&event).await.assert(502, "failed");
    front.post(&event).await.assert(502, "failed");
    let mut app = app.appear().await;
    let told = attempt(&front, &mut app, &event, "3", Some(Reply::ok())).await;
    assert_eq!(told, (200, "forwarded".to_owned()));
}

#[tokio::test]
async fn an_unknown_outcome_is_a_502_or_504_and_is_released() {
    let mut app = App::start().await;
    let front = Front::github(&app, SHORT).await;
    for (case, reply, status) in unknown() {
        let event = Event::github(case, "{}");
        let told = attempt(&front, &mut app, &event, "1", reply).await;
        assert_eq!(told, (status, "failed".to_owned()), "{case}");
        let told = attempt(&front, &mut app, &event, "2", Some(Reply::ok())).await;
        assert_eq!(told, (200, "forwarded".to_owned()), "{case}");
    }
}

#[tokio::test]
async fn an_unknown_outcome_can_be_held_until_the_claim_expires() {
    let mut app = App::start().await;
    let time = ManualTime::new(1_800_000_000_000);
    let more = format!("{SHORT}on_unknown_outcome = \"hold\"\nin_flight = \"busy\"\nprocessing_ttl = \"60s\"\n");
    let front = Front::surrounded(&route("github", &app, &more), "", Source::manual(&time)).await;
    for (case, reply, status) in unknown() {
        let event = Event::github(case, "{}");
        let told = attempt(&front, &mut app, &event, "1", reply).await;
        assert_eq!(told, (status, "failed".to_owned()), "{case}");
        time.advance(Duration::from_secs(59));
        front.post(&event).await.assert(503, "in_progress");
        time.advance(Duration::from_secs(2));
        let told = attempt(&front, &mut app, &event, "2", Some(Reply::ok())).await;
        assert_eq!(told, (200, "forwarded".to_owned()), "{case}");
    }
    // What is known is released all the same.
    let event = Event::github("known", "{}");
    let told = attempt(&front, &mut app, &event, "1", Some(Reply::status(500))).await;
    assert_eq!(told.0, 500);
    assert_eq!(attempt(&front, &mut app, &event, "2", Some(Reply::ok())).await.0, 200);
}

#[tokio::test]
async fn a_status_that_makes_this_sender_stop_goes_out_as_503() {
    let mut app = App::start().await;
    let front = Front::start(&route("standard-webhooks", &app, "")).await;
    let event = Event::standard("m-1", now(), "{}");
    let mut sender = front.sent(&event).await;
    app.answers(Reply::status(410)).await;
    let answer = sender.answer().await;
    answer.assert(503, "forwarded");
    assert_eq!(answer.header("onced-app-status"), Some("410"));
    // Only those of the profile, and the event may come again.
    let told = attempt(&front, &mut app, &event, "2", Some(Reply::status(404))).await;
    assert_eq!(told, (404, "forwarded".to_owned()));

    let front = Front::start(&route("standard-webhooks", &app, "relay_dangerous_status = true\n")).await;
    let mut sender = front.sent(&event).await;
    app.answers(Reply::status(410)).await;
    let answer = sender.answer().await;
    answer.assert(410, "forwarded");
    assert_eq!(answer.header("onced-app-status"), None);
}

#[tokio::test]
async fn an_interim_answer_is_not_the_answer() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let reply = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n\
                 HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let told = attempt(&front, &mut app, &Event::github("e-1", "{}"), "1", Some(Reply::keep(reply))).await;
    assert_eq!(told, (200, "forwarded".to_owned()));
}

/// An app that speaks HTTP/1.0, as Python's own server does, must not change what the sender's connection speaks.
#[tokio::test]
async fn the_apps_protocol_version_stays_with_the_app() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let mut sender = front.sender().await;
    for id in ["e-1", "e-2"] {
        sender.send(Event::github(id, "{}").bytes()).await;
        app.answers(close("HTTP/1.0 200 OK\r\nServer: Simple\r\n\r\nuntil the end")).await;
        let answer = sender.answer().await;
        answer.assert(200, "forwarded");
        assert!(answer.head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer.head));
        assert_eq!(answer.body, b"until the end");
    }
}

#[tokio::test]
async fn an_answer_is_relayed_byte_by_byte_without_what_belongs_to_its_connection() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let mut sender = front.sent(&Event::github("e-1", "{}")).await;
    let reply = b"HTTP/1.1 202 Taken\r\nConnection: keep-alive, X-Hop\r\nKeep-Alive: timeout=5\r\nX-Hop: 1\r\n\
                  X-Shop: caf\xe9\r\nX-ODD-case: v\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\
                  Content-Type: text/plain; charset=latin1\r\nOnced-Outcome: duplicate\r\n\
                  Transfer-Encoding: chunked\r\n\r\n3\r\nca\xe9\r\n1\r\n\0\r\n0\r\n\r\n";
    app.answers(Reply::Keep(reply.to_vec())).await;
    let answer = sender.answer().await;
    assert_eq!(answer.body, b"ca\xe9\0");
    for line in [
        &b"HTTP/1.1 202 Taken"[..],
        b"X-Shop: caf\xe9",
        b"X-ODD-case: v",
        b"Set-Cookie: a=1",
        b"Set-Cookie: b=2",
        b"Content-Type: text/plain; charset=latin1",
    ] {
        assert!(answer.has_line(line), "{}", String::from_utf8_lossy(&answer.head));
    }
    let head = String::from_utf8_lossy(&answer.head).to_lowercase();
    for gone in ["x-hop", "keep-alive", "transfer-encoding", "connection:", "duplicate"] {
        assert!(!head.contains(gone), "{head}");
    }
    assert_eq!(answer.header("content-length"), Some("4"));
    assert_eq!(answer.header("onced-outcome"), Some("forwarded"));
}

/// A success was released for the length of its body, and handed over again at every retry.
#[tokio::test]
async fn of_an_answer_that_is_too_long_the_status_counts() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let long = |status: u16| {
        let length = 5 << 20;
        let head = format!("HTTP/1.1 {status} Long\r\nContent-Length: {length}\r\n\r\n");
        let reply = [head.into_bytes(), vec![b'a'; length]].concat();
        Some(Reply::Keep(reply))
    };
    let event = Event::github("e-1", "{}");
    let told = attempt(&front, &mut app, &event, "1", long(500)).await;
    assert_eq!(told, (500, "forwarded".to_owned()));
    let told = attempt(&front, &mut app, &event, "2", long(200)).await;
    assert_eq!(told, (200, "forwarded".to_owned()));
    front.post(&event).await.assert(200, "duplicate");
}

#[tokio::test]
async fn without_its_store_a_route_is_open_or_closed_as_it_says_and_the_app_is_told() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let handled = Event::github("e-0", "{}");
    assert_eq!(attempt(&front, &mut app, &handled, "1", Some(Reply::ok())).await.0, 200);
    front.lose_store().await;
    let event = Event::github("e-1", "{}");
    let mut sender = front.sent(&event).await;
    let seen = app.answers(Reply::ok()).await;
    assert_eq!(seen.header("onced-degraded"), Some("io_error"));
    sender.answer().await.assert(200, "forwarded");
    front.post(&event).await.assert(200, "duplicate");

    let front = Front::github(&app, "on_store_failure = \"closed\"\n").await;
    front.lose_store().await;
    front.post(&event).await.assert(503, "degraded");
    app.assert_quiet();
}

/// A store that has closed remembers nothing, so even an open route would hand an event over as often as it comes.
#[tokio::test]
async fn while_the_store_closes_events_are_refused_on_an_open_route_too() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    front.daemon.ledger().store().close().await.unwrap();
    front.post(&Event::github("e-1", "{}")).await.assert(503, "degraded");
    app.assert_quiet();
}

/// hyper takes 100 headers of an answer: a success with 150 short ones counted as lost, and its event was handed over for as
/// long as its sender came again.
#[tokio::test]
async fn a_success_with_many_headers_is_one() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let mut sender = front.sent(&Event::github("e-1", "{}")).await;
    let lines: String = (0..1_000).map(|number| format!("X-{number}: 1\r\n")).collect();
    app.answers(Reply::keep(&format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 2\r\n\r\nok"))).await;
    sender.answer().await.assert(200, "forwarded");
}
