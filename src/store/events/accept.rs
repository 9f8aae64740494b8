//! Accepting an event for a queue: what was sent, its entry, its place in the schedule and its claim, in one synced commit.
//!
//! Whoever is told that it is accepted may tell the sender so. If the process dies before the sync, the event is above the
//! last number that is known, and the next start removes what there is of it ([`super::undo`]).

use super::super::Store;
use super::super::engine::EngineError;
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::super::kept::Kept;
use super::super::known::Known;
use super::super::room::NotKept;
use super::desk::Found;
use super::work::{Ask, Fresh};
use crate::claim::{Acceptance, Record, Timestamp, accept};
use crate::event::{Arrival, Content, Event, EventId};

/// What came of an event that was to be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is in the queue.
    New {
        /// Our name for it.
        id: EventId,
        /// The number of its commit.
        sequence: u64,
    },
    /// It was accepted or handled before.
    Duplicate {
        /// Whether it had been given up on, and waits in the queue again.
        requeued: bool,
    },
    /// Somebody is at work on it.
    InProgress {
        /// When that claim ends.
        expires_at: Timestamp,
    },
}

impl Store {
    /// Accepts an event for the queue of its route. When this returns, what it says is synced, whatever `sync` says.
    ///
    /// # Errors
    /// Why it is not accepted. (When its own commit hangs it may yet turn out to be.)
    pub async fn accept(&self, arrival: Arrival, content: Content) -> Result<Accepted, NotKept> {
        if let Some(fault) = self.fault() {
            return Err(NotKept::Store(fault));
        }
        let body_bytes = content.body.len() as u64;
        let fresh = self.prepare(content).await?;
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .expect("the kernel's random source answers once it is seeded, long before this runs");
        self.ask_event(Accept { arrival, body_bytes, random, fresh }).await.map_err(NotKept::Store)
    }
}

#[derive(Debug)]
pub(super) struct Accept {
    pub(super) arrival: Arrival,
    pub(super) body_bytes: u64,
    pub(super) random: [u8; 8],
    pub(super) fresh: Fresh,
}

impl Ask for Accept {
    type Told = Accepted;

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<Accepted, Fault>, EngineError> {
        let before = match &self.arrival.key {
            // One that cannot be read keeps nothing out: it would for ever.
            Some(key) => Some((key, desk.claim(key)?)),
            None => None,
        };
        let record = match &before {
            Some((_, Known::Record(record))) => record.as_ref(),
            Some((_, Known::Nothing)) | None => None,
        };
        let shared = std::sync::Arc::clone(&desk.healthy.shared);
        let (numbers, sequence) = (&shared.numbers, shared.numbers.draw());
        let id = EventId::queued(sequence, self.random);
        let accept_of = |record| accept(record, id.into(), self.arrival.confirmed_ttl, desk.now);
        let damaged = match accept_of(record) {
            Acceptance::Duplicate { event: Some(event) } => desk.damaged(event.into())?,
            Acceptance::Duplicate { event: None } | Acceptance::New(_) | Acceptance::InProgress { .. } => None,
        };
        // One that cannot be read is handed over by nobody: what comes again takes its place.
        let done = match accept_of(record.filter(|_| damaged.is_none())) {
            Acceptance::New(done) => done,
            Acceptance::InProgress { expires_at } => {
                numbers.give_back(sequence);
                return Ok(Ok(Accepted::InProgress { expires_at }));
            }
            Acceptance::Duplicate { event } => {
                numbers.give_back(sequence);
                return desk.repeat(event.map(Into::into));
            }
        };
        desk.is_written = true;
        if let Some(damaged) = damaged {
            desk.remove_damaged(damaged)?;
        }
        let claim = before.map(|(key, before)| (key, before, done));
        let remembered_until = claim.as_ref().and_then(|(_, _, done)| expiry(done));
        let event = Event::accepted(id, sequence, &self.arrival, self.body_bytes);
        let place = desk.place(id, &self.fresh);
        if let Err(fault) = desk.write(None, Kept { event, place, remembered_until, record_bytes: 0 })? {
            return Ok(Err(fault));
        }
        if let Some((key, before, done)) = claim {
            desk.write_claim(key, before, done)?;
        }
        Ok(Ok(Accepted::New { id, sequence }))
    }

    fn fresh(&self) -> Option<&Fresh> {
        Some(&self.fresh)
    }

    /// Whoever was told that it is not accepted may hand it over while its sender waits: then it would be twice.
    fn needs_its_caller(&self) -> bool {
        true
    }
}

/// When a record that was just written is forgotten by itself.
pub(super) fn expiry(record: &Record) -> Option<Timestamp> {
    match record {
        Record::Done(done) => Some(done.expires_at),
        Record::Held(_) | Record::Free(_) => None,
    }
}

impl HealthyDesk<'_> {
    /// The same event, if it is there and cannot be read.
    fn damaged(&self, id: EventId) -> Result<Option<EventId>, EngineError> {
        Ok(match self.find(id)? {
            Found::Damaged => Some(id),
            Found::Nothing | Found::Kept(_) => None,
        })
    }

    /// An event is sent again whose key is done: if it had been given up on, somebody wants it after all.
    fn repeat(&mut self, id: Option<EventId>) -> Result<Result<Accepted, Fault>, EngineError> {
        let requeued = match id.map(|id| self.find(id)).transpose()? {
            Some(Found::Kept(kept)) => match self.requeue(kept)? {
                Ok(requeued) => requeued,
                Err(fault) => return Ok(Err(fault)),
            },
            Some(Found::Nothing | Found::Damaged) | None => false,
        };
        Ok(Ok(Accepted::Duplicate { requeued }))
    }
}
