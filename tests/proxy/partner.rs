//! A sender that no built-in profile describes: its scheme is written in the config and nowhere else.
//!
//! The profile is the example of the shipped config, letter by letter, so that whoever copies it gets what is tested here.

use onced::clock::Source;

use crate::harness::{App, Event, Front, Reply, SECRET, hmac, now, route};

/// The example's tables: what follows its header, up to the next route.
fn example() -> String {
    let shipped = include_str!("../../systemd/onced.toml");
    let (_, from) = shipped.split_once("#[provider.my-partner]\n").expect("the example is there");
    let (tables, _) = from.split_once("#[[route]]").expect("a route follows");
    let line = |line: &str| match line.strip_prefix('#') {
        Some(option) if !option.starts_with(' ') => format!("{option}\n"),
        Some(_) | None => String::new(),
    };
    format!("[provider.my-partner]\n{}", tables.lines().map(line).collect::<String>())
}

/// As the partner signs.
fn signed(account: &str, at: i64, body: &str) -> Event {
    let at = at.to_string();
    let pieces = [account.as_bytes(), b".", at.as_bytes(), b".", body.as_bytes()];
    Event::bare("/hooks/my-partner", body)
        .with("X-Partner-Time", &at)
        .with("X-Partner-Signature", format!("v1={}", hex::encode(hmac(SECRET.as_bytes(), &pieces))))
}

async fn front(app: &App, more: &str) -> Front {
    let text = route("my-partner", app, &format!("parameters = {{ account = \"4711\" }}\n{more}"));
    Front::surrounded(&(text + &example()), "", Source::machine()).await
}

#[tokio::test]
async fn a_scheme_that_is_written_in_the_config_is_verified_and_handed_over() {
    let mut app = App::start().await;
    let front = front(&app, "").await;
    let event = signed("4711", now(), r#"{"id":"p-1"}"#);
    let mut sender = front.sent(&event).await;
    let seen = app.answers(Reply::ok()).await;
    assert_eq!((seen.header("onced-verified"), seen.header("onced-event-id")), (Some("my-partner"), Some("p-1")));
    sender.answer().await.assert(200, "forwarded");
    front.post(&signed("4711", now() - 10, r#"{"id":"p-1"}"#)).await.assert(200, "duplicate");
    for forged in [
        signed("4712", now(), r#"{"id":"p-2"}"#),
        event.clone().altered("X-Partner-Time", (now() + 1).to_string()),
        event.clone().without("X-Partner-Time"),
        event.clone().without("X-Partner-Signature"),
        Event { body: br#"{"id":"p-2"}"#.to_vec(), ..event.clone() },
    ] {
        front.post(&forged).await.assert(401, "unverified");
    }
    front.post(&signed("4711", now() - 301, r#"{"id":"p-2"}"#)).await.assert(503, "unverified");
    app.assert_quiet();
}

#[tokio::test]
async fn the_other_facts_of_a_profile_of_ones_own_have_their_effect_too() {
    let mut app = App::start().await;
    let front = front(&app, "").await;
    // Its ping is answered, its "stop" is not passed on.
    for _ in 0..2 {
        let answer = front.post(&signed("4711", now(), r#"{"kind":"ping","id":"p-1"}"#)).await;
        answer.assert(200, "handshake");
        assert_eq!((answer.body.as_slice(), answer.header("content-type")), (&b"{}"[..], Some("application/json")));
    }
    assert_eq!(front.records().await, 0);
    let mut sender = front.sent(&signed("4711", now(), r#"{"id":"p-1"}"#)).await;
    app.answers(Reply::status(410)).await;
    let answer = sender.answer().await;
    answer.assert(503, "forwarded");
    assert_eq!(answer.header("onced-app-status"), Some("410"));
    // Where the route says where the id is, the profile has no say.
    let own = self::front(&app, "event_id = { pointer = \"/other\" }\n").await;
    let mut sender = own.sent(&signed("4711", now(), r#"{"id":"p-1","other":7}"#)).await;
    assert_eq!(app.answers(Reply::ok()).await.header("onced-event-id"), Some("7"));
    sender.answer().await.assert(200, "forwarded");
}

/// A reload that changes the scheme changes what is verified, and one that breaks it changes nothing.
#[tokio::test]
async fn a_profile_of_ones_own_is_loaded_anew() {
    let mut app = App::start().await;
    let mut front = front(&app, "").await;
    let event = signed("4711", now(), r#"{"id":"p-1"}"#);
    let refused = front.reload("{parameter:account}.{timestamp}", "{parameter:account}.{colour}").await;
    assert!(refused.is_err());
    let mut sender = front.sent(&event).await;
    app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
    assert!(front.reload("header = \"X-Partner-Signature\"", "header = \"X-New-Signature\"").await.is_ok());
    front.post(&event).await.assert(401, "unverified");
}
