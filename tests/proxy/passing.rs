//! What of a request reaches the app: the body and the header values byte by byte, and what we have to say.

use std::path::Path;

use onced::clock::Source;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{App, Event, Front, Reply, SECRET, Seen, hmac, route};

/// One event that goes through.
async fn passed(front: &Front, app: &mut App, bytes: &[u8]) -> Seen {
    let mut sender = front.sender().await;
    sender.send(bytes).await;
    let seen = app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
    seen
}

/// Payloads with emoji failed where a text decode sat between the socket and the HMAC.
#[tokio::test]
async fn neither_segments_nor_chunks_change_a_body() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let body = "{\"m\":\"caf\u{e9} \u{1f60a} \u{2028}\"}";
    let emoji = body.find('\u{1f60a}').unwrap();
    let whole = passed(&front, &mut app, &Event::github("e-1", body).bytes()).await;

    let mut sender = front.sender().await;
    sender.0.set_nodelay(true).unwrap();
    for byte in Event::github("e-2", body).bytes() {
        sender.send([byte]).await;
        tokio::task::yield_now().await;
    }
    let in_segments = app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");

    let cuts = [1, emoji + 1, emoji + 2];
    let in_chunks = passed(&front, &mut app, &Event::github("e-3", body).chunked(&cuts)).await;
    for seen in [whole, in_segments, in_chunks] {
        assert_eq!(seen.body, body.as_bytes());
        assert_eq!(seen.values("content-length"), [body.len().to_string().as_bytes()]);
        assert_eq!(seen.header("transfer-encoding"), None);
    }
}

#[tokio::test]
async fn an_empty_body_has_a_length_too() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for bytes in [
        Event::github("e-1", "").bytes(),
        Event::github("e-2", "").head("Transfer-Encoding: chunked\r\n").into_iter().chain(*b"0\r\n\r\n").collect(),
        Event::github("e-3", "").head(""),
    ] {
        let seen = passed(&front, &mut app, &bytes).await;
        assert_eq!((seen.header("content-length"), seen.header("transfer-encoding")), (Some("0"), None));
    }
}

/// An app that moves behind us keeps its own check of the sender's signature.
#[tokio::test]
async fn every_copy_still_verifies_at_the_app() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for number in 0..500 {
        let length = random.usize(..2_000);
        let body: Vec<u8> = if random.bool() {
            std::iter::repeat_with(|| random.u8(..)).take(length).collect()
        } else {
            let pieces = [" ", "\t", "\r\n", "{", "}", "\"a\"", ":", "1e3", "\\u00e9", "\u{e9}", "\\/", ",", "1.0"];
            std::iter::repeat_with(|| pieces[random.usize(..pieces.len())]).take(length / 4).collect::<String>().into()
        };
        let event = Event::github(&number.to_string(), &body);
        let cut = random.usize(..=body.len());
        let bytes = if random.bool() || cut == 0 || cut == body.len() { event.bytes() } else { event.chunked(&[cut]) };
        let seen = passed(&front, &mut app, &bytes).await;
        let digest = hex::encode(hmac(SECRET.as_bytes(), &[&seen.body]));
        assert_eq!(seen.header("x-hub-signature-256"), Some(format!("sha256={digest}").as_str()));
        assert_eq!(seen.body, body);
    }
}

#[tokio::test]
async fn names_keep_their_letters_values_their_bytes_and_each_name_its_order() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let high: Vec<u8> = (0x80..=0xff).collect();
    let event = Event::github("e-1", "{}")
        .with("x-lower", "a  b")
        .with("X-ODD-case", "c")
        .with("X-Two", "1")
        .with("x-TWO", "2")
        .with("Connection", "X-Foo")
        .with("X-Foo", "1")
        .with("X-Two", "3")
        .with("X-Shop", b"caf\xe9")
        .with("X-High", &high)
        .with("X-Empty", "")
        .with("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        .with("Cookie", "a=1; b=\"2\"")
        .with("Authorization", "Basic eA==");
    let seen = passed(&front, &mut app, &event.bytes()).await;
    for (name, value) in event.headers.iter().filter(|(name, _)| name != "Connection" && name != "X-Foo") {
        let line = [name.as_bytes(), b": ", value.as_slice()].concat();
        let line = line.trim_ascii_end(); // nothing stands behind the colon of an empty value
        assert!(seen.has_line(line), "{name} in {}", String::from_utf8_lossy(&seen.head));
    }
    assert_eq!(seen.values("x-two"), [b"1", b"2", b"3"]);
    assert_eq!(seen.values("x-high"), [high.as_slice()]);
    assert_eq!(seen.header("host"), Some("hooks.example"));
}

/// Headers named in Connection were passed on; or a sender used Connection to strip what the proxy says.
#[tokio::test]
async fn what_belongs_to_one_connection_stays_and_what_we_say_arrives() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}")
        .with("Connection", "keep-alive, X-Hub-Signature-256, X-Foo, onced-attempt, Onced-Event-Id, Idempotency-Key")
        .with("Connection", "x-bar,X-Forwarded-For , ,")
        .with("X-Foo", "1")
        .with("X-Bar", "1")
        .with("Keep-Alive", "timeout=5")
        .with("Proxy-Connection", "keep-alive")
        .with("Proxy-Authorization", "Basic eA==")
        .with("TE", "trailers")
        .with("Trailer", "X-Checksum")
        .with("Upgrade", "h2c")
        .with("Onced-Attempt", "9")
        .with("ONCED-EVENT-ID", "other")
        .with("Onced-Delivery", "other")
        .with("Onced-Verified", "stripe")
        .with("Onced-Sequence", "1")
        .with("Onced-Degraded", "disk")
        .with("Onced-Anything", "1");
    let seen = passed(&front, &mut app, &event.bytes()).await;
    for gone in [
        "connection",
        "x-hub-signature-256",
        "x-foo",
        "x-bar",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "te",
        "trailer",
        "upgrade",
        "onced-sequence",
        "onced-degraded",
        "onced-anything",
    ] {
        assert_eq!(seen.header(gone), None, "{gone}");
    }
    for (name, value) in [
        ("onced-attempt", "1"),
        ("onced-event-id", "e-1"),
        ("onced-verified", "github"),
        ("idempotency-key", "route:github:e-1"),
        ("x-forwarded-for", "127.0.0.1"),
    ] {
        assert_eq!(seen.values(name), [value.as_bytes()], "{name}");
    }
    assert_eq!(seen.values("onced-delivery").len(), 1);
    assert_ne!(seen.header("onced-delivery"), Some("other"));
}

fn travelled() -> Event {
    Event::github("e-1", "{}")
        .with("Forwarded", "for=203.0.113.9")
        .with("X-Real-IP", "203.0.113.9")
        .with("X-Forwarded-For", "203.0.113.9")
        .with("X-Forwarded-For", "198.51.100.7")
        .with("X-Forwarded-Host", "public.example")
        .with("X-Forwarded-Proto", "https")
}

#[tokio::test]
async fn a_stranger_is_not_believed_about_where_it_comes_from() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let seen = passed(&front, &mut app, &travelled().bytes()).await;
    assert_eq!((seen.header("forwarded"), seen.header("x-real-ip")), (None, None));
    assert_eq!(seen.values("x-forwarded-for"), [b"127.0.0.1"]);
    assert_eq!(seen.values("x-forwarded-host"), [b"hooks.example"]);
    assert_eq!(seen.values("x-forwarded-proto"), [b"http"]);
}

#[tokio::test]
async fn a_trusted_proxy_is_believed_and_added() {
    let mut app = App::start().await;
    let hooks = "trusted_proxies = [\"127.0.0.0/8\"]";
    let front = Front::surrounded(&route("github", &app, ""), hooks, Source::machine()).await;
    let seen = passed(&front, &mut app, &travelled().bytes()).await;
    assert_eq!(seen.values("forwarded"), [b"for=203.0.113.9"]);
    assert_eq!(seen.values("x-real-ip"), [b"203.0.113.9"]);
    assert_eq!(seen.values("x-forwarded-for"), [b"203.0.113.9, 198.51.100.7, 127.0.0.1"]);
    assert_eq!(seen.values("x-forwarded-host"), [b"public.example"]);
    assert_eq!(seen.values("x-forwarded-proto"), [b"https"]);
}

#[tokio::test]
async fn a_sender_that_came_over_tls_is_said_to_have() {
    let mut app = App::start().await;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server");
    let (cert, key) = (data.join("certificate.pem"), data.join("key.pem"));
    let hooks = format!("tls = {{ cert = \"{}\", key = \"{}\" }}", cert.display(), key.display());
    let front = Front::surrounded(&route("github", &app, ""), &hooks, Source::machine()).await;

    let mut stream = front.sender_over_tls(&cert).await;
    stream.write_all(&Event::github("e-1", "{}").bytes()).await.unwrap();
    let seen = app.answers(Reply::ok()).await;
    assert_eq!(seen.values("x-forwarded-proto"), [b"https"]);
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
}

/// The sender waited for permission and the proxy for the body.
#[tokio::test]
async fn a_sender_that_asks_before_it_sends_is_told_to_go_on_and_the_app_is_not_asked() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}").with("Expect", "100-continue");
    let mut sender = front.sender().await;
    sender.send(event.head("Content-Length: 2\r\n")).await;
    sender.assert_continue().await;
    sender.send("{}").await;
    let seen = app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
    assert_eq!(seen.header("expect"), None);

    // One that does not wait.
    let event = Event::github("e-2", "{}").with("Expect", "100-continue");
    let mut sender = front.sent(&event).await;
    assert_eq!(app.answers(Reply::ok()).await.header("expect"), None);
    sender.assert_continue().await;
    sender.answer().await.assert(200, "forwarded");
}

#[tokio::test]
async fn control_characters_in_a_header_are_refused() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for value in [&b"a\0b"[..], b"a\x0bb", b"a\rb", b"a\x7fb"] {
        let mut sender = front.sender().await;
        sender.send(Event::github("e-1", "{}").with("X-Bad", value).bytes()).await;
        assert_eq!(sender.answer().await.status(), 400, "{}", value.escape_ascii());
        sender.assert_closed().await;
    }
    assert_eq!(front.records().await, 0);
    app.assert_quiet();
}
