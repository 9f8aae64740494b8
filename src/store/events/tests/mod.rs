//! The event log against plain maps, against crashes and against damage.

mod contents;
mod hanging;
mod letters;
mod model;
mod queue;
mod undone;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::claim::{ConfirmedTtl, Key};
use crate::clock::{ManualTime, Source};
use crate::event::{Arrival, Attempt, AttemptOutcome, Content, Due, DueLane, Failure, HeaderLine, How, Next};
use crate::metrics::Metrics;
use crate::store::StoreSettings;
use crate::store::counts::{Counted, Counts};
use crate::store::kept::Kept;
use crate::store::room::NotKept;

const START_MS: u64 = 1_800_000_000_000;
/// How long a key is remembered.
const TTL: Duration = Duration::from_secs(3_600);

fn settings(dir: &Path) -> StoreSettings {
    StoreSettings { cache_bytes: 1 << 20, min_free_bytes: 0, ..StoreSettings::for_dir(dir.join("store")) }
}

fn open_at(settings: StoreSettings, time: &ManualTime) -> (Store, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::new());
    let store = Store::open(settings, Source::manual(time), false, Arc::clone(&metrics));
    (store.expect("it opens"), metrics)
}

fn content(body: &[u8]) -> Content {
    let line = HeaderLine { name: (*b"X-Odd").into(), value: (*b"\xe9").into() };
    Content { target: "/a?b".into(), sender_id: None, headers: vec![line], body: Bytes::copy_from_slice(body) }
}

/// A store in a directory of its own, with time in the test's hands.
struct Home {
    dir: tempfile::TempDir,
    time: ManualTime,
    store: Store,
    metrics: Arc<Metrics>,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let time = ManualTime::new(START_MS);
        let (store, metrics) = open_at(settings(dir.path()), &time);
        Self { dir, time, store, metrics }
    }

    async fn reopen(self) -> Self {
        self.store.close().await.unwrap();
        let Self { dir, time, store, .. } = self;
        drop(store);
        let (store, metrics) = open_at(settings(dir.path()), &time);
        Self { dir, time, store, metrics }
    }

    fn now(&self) -> Timestamp {
        self.store.clock().now()
    }

    fn advance(&self, length: Duration) {
        self.time.advance(length);
    }

    fn arrival(&self, key: Option<&str>) -> Arrival {
        let namespace = Namespace::of_route("q").unwrap();
        Arrival {
            route: "q".into(),
            app: "app".into(),
            key: key.map(|key| Key::new(&namespace, key).unwrap()),
            namespace,
            confirmed_ttl: ConfirmedTtl::new(TTL).unwrap(),
            received_at: self.now(),
        }
    }

    async fn accept(&self, key: &str, body: &[u8]) -> Result<Accepted, NotKept> {
        self.store.accept(self.arrival(Some(key)), content(body)).await
    }

    /// Accepts a new event.
    async fn queued(&self, key: &str) -> EventId {
        match self.accept(key, key.as_bytes()).await.unwrap() {
            Accepted::New { id, .. } => id,
            other => panic!("{other:?}"),
        }
    }

    fn begin_ask(&self, id: EventId, how: How) -> BeginAsk {
        let confirmed_ttl = ConfirmedTtl::new(TTL).unwrap();
        BeginAsk { id, how, route: "q".into(), app: "app".into(), confirmed_ttl, at: self.now() }
    }

    async fn begin(&self, id: EventId, how: How) -> Begun {
        self.store.begin(self.begin_ask(id, how)).await.unwrap()
    }

    /// Begins the hand-over of an event as it is found in its schedule.
    async fn begin_due(&self, id: EventId) -> Event {
        let due = self.event(id).await.state.due().unwrap();
        match self.begin(id, How::Scheduled(due)).await {
            Begun::Go(event) => *event,
            other => panic!("{other:?}"),
        }
    }

    fn ended(&self, event: &Event, next: Next) -> Finish {
        let outcome = match next {
            Next::Delivered => AttemptOutcome::Delivered,
            Next::Retry(_) | Next::Dead(_) => AttemptOutcome::Answered,
        };
        let (number, at) = (event.delivery.attempts, self.now());
        let attempt =
            Attempt { number, at, took_ms: 3, outcome, status: Some(if next == Next::Delivered { 200 } else { 500 }) };
        Finish { id: event.id, attempt, excerpt: (*b"said").into(), next, keep: true }
    }

    /// Hands an event over, with this end.
    async fn hand_over(&self, id: EventId, next: Next) {
        let event = self.begin_due(id).await;
        self.store.finish(self.ended(&event, next)).await.unwrap();
    }

    async fn event(&self, id: EventId) -> Event {
        self.store.event(id).await.unwrap().expect("it is there")
    }

    async fn due(&self, lane: DueLane) -> Vec<EventId> {
        let page = self.store.due("q", lane, self.now(), &Default::default(), 100).await.unwrap();
        page.due.into_iter().map(|(id, _)| id).collect()
    }

    async fn claim(&self, key: &str) -> Option<crate::claim::Record> {
        let key = self.arrival(Some(key)).key.unwrap();
        self.store.read(key).await.unwrap().record
    }

    /// A line of the metrics; 0 before the first of its kind.
    fn gauge(&self, name: &str) -> u64 {
        let text = self.metrics.render();
        let shown = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        shown.unwrap_or(0)
    }

    /// Everything that is kept.
    fn all(&self) -> Vec<Kept> {
        let walk = |engine: &Engine| -> Result<Vec<_>, EngineError> {
            engine.scan_events(None).map(|item| Ok(item?.1.expect("sound"))).collect()
        };
        schedule::walked(&self.store.shared, walk).unwrap()
    }

    /// What must hold of every store that is well, whatever has happened to it.
    async fn check(&self) {
        let all = self.all();
        let mut counts = Counts::default();
        all.iter().for_each(|kept| counts.add(&Counted::of(kept)));
        let shown = self.store.room.counts();
        assert_eq!(
            (shown.bytes, shown.finished_bytes, shown.letters),
            (counts.bytes, counts.finished_bytes, counts.letters)
        );
        for route in shown.routes().chain(counts.routes()) {
            assert_eq!(shown.of_route(route), counts.of_route(route), "{route}");
            let by_state = StateName::ALL.into_iter().zip(counts.of_route(route).by_state);
            for (state, count) in by_state {
                let gauge = format!("onced_queue_events{{route=\"{route}\",state=\"{}\"}}", state.as_str());
                assert_eq!(self.gauge(&gauge), count, "{gauge}");
            }
        }
        assert_eq!(self.gauge("onced_event_bytes"), counts.bytes);
        let places = self.store.places();
        let finished = self.store.finished_places();
        for Kept { event, .. } in &all {
            let own = |due| (event.route.to_string(), due, event.id);
            if let Some(due) = event.state.due() {
                assert!(places.contains(&own(due)), "{event:?} has no place");
                if let Some(key) = event.key.clone().filter(|_| event.id.queued_sequence().is_some()) {
                    let record = self.store.read(key).await.unwrap().record.expect("the claim is pinned");
                    let crate::claim::Record::Done(done) = record else { panic!("{record:?}") };
                    assert_eq!(done.event, Some(event.id.into()));
                    assert!(done.expires_at > self.now());
                }
            }
            if let Some(at) = event.state.handled_at() {
                assert!(finished.contains(&(at, event.id)), "{event:?} has no place");
            }
        }
    }

    /// No place but those that count: as long as nothing was cut off.
    fn check_places(&self) {
        let all = self.all();
        assert_eq!(self.store.places().len(), all.iter().filter(|kept| kept.event.state.due().is_some()).count());
        let handled = all.iter().filter(|kept| kept.event.state.handled_at().is_some()).count();
        assert_eq!(self.store.finished_places().len(), handled);
    }

    /// Lets the store come back.
    async fn come_back(&self) {
        let mut tries = 0;
        while self.store.fault().is_some() {
            self.advance(Duration::from_secs(5));
            self.store.barrier().await.unwrap();
            tries += 1;
            assert!(tries < 100, "it does not come back");
        }
    }
}
