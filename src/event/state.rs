//! The states of an event.

use crate::claim::Timestamp;

/// Where an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It waits for its next hand-over.
    Queued(Due),
    /// It is being handed over, and keeps its place in the schedule meanwhile. Found so after a crash, nobody knows what
    /// became of that hand-over.
    Delivering(Due),
    /// The app has handled it.
    Delivered {
        /// Since when.
        at: Timestamp,
    },
    /// It was given up on: a dead letter.
    Dead {
        /// Since when.
        since: Timestamp,
    },
    /// The app has handled it while its sender waited; it was never queued.
    Passed {
        /// Since when.
        at: Timestamp,
    },
}

/// A place in the schedule of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    /// Among which events.
    pub lane: DueLane,
    /// When the hand-over may begin.
    pub at: Timestamp,
}

/// The lanes of a schedule: events that are new are not to wait behind those that are tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DueLane {
    /// Events that were never handed over.
    Fresh,
    /// Those that are handed over again.
    Retry,
}

/// The states by name, for selections and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateName {
    /// [`State::Queued`]
    Queued,
    /// [`State::Delivering`]
    Delivering,
    /// [`State::Delivered`]
    Delivered,
    /// [`State::Dead`]
    Dead,
    /// [`State::Passed`]
    Passed,
}

impl State {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> StateName {
        match self {
            Self::Queued(_) => StateName::Queued,
            Self::Delivering(_) => StateName::Delivering,
            Self::Delivered { .. } => StateName::Delivered,
            Self::Dead { .. } => StateName::Dead,
            Self::Passed { .. } => StateName::Passed,
        }
    }

    /// Its place in the schedule; only what is not finished has one.
    #[must_use]
    pub fn due(&self) -> Option<Due> {
        match self {
            Self::Queued(due) | Self::Delivering(due) => Some(*due),
            Self::Delivered { .. } | Self::Dead { .. } | Self::Passed { .. } => None,
        }
    }

    /// Since when the app has handled it; `None` where it has not.
    #[must_use]
    pub fn handled_at(&self) -> Option<Timestamp> {
        match self {
            Self::Delivered { at } | Self::Passed { at } => Some(*at),
            Self::Queued(_) | Self::Delivering(_) | Self::Dead { .. } => None,
        }
    }
}

impl StateName {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Delivering, Self::Delivered, Self::Dead, Self::Passed];

    /// The word in answers, selections and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Delivering => "delivering",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
            Self::Passed => "passed",
        }
    }
}
