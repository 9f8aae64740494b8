//! Changing entries of the event log, in an order of which every beginning makes sense.
//!
//! A place in the schedule, or among what is finished, counts only if the entry names that very place. So a new place is
//! written first, then the entry, then the old place goes; and the claim that points to the event is written last. What is
//! left behind on the way is met and dropped later.

use super::super::counts::Counted;
use super::super::engine::{Engine, EngineError};
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::super::job::AnswerAt;
use super::super::kept::{Kept, Place};
use super::super::known::Known;
use super::super::record;
use super::super::room::Noted;
use super::work::{Fresh, FreshContent};
use super::{pin, schedule, trim};
use crate::chain::Chain;
use crate::claim::{Key, Record};
use crate::event::{Event, EventId};

/// What there is of an event.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it lies on the stack for a moment, and most often it is the large one")]
pub(in crate::store) enum Found {
    Nothing,
    /// It cannot be read: as good as nothing, but that there is something to remove.
    Damaged,
    Kept(Kept),
}

impl HealthyDesk<'_> {
    /// Draws a number for what is asked, the first time that something of it is written: then it is synced with its group.
    pub(in crate::store) fn number(&mut self) {
        if !std::mem::replace(&mut self.is_written, true) {
            self.healthy.shared.numbers.draw();
        }
    }

    /// Looks an event up.
    pub(in crate::store) fn find(&self, id: EventId) -> Result<Found, EngineError> {
        match self.healthy.engine.read_event(id) {
            Ok(None) => Ok(Found::Nothing),
            Ok(Some(kept)) => Ok(Found::Kept(kept)),
            Err(error @ EngineError::Damaged(_)) => {
                tracing::error!(event = %id, error = %Chain(&error), "an event cannot be read");
                Ok(Found::Damaged)
            }
            Err(error) => Err(error),
        }
    }

    /// Finds a place for a content that was brought along. One that is not safe yet is for a new queued event alone: whatever
    /// else names it is not undone where the group fails.
    pub(in crate::store) fn place(&mut self, id: EventId, fresh: &Fresh) -> Place {
        match &fresh.content {
            FreshContent::Small(content) => Place::Log(self.log.append(id, content)),
            FreshContent::Laid(laid) => Place::Log(laid.span()),
            FreshContent::File(file) => Place::File(*file),
        }
    }

    /// Writes an entry. `before` is what was counted of it, if there was one.
    pub(in crate::store) fn write(
        &mut self,
        before: Option<Counted>,
        mut kept: Kept,
    ) -> Result<Result<Event, Fault>, EngineError> {
        let Some(value) = record::encode_event(&kept) else {
            tracing::error!(event = %kept.event.id, "the entry of an event is too large");
            return Ok(Err(Fault::Database));
        };
        kept.record_bytes = value.len() as u64;
        self.number();
        let (engine, id, after) = (&*self.healthy.engine, kept.event.id, Counted::of(&kept));
        if before.as_ref().and_then(|before| before.state.due()) != after.state.due() {
            schedule::enter(engine, &kept.event)?;
        }
        let was_handled_at = before.as_ref().and_then(|before| before.state.handled_at());
        if was_handled_at != after.state.handled_at() {
            trim::enter(engine, &kept)?;
        }
        engine.write_event(id, Some(&value))?;
        if let Some(before) = &before {
            leave(engine, id, before, Some(&after))?;
        }
        self.noted.push(Noted { before, after: Some(after) });
        Ok(Ok(kept.event))
    }

    /// Removes an entry.
    pub(in crate::store) fn remove(&mut self, kept: &Kept) -> Result<(), EngineError> {
        self.remove_counted(kept.event.id, Counted::of(kept))
    }

    /// Removes an entry of which this was counted.
    pub(in crate::store) fn remove_counted(&mut self, id: EventId, before: Counted) -> Result<(), EngineError> {
        self.number();
        remove(&self.healthy.engine, id, &before)?;
        self.noted.push(Noted { before: Some(before), after: None });
        Ok(())
    }

    /// Removes what cannot be read. Its places are met and dropped later.
    pub(in crate::store) fn remove_damaged(&mut self, id: EventId) -> Result<(), EngineError> {
        self.number();
        self.healthy.engine.write_event(id, None)
    }

    /// The record of a key, as long as it counts. One that cannot be read is told of.
    pub(in crate::store) fn claim(&self, key: &Key) -> Result<Known, EngineError> {
        match self.healthy.engine.read(key) {
            Ok(record) => {
                let pinned = |record| pin::pinned(&self.healthy.engine, record, self.now);
                Ok(Known::Record(record.map(pinned).transpose()?))
            }
            Err(error @ EngineError::Damaged(_)) => {
                tracing::error!(key = ?key, error = %Chain(&error), "a record cannot be read");
                Ok(Known::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes the record of a key.
    pub(in crate::store) fn write_claim(
        &mut self,
        key: &Key,
        before: Known,
        record: Record,
    ) -> Result<(), EngineError> {
        self.number();
        self.put(key, before, Some(record), AnswerAt::Sync)
    }
}

/// Removes an entry, then its places.
pub(in crate::store) fn remove(engine: &Engine, id: EventId, before: &Counted) -> Result<(), EngineError> {
    engine.write_event(id, None)?;
    leave(engine, id, before, None)
}

/// Leaves the places that an entry had and has no more.
fn leave(engine: &Engine, id: EventId, before: &Counted, after: Option<&Counted>) -> Result<(), EngineError> {
    let due = before.state.due();
    if let Some(due) = due.filter(|_| after.and_then(|after| after.state.due()) != due) {
        schedule::leave(engine, &before.route, due, id)?;
    }
    let handled_at = before.state.handled_at();
    if let Some(at) = handled_at.filter(|_| after.and_then(|after| after.state.handled_at()) != handled_at) {
        trim::leave(engine, at, id)?;
    }
    Ok(())
}
