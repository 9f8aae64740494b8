//! What is done now and then: the history trimmed to what is set, what cannot be delivered any more given up on, the age of
//! what waits told, and which events are parked.
//!
//! Nothing here is in a hurry, and nothing of it is ever as much work as the queue is long.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::lane::LaneDoor;
use super::works::ALL;
use super::{Delivery, HistorySettings};
use crate::event::DueLane;
use crate::metrics::ByRouteAlone;
use crate::store::Fault;

/// How often it is looked after.
const PERIOD: Duration = Duration::from_secs(10);
/// Events of one lane, new ones and others each, that are looked at in one round while their app is down.
const LOOKED_AT: usize = 100;

impl Delivery {
    /// Looks after all of it, for ever.
    pub async fn keep_house(&self) -> Infallible {
        let mut parked = HashMap::new();
        loop {
            if let Err(fault) = self.trim().await {
                self.works.note_fault(ALL, fault, "the history is not trimmed");
            }
            let doors: Vec<_> = self.lanes().values().map(Arc::clone).collect();
            for door in &doors {
                self.look_after(door).await;
            }
            parked = self.tell_parked(&parked).await;
            self.works.clock().sleep_until(self.works.clock().now().after(PERIOD)).await;
        }
    }

    async fn trim(&self) -> Result<(), Fault> {
        let HistorySettings { keep, max_bytes } = *self.history.lock().unwrap_or_else(PoisonError::into_inner);
        while self.works.store().trim(keep, max_bytes).await? > 0 {}
        Ok(())
    }

    async fn look_after(&self, door: &LaneDoor) {
        let settings = Arc::clone(&door.settings.borrow());
        let route = &settings.route;
        if self.works.breakers.of(&settings.forward_to.app()).is_open() {
            for lane in [DueLane::Fresh, DueLane::Retry] {
                if let Err(fault) = self.bury(door, lane).await {
                    self.works.note_fault(route, fault, "what is too old cannot be given up on");
                }
            }
            // What was looked at was nobody else's meanwhile.
            self.works.ring(route);
        }
        self.tell_age(route).await;
    }

    async fn tell_age(&self, route: &str) {
        match self.works.store().oldest(route).await {
            Ok(oldest) => {
                let age = oldest.map_or(0, |at| self.works.clock().now().since(at).as_secs());
                let labels = ByRouteAlone { route: route.to_owned() };
                let gauge = self.works.metrics.queue_oldest_seconds.get_or_create(&labels);
                gauge.set(i64::try_from(age).unwrap_or(i64::MAX));
            }
            Err(fault) => self.works.note_fault(route, fault, "the age of what waits is not known"),
        }
    }

    /// Says which routes are gone and have left events, each time that this changes; `before` is what was said last.
    async fn tell_parked(&self, before: &HashMap<Box<str>, u64>) -> HashMap<Box<str>, u64> {
        let mut parked: HashMap<_, _> = self.works.store().unfinished().into_iter().collect();
        parked.retain(|route, _| !self.is_working(route));
        for (route, events) in &parked {
            self.tell_age(route).await;
            if before.get(route) != Some(events) {
                tracing::warn!(%route, events, "events are parked: their route is not in the config");
            }
        }
        for gone in before.keys().filter(|route| !parked.contains_key(*route) && !self.is_working(route)) {
            self.works.metrics.queue_oldest_seconds.remove(&ByRouteAlone { route: gone.to_string() });
        }
        parked
    }

    /// Gives up on events whose time is over while nobody hands them over: some of those that have waited longest.
    async fn bury(&self, door: &LaneDoor, lane: DueLane) -> Result<(), Fault> {
        let (settings, store) = (Arc::clone(&door.settings.borrow()), self.works.store());
        let (now, mut taken) = (self.works.clock().now(), HashSet::new());
        self.works.in_flight.add_to(&mut taken);
        for (id, due) in store.due(&settings.route, lane, now, &taken, LOOKED_AT).await?.due {
            // New events are due since they came: none behind this one is any older.
            if lane == DueLane::Fresh && now < due.at.after(settings.policy.give_up_after) {
                break;
            }
            // Nobody is kept from it meanwhile: whether it still waits there is decided with the commit.
            let Some(event) = store.event(id).await? else { continue };
            if let Some(cause) = settings.policy.given_up(&event, now)
                && store.bury(id, due, cause).await?
            {
                self.works.note_buried(&settings.route, id, cause);
            }
        }
        Ok(())
    }
}
