//! History: events that apps have handled, kept for some time and up to some size.
//!
//! On disk a tree of names `<handled at: 8 bytes><id: 16 bytes>`, big endian, each with the bytes that the event takes. A place
//! counts only if the entry of its event names it ([`super::desk`]). What is not handled is never here.

use std::time::Duration;

use super::super::Store;
use super::super::engine::{Engine, EngineError};
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::super::kept::Kept;
use super::desk::Found;
use super::work::Ask;
use crate::claim::Timestamp;
use crate::event::EventId;

/// Events that are removed in one commit: some milliseconds.
const STEP_EVENTS: usize = 200;
const NUMBER_BYTES: usize = 8;

impl Store {
    /// Removes what apps have handled longer ago than `keep`, and the oldest of the rest while it takes more than
    /// `max_bytes`: some of it, for so long that nobody has to wait. Says how many went; 0 when that was all.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn trim(&self, keep: Duration, max_bytes: u64) -> Result<usize, Fault> {
        let keep_ms = u64::try_from(keep.as_millis()).unwrap_or(u64::MAX);
        let until = Timestamp::from_millis(self.clock.now().as_millis().saturating_sub(keep_ms));
        let too_many = self.room.finished_bytes().saturating_sub(max_bytes);
        let places = self.walk(move |shared| shared.walked(|engine| oldest(engine, until, too_many))).await?;
        if places.is_empty() {
            return Ok(0);
        }
        self.ask_event(Trim(places)).await
    }
}

/// The oldest places: those before `until`, and as many more as take `bytes`.
fn oldest(engine: &Engine, until: Timestamp, mut bytes: u64) -> Result<Vec<(Timestamp, EventId)>, EngineError> {
    let mut places = Vec::new();
    for item in engine.finished.scan(b"").take(STEP_EVENTS) {
        let (name, value) = item?;
        let Some((at, id)) = read(name.as_ref()) else { continue };
        if at >= until && bytes == 0 {
            break;
        }
        bytes = bytes.saturating_sub(value.as_ref().try_into().map_or(0, u64::from_be_bytes));
        places.push((at, id));
    }
    Ok(places)
}

#[derive(Debug)]
struct Trim(Vec<(Timestamp, EventId)>);

impl Ask for Trim {
    /// How many places went, whether they counted or not.
    type Told = usize;

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<usize, Fault>, EngineError> {
        for (at, id) in &self.0 {
            match desk.find(*id)? {
                Found::Kept(kept) if kept.event.state.handled_at() == Some(*at) => desk.remove(&kept)?,
                Found::Kept(_) | Found::Nothing | Found::Damaged => leave(&desk.healthy.engine, *at, *id)?,
            }
        }
        Ok(Ok(self.0.len()))
    }

    fn weight(&self) -> usize {
        self.0.len()
    }
}

/// Writes the place that an event has now, if it has one.
pub(super) fn enter(engine: &Engine, kept: &Kept) -> Result<(), EngineError> {
    match kept.event.state.handled_at() {
        Some(at) => engine.finished.write(&name(at, kept.event.id), &kept.bytes().to_be_bytes()),
        None => Ok(()),
    }
}

/// Removes a place.
pub(super) fn leave(engine: &Engine, at: Timestamp, id: EventId) -> Result<(), EngineError> {
    engine.finished.remove(&name(at, id))
}

fn name(at: Timestamp, id: EventId) -> Vec<u8> {
    [&at.as_millis().to_be_bytes()[..], id.as_bytes()].concat()
}

fn read(name: &[u8]) -> Option<(Timestamp, EventId)> {
    let (at, id) = name.split_first_chunk::<NUMBER_BYTES>()?;
    Some((Timestamp::from_millis(u64::from_be_bytes(*at)), EventId::from_bytes(id.try_into().ok()?)))
}

#[cfg(test)]
impl Store {
    /// Every place that there is: for tests.
    pub(super) fn finished_places(&self) -> Vec<(Timestamp, EventId)> {
        let walk = |engine: &Engine| -> Result<Vec<_>, EngineError> {
            engine.finished.scan(b"").map(|item| Ok(read(item?.0.as_ref()).expect("a place"))).collect()
        };
        self.shared.walked(walk).expect("readable")
    }
}
