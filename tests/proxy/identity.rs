//! Which events are the same event.

use std::time::Duration;

use onced::clock::ManualTime;
use onced::metrics::ByReason;

use crate::handshakes::slack;
use crate::harness::{App, Event, Front, Reply, SECRET, Seen, hmac, now, route};

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

/// A composite id was made of what was there: two events that lacked a part shared it, and one was dropped.
#[tokio::test]
async fn an_id_of_several_parts_needs_all_of_them() {
    let mut app = App::start().await;
    let front = Front::start(&keyed_on(&app, "{ parts = [{ header = \"X-Kind\" }, { pointer = \"/id\" }] }", "")).await;
    let of = |kind: &str, body: &str| unnamed(body).with("X-Kind", kind);
    let whole = of("k", r#"{"id":1}"#);
    let seen = passes(&front, &mut app, &whole).await;
    assert_eq!(seen.header("onced-event-id"), Some(r#"["k","1"]"#));
    front.post(&whole).await.assert(200, "duplicate");
    // The same characters, cut elsewhere.
    for (kind, body) in
        [("k1", "{\"id\":\"\"}"), ("k\",\"1", r#"{"id":2}"#), ("k", r#"{"id":"1\",\"2"}"#), ("j", r#"{"id":1}"#)]
    {
        passes(&front, &mut app, &of(kind, body)).await;
    }
    let lacking =
        [of("k", "{}"), unnamed(r#"{"id":7}"#), unnamed("{}"), of("k", r#"{"id":null}"#), of(" ", r#"{"id":7}"#)];
    for event in lacking.iter().chain(&lacking) {
        let seen = passes(&front, &mut app, event).await;
        assert_eq!((seen.header("onced-event-id"), seen.header("onced-degraded")), (None, Some("no_event_id")));
    }
    front.post(&of("k", r#"{"id":1}"#).with("X-Kind", "k")).await.assert(401, "unverified");
    app.assert_quiet();
}

/// Keyed by its first element, a batch took the others with it when they came again in another company.
#[tokio::test]
async fn a_batch_is_handed_over_once_and_with_another_item_once_more() {
    let mut app = App::start().await;
    let front = Front::start(&keyed_on(&app, "{ batch = \"\", item = [{ pointer = \"/sg_event_id\" }] }", "")).await;
    let batch = unnamed("[{\"sg_event_id\":\"a\"},\r\n{\"sg_event_id\":\"b\"}]\r\n");
    let seen = passes(&front, &mut app, &batch).await;
    assert_eq!((seen.header("onced-event-id"), &seen.body), (Some(r#"[["a"],["b"]]"#), &batch.body));
    front.post(&batch).await.assert(200, "duplicate");
    for body in [r#"[{"sg_event_id":"a"}]"#, r#"[{"sg_event_id":"b"},{"sg_event_id":"a"}]"#] {
        passes(&front, &mut app, &unnamed(body)).await;
        front.post(&unnamed(body)).await.assert(200, "duplicate");
    }
    for body in ["[]", r#"[{"sg_event_id":"a"},{}]"#, r#"{"sg_event_id":"a"}"#] {
        for _ in 0..2 {
            passes(&front, &mut app, &unnamed(body)).await;
        }
    }
    // Ids that would fill the head of a request become one of a header's length.
    let many: Vec<_> = (0..2_000).map(|number| format!("{{\"sg_event_id\":\"id-{number}\"}}")).collect();
    let many = unnamed(&format!("[{}]", many.join(",")));
    let seen = passes(&front, &mut app, &many).await;
    assert!(seen.header("onced-event-id").unwrap().starts_with("sha256:"));
    front.post(&many).await.assert(200, "duplicate");
    app.assert_quiet();
}

/// The signature is over the bytes as they travel, the id in what they unpack to.
#[tokio::test]
async fn an_id_is_found_in_a_packed_body() {
    let mut app = App::start().await;
    let front = Front::start(&keyed_on(&app, "{ pointer = \"/id\" }", "max_body = \"1KiB\"\n")).await;
    let packed = hex::decode("1f8b08000000000002ffab56ca4c51b2524ad5353450aa0500f9456c310d000000").unwrap();
    let event = Event::github("", &packed).without("X-GitHub-Delivery").with("Content-Encoding", "gzip");
    let seen = passes(&front, &mut app, &event).await;
    assert_eq!((seen.header("onced-event-id"), &seen.body), (Some("e-10"), &packed));
    assert_eq!(seen.header("content-encoding"), Some("gzip"));
    front.post(&event).await.assert(200, "duplicate");
    // A body that would unpack to more than the route takes has no id.
    let bomb = {
        use std::io::Write as _;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(format!("{{\"id\":\"e-11\",\"pad\":\"{}\"}}", " ".repeat(10_000)).as_bytes()).unwrap();
        packer.finish().unwrap()
    };
    let bomb = Event::github("", bomb).without("X-GitHub-Delivery").with("Content-Encoding", "gzip");
    for _ in 0..2 {
        assert_eq!(passes(&front, &mut app, &bomb).await.header("onced-event-id"), None);
    }
    assert_eq!(front.records().await, 1);
}

/// The key held what changes with each attempt, so that no repeat ever matched.
#[tokio::test]
async fn a_repeat_is_known_by_its_id_whatever_else_of_it_is_new() {
    let mut app = App::start().await;
    let second = |provider: &str| {
        route(provider, &app, "").replace("secrets = [", "secrets = [{ inline = \"dGhlLXJvdGF0ZWQtc2VjcmV0\" }, ")
    };
    let routes = ["stripe", "slack", "standard-webhooks", "shopify"].map(second).concat();
    let front = Front::start(&routes).await;
    let (body, old) = (r#"{"id":"evt_1","type":"event_callback","event_id":"Ev1"}"#, now() - 120);
    let shopify = |secret: &str| {
        use base64::Engine as _;
        let digest = base64::engine::general_purpose::STANDARD.encode(hmac(secret.as_bytes(), &[body.as_bytes()]));
        Event::bare("/hooks/shopify", body).with("X-Shopify-Webhook-Id", "w-1").with("X-Shopify-Hmac-Sha256", digest)
    };
    let retried = slack(now(), body).with("X-Slack-Retry-Num", "1").with("X-Slack-Retry-Reason", "http_timeout");
    let pairs = [
        (Event::stripe(old, body), Event::stripe(now(), body)),
        (slack(old, body), retried),
        (Event::standard("m-1", old, body), Event::standard("m-1", now(), body)),
        (shopify(SECRET), shopify("dGhlLXJvdGF0ZWQtc2VjcmV0")),
    ];
    for (first, repeat) in pairs {
        assert_ne!(first.headers, repeat.headers);
        passes(&front, &mut app, &first).await;
        front.post(&repeat).await.assert(200, "duplicate");
    }
    app.assert_quiet();
}

/// Ids are unique within their sender alone; one tenant's suppressed another's event.
#[tokio::test]
async fn one_id_on_two_routes_is_two_events() {
    let mut app = App::start().await;
    let second = route("github", &app, "").replace("name = \"github\"", "name = \"github-b\"");
    let second = second.replace("/hooks/github", "/hooks/github-b");
    let front = Front::start(&(route("github", &app, "") + &second + &route("standard-webhooks", &app, ""))).await;
    let github = Event::github("1", "{}");
    let events = [github.clone(), github.at("/hooks/github-b"), Event::standard("1", now(), "{}")];
    let mut deliveries = std::collections::BTreeSet::new();
    for event in &events {
        let seen = passes(&front, &mut app, event).await;
        deliveries.insert(seen.header("onced-delivery").unwrap().to_owned());
        front.post(event).await.assert(200, "duplicate");
    }
    assert_eq!((deliveries.len(), front.records().await), (3, 3));
}

/// A sender without ids: equal bodies are honest twins unless the route says otherwise.
#[tokio::test]
async fn equal_bodies_of_a_sender_without_ids_are_all_handed_over_by_default() {
    let mut app = App::start().await;
    let (body, digest) = ("{\"accounts\":[]}", hex::encode(hmac(SECRET.as_bytes(), &[b"{\"accounts\":[]}"])));
    let event = Event::bare("/hooks/dropbox", body).with("X-Dropbox-Signature", digest);
    let front = Front::start(&route("dropbox", &app, "")).await;
    for _ in 0..3 {
        assert_eq!(passes(&front, &mut app, &event).await.header("onced-degraded"), Some("no_event_id"));
    }
    let time = ManualTime::new(1_800_000_000_000);
    let front = Front::on_clock(&route("dropbox", &app, "on_missing_id = \"hash\""), &time).await;
    passes(&front, &mut app, &event).await;
    front.post(&event).await.assert(200, "duplicate");
    time.advance(Duration::from_secs(601));
    passes(&front, &mut app, &event).await;
    app.assert_quiet();
}

/// Without a signature there is nothing but the id, and where that names no event, not even that.
#[tokio::test]
async fn a_sender_that_signs_nothing_is_believed_when_the_route_says_so() {
    let mut app = App::start().await;
    let text = route("mollie-classic", &app, "verify = \"none\"")
        .replace(&format!("secrets = [{{ inline = \"{SECRET}\" }}]"), "");
    let front = Front::start(&text).await;
    let paid = Event::bare("/hooks/mollie-classic", "id=tr_d0b0E3EA3v");
    for _ in 0..2 {
        let seen = passes(&front, &mut app, &paid).await;
        assert_eq!((seen.header("onced-verified"), seen.header("onced-event-id")), (None, None));
    }
    let named = Front::start(&format!("{text}event_id = {{ form = \"id\" }}\n")).await;
    passes(&named, &mut app, &paid).await;
    named.post(&paid).await.assert(200, "duplicate");
}

/// Senders retry for days, and the list of what was seen lived for a day.
#[tokio::test]
async fn a_late_retry_finds_its_event_remembered_also_after_a_restart() {
    let mut app = App::start().await;
    let time = ManualTime::new(1_800_000_000_000);
    let front = Front::on_clock(&route("stripe", &app, ""), &time).await;
    let at = |hours: i64| Event::stripe(1_800_000_000 + hours * 3_600, r#"{"id":"evt_1"}"#);
    passes(&front, &mut app, &at(0)).await;
    time.advance(Duration::from_secs(71 * 3_600));
    front.post(&at(71)).await.assert(200, "duplicate");
    let front = front.restarted(async {}).await;
    front.post(&at(71)).await.assert(200, "duplicate");
    app.assert_quiet();
}
