//! The signatures of every scheme, each sent as bytes to a daemon whose clock stands where the signature was made: through
//! the built-in profiles, and through those that stand in a config.

use std::collections::BTreeMap;
use std::path::Path;

use onced::clock::{ManualTime, Source};
use onced::provider::Profiles;
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::harness::{App, Event, Front, Reply};

#[derive(Deserialize)]
struct Vector {
    id: String,
    profile: String,
    secret: String,
    headers: BTreeMap<String, String>,
    #[serde(default)]
    more_headers: Vec<(String, String)>,
    method: Option<String>,
    target: Option<String>,
    public_url: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    body: String,
    body_hex: Option<String>,
    now: u64,
    expect: String,
    tolerance_seconds: Option<u64>,
    event_id: Option<String>,
}

/// These are what a sender asks before it delivers: signed all the same, and no event.
const HANDSHAKES: [&str; 2] = ["v45", "o30"];

impl Vector {
    fn target(&self) -> &str {
        self.target.as_deref().unwrap_or("/")
    }

    /// The headers that may carry what was signed must reach the app as they came.
    fn event(&self) -> Event {
        let body = self.body_hex.as_ref().map_or(self.body.clone().into_bytes(), |digits| hex::decode(digits).unwrap());
        let bare = Event::bare(self.target(), body);
        let lines = self.headers.iter().chain(self.more_headers.iter().map(|(name, value)| (name, value)));
        let event = lines.fold(bare, |event, (name, value)| event.with(name, value));
        match self.profile.as_str() {
            // The published examples of GitHub sign bodies and show no delivery id.
            "github" => event.with("X-GitHub-Delivery", &self.id),
            _ => event,
        }
    }

    fn route(&self, app: &App) -> String {
        let path = self.target().split('?').next().unwrap();
        let mut route = format!(
            "[[route]]\nname = \"it\"\npath = \"{path}\"\nprovider = \"{}\"\nsecrets = [{{ inline = {:?} }}]\n\
             forward_to = \"{}/in\"\n",
            self.profile,
            self.secret,
            app.url()
        );
        if let Some(seconds) = self.tolerance_seconds {
            route += &format!("tolerance = \"{seconds}s\"\n");
        }
        for (name, value) in &self.parameters {
            route += &format!("parameters = {{ {name} = {value:?} }}\n");
        }
        route + &partner(&self.profile)
    }
}

/// The profile as it would stand in a config, unless it is built in.
fn partner(name: &str) -> String {
    if Profiles::built_in().find(name).is_some() {
        return String::new();
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/profiles");
    let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
    format!("[provider.{name}]\n{}", text.replace("\n[", &format!("\n[provider.{name}.")))
}

async fn try_out(vector: &Vector) {
    let mut app = App::start().await;
    let time = ManualTime::new(vector.now * 1_000);
    let hooks = vector.public_url.as_ref().map_or(String::new(), |url| format!("public_url = \"{url}\""));
    let front = Front::surrounded(&vector.route(&app), &hooks, Source::manual(&time)).await;
    let event = vector.event();
    let mut sender = front.sent(&event).await;
    match vector.expect.as_str() {
        "valid" => {
            let seen = app.answers(Reply::ok()).await;
            sender.answer().await.assert(200, "forwarded");
            assert_eq!(seen.body, event.body, "{}", vector.id);
            for (name, value) in &event.headers {
                assert!(seen.values(name).contains(&value.as_slice()), "{}: {name}", vector.id);
            }
            assert_eq!(seen.header("onced-verified"), Some(vector.profile.as_str()));
            let query = vector.target().split_once('?').map_or(String::new(), |(_, query)| format!("?{query}"));
            assert_eq!(seen.target(), format!("/in{query}").as_bytes(), "{}", vector.id);
            if let Some(id) = &vector.event_id {
                assert_eq!(seen.header("onced-event-id"), Some(id.as_str()), "{}", vector.id);
                front.post(&event).await.assert(200, "duplicate");
            }
        }
        refused => {
            let status = if refused == "stale" { 503 } else { 401 };
            sender.answer().await.assert(status, "unverified");
            assert_eq!(front.records().await, 0, "{}", vector.id);
        }
    }
    app.assert_quiet();
    front.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn signatures_of_every_scheme_pass_from_socket_to_socket_and_forgeries_do_not() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/vectors.json");
    let vectors: Vec<Vector> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let is_event = |vector: &Vector| {
        vector.method.as_deref().is_none_or(|method| method == "POST") && !HANDSHAKES.contains(&vector.id.as_str())
    };
    let mut vectors: Vec<_> = vectors.into_iter().filter(is_event).collect();
    assert!(vectors.len() > 180, "{}", vectors.len());
    // A daemon each, some at a time: most of it is waiting for one another's disk.
    while !vectors.is_empty() {
        let few = vectors.split_off(vectors.len().saturating_sub(8));
        let tried: JoinSet<()> = few.into_iter().map(|vector| async move { try_out(&vector).await }).collect();
        tried.join_all().await;
    }
}
