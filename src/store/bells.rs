//! Bells: who hands events over sleeps until something has come into the schedule of its route.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// A bell for every route that somebody listens to or that has events: as many as there are routes in the config, and ever
/// were.
#[derive(Debug, Default)]
pub(super) struct Bells(Mutex<HashMap<Box<str>, Arc<Notify>>>);

impl Bells {
    /// The bell of a route. One that was rung while nobody listened wakes the next one who does.
    pub(super) fn of(&self, route: &str) -> Arc<Notify> {
        let mut bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = bells.get(route) {
            return Arc::clone(bell);
        }
        Arc::clone(bells.entry(route.into()).or_default())
    }

    pub(super) fn ring(&self, route: &str) {
        if let Some(bell) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(route) {
            bell.notify_one();
        }
    }

    pub(super) fn ring_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(|bell| bell.notify_one());
    }
}
