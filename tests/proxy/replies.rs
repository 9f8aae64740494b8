//! What goes back to a sender beyond a status: the app's answer again, and our own signature towards the app.

use crate::harness::{App, Event, Front, Reply, SECRET, now, standard_digest};

/// Some senders take the body for the acknowledgement: a bare 200 for a repeat was a failure to them.
#[tokio::test]
async fn a_duplicate_gets_the_apps_answer_again_where_the_route_asks_for_it() {
    let mut app = App::start().await;
    let front = Front::github(&app, "duplicate_response = \"replay\"").await;
    let long = "x".repeat(2049);
    let said = |status: &str, content_type: &str, body: &str| {
        let length = body.len();
        Reply::keep(&format!("HTTP/1.1 {status}\r\n{content_type}X-App: yes\r\nContent-Length: {length}\r\n\r\n{body}"))
    };
    let rows = [
        ("e-1", "202 Taken", "Content-Type: text/xml\r\n", "<Response/>", Some((202, Some("text/xml"), "<Response/>"))),
        ("e-2", "200 OK", "", "[accepted]", Some((200, None, "[accepted]"))),
        (
            "e-3",
            "200 OK",
            "Content-Type: text/plain\r\n",
            &long[..2048],
            Some((200, Some("text/plain"), &long[..2048])),
        ),
        ("e-4", "201 Made", "Content-Type: text/plain\r\n", &long[..], None),
        // Without the name of its coding it is noise.
        ("e-5", "200 OK", "Content-Type: text/plain\r\nContent-Encoding: br\r\n", "\u{b}\u{1}\u{2}ok\u{3}", None),
    ];
    for (id, status, content_type, body, _) in &rows {
        let mut sender = front.sent(&Event::github(id, "{}")).await;
        app.answers(said(status, content_type, body)).await;
        assert_eq!(sender.answer().await.body, body.as_bytes(), "{id}");
    }
    let front = front.restarted(async {}).await;
    for (id, .., kept) in &rows {
        let again = front.post(&Event::github(id, "{}")).await;
        let (status, content_type, body) = kept.unwrap_or((200, Some("text/plain"), "handled before\n"));
        again.assert(status, "duplicate");
        assert_eq!((again.header("content-type"), again.body.as_slice()), (content_type, body.as_bytes()), "{id}");
        assert_eq!(again.header("x-app"), None, "{id}");
    }
    app.assert_quiet();
}

#[tokio::test]
async fn a_copy_that_waited_gets_the_answer_of_the_attempt_that_it_waited_for() {
    let mut app = App::start().await;
    let front = Front::github(&app, "duplicate_response = \"replay\"").await;
    let event = Event::github("e-1", "{}");
    let mut first = front.sent(&event).await;
    let hit = app.hit().await;
    let mut second = front.sent(&event).await;
    front.until_claims("in_progress", 1).await;
    hit.answer(Reply::keep("HTTP/1.1 202 Taken\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nok"));
    first.answer().await.assert(202, "forwarded");
    let mirrored = second.answer().await;
    mirrored.assert(202, "duplicate");
    assert_eq!((mirrored.header("content-type"), mirrored.body.as_slice()), (Some("a/b"), &b"ok"[..]));
}

/// What was kept under one setting is not told under another.
#[tokio::test]
async fn a_route_that_does_not_replay_gives_a_plain_200() {
    let mut app = App::start().await;
    let front = Front::github(&app, "duplicate_response = \"plain\"").await;
    let event = Event::github("e-1", "{}");
    let mut sender = front.sent(&event).await;
    app.answers(Reply::keep("HTTP/1.1 202 Taken\r\nContent-Length: 2\r\n\r\nok")).await;
    sender.answer().await.assert(202, "forwarded");
    let again = front.post(&event).await;
    again.assert(200, "duplicate");
    assert_eq!(again.body, b"handled before\n");
}

/// An event that waited was too old for the app's own check of the sender's timestamp.
#[tokio::test]
async fn each_attempt_carries_a_fresh_signature_of_ours_beside_the_senders() {
    let mut app = App::start().await;
    let signing = format!("sign_secret = {{ inline = \"{SECRET}\" }}");
    let front = Front::github(&app, &signing).await;
    let event = Event::github("e-1", "{\"a\":1}").with("webhook-id", "theirs").with("webhook-signature", "v1,theirs");
    for (attempt, status) in [("1", 500), ("2", 200)] {
        let mut sender = front.sent(&event).await;
        let seen = app.answers(Reply::status(status)).await;
        sender.answer().await.assert(status, "forwarded");
        assert_eq!((seen.attempt(), seen.values("webhook-id")), (attempt, vec![&b"route:github:e-1"[..]]));
        assert_eq!(seen.header("idempotency-key"), seen.header("webhook-id"));
        let at: i64 = seen.header("webhook-timestamp").unwrap().parse().unwrap();
        assert!((now() - at).abs() < 60, "{at}");
        let digest = standard_digest("route:github:e-1", at, &seen.body);
        assert_eq!(seen.header("webhook-signature"), Some(&*format!("v1,{digest}")));
        assert!(seen.header("x-hub-signature-256").is_some());
    }
}

/// A stranger wrote a header that the sender's signature does not cover, and our signature vouched for it: an app that went
/// by the signed id took a copy for another event.
#[tokio::test]
async fn the_id_that_we_sign_is_never_one_that_came_unsigned() {
    let mut app = App::start().await;
    let front = Front::github(&app, &format!("sign_secret = {{ inline = \"{SECRET}\" }}")).await;
    let unnamed = Event::github("", "{}").without("X-GitHub-Delivery");
    for (event, key) in [(Event::github("e-1", "{}"), Some("route:github:e-1")), (unnamed, None)] {
        let mut sender = front.sent(&event.with("Idempotency-Key", "theirs")).await;
        let seen = app.answers(Reply::ok()).await;
        sender.answer().await.assert(200, "forwarded");
        assert_eq!(seen.values("idempotency-key"), [b"theirs"]);
        let id = key.or(seen.header("onced-delivery")).unwrap();
        assert_eq!(seen.values("webhook-id"), [id.as_bytes()]);
        let at = seen.header("webhook-timestamp").unwrap().parse().unwrap();
        let digest = standard_digest(id, at, &seen.body);
        assert_eq!(seen.header("webhook-signature"), Some(&*format!("v1,{digest}")));
    }
}

/// Without a key of the route's there is nothing of ours to say, and what the sender says goes on.
#[tokio::test]
async fn without_a_signing_secret_the_senders_headers_go_on() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}").with("webhook-id", "theirs");
    let mut sender = front.sent(&event).await;
    let seen = app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
    assert_eq!((seen.header("webhook-id"), seen.header("webhook-signature")), (Some("theirs"), None));
}
