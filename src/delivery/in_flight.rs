//! Which events are being handed over: nobody hands an event over that somebody else is at.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::EventId;

/// Of all lanes together; clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct InFlight(Arc<Mutex<HashSet<EventId>>>);

/// An event that is being handed over, until this is dropped.
#[derive(Debug)]
pub(super) struct Flight {
    of: InFlight,
    id: EventId,
}

impl InFlight {
    /// Begins with an event; `None` where somebody else has.
    pub(super) fn enter(&self, id: EventId) -> Option<Flight> {
        self.lock().insert(id).then(|| Flight { of: self.clone(), id })
    }

    /// Whether somebody is at an event.
    pub(super) fn has(&self, id: EventId) -> bool {
        self.lock().contains(&id)
    }

    /// Adds all of them to a set.
    pub(super) fn add_to(&self, ids: &mut HashSet<EventId>) {
        ids.extend(self.lock().iter());
    }

    /// Nothing is half done under the lock.
    fn lock(&self) -> MutexGuard<'_, HashSet<EventId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    pub(super) fn id(&self) -> EventId {
        self.id
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // It would break off again at once, and again: it stays where it is until the next start.
            tracing::error!(event = %self.id, "a hand-over broke off; the event waits for the next start");
            return;
        }
        self.of.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_at_an_event_until_it_ends_and_for_good_if_it_breaks_off() {
        let (in_flight, id) = (InFlight::default(), EventId::from_bytes([1; 16]));
        let first = in_flight.enter(id).expect("nobody is at it");
        assert!(in_flight.clone().enter(id).is_none());
        drop(first);
        let second = in_flight.enter(id).expect("nobody is at it any more");
        let broken = std::thread::spawn(move || {
            let _second = second;
            panic!("as the test wants it");
        });
        assert!(broken.join().is_err());
        assert!(in_flight.enter(id).is_none());
    }
}
