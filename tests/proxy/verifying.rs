//! Who is not let in, what such a request is told, and that it leaves no trace.

use onced::clock::ManualTime;
use onced::metrics::ByProvider;

use crate::harness::{App, Event, Front, Reply, SECRET, hmac, now, route, standard_digest, stripe_digest};

const BODY: &str = r#"{"id":"evt_1"}"#;
/// What every wrong signature gets.
const REFUSAL: &[u8] = b"the signature could not be verified\n";

fn all_routes(app: &App) -> String {
    ["github", "stripe", "standard-webhooks"].map(|provider| route(provider, app, "")).concat()
}

/// Values that are no signature, whatever the digest is.
fn malformed(digest: &str) -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> =
        ["", " ", "sha256=", "v1=", "v1,", "=", ",", "t=,v1="].map(|text| text.as_bytes().to_vec()).into();
    values.push(digest.as_bytes()[1..].to_vec());
    values.push([digest.as_bytes(), b"0"].concat());
    values.push(vec![b'z'; 64]);
    values.push(vec![b'a'; 8_192]);
    values.push(b"sha256=\xff\xfe\xe9".to_vec());
    values.push(format!("sha1={digest}").into_bytes());
    values.push(format!("md5={digest}").into_bytes());
    values
}

fn forgeries() -> Vec<Event> {
    let mut forgeries = Vec::new();
    let good = Event::github("e-1", BODY);
    let digest = hex::encode(hmac(SECRET.as_bytes(), &[BODY.as_bytes()]));
    forgeries.push(good.clone().without("X-Hub-Signature-256"));
    forgeries.push(good.clone().with("X-Hub-Signature-256", format!("sha256={digest}")));
    let mut values = malformed(&digest);
    let other = hex::encode(hmac(b"another", &[BODY.as_bytes()]));
    values.extend(
        [format!("sha256={other}"), format!("sha256={digest}0"), format!("sha256={}", &digest[1..])]
            .map(String::into_bytes),
    );
    forgeries.extend(values.iter().map(|value| good.clone().altered("X-Hub-Signature-256", value)));
    let mut altered = good.clone();
    altered.body[2] ^= 1;
    forgeries.push(altered);

    let at = now();
    let good = Event::stripe(at, BODY);
    let digest = stripe_digest(SECRET, at, BODY.as_bytes());
    forgeries.push(good.clone().without("Stripe-Signature"));
    forgeries.push(good.clone().with("Stripe-Signature", format!("t={at},v1={digest}")));
    let mut values = malformed(&digest);
    let wrong = [
        format!("t={at},v0={digest}"),
        format!("t={at},v1={}", stripe_digest("another", at, BODY.as_bytes())),
        format!("t={},v1={digest}", at + 1),
        format!("t={at},t={at},v1={digest}"),
        format!("v1={digest}"),
        format!("t=now,v1={digest}"),
        format!("t={at},v1={digest}0"),
    ];
    values.extend(wrong.map(String::into_bytes));
    forgeries.extend(values.iter().map(|value| good.clone().altered("Stripe-Signature", value)));

    let good = Event::standard("m-1", at, BODY);
    let digest = standard_digest("m-1", at, BODY.as_bytes());
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        forgeries.push(good.clone().without(name));
        let (_, value) = good.headers.iter().find(|(found, _)| found == name).unwrap().clone();
        forgeries.push(good.clone().with(name, value));
    }
    forgeries.push(good.clone().altered("webhook-id", "m-2"));
    forgeries.push(good.clone().altered("webhook-timestamp", (at - 1).to_string()));
    let mut values = malformed(&digest);
    values.extend(
        [format!("v2,{digest}"), format!("v1a,{digest}"), digest.clone(), format!("v1,{}", &digest[1..])]
            .map(String::into_bytes),
    );
    forgeries.extend(values.iter().map(|value| good.clone().altered("webhook-signature", value)));
    forgeries
}

#[tokio::test]
async fn every_wrong_signature_gets_the_same_401_and_changes_nothing() {
    let mut app = App::start().await;
    let front = Front::start(&all_routes(&app)).await;
    let forgeries = forgeries();
    for forged in &forgeries {
        let answer = front.post(forged).await;
        answer.assert(401, "unverified");
        assert_eq!(answer.body, REFUSAL);
        assert_eq!(answer.header("www-authenticate"), None);
    }
    assert_eq!(forgeries.len(), 72);
    assert_eq!(front.records().await, 0);
    app.assert_quiet();
    // The genuine ones are not burnt by them.
    for event in [Event::github("e-1", BODY), Event::stripe(now(), BODY), Event::standard("m-1", now(), BODY)] {
        let mut sender = front.sent(&event).await;
        assert_eq!(app.answers(Reply::ok()).await.attempt(), "1");
        sender.answer().await.assert(200, "forwarded");
    }
}

/// A stranger who knew an id could have it taken for handled, or end the attempt at it.
#[tokio::test]
async fn a_forgery_does_not_disturb_the_attempt_at_the_genuine_event() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", BODY);
    let forged = event.clone().altered("X-Hub-Signature-256", "sha256=00");
    front.post(&forged).await.assert(401, "unverified");
    let mut sender = front.sent(&event).await;
    let hit = app.hit().await;
    front.post(&forged).await.assert(401, "unverified");
    assert_eq!(hit.answer(Reply::ok()).attempt(), "1");
    sender.answer().await.assert(200, "forwarded");
    front.post(&forged).await.assert(401, "unverified");
    front.post(&event).await.assert(200, "duplicate");
    assert_eq!(front.records().await, 1);
    app.assert_quiet();
}

#[tokio::test]
async fn an_id_header_that_comes_twice_is_a_401() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for second in ["e-1", "e-2"] {
        let answer = front.post(&Event::github("e-1", BODY).with("x-github-delivery", second)).await;
        answer.assert(401, "unverified");
        assert_eq!(answer.body, REFUSAL);
    }
    assert_eq!(front.records().await, 0);
    app.assert_quiet();
}

/// A server that was stuck in the past refused everything as an invalid signature, for days.
#[tokio::test]
async fn a_right_signature_out_of_time_is_a_503_on_both_sides_and_the_skew_is_measured() {
    let clock = 1_800_000_000;
    let time = ManualTime::new(1_800_000_000_000);
    let mut app = App::start().await;
    let front = Front::on_clock(&all_routes(&app), &time).await;
    for (away, passes) in [
        (-1_000_000_000, false),
        (-301, false),
        (-300, true),
        (-299, true),
        (0, true),
        (1, true),
        (300, true),
        (301, false),
        (1_000_000_000, false),
    ] {
        let id = format!("evt_{away}");
        let at = clock + away;
        let events = [
            ("stripe", Event::stripe(at, format!("{{\"id\":\"{id}\"}}"))),
            ("standard-webhooks", Event::standard(&id, at, "{}")),
        ];
        for (provider, event) in events {
            let mut sender = front.sent(&event).await;
            if passes {
                app.answers(Reply::ok()).await;
                sender.answer().await.assert(200, "forwarded");
            } else {
                sender.answer().await.assert(503, "unverified");
            }
            let provider = provider.to_owned();
            let skew = &front.daemon.metrics().sender_clock_skew_seconds;
            assert_eq!(skew.get_or_create(&ByProvider { provider }).get(), -away);
        }
        app.assert_quiet();
    }
    assert_eq!(front.records().await, 10);
    // A forged one is told nothing of clocks.
    let forged = Event::stripe(clock - 1_000, BODY).altered("Stripe-Signature", format!("t={},v1=00", clock - 1_000));
    front.post(&forged).await.assert(401, "unverified");
}

#[tokio::test]
async fn a_tolerance_can_be_set_and_switched_off() {
    let time = ManualTime::new(1_800_000_000_000);
    let mut app = App::start().await;
    for (tolerance, away, passes) in [("10s", 11, false), ("10s", 10, true), ("off", 1_000_000, true)] {
        let routes = route("stripe", &app, &format!("tolerance = \"{tolerance}\"\n"));
        let front = Front::on_clock(&routes, &time).await;
        let mut sender = front.sent(&Event::stripe(1_800_000_000 - away, BODY)).await;
        if passes {
            app.answers(Reply::ok()).await;
            sender.answer().await.assert(200, "forwarded");
        } else {
            sender.answer().await.assert(503, "unverified");
        }
    }
}

#[tokio::test]
async fn any_right_entry_of_a_list_will_do_and_a_list_without_end_will_not() {
    let mut app = App::start().await;
    let front = Front::start(&all_routes(&app)).await;
    let at = now();
    let body = |number: usize| format!("{{\"id\":\"evt_{number}\"}}");
    let stripe = |number: usize, list: &str| {
        let body = body(number);
        let list = list.replace("good", &stripe_digest(SECRET, at, body.as_bytes()));
        Event::stripe(at, body).altered("Stripe-Signature", list.replace("AT", &at.to_string()))
    };
    let standard = |number: usize, list: &str| {
        let (id, body) = (format!("m-{number}"), body(number));
        let list = list.replace("good", &standard_digest(&id, at, body.as_bytes()));
        Event::standard(&id, at, body).altered("webhook-signature", list)
    };
    let bad = "0".repeat(64);
    let events = [
        stripe(1, &format!("t=AT,v1={bad},v1=good")),
        stripe(2, "t=AT,v0=x,v1=good"),
        stripe(3, "v1=good,t=AT"),
        standard(4, "v1,AAAA v1,good"),
        standard(5, "v1a,zzz v1,good"),
        standard(6, "v2,zzz v1,good"),
    ];
    for event in &events {
        let mut sender = front.sent(event).await;
        app.answers(Reply::ok()).await;
        sender.answer().await.assert(200, "forwarded");
    }
    let long = format!("t=AT,{}v1=good", format!("v1={},", &bad[..4]).repeat(5_000));
    front.post(&stripe(7, &long)).await.assert(401, "unverified");
    let long = format!("{}v1,good", "v1,AAAA ".repeat(5_000));
    front.post(&standard(8, &long)).await.assert(401, "unverified");
    app.assert_quiet();
}

#[tokio::test]
async fn any_of_several_secrets_will_do() {
    let mut app = App::start().await;
    let routes = route("github", &app, "").replace(
        &format!("{{ inline = \"{SECRET}\" }}"),
        "{ inline = \"first-secret\" }, { inline = \"second-secret\" }",
    );
    let front = Front::start(&routes).await;
    let signed = |secret: &str| {
        let digest = hex::encode(hmac(secret.as_bytes(), &[BODY.as_bytes()]));
        Event::github(secret, BODY).altered("X-Hub-Signature-256", format!("sha256={digest}"))
    };
    for secret in ["first-secret", "second-secret"] {
        let mut sender = front.sent(&signed(secret)).await;
        app.answers(Reply::ok()).await;
        sender.answer().await.assert(200, "forwarded");
    }
    front.post(&signed("third-secret")).await.assert(401, "unverified");
    app.assert_quiet();
}

#[tokio::test]
async fn what_is_not_verified_is_not_called_verified() {
    let mut app = App::start().await;
    let url = app.url();
    let routes = format!(
        "[[route]]\nname = \"open\"\npath = \"/open\"\nverify = \"none\"\nevent_id = {{ header = \"X-Id\" }}\nforward_to = \"{url}/\"\n"
    );
    let front = Front::start(&routes).await;
    let event = Event::bare("/open", "{}").with("X-Id", "1").with("Onced-Verified", "github");
    let mut sender = front.sent(&event).await;
    assert_eq!(app.answers(Reply::ok()).await.header("onced-verified"), None);
    sender.answer().await.assert(200, "forwarded");
}
