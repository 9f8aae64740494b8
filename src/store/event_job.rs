//! What is asked of the event log, and what comes of it.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::engine::{Engine, EngineError};
use super::fault::Fault;
use super::kept::{ContentFile, Kept, Place};
use super::numbers::Numbers;
use super::record;
use super::room::{Reserved, Room};
use crate::chain::Chain;
use crate::event::{EventId, Failure};

/// What is asked of one event.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it lies in a job that is boxed")]
pub(super) enum EventAsk {
    /// A hand-over has failed: the entry says so too, or is made, if its content is brought along.
    Fail { failure: Failure, fresh: Option<Fresh> },
    /// A hand-over went well after all: the entry goes. Remembered while the database is down.
    Settle(EventId),
    /// Somebody gives the event up: the entry goes.
    Discard(EventId),
}

/// A content that no entry names yet.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) place: Place,
    /// Held until the entry itself is counted.
    pub(super) _reserved: Reserved,
}

impl Fresh {
    pub(super) fn file(&self) -> Option<&ContentFile> {
        match &self.place {
            Place::Inline(_) => None,
            Place::File(file) => Some(file),
        }
    }
}

impl EventAsk {
    pub(super) fn id(&self) -> EventId {
        match self {
            Self::Fail { failure, .. } => failure.id,
            Self::Settle(id) | Self::Discard(id) => *id,
        }
    }

    /// The file that was written for it.
    pub(super) fn fresh_file(&self) -> Option<&ContentFile> {
        match self {
            Self::Fail { fresh, .. } => fresh.as_ref().and_then(Fresh::file),
            Self::Settle(_) | Self::Discard(_) => None,
        }
    }
}

/// What came of an ask, unless the database failed.
type Asked = Result<Result<Effect, Fault>, EngineError>;

impl EventAsk {
    /// Decides it against the database. What changes draws a number, and so is synced with its group.
    pub(super) fn decide(&self, engine: &Engine, numbers: &Numbers) -> Asked {
        let (before, was_damaged) = match engine.read_event(self.id()) {
            Ok(before) => (before, false),
            // As good as none: nothing of it can be shown or handed over, and what is written in its place can.
            Err(error @ EngineError::Damaged(_)) => {
                tracing::error!(event = %self.id(), error = %Chain(&error), "an event cannot be read");
                (None, true)
            }
            Err(error) => return Err(error),
        };
        match self {
            Self::Fail { failure, fresh } => fail(engine, numbers, failure, fresh.as_ref(), before),
            Self::Settle(_) | Self::Discard(_) if before.is_none() && !was_damaged => Ok(Ok(Effect::default())),
            Self::Settle(id) | Self::Discard(id) => {
                numbers.draw();
                engine.write_event(*id, None)?;
                Ok(Ok(Effect { before, was_damaged, ..Effect::default() }))
            }
        }
    }
}

/// Writes the entry that a failure makes or changes.
fn fail(engine: &Engine, numbers: &Numbers, failure: &Failure, fresh: Option<&Fresh>, before: Option<Kept>) -> Asked {
    let (event, place) = match (&before, fresh) {
        (Some(kept), _) => {
            numbers.draw();
            (kept.event.again(failure), kept.place.clone())
        }
        (None, Some(fresh)) => (failure.first(numbers.draw()), fresh.place.clone()),
        (None, None) => return Ok(Ok(Effect::default())),
    };
    let Some(value) = record::encode_event(&event, &place) else {
        // Entries are made with room for what later failures say.
        tracing::error!(event = %event.id, "an event has outgrown its record");
        return Ok(Ok(Effect { after: before.clone(), before, outgrown: true, was_damaged: false }));
    };
    engine.write_event(event.id, Some(&value))?;
    let after = Some(Kept { event, place, record_bytes: value.len() as u64 });
    Ok(Ok(Effect { before, after, ..Effect::default() }))
}

/// The entry before and after.
#[derive(Debug, Default)]
pub(super) struct Effect {
    pub(super) before: Option<Kept>,
    pub(super) after: Option<Kept>,
    /// There was one, and it could not be read.
    pub(super) was_damaged: bool,
    /// It could not take what it was to say: it stays as it was.
    pub(super) outgrown: bool,
}

/// What the caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) was_there: bool,
    pub(super) is_there: bool,
}

/// An ask on its way through the commit thread.
#[derive(Debug)]
pub(super) struct EventJob {
    pub(super) ask: EventAsk,
    pub(super) room: Arc<Room>,
    pub(super) reply: Option<Result<Effect, Fault>>,
    pub(super) to: oneshot::Sender<Result<Told, Fault>>,
}

impl EventJob {
    /// Whether it has changed something, so that even with `sync = "interval"` it is synced before it is answered: a sender
    /// that does not come again has only this one answer.
    pub(super) fn must_be_synced(&self) -> bool {
        let changes = |effect: &Effect| effect.was_damaged || effect.before != effect.after;
        self.reply.as_ref().is_some_and(|reply| reply.as_ref().is_ok_and(changes))
    }

    /// Counts what is synced now and tells the caller, who may have gone. Then the files go that nothing names.
    pub(super) fn answer(self) -> bool {
        let reply = self.reply.unwrap_or(Err(Fault::Closed));
        let told = match &reply {
            Ok(effect) if effect.outgrown => Err(Fault::Database),
            Ok(effect) => {
                Ok(Told { was_there: effect.before.is_some() || effect.was_damaged, is_there: effect.after.is_some() })
            }
            Err(fault) => Err(*fault),
        };
        if let Ok(effect) = &reply {
            self.room.note(effect.before.as_ref(), effect.after.as_ref());
            let named = effect.after.as_ref().and_then(Kept::file);
            if let Some(file) = self.ask.fresh_file().filter(|file| named != Some(*file)) {
                self.room.remove(file);
            }
        }
        self.to.send(told).is_ok()
    }
}
