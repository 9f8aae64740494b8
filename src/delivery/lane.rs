//! The lane of one route: takes what is due from the store, as much at once as the settings allow, and sets a task of its
//! own to each hand-over.
//!
//! It waits for nothing but time, the bell of its route, and a free slot, so that one that has nothing to do costs nothing,
//! and one whose app hangs holds up no other. A failure of the store lets it pause. Dropped at any point, as it is when its
//! settings change, it leaves nothing half done: what it knew ahead is still in the store.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::bodies::Bodies;
use super::breakers::{AppBreaker, Pass};
use super::bucket::Bucket;
use super::hand_over::{Done, HandOver};
use super::settings::LaneSettings;
use super::slots::{Slot, Slots};
use super::window::Window;
use super::works::Works;
use crate::claim::Timestamp;
use crate::event::{Attempt, AttemptOutcome, DueLane, How};
use crate::store::Fault;

/// Attempts that are written down while others are with the app already, for each slot: a fast app is back for more before
/// the disk has synced what became of the last.
const PLACES_PER_SLOT: usize = 4;

/// How long the store is left alone when it could not be asked.
const PAUSE: Duration = Duration::from_millis(500);

/// What of a lane others have to do with.
#[derive(Debug)]
pub(super) struct LaneDoor {
    pub(super) settings: watch::Sender<Arc<LaneSettings>>,
    /// Hand-overs that are with the app.
    pub(super) slots: Arc<Slots>,
    pub(super) bodies: Bodies,
    /// The route is no longer in the config.
    pub(super) closed: CancellationToken,
}

/// The lane.
pub(super) struct Lane {
    works: Arc<Works>,
    door: Arc<LaneDoor>,
    /// Hand-overs that are not written down yet.
    places: Arc<Slots>,
    bell: Arc<Notify>,
    ahead: Ahead,
    bucket: Option<Bucket>,
}

/// What is known of the schedule.
#[derive(Debug, Default)]
struct Ahead {
    window: Window,
    /// Nothing more of it is due before then, unless the bell rings.
    dry: [Option<Dry>; 2],
}

#[derive(Debug, Clone, Copy)]
struct Dry {
    until: Option<Timestamp>,
}

/// Leave to hand the next event over.
pub(super) struct Permit {
    place: Slot,
    slot: Slot,
    pass: Pass,
}

impl LaneDoor {
    pub(super) fn new(settings: LaneSettings, works: &Works) -> Arc<Self> {
        Arc::new(Self {
            slots: Slots::new(settings.concurrency),
            settings: watch::Sender::new(Arc::new(settings)),
            bodies: Bodies::default(),
            closed: works.stopping.child_token(),
        })
    }

    /// Lets other settings hold from now on, also for the events that wait.
    pub(super) fn replace(&self, settings: LaneSettings) {
        self.slots.resize(settings.concurrency);
        self.settings.send_replace(Arc::new(settings));
    }
}

impl Lane {
    pub(super) fn new(works: Arc<Works>, door: Arc<LaneDoor>) -> Self {
        let settings = Arc::clone(&door.settings.borrow());
        let bell = works.store().bell(&settings.route);
        let places = Slots::new(settings.concurrency * PLACES_PER_SLOT);
        Self { works, door, places, bell, ahead: Ahead::default(), bucket: None }
    }

    /// Works until the route is gone or the daemon stops.
    pub(super) async fn run(mut self) {
        let (mut changes, closed) = (self.door.settings.subscribe(), self.door.closed.clone());
        loop {
            let settings = Arc::clone(&changes.borrow_and_update());
            self.adopt(&settings);
            tokio::select! {
                // A stop comes before whatever else is ready.
                biased;
                () = closed.cancelled() => return,
                changed = changes.changed() => changed.expect("the lane holds the other end itself"),
                never = self.work(&settings) => match never {},
            }
        }
    }

    fn adopt(&mut self, settings: &LaneSettings) {
        self.places.resize(settings.concurrency * PLACES_PER_SLOT);
        if self.bucket.as_ref().map(Bucket::rate) != settings.rate {
            self.bucket = settings.rate.map(Bucket::new);
        }
    }

    async fn work(&mut self, settings: &Arc<LaneSettings>) -> Infallible {
        let breaker = self.works.breakers.of(&settings.forward_to.app());
        loop {
            self.look_ahead(&settings.route).await;
            let permit = self.permit(&breaker).await;
            self.hand_over(settings, permit);
        }
    }

    /// Returns once an event is due.
    pub(super) async fn look_ahead(&mut self, route: &str) {
        loop {
            tokio::select! {
                biased;
                () = self.bell.notified() => self.ahead.dry = [None; 2],
                () = std::future::ready(()) => {}
            }
            let asked = self.ask(route).await;
            if !self.ahead.window.is_empty() {
                return;
            }
            match asked {
                Ok(()) => tokio::select! {
                    () = self.bell.notified() => self.ahead.dry = [None; 2],
                    () = sleep_until(&self.works, self.ahead.next_at()) => {}
                },
                Err(fault) => {
                    self.works.note_fault(route, fault, "events that are due cannot be looked up");
                    self.works.pause(PAUSE).await;
                }
            }
        }
    }

    /// Asks the store for what is due, where there may be something that is not known, and room for it.
    async fn ask(&mut self, route: &str) -> Result<(), Fault> {
        if let Some(fault) = self.works.store().fault() {
            return Err(fault);
        }
        for lane in [DueLane::Fresh, DueLane::Retry] {
            let (now, room) = (self.works.clock().now(), self.ahead.window.room(lane));
            if room == 0 || self.ahead.is_dry(lane, now) {
                continue;
            }
            let mut taken = HashSet::new();
            self.ahead.window.add_to(&mut taken);
            self.works.in_flight.add_to(&mut taken);
            let page = self.works.store().due(route, lane, now, &taken, room).await?;
            let is_dry = page.due.len() < room;
            self.ahead.dry[lane as usize] = is_dry.then_some(Dry { until: page.next_at });
            self.ahead.window.extend(lane, page.due);
        }
        Ok(())
    }

    /// Waits until the next event may be handed over.
    pub(super) async fn permit(&mut self, breaker: &Arc<AppBreaker>) -> Permit {
        loop {
            breaker.opens_the_way().await;
            if let Some(bucket) = &self.bucket {
                sleep_until(&self.works, Some(bucket.free_at())).await;
            }
            let place = self.places.take().await;
            let slot = self.door.slots.take().await;
            // Only now: what is waited for with a probe in hand would hold up the probe.
            if let Some(pass) = breaker.admit() {
                if let Some(bucket) = &mut self.bucket {
                    bucket.take(self.works.clock().now());
                }
                return Permit { place, slot, pass };
            }
        }
    }

    pub(super) fn hand_over(&mut self, settings: &Arc<LaneSettings>, permit: Permit) {
        let Permit { place, slot, pass } = permit;
        let Some((id, due)) = self.ahead.window.next() else { return };
        let Some(flight) = self.works.in_flight.enter(id) else {
            // Somebody else is at it, by hand. It is out of the window now, and may be due again without another ring.
            self.ahead.dry = [None; 2];
            return;
        };
        let (works, settings, door) = (Arc::clone(&self.works), Arc::clone(settings), Arc::clone(&self.door));
        self.works.attempts.spawn(async move {
            let hand_over = HandOver { works: &works, settings: &settings, door: &door, pass, slot };
            let done = hand_over.run(&flight, How::Scheduled(due)).await;
            match &done {
                Ok(Done::Attempted(_) | Done::Gone | Done::Duplicate | Done::PutOff) => {}
                // Its sender is at it: what comes of that is known in a while.
                Ok(Done::InProgress) => works.pause(PAUSE).await,
                Err(fault) => {
                    works.note_fault(&settings.route, *fault, "an attempt could not be counted and is put off");
                    works.pause(PAUSE).await;
                }
            }
            drop((flight, place));
            if !matches!(done, Ok(Done::Attempted(Attempt { outcome: AttemptOutcome::Delivered, .. }))) {
                works.ring(&settings.route);
            }
        });
    }
}

impl Ahead {
    fn is_dry(&self, lane: DueLane, now: Timestamp) -> bool {
        self.dry[lane as usize].is_some_and(|dry| dry.until.is_none_or(|until| now < until))
    }

    /// When something that is known of is due next.
    fn next_at(&self) -> Option<Timestamp> {
        self.dry.iter().flatten().filter_map(|dry| dry.until).min()
    }
}

/// Sleeps for ever without a point.
async fn sleep_until(works: &Works, point: Option<Timestamp>) {
    match point {
        Some(point) => works.clock().sleep_until(point).await,
        None => std::future::pending().await,
    }
}
