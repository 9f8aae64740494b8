//! The config is loaded anew while events are under way.

use crate::harness::{App, Event, Front, Reply, SECRET, hmac, route};

/// Text for GitHub, as `SECRET` is.
const OTHER: &str = "another secret";

fn signed_with(secret: &str, id: &str, body: &str) -> Event {
    let digest = hex::encode(hmac(secret.as_bytes(), &[body.as_bytes()]));
    Event::github(id, body).altered("X-Hub-Signature-256", format!("sha256={digest}"))
}

/// A secret that was taken out refused the requests that had come before it was.
#[tokio::test]
async fn a_request_ends_under_the_config_that_it_began_with() {
    let mut app = App::start().await;
    let mut front = Front::github(&app, "").await;
    let expecting = Event::github("e-2", "{}").with("Expect", "100-continue");
    let mut waiting = front.sender().await;
    waiting.send(expecting.head("Content-Length: 2\r\n")).await;
    waiting.assert_continue().await;

    let rotated = format!("secrets = [{{ inline = \"{OTHER}\" }}]");
    let reloaded = front.reload(&format!("secrets = [{{ inline = \"{SECRET}\" }}]"), &rotated).await.unwrap();
    assert_eq!(reloaded.routes, 1);

    waiting.send(b"{}").await;
    app.answers(Reply::ok()).await;
    waiting.answer().await.assert(200, "forwarded");
    front.post(&Event::github("e-3", "{}")).await.assert(401, "unverified");
    let mut accepted = front.sent(&signed_with(OTHER, "e-3", "{}")).await;
    app.answers(Reply::ok()).await;
    accepted.answer().await.assert(200, "forwarded");
}

#[tokio::test]
async fn an_attempt_under_way_is_finished_though_its_route_is_gone() {
    let mut app = App::start().await;
    let both = [route("github", &app, ""), route("stripe", &app, "")].concat();
    let mut front = Front::start(&both).await;
    let event = Event::github("e-1", "{}");
    let mut first = front.sent(&event).await;
    let hit = app.hit().await;
    let (github, away) = (route("github", &app, ""), route("github", &app, "").replace("/hooks/github", "/hooks/away"));
    assert_eq!(front.reload(&github, "").await.unwrap().routes, 1);
    front.post(&event).await.assert(404, "unrouted");
    hit.answer(Reply::ok());
    first.answer().await.assert(200, "forwarded");
    // It is remembered under the route's name, wherever the route is now.
    front.reload(&route("stripe", &app, ""), &away).await.unwrap();
    front.post(&event.at("/hooks/away")).await.assert(200, "duplicate");
    app.assert_quiet();
}

/// A half-loaded config would be nobody's.
#[tokio::test]
async fn a_config_with_a_fault_or_a_fixed_key_changes_nothing() {
    let mut app = App::start().await;
    let mut front = Front::github(&app, "").await;
    let secret = format!("inline = \"{SECRET}\"");
    for (from, to, told) in [
        (secret.as_str(), "inline = \"\"", "route[0].secrets[0].inline: cannot be used: it is empty"),
        ("provider = \"github\"", "provider = \"gitbub\"", "is not a known provider"),
        ("name = \"github\"", "name = ", "onced.toml:"),
        ("listen = \"127.0.0.1:0\"", "listen = \"127.0.0.1:1\"", "hooks.listen: a change needs a restart"),
        ("[store]", "[store]\nsync = \"interval\"", "store: a change needs a restart"),
        ("socket = \"\"", "socket = \"/tmp/onced-never.sock\"", "api.socket: a change needs a restart"),
    ] {
        let refused = front.reload(from, to).await.unwrap_err();
        assert!(refused.faults.iter().any(|fault| fault.contains(told)), "{to}: {:?}", refused.faults);
    }
    assert_eq!(front.daemon.metrics().config_reload_failures.get(), 6);
    let mut sender = front.sent(&Event::github("e-1", "{}")).await;
    app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
}

#[tokio::test]
async fn the_first_route_opens_the_door_for_senders() {
    let mut app = App::start().await;
    let mut front = Front::start("").await;
    assert!(front.daemon.bound().hooks.is_empty());
    let first = route("github", &app, "");
    let opened = front.reload("[store]", &format!("{first}\n[store]")).await.unwrap().opened;
    front.hooks = opened.into_iter().next().unwrap();
    let mut sender = front.sent(&Event::github("e-1", "{}")).await;
    app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
    // Without routes the door stays, and so do the memories behind it.
    front.reload(&first, "").await.unwrap();
    front.post(&Event::github("e-1", "{}")).await.assert(404, "unrouted");
    assert_eq!(front.reload("[store]", &format!("{first}\n[store]")).await.unwrap().opened, [""; 0]);
    front.post(&Event::github("e-1", "{}")).await.assert(200, "duplicate");
    app.assert_quiet();
}
