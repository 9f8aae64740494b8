//! A daemon with a queue route in front of an app, what its events and dead letters are, and what its files take.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::app::{App, Hit};
use super::event::{Event, Print, SECRET};
use crate::client::{Answer, Client};
use crate::harness::{Daemon, House, eventually};

/// Long enough for whatever comes by itself, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Adds a queue route of this name to a house, to this app; `more` is further lines of it, then tables of it.
pub(crate) fn add_route(house: &mut House, name: &str, app: &App, more: &str) {
    let secret = house.beside("secret");
    fs::write(&secret, SECRET).unwrap();
    if house.tables.is_empty() {
        house.tables = "[hooks]\nlisten = \"127.0.0.1:0\"\n".to_owned();
    }
    house.tables += &format!(
        "[[route]]\nname = \"{name}\"\npath = \"/hooks/{name}\"\nprovider = \"github\"\nmode = \"queue\"\n\
         secrets = [{{ file = {secret:?} }}]\nforward_to = \"http://{}/in\"\n{more}\n",
        app.address
    );
}

/// A house with one queue route, `github`.
pub(crate) fn queueing(app: &App, more: &str) -> House {
    let mut house = House::new();
    add_route(&mut house, "github", app, more);
    house
}

impl Daemon {
    /// A connection of a sender.
    pub(crate) fn sender(&self) -> Client {
        Client::connect(&self.hooks).unwrap()
    }

    /// Sends an event to the route `github`, and it is accepted.
    pub(crate) fn accepts(&self, event: &Event) {
        accepted(&event.send(&mut self.sender(), "github").unwrap());
    }

    /// Sends as many events of this name and size as asked for, over a few connections, and all are accepted.
    pub(crate) fn accepts_many(&self, name: &str, count: usize, bytes: usize) {
        const SENDERS: usize = 4;
        let work = |sender: usize| {
            let mut client = self.sender();
            for number in (sender..count).step_by(SENDERS) {
                accepted(&Event::new(format!("{name}-{number}"), bytes).send(&mut client, "github").unwrap());
            }
        };
        std::thread::scope(|scope| {
            (0..SENDERS).for_each(|sender| drop(scope.spawn(move || work(sender))));
        });
    }

    /// Waits until no event is left to be handed over, which the gauge and the list agree on.
    pub(crate) fn until_empty(&self) {
        let mut client = self.client();
        let states = ["state=\"queued\"", "state=\"delivering\""];
        eventually(PATIENCE, "the queue is empty", || {
            states.iter().all(|state| client.metric("onced_queue_events{", state) == 0)
        });
        for state in ["queued", "delivering"] {
            let left = events(&mut client, &format!("limit=1000&state={state}"));
            assert!(left.is_empty(), "the gauge says that there are none: {left:#?}");
        }
    }
}

/// That the answer is the acknowledgement of a new event.
#[track_caller]
pub(crate) fn accepted(answer: &Answer) {
    assert_eq!((answer.status, answer.header("onced-outcome")), (202, Some("accepted")), "{answer:?}");
}

/// That the sender is asked to come again, for want of a store.
#[track_caller]
pub(crate) fn refused(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
}

/// All events that a query finds.
pub(crate) fn events(client: &mut Client, query: &str) -> Vec<Value> {
    pages(client, "events", query)
}

/// All dead letters.
pub(crate) fn letters(client: &mut Client) -> Vec<Value> {
    pages(client, "dead-letters", "limit=1000")
}

fn pages(client: &mut Client, path: &str, query: &str) -> Vec<Value> {
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let answer = client.get(&format!("/v1/{path}?{query}{after}"));
        assert_eq!(answer.status, 200, "{}", answer.text);
        found.extend(answer.get("items").as_array().unwrap().iter().cloned());
        match answer.get("next").as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return found,
        }
    }
}

/// The one event with this sender's id.
pub(crate) fn event_of(client: &mut Client, id: &str) -> Value {
    let mut found = events(client, "limit=1000");
    found.retain(|event| event["key"] == id);
    assert_eq!(found.len(), 1, "{id}: {found:#?}");
    found.remove(0)
}

/// Each hand-over is of an event that was sent, byte for byte; every repeat of one has its ids and a higher number.
pub(crate) fn assert_recognisable(hits: &[Hit], sent: &BTreeMap<String, Print>) {
    let mut last: BTreeMap<&str, &Hit> = BTreeMap::new();
    for hit in hits {
        let body = sent.get(&hit.event).unwrap_or_else(|| panic!("nobody sent {hit:?}"));
        assert_eq!(*body, hit.body, "{hit:?}");
        assert_eq!(hit.key, format!("route:github:{}", hit.event));
        if let Some(before) = last.insert(&hit.event, hit) {
            assert_eq!(before.delivery, hit.delivery, "{before:?} {hit:?}");
            assert!(before.attempt < hit.attempt, "{before:?} {hit:?}");
        }
    }
}

/// Whatever was acknowledged is handed over, and all that is handed over was sent.
pub(crate) fn all_arrive(
    app: &App,
    daemon: &Daemon,
    acknowledged: &BTreeMap<String, Print>,
    others: &BTreeMap<String, Print>,
) {
    daemon.until_empty();
    let hits = app.hits();
    let sent = acknowledged.iter().chain(others).map(|(id, print)| (id.clone(), *print)).collect();
    assert_recognisable(&hits, &sent);
    let delivered: BTreeSet<_> = hits.iter().filter(|hit| hit.status == Some(200)).map(|hit| &hit.event).collect();
    let missing: Vec<_> = acknowledged.keys().filter(|id| !delivered.contains(id)).collect();
    assert!(missing.is_empty(), "of {}: {missing:?}", acknowledged.len());
}

/// Bytes of disk that a store takes, by what is in them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Disk {
    pub(crate) records: u64,
    pub(crate) contents: u64,
    /// Files of one body each.
    pub(crate) bodies: u64,
    pub(crate) rest: u64,
}

impl Disk {
    pub(crate) fn of(store: &Path) -> Self {
        let mut disk = Self { rest: 0, ..Self::default() };
        for entry in fs::read_dir(store).unwrap() {
            let path = entry.unwrap().path();
            let bytes = allocated(&path);
            match path.file_name().unwrap().to_str().unwrap() {
                "records" => disk.records += bytes,
                "contents" => disk.contents += bytes,
                "events" => disk.bodies += bytes,
                _ => disk.rest += bytes,
            }
        }
        disk
    }
}

/// A file may go while it is looked at.
fn allocated(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.blocks() * 512;
    }
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    entries.map_while(Result::ok).map(|entry| allocated(&entry.path())).sum()
}
