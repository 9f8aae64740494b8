//! Handing one event over because somebody wants it.

use std::sync::Arc;

use super::Delivery;
use super::hand_over::{Done, HandOver};
use super::lane::LaneDoor;
use crate::event::{AttemptOutcome, EventId, How};
use crate::store::Fault;

/// What came of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// The event was handed over.
    Forwarded {
        /// Which attempt at it that was.
        attempt: u32,
        /// What became of it.
        outcome: AttemptOutcome,
        /// What the app answered.
        status: Option<u16>,
    },
    /// The app has handled it before.
    Duplicate,
    /// It is being handed over.
    InProgress,
    /// Its route is not in the config.
    Parked,
    /// There is no such event.
    Gone,
}

impl Delivery {
    /// Hands an event over, in a slot of its route, whatever its schedule and the breaker of its app say. `force` hands over
    /// also what the app has handled. Goes on without its caller.
    ///
    /// # Errors
    /// The fault of the store, where the attempt could not be counted: then the app has seen nothing.
    pub async fn replay(self: &Arc<Self>, id: EventId, force: bool) -> Result<Replayed, Fault> {
        let Some(event) = self.works.store().event(id).await? else {
            return Ok(Replayed::Gone);
        };
        let Some(door) = self.lane(&event.route) else {
            return Ok(Replayed::Parked);
        };
        let (delivery, how) = (Arc::clone(self), if force { How::Force } else { How::Replay });
        let running = self.works.attempts.spawn(async move { delivery.replay_through(&door, id, how).await });
        running.await.unwrap_or(Err(Fault::Closed))
    }

    async fn replay_through(&self, door: &LaneDoor, id: EventId, how: How) -> Result<Replayed, Fault> {
        let works = &self.works;
        let Some(flight) = works.in_flight.enter(id) else {
            return Ok(Replayed::InProgress);
        };
        let slot = tokio::select! {
            // A stop comes before a slot that is free: nothing is begun after it.
            biased;
            () = works.stopping.cancelled() => return Err(Fault::Closed),
            slot = door.slots.take() => slot,
        };
        let settings = Arc::clone(&door.settings.borrow());
        let pass = works.breakers.of(&settings.forward_to.app()).force();
        let hand_over = HandOver { works, settings: &settings, door, pass, slot };
        let done = hand_over.run(&flight, how).await;
        drop(flight);
        works.ring(&settings.route);
        Ok(match done? {
            Done::Attempted(attempt) => {
                Replayed::Forwarded { attempt: attempt.number, outcome: attempt.outcome, status: attempt.status }
            }
            Done::Duplicate => Replayed::Duplicate,
            Done::InProgress => Replayed::InProgress,
            Done::Gone => Replayed::Gone,
            // The breaker is not asked for it.
            Done::PutOff => Replayed::InProgress,
        })
    }
}
