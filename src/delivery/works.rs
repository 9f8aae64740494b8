//! What all lanes work with.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::breakers::Breakers;
use super::in_flight::InFlight;
use crate::app::Apps;
use crate::clock::Clock;
use crate::event::{Cause, EventId};
use crate::ledger::Ledger;
use crate::metrics::Metrics;
use crate::quiet::Quiet;
use crate::store::{Fault, Store};

#[derive(Debug)]
pub(super) struct Works {
    pub(super) ledger: Arc<Ledger>,
    pub(super) apps: Apps,
    pub(super) metrics: Arc<Metrics>,
    pub(super) breakers: Breakers,
    pub(super) in_flight: InFlight,
    /// Attempts that are under way.
    pub(super) attempts: TaskTracker,
    /// Nothing more is begun.
    pub(super) stopping: CancellationToken,
    /// Nothing is waited for any longer.
    pub(super) cut: CancellationToken,
    pub(super) quiet: Quiet<Topic>,
}

/// Stands for all routes where something is said of no particular one; no route is called so.
pub(super) const ALL: &str = "*";

/// What an app that refuses events, or a disk that is down, can cause to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Topic {
    /// An event that was given up on.
    Buried,
    /// The store could not be asked.
    Store,
    /// An event for which there is no request.
    NotAsked,
}

impl Works {
    pub(super) fn new(ledger: Arc<Ledger>, apps: Apps, metrics: Arc<Metrics>) -> Self {
        Self {
            breakers: Breakers::new(ledger.clock().clone(), Arc::clone(&metrics)),
            ledger,
            apps,
            metrics,
            in_flight: InFlight::default(),
            attempts: TaskTracker::new(),
            stopping: CancellationToken::new(),
            cut: CancellationToken::new(),
            quiet: Quiet::default(),
        }
    }

    pub(super) fn store(&self) -> &Store {
        self.ledger.store()
    }

    pub(super) fn clock(&self) -> &Clock {
        self.ledger.clock()
    }

    /// Lets the lane of a route look again, though the store has nothing new: an event that somebody was at is free.
    pub(super) fn ring(&self, route: &str) {
        self.store().bell(route).notify_one();
    }

    /// Leaves the store alone for a while, or until nothing more is begun.
    pub(super) async fn pause(&self, length: Duration) {
        tokio::select! {
            () = self.clock().sleep_until(self.clock().now().after(length)) => {}
            () = self.stopping.cancelled() => {}
        }
    }

    /// Says that the store could not be asked, as often as the log can bear.
    pub(super) fn note_fault(&self, route: &str, fault: Fault, what: &'static str) {
        if let Some(left_out) = self.quiet.permits(route, Topic::Store) {
            tracing::warn!(%route, %fault, left_out, "{what}");
        }
    }

    /// Says that an event was given up on, as often as the log can bear.
    pub(super) fn note_buried(&self, route: &str, event: EventId, cause: Cause) {
        if let Some(left_out) = self.quiet.permits(route, Topic::Buried) {
            let cause = cause.as_str();
            tracing::warn!(%route, %event, cause, left_out, "an event was given up on: it is a dead letter");
        }
    }
}
