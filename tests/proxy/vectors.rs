//! The published signatures of GitHub, Stripe and Standard Webhooks, each sent as bytes to a daemon whose clock stands
//! where the signature was made.

use std::collections::BTreeMap;
use std::path::Path;

use onced::clock::ManualTime;
use serde::Deserialize;

use crate::harness::{App, Event, Front, Reply};

#[derive(Deserialize)]
struct Vector {
    id: String,
    profile: String,
    secret: String,
    headers: BTreeMap<String, String>,
    body: String,
    now: u64,
    expect: String,
    event_id: Option<String>,
}

/// The headers that may carry what was signed must reach the app as they came.
fn event(vector: &Vector) -> Event {
    let bare = Event::bare("/hooks/it", &vector.body);
    let event = vector.headers.iter().fold(bare, |event, (name, value)| event.with(name, value));
    match vector.profile.as_str() {
        // The published examples of GitHub sign bodies and show no delivery id.
        "github" => event.with("X-GitHub-Delivery", &vector.id),
        _ => event,
    }
}

async fn try_out(vector: &Vector) {
    let mut app = App::start().await;
    let time = ManualTime::new(vector.now * 1_000);
    let route = format!(
        "[[route]]\nname = \"it\"\npath = \"/hooks/it\"\nprovider = \"{}\"\nsecrets = [{{ inline = {:?} }}]\n\
         forward_to = \"{}/in\"\n",
        vector.profile,
        vector.secret,
        app.url()
    );
    let front = Front::on_clock(&route, &time).await;
    let event = event(vector);
    let mut sender = front.sent(&event).await;
    match vector.expect.as_str() {
        "valid" => {
            let seen = app.answers(Reply::ok()).await;
            sender.answer().await.assert(200, "forwarded");
            assert_eq!(seen.body, event.body, "{}", vector.id);
            for (name, value) in &event.headers {
                assert_eq!(seen.values(name), [value.as_slice()], "{}: {name}", vector.id);
            }
            assert_eq!(seen.header("onced-verified"), Some(vector.profile.as_str()));
            if let Some(id) = &vector.event_id {
                assert_eq!(seen.header("onced-event-id"), Some(id.as_str()), "{}", vector.id);
                front.post(&event).await.assert(200, "duplicate");
            }
        }
        "invalid" => {
            sender.answer().await.assert(401, "unverified");
            assert_eq!(front.records().await, 0, "{}", vector.id);
        }
        other => panic!("{}: {other}", vector.id),
    }
    app.assert_quiet();
    front.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn published_signatures_pass_from_socket_to_socket_and_published_forgeries_do_not() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/vectors.json");
    let vectors: Vec<Vector> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let ours = |vector: &&Vector| ["github", "stripe", "standard-webhooks"].contains(&vector.profile.as_str());
    let vectors: Vec<_> = vectors.iter().filter(ours).collect();
    for vector in &vectors {
        try_out(vector).await;
    }
    assert_eq!(vectors.len(), 10);
}
