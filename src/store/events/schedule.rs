//! The schedule: what is to be handed over, by route and lane, in the order of its time.
//!
//! On disk a tree of names `<route>\0<lane: 1 byte><due: 8 bytes><id: 16 bytes>`, numbers in milliseconds and big endian, each
//! with when the event arrived. A place counts only if the entry of its event names it ([`super::desk`]).

use std::collections::HashSet;

use super::super::Store;
use super::super::engine::{Engine, EngineError};
use super::super::fault::Fault;
use super::super::list::STEP_RECORDS;
use crate::claim::Timestamp;
use crate::event::{Due, DueLane, Event, EventId};

const FRESH: u8 = 0;
const RETRY: u8 = 1;
const NUMBER_BYTES: usize = 8;
const ID_BYTES: usize = 16;

/// What of a lane is due.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DuePage {
    /// The events, in the order of their time.
    pub due: Vec<(EventId, Due)>,
    /// When the next one is due, where none is left that is due by now.
    pub next_at: Option<Timestamp>,
}

impl Store {
    /// What of a lane of a route is due at `now`, but for those that are taken: so many at most.
    ///
    /// Some of it may have been handed over meanwhile, or not be synced yet: [`Store::begin`] knows.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn due(
        &self,
        route: &str,
        lane: DueLane,
        now: Timestamp,
        taken: &HashSet<EventId>,
        limit: usize,
    ) -> Result<DuePage, Fault> {
        let (front, taken) = (front(route, lane), taken.clone());
        self.walk(move |shared| shared.walked(|engine| page(engine, &front, lane, now, &taken, limit))).await
    }

    /// How many events are not finished, by route; routes without any are left out. As it was counted last: nothing waits.
    #[must_use]
    pub fn unfinished(&self) -> Vec<(Box<str>, u64)> {
        self.room.unfinished()
    }

    /// When the event arrived that waits longest in the schedule of a route, as far as it is among the first of a lane.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn oldest(&self, route: &str) -> Result<Option<Timestamp>, Fault> {
        let fronts = [DueLane::Fresh, DueLane::Retry].map(|lane| front(route, lane));
        let oldest = move |engine: &Engine| -> Result<Option<Timestamp>, EngineError> {
            let mut oldest: Option<Timestamp> = None;
            for front in &fronts {
                for item in engine.schedule.scan(front).take(STEP_RECORDS) {
                    let (name, value) = item?;
                    if !name.as_ref().starts_with(front) {
                        break;
                    }
                    let Ok(at) = value.as_ref().try_into().map(u64::from_be_bytes) else { continue };
                    let at = Timestamp::from_millis(at);
                    oldest = Some(oldest.map_or(at, |oldest| oldest.min(at)));
                }
            }
            Ok(oldest)
        };
        self.walk(move |shared| shared.walked(oldest)).await
    }
}

fn page(
    engine: &Engine,
    front: &[u8],
    lane: DueLane,
    now: Timestamp,
    taken: &HashSet<EventId>,
    limit: usize,
) -> Result<DuePage, EngineError> {
    let mut page = DuePage::default();
    for item in engine.schedule.scan(front) {
        let (name, _) = item?;
        let Some(place) = name.as_ref().strip_prefix(front) else { break };
        let Some((at, id)) = read(place) else { continue };
        if at > now {
            page.next_at = Some(at);
            break;
        }
        if page.due.len() >= limit {
            break;
        }
        if !taken.contains(&id) {
            page.due.push((id, Due { lane, at }));
        }
    }
    Ok(page)
}

/// Writes the place that an event has now, if it has one.
pub(super) fn enter(engine: &Engine, event: &Event) -> Result<(), EngineError> {
    match event.state.due() {
        Some(due) => {
            engine.schedule.write(&name(&event.route, due, event.id), &event.received_at.as_millis().to_be_bytes())
        }
        None => Ok(()),
    }
}

/// Removes a place.
pub(super) fn leave(engine: &Engine, route: &str, due: Due, id: EventId) -> Result<(), EngineError> {
    engine.schedule.remove(&name(route, due, id))
}

fn front(route: &str, lane: DueLane) -> Vec<u8> {
    let mut front = Vec::with_capacity(route.len() + 2 + NUMBER_BYTES + ID_BYTES);
    front.extend_from_slice(route.as_bytes());
    front.push(0);
    front.push(match lane {
        DueLane::Fresh => FRESH,
        DueLane::Retry => RETRY,
    });
    front
}

fn name(route: &str, due: Due, id: EventId) -> Vec<u8> {
    let mut name = front(route, due.lane);
    name.extend_from_slice(&due.at.as_millis().to_be_bytes());
    name.extend_from_slice(id.as_bytes());
    name
}

/// Reads what stands behind the front of a name.
fn read(place: &[u8]) -> Option<(Timestamp, EventId)> {
    let (at, id) = place.split_first_chunk::<NUMBER_BYTES>()?;
    Some((Timestamp::from_millis(u64::from_be_bytes(*at)), EventId::from_bytes(id.try_into().ok()?)))
}

#[cfg(test)]
impl Store {
    /// Every place that there is, by route: for tests.
    pub(super) fn places(&self) -> Vec<(String, Due, EventId)> {
        let walk = |engine: &Engine| -> Result<Vec<_>, EngineError> {
            let mut places = Vec::new();
            for item in engine.schedule.scan(b"") {
                let (name, _) = item?;
                let name = name.as_ref();
                let end = name.iter().position(|byte| *byte == 0).expect("a name");
                let lane = if name[end + 1] == RETRY { DueLane::Retry } else { DueLane::Fresh };
                let (at, id) = read(&name[end + 2..]).expect("a place");
                let route = String::from_utf8(name[..end].to_vec()).expect("a route");
                places.push((route, Due { lane, at }, id));
            }
            Ok(places)
        };
        self.shared.walked(walk).expect("readable")
    }
}
