//! One hand-over of an event to an app, what became of it, and what follows from it.

use super::Cause;
use crate::claim::Timestamp;

/// Attempts of which an event remembers more than their number: the latest.
pub const MAX_LOG: usize = 20;

/// One hand-over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// 1 for the event's first.
    pub number: u32,
    /// When it began.
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub took_ms: u32,
    /// What became of it.
    pub outcome: AttemptOutcome,
    /// What the app answered; `None` where its answer is missing.
    pub status: Option<u16>,
}

/// What became of a hand-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptOutcome {
    /// The app answered 2xx.
    Delivered,
    /// The app answered, and not with 2xx.
    Answered,
    /// The app was not reached: it has not seen a byte.
    NeverReached,
    /// The app took too long.
    TimedOut,
    /// The app's answer was cut off, or is none.
    Lost,
    /// The process died, or its stop cut the hand-over: nobody knows.
    Unknown,
}

impl AttemptOutcome {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Delivered, Self::Answered, Self::NeverReached, Self::TimedOut, Self::Lost, Self::Unknown];

    /// The word in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Answered => "answered",
            Self::NeverReached => "never_reached",
            Self::TimedOut => "timed_out",
            Self::Lost => "lost",
            Self::Unknown => "unknown",
        }
    }
}

/// What follows from a hand-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The app has handled the event.
    Delivered,
    /// It is handed over again, not before then.
    Retry(Timestamp),
    /// It is given up on.
    Dead(Cause),
}
