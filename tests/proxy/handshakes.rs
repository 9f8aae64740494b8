//! What senders ask before they deliver: answered or passed on, never claimed.

use std::path::Path;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onced::metrics::ByRoute;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

use crate::harness::{Answer, App, Event, Front, Reply, SECRET, hmac, now, route, standard_digest};

/// A request line, a host and no body.
fn bare(method: &str, target: &str) -> Vec<u8> {
    format!("{method} {target} HTTP/1.1\r\nHost: hooks.example\r\n\r\n").into_bytes()
}

async fn ask(front: &Front, method: &str, target: &str) -> Answer {
    let mut sender = front.sender().await;
    sender.send(bare(method, target)).await;
    sender.answer().await
}

/// As Slack and Zoom sign, which differ in the names of the headers.
fn stamped(provider: &str, signature: &str, stamp: &str, at: i64, body: &str) -> Event {
    let at = at.to_string();
    let digest = hex::encode(hmac(SECRET.as_bytes(), &[b"v0:", at.as_bytes(), b":", body.as_bytes()]));
    Event::bare(&format!("/hooks/{provider}"), body).with(stamp, &at).with(signature, format!("v0={digest}"))
}

pub(crate) fn slack(at: i64, body: &str) -> Event {
    stamped("slack", "X-Slack-Signature", "X-Slack-Request-Timestamp", at, body)
}

fn zoom(body: &str) -> Event {
    stamped("zoom", "x-zm-signature", "x-zm-request-timestamp", now(), body)
}

fn greeted(front: &Front, name: &str) -> u64 {
    let labels = ByRoute { route: name.to_owned(), outcome: "handshake" };
    front.daemon.metrics().hooks.get_or_create(&labels).get()
}

/// A gateway answered a bare 200, and the sender wanted its challenge.
#[tokio::test]
async fn a_challenge_is_answered_without_the_app_and_never_claimed() {
    let app = App::absent().await;
    let front = Front::start(&route("slack", &app, "")).await;
    let challenge =
        r#"{"token":"t","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}"#;
    for _ in 0..3 {
        let answer = front.post(&slack(now(), challenge)).await;
        answer.assert(200, "handshake");
        assert_eq!(answer.body, b"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P");
        assert_eq!(answer.header("content-type"), Some("text/plain"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    assert_eq!((greeted(&front, "slack"), front.records().await), (3, 0));
    // Who cannot sign has nothing read back to him, and an event goes its way.
    let forged = slack(now(), challenge).altered("X-Slack-Signature", "v0=00");
    front.post(&forged).await.assert(401, "unverified");
    front.post(&slack(now() - 3_600, challenge)).await.assert(503, "unverified");
    let event = r#"{"type":"event_callback","event_id":"Ev1","challenge":"x"}"#;
    front.post(&slack(now(), event)).await.assert(502, "failed");
    assert_eq!(greeted(&front, "slack"), 3);

    let front = Front::start(&route("twitch-eventsub", &app, "")).await;
    let (at, body) =
        ("2026-11-30T12:00:00.123456789Z", r#"{"challenge":"pogchamp-kappa-360noscope-vohiyo","subscription":{}}"#);
    let digest = hex::encode(hmac(SECRET.as_bytes(), &[b"m-1", at.as_bytes(), body.as_bytes()]));
    let twitch = Event::bare("/hooks/twitch-eventsub", body)
        .with("Twitch-Eventsub-Message-Id", "m-1")
        .with("Twitch-Eventsub-Message-Timestamp", at)
        .with("Twitch-Eventsub-Message-Signature", format!("sha256={digest}"))
        .with("Twitch-Eventsub-Message-Type", "webhook_callback_verification");
    let answer = front.post(&twitch).await;
    answer.assert(200, "handshake");
    assert_eq!(answer.body, b"pogchamp-kappa-360noscope-vohiyo");
    assert_eq!(front.records().await, 0);
}

#[tokio::test]
async fn a_token_is_signed_with_the_secret_that_verified_it() {
    let app = App::absent().await;
    let two = route("zoom", &app, "").replace("secrets = [", "secrets = [{ inline = \"another\" }, ");
    let front = Front::start(&two).await;
    let answer = front
        .post(&zoom(r#"{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}"#))
        .await;
    answer.assert(200, "handshake");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let expected = hex::encode(hmac(SECRET.as_bytes(), &[b"qgg8vlvZRS6UYooatFL8Aw"]));
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let wanted = serde_json::json!({ "plainToken": "qgg8vlvZRS6UYooatFL8Aw", "encryptedToken": expected });
    assert_eq!(json, wanted);
    // What would be the signature of an event is none of this; it is an event, and the app is not there.
    let forgery = format!(r#"{{"event":"endpoint.url_validation","payload":{{"plainToken":"v0:{}:{{}}"}}}}"#, now());
    front.post(&zoom(&forgery)).await.assert(502, "failed");
    assert_eq!(greeted(&front, "zoom"), 1);
}

/// Receivers that took POST alone answered 404 or 405, and could not be registered.
#[tokio::test]
async fn a_get_with_a_challenge_is_answered_for_the_right_token() {
    let app = App::absent().await;
    let front = Front::start(&route("meta-graph", &app, "verify_token = { inline = \"meaty\" }")).await;
    let target =
        |token: &str| format!("/hooks/meta-graph?hub.mode=subscribe&hub.challenge=123&hub.verify_token={token}");
    let answer = ask(&front, "GET", &target("meaty")).await;
    answer.assert(200, "handshake");
    assert_eq!((answer.body.as_slice(), answer.header("content-type")), (&b"123"[..], Some("text/plain")));
    ask(&front, "GET", &target("ham")).await.assert(401, "unverified");
    for (method, target) in [
        ("GET", "/hooks/meta-graph"),
        ("GET", "/hooks/meta-graph?hub.mode=subscribe"),
        ("HEAD", target("meaty").as_str()),
        ("PUT", target("meaty").as_str()),
        ("OPTIONS", target("meaty").as_str()),
    ] {
        ask_without_body(&front, method, target).await;
    }
    front.post(&Event::bare(&target("meaty"), "{}")).await.assert(401, "unverified");
    assert_eq!((greeted(&front, "meta-graph"), front.records().await), (1, 0));

    let front = Front::start(&route("dropbox", &app, "")).await;
    let answer = ask(&front, "GET", "/hooks/dropbox?challenge=%3Cscript%3E").await;
    answer.assert(200, "handshake");
    assert_eq!((answer.body.as_slice(), answer.header("x-content-type-options")), (&b"<script>"[..], Some("nosniff")));
}

/// A method that is none of the route's.
async fn ask_without_body(front: &Front, method: &str, target: &str) {
    let mut sender = front.sender().await;
    sender.send(bare(method, target)).await;
    let head = sender.head().await;
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let said = head.starts_with("http/1.1 405 ") && head.contains("\r\nallow: post, get\r\n");
    assert!(said, "{method} {target}: {head}");
}

#[tokio::test]
async fn without_a_token_on_the_route_the_app_is_asked() {
    let mut app = App::start().await;
    let front = Front::start(&route("whatsapp", &app, "on_missing_id = \"hash\"")).await;
    let query = "hub.mode=subscribe&hub.challenge=12%33&hub.verify_token=t&&x";
    for _ in 0..2 {
        let mut sender = front.sender().await;
        sender.send(bare("GET", &format!("/hooks/whatsapp?{query}"))).await;
        let reply = "HTTP/1.1 200 Fine\r\nContent-Length: 3\r\nX-App: 1\r\nContent-Type: text/plain\r\n\r\n123";
        let seen = app.answers(Reply::keep(reply)).await;
        let line = format!("GET /in?{query} HTTP/1.1\r\n");
        assert!(seen.head.starts_with(line.as_bytes()), "{}", String::from_utf8_lossy(&seen.head));
        for name in ["onced-verified", "onced-event-id", "onced-attempt", "onced-degraded", "idempotency-key"] {
            assert_eq!(seen.header(name), None, "{name}");
        }
        assert!(humantime::parse_rfc3339(seen.header("onced-received-at").unwrap()).is_ok());
        let answer = sender.answer().await;
        answer.assert(200, "handshake");
        assert_eq!((answer.body.as_slice(), answer.header("x-app")), (&b"123"[..], Some("1")));
    }
    assert_eq!((greeted(&front, "whatsapp"), front.records().await), (2, 0));
}

/// A probe by HEAD was answered 405, and the URL could not be saved.
#[tokio::test]
async fn a_head_is_answered_without_a_body_and_its_connection_goes_on() {
    let app = App::absent().await;
    let front = Front::start(&route("intercom", &app, "")).await;
    let mut sender = front.sender().await;
    for _ in 0..2 {
        sender.send(bare("HEAD", "/hooks/intercom")).await;
        let answer = sender.answer().await;
        answer.assert(200, "handshake");
        assert!(answer.body.is_empty());
    }
    sender.send(Event::bare("/hooks/intercom", "{}").bytes()).await;
    sender.answer().await.assert(401, "unverified");
    assert_eq!((greeted(&front, "intercom"), front.records().await), (2, 0));
}

/// One that the config describes, for an app that answers probes itself.
#[tokio::test]
async fn a_head_can_be_passed_on_to_the_app() {
    let mut app = App::start().await;
    let profile = "[provider.prober]\ntitle = \"Prober\"\nsignature = \"none\"\nsigns_body = false\n\
                   retry = { automatic = \"never\", manual = \"never\" }\nevent_id = { source = { form = \"id\" } }\n\
                   [[provider.prober.handshake]]\nname = \"probe\"\nmethod = \"HEAD\"\nanswer = \"pass\"\n";
    let secrets = format!("secrets = [{{ inline = \"{SECRET}\" }}]");
    let front = Front::start(&(route("prober", &app, "verify = \"none\"").replace(&secrets, "") + profile)).await;
    let mut sender = front.sender().await;
    for _ in 0..2 {
        sender.send(bare("HEAD", "/hooks/prober?a=%2F")).await;
        let seen = app.answers(Reply::keep("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-App: 1\r\n\r\n")).await;
        assert!(seen.head.starts_with(b"HEAD /in?a=%2F HTTP/1.1\r\n"), "{}", String::from_utf8_lossy(&seen.head));
        let head = String::from_utf8(sender.head().await).unwrap().to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200 ") && head.contains("\r\nx-app: 1\r\n"), "{head}");
        assert!(head.contains("\r\nonced-outcome: handshake\r\n"), "{head}");
    }
    // Its events go by the profile's id, though nobody signs them.
    let event = Event::bare("/hooks/prober", "id=7");
    sender.send(event.bytes()).await;
    app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
    front.post(&event).await.assert(200, "duplicate");
}

/// Discord's signature, made with a key of ours.
fn discord(provider: &str, key: &Ed25519KeyPair, body: &str) -> Event {
    let at = now().to_string();
    let signature = hex::encode(key.sign(&[at.as_bytes(), body.as_bytes()].concat()).as_ref());
    Event::bare(&format!("/hooks/{provider}"), body)
        .with("X-Signature-Timestamp", &at)
        .with("X-Signature-Ed25519", signature)
}

/// Providers probe with wrong signatures and ask for exactly 401, and for 200 with a given JSON to right ones; an endpoint
/// that answers otherwise cannot be registered.
#[tokio::test]
async fn probes_get_exactly_401_and_pings_what_the_app_says() {
    let mut app = App::start().await;
    let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let with_key = |provider: &str| route(provider, &app, "").replace(SECRET, &hex::encode(key.public_key().as_ref()));
    let front = Front::start(
        &(with_key("discord-interactions") + &with_key("discord-webhook-events") + &route("shopify", &app, "")),
    )
    .await;
    let ping = discord("discord-interactions", &key, r#"{"type":1}"#);
    let wrong = [
        ping.clone().without("X-Signature-Ed25519"),
        ping.clone().without("X-Signature-Timestamp"),
        ping.clone().altered("X-Signature-Ed25519", "00".repeat(64)),
        ping.clone().altered("X-Signature-Timestamp", "1"),
        Event::bare("/hooks/shopify", "{}"),
        Event::bare("/hooks/shopify", "{}").with("X-Shopify-Hmac-Sha256", STANDARD.encode([0; 32])),
    ];
    for forged in wrong {
        let answer = front.post(&forged).await;
        answer.assert(401, "unverified");
        assert_eq!(answer.header("content-type"), Some("text/plain"));
    }
    for _ in 0..3 {
        let mut sender = front.sent(&ping).await;
        let reply = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{\"type\":1}";
        let seen = app.answers(Reply::keep(reply)).await;
        assert_eq!(
            (seen.body.as_slice(), seen.header("onced-verified")),
            (&br#"{"type":1}"#[..], Some("discord-interactions"))
        );
        let answer = sender.answer().await;
        answer.assert(200, "handshake");
        assert_eq!(
            (answer.body.as_slice(), answer.header("content-type")),
            (&br#"{"type":1}"#[..], Some("application/json"))
        );
    }
    // The other product wants 204 and nothing else, which needs no app.
    let answer = front.post(&discord("discord-webhook-events", &key, r#"{"version":1,"type":0}"#)).await;
    answer.assert(204, "handshake");
    assert!(answer.body.is_empty());
    assert_eq!(front.records().await, 0);
    // An interaction is an event.
    let command = discord("discord-interactions", &key, r#"{"type":2,"id":"846462639134605312"}"#);
    let mut sender = front.sent(&command).await;
    assert_eq!(app.answers(Reply::ok()).await.header("onced-event-id"), Some("846462639134605312"));
    sender.answer().await.assert(200, "forwarded");
    front.post(&command).await.assert(200, "duplicate");
    app.assert_quiet();
}

/// 204 is the only success that it knows: a repeat that got 200 would come again.
#[tokio::test]
async fn a_repeat_gets_what_its_sender_takes_for_success() {
    let mut app = App::start().await;
    let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let text = route("discord-webhook-events", &app, "on_missing_id = \"hash\"");
    let front = Front::start(&text.replace(SECRET, &hex::encode(key.public_key().as_ref()))).await;
    let event =
        discord("discord-webhook-events", &key, r#"{"version":1,"type":1,"event":{"type":"APPLICATION_AUTHORIZED"}}"#);
    let mut sender = front.sent(&event).await;
    app.answers(Reply::keep("HTTP/1.1 204 No Content\r\n\r\n")).await;
    sender.answer().await.assert(204, "forwarded");
    let again = front.post(&event).await;
    again.assert(204, "duplicate");
    assert!(again.body.is_empty());
    app.assert_quiet();
}

/// An app that trusts our signature alone refused a ping that we had verified.
#[tokio::test]
async fn a_handshake_that_is_verified_is_signed_anew_for_the_app_and_says_when_it_came() {
    let mut app = App::start().await;
    let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let ours = format!("sign_secret = {{ inline = \"{SECRET}\" }}");
    let interactions = route("discord-interactions", &app, "").replace(SECRET, &hex::encode(key.public_key().as_ref()));
    let front = Front::start(&format!("{interactions}{ours}\n{}", route("asana", &app, &ours))).await;
    let ping = discord("discord-interactions", &key, r#"{"type":1}"#);
    let mut names = Vec::new();
    for _ in 0..2 {
        let mut sender = front.sender().await;
        sender.send(ping.head("Content-Length: 10\r\nExpect: 100-continue\r\n")).await;
        sender.assert_continue().await;
        let came = SystemTime::now();
        while came.elapsed().unwrap() < Duration::from_millis(20) {
            tokio::task::yield_now().await;
        }
        sender.send(&ping.body).await;
        let seen = app.answers(Reply::ok()).await;
        sender.answer().await.assert(200, "handshake");
        assert!(humantime::parse_rfc3339(seen.header("onced-received-at").unwrap()).unwrap() <= came);
        let id = seen.header("onced-delivery").unwrap();
        let at = seen.header("webhook-timestamp").unwrap().parse().unwrap();
        let signature = format!("v1,{}", standard_digest(id, at, &seen.body));
        assert_eq!((seen.header("webhook-id"), seen.header("webhook-signature")), (Some(id), Some(&*signature)));
        names.push(id.to_owned());
    }
    assert_ne!(names[0], names[1]);
    // For what nobody has shown to be the sender's we do not vouch.
    let contact = Event::bare("/hooks/asana", "{}").with("X-Hook-Secret", "b537207f20cbfa02357cf448134da559");
    let mut sender = front.sent(&contact).await;
    let seen = app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "handshake");
    assert_eq!((seen.header("webhook-id"), seen.header("webhook-signature")), (None, None));
}

/// What anybody can send took the places of what was signed, while the app was slow.
#[tokio::test]
async fn handshakes_of_strangers_do_not_crowd_out_events() {
    const PLACES: usize = 32;
    let mut app = App::start().await;
    let front = Front::start(&route("whatsapp", &app, "on_missing_id = \"hash\"\nanswer_within = \"25s\"\n")).await;
    let target = "/hooks/whatsapp?hub.mode=subscribe&hub.challenge=1&hub.verify_token=t";
    let mut held = Vec::new();
    for _ in 0..PLACES {
        let mut sender = front.sender().await;
        sender.send(bare("GET", target)).await;
        held.push((sender, app.hit().await));
    }
    ask(&front, "GET", target).await.assert(503, "failed");
    app.assert_quiet();
    let mut event = front.sent(&Event::github("e-1", "{}").at("/hooks/whatsapp")).await;
    assert_eq!(app.answers(Reply::ok()).await.attempt(), "1");
    event.answer().await.assert(200, "forwarded");
    for (mut sender, hit) in held {
        hit.answer(Reply::ok());
        sender.answer().await.assert(200, "handshake");
    }
    let mut sender = front.sender().await;
    sender.send(bare("GET", target)).await;
    app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "handshake");
}

/// The secret comes with the first request, and nothing is learned from the wire: the app has to know.
#[tokio::test]
async fn a_first_contact_without_a_secret_goes_to_the_app_as_what_it_is() {
    let mut app = App::start().await;
    let front = Front::start(&route("asana", &app, "")).await;
    let contact = Event::bare("/hooks/asana", r#"{"events":[{"action":"deleted"}]}"#)
        .with("X-Hook-Secret", "b537207f20cbfa02357cf448134da559");
    let mut sender = front.sent(&contact).await;
    let reply = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Hook-Secret: b537207f20cbfa02357cf448134da559\r\n\r\n";
    let seen = app.answers(Reply::keep(reply)).await;
    assert_eq!((seen.header("onced-verified"), seen.header("onced-event-id")), (None, None));
    assert_eq!(seen.header("x-hook-secret"), Some("b537207f20cbfa02357cf448134da559"));
    assert_eq!(seen.body, b"", "what nobody has signed is no event");
    let answer = sender.answer().await;
    answer.assert(200, "handshake");
    assert_eq!(answer.header("x-hook-secret"), Some("b537207f20cbfa02357cf448134da559"));
    let forged = [
        contact.clone().with("X-Hook-Signature", "00"),
        Event::bare("/hooks/asana", "x".repeat(1_025)).with("X-Hook-Secret", "b537"),
        Event::bare("/hooks/asana", r#"{"events":[]}"#),
    ];
    for event in forged {
        front.post(&event).await.assert(401, "unverified");
    }
    // A heartbeat is an event that must get through every time.
    let heartbeat = r#"{"events":[]}"#;
    let digest = hex::encode(hmac(SECRET.as_bytes(), &[heartbeat.as_bytes()]));
    for _ in 0..2 {
        let mut sender = front.sent(&Event::bare("/hooks/asana", heartbeat).with("X-Hook-Signature", &digest)).await;
        assert_eq!(app.answers(Reply::ok()).await.header("onced-verified"), Some("asana"));
        sender.answer().await.assert(200, "forwarded");
    }
    assert_eq!((greeted(&front, "asana"), front.records().await), (1, 0));
}

/// A vector of the signatures' own: a confirmation of Amazon's kind, and the certificate that it was signed with.
#[tokio::test]
async fn a_confirmation_is_verified_and_for_the_app_to_act_on() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/vectors.json");
    let vectors: serde_json::Value = serde_json::from_slice(&std::fs::read(data).unwrap()).unwrap();
    let confirmations = vectors.as_array().unwrap().iter().filter(|vector| {
        vector["profile"] == "aws-sns" && vector["body"].as_str().unwrap().contains("SubscriptionConfirmation")
    });
    let mut app = App::start().await;
    let mut met = 0;
    for vector in confirmations {
        let certificate = format!("{:?}", vector["secret"].as_str().unwrap());
        let topic = format!("parameters = {{ topic_arn = {} }}\n", vector["parameters"]["topic_arn"]);
        let front = Front::start(&route("aws-sns", &app, &topic).replace(&format!("\"{SECRET}\""), &certificate)).await;
        let event = Event::bare("/hooks/aws-sns", vector["body"].as_str().unwrap())
            .with("Content-Type", "text/plain; charset=UTF-8");
        if vector["expect"] == "valid" {
            for _ in 0..2 {
                let mut sender = front.sent(&event).await;
                let seen = app.answers(Reply::ok()).await;
                assert_eq!((&seen.body, seen.header("onced-verified")), (&event.body, Some("aws-sns")));
                sender.answer().await.assert(200, "handshake");
            }
        } else {
            front.post(&event).await.assert(401, "unverified");
        }
        assert_eq!(front.records().await, 0);
        met += 1;
    }
    assert!(met > 1, "{met}");
    app.assert_quiet();
}

#[tokio::test]
async fn an_app_that_fails_at_a_handshake_is_said_to_and_nothing_stays() {
    let target = "/hooks/meta-graph?hub.mode=subscribe&hub.challenge=1&hub.verify_token=t";
    let absent = App::absent().await;
    let front = Front::start(&route("meta-graph", &absent, "")).await;
    ask(&front, "GET", target).await.assert(502, "failed");

    let mut app = App::start().await;
    let front = Front::start(&route("meta-graph", &app, "answer_within = \"50ms\"")).await;
    let mut sender = front.sender().await;
    sender.send(bare("GET", target)).await;
    let _hit = app.hit().await;
    sender.answer().await.assert(503, "in_progress");

    let front = Front::start(&route("meta-graph", &app, "")).await;
    for (status, expected, outcome) in [(403, 403, "handshake"), (500, 500, "handshake"), (302, 502, "failed")] {
        let mut sender = front.sender().await;
        sender.send(bare("GET", target)).await;
        app.answers(Reply::status(status)).await;
        sender.answer().await.assert(expected, outcome);
    }
    assert_eq!(front.records().await, 0);
}

/// For many senders the body is the acknowledgement: TwiML, a fixed text.
#[tokio::test]
async fn the_apps_document_reaches_a_sender_that_signs_its_url() {
    let mut app = App::start().await;
    let front = Front::surrounded(
        &route("twilio", &app, ""),
        "public_url = \"https://hooks.example\"",
        onced::clock::Source::machine(),
    )
    .await;
    let signed = b"https://hooks.example/hooks/twilio?a=1CallSidCA1CallStatuscompletedFrom+1";
    let mut mac = <hmac::Hmac<sha1::Sha1> as hmac::KeyInit>::new_from_slice(SECRET.as_bytes()).unwrap();
    hmac::Mac::update(&mut mac, signed);
    let signature = STANDARD.encode(hmac::Mac::finalize(mac).into_bytes());
    let event = Event::bare("/hooks/twilio?a=1", "From=%2B1&CallStatus=completed&CallSid=CA1")
        .with("Content-Type", "application/x-www-form-urlencoded")
        .with("I-Twilio-Idempotency-Token", "t-1")
        .with("X-Twilio-Signature", signature);
    let mut sender = front.sent(&event).await;
    let reply = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: 12\r\n\r\n<Response/>\n";
    let seen = app.answers(Reply::keep(reply)).await;
    assert_eq!((seen.target(), seen.header("onced-event-id")), (&b"/in?a=1"[..], Some("t-1")));
    let answer = sender.answer().await;
    answer.assert(200, "forwarded");
    assert_eq!((answer.body.as_slice(), answer.header("content-type")), (&b"<Response/>\n"[..], Some("text/xml")));
    let again = front.post(&event).await;
    again.assert(200, "duplicate");
    assert_eq!(again.body, b"handled before\n");
    front.post(&event.at("/hooks/twilio?a=2")).await.assert(401, "unverified");
}
