//! Hands events over that are in a queue, until their apps have handled them or they are given up on.
//!
//! Every route has a [`lane`] with so many slots, a sync route too: what it had queued before it was switched goes on, and so
//! do dead letters that somebody queues anew. A [`hand_over`] counts its attempt on disk before the app sees a byte, and
//! writes down what became of it; what follows is decided by [`RetryPolicy`](crate::event::RetryPolicy), and lies in the
//! schedule on disk. So a process that dies forgets nothing: the next start finds what is due, overdue events first within
//! the limits, and takes what was under way for an attempt of which nobody knows.
//!
//! An app that is down is left alone by its [`breaker`], whatever routes lead to it. Events of a route that is gone stay in
//! the store, parked, until it is back. By hand an event is replayed, or many are redriven at once ([`redrive`]); what is
//! finished is trimmed ([`housekeeping`]). Time is the store's clock; nothing here blocks the runtime, and every wait is bounded
//! or ends with the daemon.

mod bodies;
mod breaker;
mod breakers;
mod bucket;
mod hand_over;
mod housekeeping;
mod in_flight;
mod lane;
mod redrive;
mod replay;
mod retry_after;
mod settings;
mod slots;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
mod tests;
mod window;
mod works;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinSet;

pub use replay::Replayed;
pub use settings::{HistorySettings, LaneSettings, Rate, RateError};

use crate::app::Apps;
use crate::event::EventId;
use crate::ledger::Ledger;
use crate::metrics::Metrics;
use lane::{Lane, LaneDoor};
use redrive::Redrives;
use works::Works;

/// The delivery of one daemon.
#[derive(Debug)]
pub struct Delivery {
    works: Arc<Works>,
    /// By route.
    lanes: Mutex<HashMap<Box<str>, Arc<LaneDoor>>>,
    /// Rung when there is a lane that does not work yet.
    changed: Notify,
    redrives: Redrives,
    history: Mutex<HistorySettings>,
}

impl Delivery {
    /// With these lanes; nothing is handed over before [`run`](Self::run).
    #[must_use]
    pub fn new(
        ledger: Arc<Ledger>,
        metrics: Arc<Metrics>,
        apps: Apps,
        lanes: Vec<LaneSettings>,
        history: HistorySettings,
    ) -> Self {
        let delivery = Self {
            works: Arc::new(Works::new(ledger, apps, metrics)),
            lanes: Mutex::default(),
            changed: Notify::new(),
            redrives: Redrives::default(),
            history: Mutex::new(history),
        };
        delivery.replace(lanes, history);
        delivery
    }

    /// Lets other settings hold from now on, also for the events that wait. Events of a route that is gone are parked once
    /// what is under way has ended.
    pub fn replace(&self, lanes: Vec<LaneSettings>, history: HistorySettings) {
        *self.history.lock().unwrap_or_else(PoisonError::into_inner) = history;
        let apps: HashSet<_> = lanes.iter().map(|lane| lane.forward_to.app()).collect();
        let mut doors = self.lanes();
        let mut before = std::mem::take(&mut *doors);
        for settings in lanes {
            let route = settings.route.clone();
            let door = match before.remove(&route) {
                Some(door) => {
                    door.replace(settings);
                    door
                }
                None => LaneDoor::new(settings, &self.works),
            };
            doors.insert(route, door);
        }
        for gone in before.values() {
            gone.closed.cancel();
        }
        drop(doors);
        self.works.breakers.keep_only(&apps);
        self.changed.notify_one();
    }

    /// Hands over what is due, until it is stopped. Returns when a lane has ended that should not have.
    pub async fn run(self: Arc<Self>) -> &'static str {
        let mut working = JoinSet::new();
        let mut known: Vec<Arc<LaneDoor>> = Vec::new();
        loop {
            let doors: Vec<_> = self.lanes().values().map(Arc::clone).collect();
            // By the doors, not by the names: a route may be gone and back before anybody looks, and its lane has ended.
            let is_known = |door: &Arc<LaneDoor>| known.iter().any(|other| Arc::ptr_eq(other, door));
            for door in doors.iter().filter(|door| !is_known(door)) {
                working.spawn(Lane::new(Arc::clone(&self.works), Arc::clone(door)).run());
            }
            known = doors;
            tokio::select! {
                () = self.changed.notified() => {}
                Some(ended) = working.join_next() => if ended.is_err() {
                    return "a lane";
                },
            }
        }
    }

    /// Whether somebody is at an event: its hand-over has not ended, though what became of it may be read already.
    #[must_use]
    pub fn is_at(&self, id: EventId) -> bool {
        self.works.in_flight.has(id)
    }

    /// Begins nothing more; what is under way goes on.
    pub fn stop(&self) {
        self.works.stopping.cancel();
    }

    /// Waits until every hand-over that is under way has ended.
    pub async fn finish(&self) {
        self.works.attempts.close();
        self.works.attempts.wait().await;
    }

    /// Waits for apps no longer: what they are at counts as unknown from now on, and is written down as that.
    pub fn cut(&self) {
        self.works.cut.cancel();
    }

    /// Whether events of a route are handed over; those of one that is not in the config are parked.
    #[must_use]
    pub fn is_working(&self, route: &str) -> bool {
        self.lanes().contains_key(route)
    }

    fn lane(&self, route: &str) -> Option<Arc<LaneDoor>> {
        self.lanes().get(route).cloned()
    }

    /// Nothing is half done under the lock.
    fn lanes(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<LaneDoor>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
