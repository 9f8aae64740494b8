//! How many events there are of what kind, and what they take.

use std::collections::HashMap;

use super::kept::{Kept, Place};
use crate::event::{Cause, State, StateName};

/// What of an entry is counted, and what follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) route: Box<str>,
    pub(super) state: State,
    pub(super) cause: Option<Cause>,
    /// Bytes that it takes on the disk.
    pub(super) bytes: u64,
    pub(super) place: Place,
    /// Whether it was given up on, or was once, by a route that hands over while the sender waits: then a later success of
    /// that route ends it.
    pub(super) is_letter: bool,
}

/// All that is kept, by route.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) bytes: u64,
    /// Of these, what apps have handled.
    pub(super) finished_bytes: u64,
    pub(super) letters: u64,
    routes: HashMap<Box<str>, OfRoute>,
}

/// What is kept of one route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OfRoute {
    /// In the order of [`StateName::ALL`].
    pub(super) by_state: [u64; StateName::ALL.len()],
    /// In the order of [`Cause::ALL`].
    pub(super) by_cause: [u64; Cause::ALL.len()],
}

impl Counted {
    pub(super) fn of(kept: &Kept) -> Self {
        let event = &kept.event;
        Self {
            route: event.route.clone(),
            state: event.state,
            cause: event.delivery.cause,
            bytes: kept.bytes(),
            place: kept.place,
            is_letter: event.id.queued_sequence().is_none() && event.state.handled_at().is_none(),
        }
    }
}

impl Counts {
    pub(super) fn add(&mut self, counted: &Counted) {
        self.change(counted, |count, by| *count += by);
    }

    pub(super) fn take(&mut self, counted: &Counted) {
        // What was never counted, because it could not be read then, is not taken from nothing.
        self.change(counted, |count, by| *count = count.saturating_sub(by));
    }

    pub(super) fn of_route(&self, route: &str) -> OfRoute {
        self.routes.get(route).copied().unwrap_or_default()
    }

    pub(super) fn routes(&self) -> impl Iterator<Item = &str> {
        self.routes.keys().map(|route| &**route)
    }

    fn change(&mut self, counted: &Counted, change: impl Fn(&mut u64, u64)) {
        change(&mut self.bytes, counted.bytes);
        if counted.state.handled_at().is_some() {
            change(&mut self.finished_bytes, counted.bytes);
        }
        change(&mut self.letters, counted.is_letter.into());
        let of_route = match self.routes.get_mut(&*counted.route) {
            Some(of_route) => of_route,
            None => self.routes.entry(counted.route.clone()).or_default(),
        };
        change(&mut of_route.by_state[counted.state.name() as usize], 1);
        if let Some(cause) = counted.cause {
            change(&mut of_route.by_cause[cause as usize], 1);
        }
    }
}
