//! The events of a lane that are due next: a bounded number, taken from the store ahead of their hand-over.
//!
//! New events and those that are tried again take turns, so that neither waits behind the other.

use std::collections::{HashSet, VecDeque};

use crate::event::{Due, DueLane, EventId};

/// Events of each kind that are known ahead: what a lane hands over while the store looks for more.
pub(super) const AHEAD: usize = 64;

/// An event and its place in the schedule.
pub(super) type Place = (EventId, Due);

/// What is due next.
#[derive(Debug)]
pub(super) struct Window {
    fresh: VecDeque<Place>,
    again: VecDeque<Place>,
    /// Whose turn it is.
    turn: DueLane,
}

impl Default for Window {
    fn default() -> Self {
        Self { fresh: VecDeque::new(), again: VecDeque::new(), turn: DueLane::Fresh }
    }
}

impl Window {
    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.again.is_empty()
    }

    /// How many more of a kind may be known ahead; none before half of them are gone, so that the store is not asked for
    /// every single one.
    pub(super) fn room(&self, lane: DueLane) -> usize {
        let known = self.of(lane).len();
        if known > AHEAD / 2 { 0 } else { AHEAD - known }
    }

    pub(super) fn extend(&mut self, lane: DueLane, places: impl IntoIterator<Item = Place>) {
        match lane {
            DueLane::Fresh => self.fresh.extend(places),
            DueLane::Retry => self.again.extend(places),
        }
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Option<Place> {
        let (first, second) = match self.turn {
            DueLane::Fresh => (&mut self.fresh, &mut self.again),
            DueLane::Retry => (&mut self.again, &mut self.fresh),
        };
        let next = first.pop_front().or_else(|| second.pop_front());
        self.turn = match self.turn {
            DueLane::Fresh => DueLane::Retry,
            DueLane::Retry => DueLane::Fresh,
        };
        next
    }

    /// Adds those that are in it to a set.
    pub(super) fn add_to(&self, ids: &mut HashSet<EventId>) {
        ids.extend(self.fresh.iter().chain(&self.again).map(|(id, _)| *id));
    }

    fn of(&self, lane: DueLane) -> &VecDeque<Place> {
        match lane {
            DueLane::Fresh => &self.fresh,
            DueLane::Retry => &self.again,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Timestamp;

    fn places(lane: DueLane, numbers: impl IntoIterator<Item = u8>) -> Vec<Place> {
        let place = |number| (EventId::from_bytes([number; 16]), Due { lane, at: Timestamp::from_millis(1) });
        numbers.into_iter().map(place).collect()
    }

    /// Events that had just come waited behind thousands that were overdue.
    #[test]
    fn new_events_and_those_that_are_tried_again_take_turns() {
        let mut window = Window::default();
        window.extend(DueLane::Retry, places(DueLane::Retry, 0..60));
        window.extend(DueLane::Fresh, places(DueLane::Fresh, [100, 101]));
        let order: Vec<_> = std::iter::from_fn(|| window.next()).map(|(id, _)| id.as_bytes()[0]).collect();
        assert_eq!(order[..6], [100, 0, 101, 1, 2, 3]);
        assert_eq!(order.len(), 62);
        assert!(window.is_empty());
    }

    #[test]
    fn the_store_is_asked_again_when_half_of_what_was_known_is_gone() {
        let mut window = Window::default();
        assert_eq!(window.room(DueLane::Fresh), AHEAD);
        window.extend(DueLane::Fresh, places(DueLane::Fresh, 0..64));
        let rooms: Vec<_> = (0..64)
            .map(|_| {
                window.next();
                window.room(DueLane::Fresh)
            })
            .collect();
        assert_eq!((rooms[30], rooms[31], rooms[63]), (0, 32, 64));
        assert_eq!(window.room(DueLane::Retry), AHEAD);
    }
}
