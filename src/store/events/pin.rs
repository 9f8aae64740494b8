//! Claims that are pinned by their events: as long as an event is not handled, its key stays done, however long ago it was
//! accepted. Else a repeat of an event that waits in a queue would be accepted as a new one.

use super::super::engine::{Engine, EngineError};
use crate::claim::{Record, Timestamp};
use crate::event::EventId;

/// A record as it counts at `now`: one that would be gone by itself, and whose event waits or is a dead letter, is
/// remembered from now on for as long as it was at first. The event is looked up only where the record has run out.
pub(in crate::store) fn pinned(engine: &Engine, record: Record, now: Timestamp) -> Result<Record, EngineError> {
    match record {
        Record::Done(done) if done.expires_at <= now => match done.event {
            Some(event) if is_open(engine, event.into())? => Ok(Record::Done(done.renewed(now))),
            Some(_) | None => Ok(Record::Done(done)),
        },
        other => Ok(other),
    }
}

/// Whether a record counts for nothing any more, and no event pins it.
pub(in crate::store) fn is_gone(engine: &Engine, record: &Record, now: Timestamp) -> Result<bool, EngineError> {
    if !record.is_gone(now) {
        return Ok(false);
    }
    match record {
        Record::Done(done) => done.event.map_or(Ok(true), |event| Ok(!is_open(engine, event.into())?)),
        Record::Held(_) | Record::Free(_) => Ok(true),
    }
}

fn is_open(engine: &Engine, id: EventId) -> Result<bool, EngineError> {
    match engine.read_event(id) {
        Ok(kept) => Ok(kept.is_some_and(|kept| kept.event.state.handled_at().is_none())),
        // Nobody knows; what is remembered for too long does the least harm.
        Err(EngineError::Damaged(_)) => Ok(true),
        Err(error) => Err(error),
    }
}
