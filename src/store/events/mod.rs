//! The event log, as the store offers it.
//!
//! Everything about an event but what was sent is one small entry; what was sent lies in the content log, or in a file of its
//! own where it is large. Beside the entries stand the schedule ([`schedule`]), the history ([`trim`]), the audit list
//! ([`audit`]) and the redrives ([`redrive`]). The life of a queued event: accepted ([`accept`]), found in the schedule, begun
//! ([`begin`]), finished ([`finish`]), and perhaps queued anew or discarded ([`requeue`]). Those of routes without a queue are
//! kept by [`keep`].
//!
//! All that is written goes through the commit thread ([`work`]), in an order of which every beginning makes sense ([`desk`]).
//! What an entry names is safe before it is, but for a new queued event, which its number undoes ([`lay`]).
//! What a crash leaves of an event that was never acknowledged goes at the next start ([`undo`]).

mod accept;
pub(super) mod audit;
mod begin;
mod bury;
mod compact;
mod content;
pub(super) mod desk;
mod finish;
pub(super) mod keep;
mod lay;
pub(super) mod pin;
pub(super) mod redrive;
mod requeue;
pub(super) mod schedule;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
mod tests;
pub(super) mod trim;
pub(super) mod undo;
mod work;

use std::sync::Arc;

use tokio::sync::{Notify, oneshot};

pub use accept::Accepted;
pub use audit::{Action, Actor, AuditEntry, AuditPage, Deed};
pub use begin::{BeginAsk, Begun};
pub use compact::Compacted;
pub use finish::Finish;
pub use redrive::{Filter, Progress, RedriveId};
pub use requeue::{Discarded, Requeued};
pub use schedule::DuePage;
pub(super) use work::Work;

use super::Store;
use super::engine::{Engine, EngineError};
use super::fault::Fault;
use super::job::Job;
use super::list::STEP_RECORDS;
use crate::chain::Chain;
use crate::claim::{Namespace, Timestamp};
use crate::event::{Cause, Event, EventId, State, StateName};
use work::{Ask, Asked};

/// Which events are wanted.
#[derive(Debug, Clone, Default)]
pub struct EventSelection {
    /// Those of the route of this name only.
    pub route: Option<Box<str>>,
    /// Those of this state only.
    pub state: Option<StateName>,
    /// Those that were given up on for this cause only.
    pub cause: Option<Cause>,
    /// Those of these namespaces only.
    pub namespaces: Option<Vec<Namespace>>,
    /// Those before this moment only: dead letters by when they were given up on, others by when they arrived.
    pub before: Option<Timestamp>,
    /// Those after this one.
    pub after: Option<EventId>,
    /// So many at most.
    pub limit: usize,
}

/// Some events, and where to go on.
#[derive(Debug, Default)]
pub struct EventPage {
    /// The events, in the order of their ids: those that were queued in the order of arrival, then all others.
    pub events: Vec<Event>,
    /// The id to go on after; `None` when that was all.
    pub next: Option<EventId>,
}

impl EventSelection {
    fn wants(&self, event: &Event) -> bool {
        self.route.as_ref().is_none_or(|route| *route == event.route)
            && self.state.is_none_or(|state| state == event.state.name())
            && self.cause.is_none_or(|cause| event.delivery.cause == Some(cause))
            && self.before.is_none_or(|before| moment(event) < before)
            && self.namespaces.as_ref().is_none_or(|namespaces| namespaces.contains(&event.namespace))
    }
}

/// What `before` speaks of, in lists and redrives alike.
fn moment(event: &Event) -> Timestamp {
    match event.state {
        State::Dead { since } => since,
        State::Queued(_) | State::Delivering(_) | State::Delivered { .. } | State::Passed { .. } => event.received_at,
    }
}

impl Store {
    /// Reads a page of events; one that cannot be read is left out. The page may hold fewer than the limit and not be the
    /// last.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn events(&self, selection: EventSelection) -> Result<EventPage, Fault> {
        let page = move |engine: &Engine| page_of(engine, &selection, STEP_RECORDS);
        let page = self.walk(move |shared| schedule::walked(shared, page)).await?;
        self.barrier().await?;
        Ok(page)
    }

    /// What rings when something has come into the schedule of a route, after its sync. It wakes one sleeper, and the next one
    /// that falls asleep where none slept.
    #[must_use]
    pub fn bell(&self, route: &str) -> Arc<Notify> {
        self.room.bell(route)
    }

    async fn ask_event<A: Ask>(&self, ask: A) -> Result<A::Told, Fault> {
        let (to, from) = oneshot::channel();
        self.ask(Job::Events(Box::new(Asked::new(ask, Arc::clone(&self.room), to))), from).await?
    }
}

/// A page of those that are wanted, of at most so many that are looked at.
fn page_of(engine: &Engine, selection: &EventSelection, looked_at_most: usize) -> Result<EventPage, EngineError> {
    let mut page = EventPage::default();
    for (looked_at, item) in engine.scan_events(selection.after).enumerate() {
        let (id, kept) = item?;
        match kept {
            Ok(kept) if selection.wants(&kept.event) => page.events.push(kept.event),
            Ok(_) => {}
            Err(error) => {
                tracing::error!(event = %id, error = %Chain(&error), "a list leaves out an event that cannot be read");
            }
        }
        if page.events.len() >= selection.limit || looked_at + 1 >= looked_at_most {
            page.next = Some(id);
            break;
        }
    }
    Ok(page)
}
