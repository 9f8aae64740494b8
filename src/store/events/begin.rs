//! Beginning a hand-over: it is counted, and that is synced, before the app sees a byte.

use super::super::Store;
use super::super::counts::Counted;
use super::super::engine::EngineError;
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::super::kept::Kept;
use super::super::known::Known;
use super::accept::expiry;
use super::desk::Found;
use super::schedule;
use super::work::Ask;
use crate::claim::{Acceptance, ConfirmedTtl, Key, Record, Timestamp, accept};
use crate::event::{Beginning, Event, EventId, How};

/// A hand-over that is to begin.
#[derive(Debug, Clone)]
pub struct BeginAsk {
    /// Whose.
    pub id: EventId,
    /// Why.
    pub how: How,
    /// The name of the route in whose schedule it was found.
    pub route: Box<str>,
    /// The app.
    pub app: Box<str>,
    /// How long its key is remembered from now on, where the hand-over makes it done: that of an event which was given up on
    /// while its sender waited.
    pub confirmed_ttl: ConfirmedTtl,
    /// When.
    pub at: Timestamp,
}

/// Whether a hand-over may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It may: the event as it is now, with this hand-over counted.
    Go(Box<Event>),
    /// There is no such event, or it is not at that place any more.
    Gone,
    /// The app has handled it.
    Duplicate,
    /// Its sender has brought it again, and that attempt is under way.
    InProgress,
}

impl Store {
    /// Begins the hand-over of an event, if it may. When this returns that is synced, whatever `sync` says.
    ///
    /// One that is found being delivered already is taken for one whose hand-over was cut off: who is at it just now the
    /// caller knows.
    ///
    /// # Errors
    /// The fault of the store; [`Fault::Damaged`] where the event itself cannot be read. The hand-over may be counted all the same, if the commit that hangs is its own.
    pub async fn begin(&self, ask: BeginAsk) -> Result<Begun, Fault> {
        self.ask_event(ask).await
    }
}

impl Ask for BeginAsk {
    type Told = Begun;

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<Begun, Fault>, EngineError> {
        let mut kept = match desk.find(self.id)? {
            Found::Kept(kept) => kept,
            Found::Nothing => return self.gone(desk),
            // It stays where it is, for whoever mends or discards it: its place is the last trace of what was acknowledged.
            Found::Damaged => return Ok(Err(Fault::Damaged)),
        };
        let before = Counted::of(&kept);
        match kept.event.begin(self.how, &self.app, self.at) {
            Beginning::Go => {}
            Beginning::Gone => return self.gone(desk),
            Beginning::Duplicate => return Ok(Ok(Begun::Duplicate)),
        }
        let done = match self.guard(desk, &kept, &before)? {
            Guarded::Go(done) => done,
            Guarded::InProgress => return Ok(Ok(Begun::InProgress)),
            Guarded::Duplicate => {
                desk.remove_counted(self.id, before)?;
                return Ok(Ok(Begun::Duplicate));
            }
        };
        if let Some((_, _, done)) = &done {
            kept.remembered_until = expiry(done);
        }
        let event = match desk.write(Some(before), kept)? {
            Ok(event) => event,
            Err(fault) => return Ok(Err(fault)),
        };
        if let Some((key, known, done)) = done {
            desk.write_claim(&key, known, done)?;
        }
        Ok(Ok(Begun::Go(Box::new(event))))
    }

    /// What is begun for nobody would count a hand-over that its app never sees.
    fn needs_its_caller(&self) -> bool {
        true
    }
}

/// What the key of an event says to its hand-over.
#[expect(clippy::large_enum_variant, reason = "it lies on the stack for a moment")]
enum Guarded {
    /// It may begin, once the key is done, where that is to be written.
    Go(Option<(Key, Known, Record)>),
    InProgress,
    Duplicate,
}

impl BeginAsk {
    /// A place that its event does not name, or that has no event, is of no use to anybody.
    fn gone(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<Begun, Fault>, EngineError> {
        if let How::Scheduled(due) = self.how {
            // No number, and so no sync: one that comes back is met again.
            schedule::leave(&desk.healthy.engine, &self.route, due, self.id)?;
        }
        Ok(Ok(Begun::Gone))
    }

    /// The key of a queued event points to it since its acceptance. That of an event which was given up on while its sender
    /// waited is free, or was claimed again since.
    fn guard(&self, desk: &HealthyDesk<'_>, kept: &Kept, before: &Counted) -> Result<Guarded, EngineError> {
        let key = match &kept.event.key {
            Some(key) if before.is_letter => key,
            Some(_) | None => return Ok(Guarded::Go(None)),
        };
        let known = desk.claim(key)?;
        let record = match &known {
            Known::Record(record) => record.as_ref(),
            Known::Nothing => None,
        };
        Ok(match accept(record, self.id.into(), self.confirmed_ttl, self.at) {
            Acceptance::New(done) => Guarded::Go(Some((key.clone(), known, done))),
            Acceptance::Duplicate { event: Some(event) } if event == self.id.into() => Guarded::Go(None),
            Acceptance::InProgress { .. } | Acceptance::Duplicate { .. } if self.how == How::Force => Guarded::Go(None),
            Acceptance::InProgress { .. } => Guarded::InProgress,
            Acceptance::Duplicate { .. } => Guarded::Duplicate,
        })
    }
}
