//! What a process that died has left: events that were never acknowledged, and hand-overs that nobody is at any more.
//!
//! A group that failed leaves the former too. The id of a queued event begins with its number, so those above the last number
//! that was acknowledged are one range. They go before any number above it is given again.

use super::super::counts::Counted;
use super::super::engine::{Engine, EngineError};
use super::super::record::encode_event;
use super::super::room::{Noted, Room};
use super::desk;
use crate::chain::Chain;
use crate::claim::{Done, Free, Record};
use crate::event::EventId;

/// Removes the queued events whose numbers are above this one, each after the claim that points to it; says how many there
/// were. Synced by the next flush.
pub(in crate::store) fn remove_above(engine: &Engine, acknowledged: u64) -> Result<usize, EngineError> {
    // Above the last id of that number: no random part is larger than all ones, and one that is just that is the last.
    let after = EventId::queued(acknowledged, [0xff; 8]);
    let (mut removed, mut found) = (0, Vec::new());
    for item in engine.scan_events(Some(after)) {
        let (id, kept) = item?;
        let Some(sequence) = id.queued_sequence() else { break };
        match kept {
            // What was not given its id by its number is none of these.
            Ok(kept) if kept.event.sequence == sequence => found.push(kept),
            Ok(_) => {}
            Err(error) => {
                tracing::error!(event = %id, error = %Chain(&error), "an event that was never acknowledged cannot be read");
            }
        }
    }
    for kept in found {
        if let Some(key) = &kept.event.key {
            match engine.read(key) {
                Ok(Some(Record::Done(done))) if done.event == Some(kept.event.id.into()) => {
                    engine.write(key, freed(&done).as_ref())?;
                }
                Ok(_) | Err(EngineError::Damaged(_)) => {}
                Err(error) => return Err(error),
            }
        }
        desk::remove(engine, kept.event.id, &Counted::of(&kept))?;
        removed += 1;
    }
    Ok(removed)
}

/// What a key is left with whose acceptance is undone: the attempts before it, if there were any.
fn freed(done: &Done) -> Option<Record> {
    let attempt = done.attempt.saturating_sub(1);
    (attempt > 0).then_some(Record::Free(Free { attempt, expires_at: done.expires_at }))
}

/// Lets these wait again where they waited: those who handed them over have died with their process. Synced by the next
/// flush; what is lost of it is done again.
pub(in crate::store) fn interrupt(engine: &Engine, room: &Room, delivering: &[EventId]) -> Result<(), EngineError> {
    for id in delivering {
        let Some(mut kept) = engine.read_event(*id)? else { continue };
        let before = Some(Counted::of(&kept));
        if !kept.event.interrupt() {
            continue;
        }
        let Some(value) = encode_event(&kept) else { continue };
        kept.record_bytes = value.len() as u64;
        engine.write_event(*id, Some(&value))?;
        room.note(&Noted { before, after: Some(Counted::of(&kept)) });
    }
    Ok(())
}
