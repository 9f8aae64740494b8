//! What no app is needed for: lanes that are put together by hand, over a store of their own.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::timeout;

use super::breaker::BreakerSettings;
use super::hand_over::{Done, HandOver};
use super::lane::{Lane, LaneDoor};
use super::works::Works;
use super::{Delivery, HistorySettings, LaneSettings};
use crate::app::{Apps, ForwardTo, RoutePath};
use crate::claim::{ConfirmedTtl, Namespace};
use crate::clock::{ManualTime, Source};
use crate::event::{
    Arrival, Attempt, AttemptOutcome, Cause, Content, Event, EventId, How, RetryPolicy, State, StateName,
};
use crate::ledger::{Ledger, LedgerSettings};
use crate::metrics::Metrics;
use crate::store::{Accepted, Fault, Store, StoreSettings};

/// So long nothing of this takes, and a wait without an end is told by it.
const PATIENCE: Duration = Duration::from_secs(20);
const LARGE_BYTES: usize = 40 * 1024;

struct Stage {
    dir: TempDir,
    time: ManualTime,
    ledger: Arc<Ledger>,
    works: Arc<Works>,
}

fn history() -> HistorySettings {
    HistorySettings { keep: Duration::from_secs(86_400), max_bytes: 1 << 30 }
}

fn settings() -> LaneSettings {
    LaneSettings {
        route: "q".into(),
        namespace: Namespace::of_route("q").unwrap(),
        confirmed_ttl: ConfirmedTtl::MAX,
        provider: None,
        path: RoutePath::parse("/q").unwrap(),
        // Nobody is there.
        forward_to: ForwardTo::parse("http://127.0.0.1:1").unwrap(),
        max_duration: Duration::from_secs(30),
        signing_key: None,
        policy: RetryPolicy {
            backoff_base: Duration::from_secs(5),
            backoff_cap: Duration::from_secs(3_600),
            retry_after_cap: Duration::from_secs(3_600),
            give_up_after: Duration::from_secs(86_400),
            max_attempts: None,
        },
        concurrency: 1,
        rate: None,
        breaker_failures: 1,
        breaker_probe: Duration::from_secs(30),
        keep_delivered: true,
    }
}

impl Stage {
    fn set() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (metrics, time) = (Arc::new(Metrics::new()), ManualTime::new(1_800_000_000_000));
        let store = StoreSettings { min_free_bytes: 0, ..StoreSettings::for_dir(dir.path().join("store")) };
        let store = Store::open(store, Source::manual(&time), false, Arc::clone(&metrics)).unwrap();
        let ledger = Arc::new(Ledger::new(store, LedgerSettings::default(), Arc::clone(&metrics)));
        let works = Arc::new(Works::new(Arc::clone(&ledger), Apps::new(Arc::clone(&metrics)), metrics));
        Self { dir, time, ledger, works }
    }

    async fn accept(&self, body_bytes: usize) -> EventId {
        let arrival = Arrival {
            route: "q".into(),
            app: "app".into(),
            namespace: Namespace::of_route("q").unwrap(),
            key: None,
            confirmed_ttl: ConfirmedTtl::MAX,
            received_at: self.works.clock().now(),
        };
        let body = vec![b'x'; body_bytes].into();
        let content = Content { target: "/q".into(), sender_id: None, headers: Vec::new(), body };
        match self.works.store().accept(arrival, content).await.unwrap() {
            Accepted::New { id, .. } => id,
            other => panic!("{other:?}"),
        }
    }

    async fn event(&self, id: EventId) -> Event {
        self.works.store().event(id).await.unwrap().unwrap()
    }

    /// Hands an event over that waits.
    async fn hand_over(&self, door: &LaneDoor, id: EventId) -> Result<Done, Fault> {
        let settings = Arc::clone(&door.settings.borrow());
        let pass = self.works.breakers.of(&settings.forward_to.app()).admit().unwrap();
        let slot = door.slots.take().await;
        let due = self.event(id).await.state.due().unwrap();
        let flight = self.works.in_flight.enter(id).unwrap();
        HandOver { works: &self.works, settings: &settings, door, pass, slot }.run(&flight, How::Scheduled(due)).await
    }

    /// The one file of a large body.
    fn content_file(&self) -> std::path::PathBuf {
        let files = std::fs::read_dir(self.dir.path().join("store/events")).unwrap();
        let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }
}

/// Somebody else was at an event just when its turn came; it fell out of the window, and lay there though it was due.
#[tokio::test]
async fn an_event_that_somebody_else_is_at_is_looked_for_again_without_a_ring() {
    let stage = Stage::set();
    let id = stage.accept(2).await;
    let door = LaneDoor::new(settings(), &stage.works);
    let mut lane = Lane::new(Arc::clone(&stage.works), Arc::clone(&door));
    lane.look_ahead("q").await;
    // What there was to hear has been heard.
    assert!(timeout(Duration::from_millis(1), lane.look_ahead("q")).await.is_ok());
    let flight = stage.works.in_flight.enter(id).unwrap();
    let breaker = stage.works.breakers.of(&settings().forward_to.app());
    let permit = lane.permit(&breaker).await;
    lane.hand_over(&Arc::new(settings()), permit);
    drop(flight);
    assert!(timeout(PATIENCE, lane.look_ahead("q")).await.is_ok(), "it is due, and nobody looks");
}

/// A probe and a slot were held by a body that waited for its memory: the app was not asked, and small events stood behind it.
#[tokio::test]
async fn a_body_that_waits_for_its_room_holds_neither_slot_nor_probe_nor_attempt() {
    let stage = Stage::set();
    let id = stage.accept(LARGE_BYTES).await;
    let door = LaneDoor::new(settings(), &stage.works);
    let breaker = stage.works.breakers.of(&settings().forward_to.app());
    let down = |number| Attempt {
        number,
        at: stage.works.clock().now(),
        took_ms: 0,
        outcome: AttemptOutcome::TimedOut,
        status: None,
    };
    breaker.admit().unwrap().note(&down(1), BreakerSettings::of(&settings()));
    stage.time.advance(Duration::from_secs(30));
    let all = door.bodies.room(u64::MAX).await;
    let others = async {
        let slot = timeout(PATIENCE, door.slots.take()).await.unwrap();
        breaker.opens_the_way().await;
        let probe = breaker.admit().unwrap();
        assert_eq!(stage.event(id).await.delivery.attempts, 0, "it has not begun");
        // The app is still down.
        probe.note(&down(2), BreakerSettings::of(&settings()));
        drop((slot, all));
    };
    let (done, ()) = timeout(PATIENCE, async { tokio::join!(stage.hand_over(&door, id), others) }).await.unwrap();
    assert!(matches!(done, Ok(Done::PutOff)), "{done:?}");
    let event = stage.event(id).await;
    assert_eq!((event.state.name(), event.delivery.attempts), (StateName::Queued, 0));
}

/// The disk could not be read for a moment, and each try of ours was charged to the app as an attempt.
#[tokio::test]
async fn what_cannot_be_read_just_now_is_put_off_uncounted() {
    let stage = Stage::set();
    let id = stage.accept(LARGE_BYTES).await;
    let door = LaneDoor::new(settings(), &stage.works);
    let (file, aside) = (stage.content_file(), stage.dir.path().join("aside"));
    std::fs::rename(&file, &aside).unwrap();
    // It is there, and reading it fails.
    std::fs::create_dir(&file).unwrap();
    let done = stage.hand_over(&door, id).await;
    assert!(done.is_err(), "{done:?}");
    let event = stage.event(id).await;
    assert_eq!((event.state.name(), event.delivery.attempts), (StateName::Queued, 0));
    std::fs::remove_dir(&file).unwrap();
    std::fs::rename(&aside, &file).unwrap();
    let done = stage.hand_over(&door, id).await;
    assert!(matches!(done, Ok(Done::Attempted(Attempt { number: 1, .. }))), "{done:?}");
}

/// What was sent was damaged, and its event was tried for three days, as if its app were away.
#[tokio::test]
async fn an_event_whose_content_is_damaged_is_a_dead_letter_at_once() {
    let stage = Stage::set();
    let id = stage.accept(LARGE_BYTES).await;
    let door = LaneDoor::new(settings(), &stage.works);
    let file = stage.content_file();
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let done = stage.hand_over(&door, id).await;
    assert!(matches!(done, Ok(Done::Attempted(_))), "{done:?}");
    let event = stage.event(id).await;
    assert!(matches!(event.state, State::Dead { .. }), "{event:?}");
    assert_eq!((event.delivery.cause, event.delivery.attempts), (Some(Cause::Rejected), 1));
    assert!(!stage.works.breakers.of(&settings().forward_to.app()).is_open(), "the app is not blamed");
}

/// A route was removed and put back before anybody looked; it had a lane by its name, which had ended, and no other came.
#[tokio::test]
async fn a_route_that_is_gone_and_back_at_once_has_a_lane_that_works() {
    let stage = Stage::set();
    let apps = Apps::new(Arc::clone(&stage.works.metrics));
    let metrics = Arc::clone(&stage.works.metrics);
    let delivery = Arc::new(Delivery::new(Arc::clone(&stage.ledger), metrics, apps, vec![settings()], history()));
    let works = |door: Arc<LaneDoor>| async move {
        let subscribed = async {
            while door.settings.receiver_count() == 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, subscribed).await.is_ok()
    };
    let running = tokio::spawn(Arc::clone(&delivery).run());
    assert!(works(delivery.lane("q").unwrap()).await);
    delivery.replace(Vec::new(), history());
    delivery.replace(vec![settings()], history());
    assert!(works(delivery.lane("q").unwrap()).await, "it has no lane");
    delivery.stop();
    running.abort();
}
