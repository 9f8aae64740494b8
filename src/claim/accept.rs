//! Accepting an event for a queue: its key is done then, because the event is safe.

use super::record::{Done, EventRef, Record, Standing};
use super::ttl::{ConfirmedTtl, Timestamp};

/// What a key says to an event that is to be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acceptance {
    /// It is the first, or all before it have failed: accepted with this record.
    New(Record),
    /// Somebody is at work on it.
    InProgress {
        /// When that claim ends.
        expires_at: Timestamp,
    },
    /// It was accepted or handled before.
    Duplicate {
        /// The event that was accepted, where one was.
        event: Option<EventRef>,
    },
}

/// Decides whether an event may be accepted whose key has this record. `event` is what the key points to then.
#[must_use]
pub fn accept(record: Option<&Record>, event: EventRef, ttl: ConfirmedTtl, now: Timestamp) -> Acceptance {
    let attempt = match record.map_or(Standing::Absent, |record| record.standing(now)) {
        Standing::Absent => 1,
        Standing::Free { attempt, .. } => attempt.saturating_add(1),
        Standing::Held(held) => return Acceptance::InProgress { expires_at: held.expires_at },
        Standing::Done(done) => return Acceptance::Duplicate { event: done.event },
    };
    Acceptance::New(Record::Done(Done {
        confirmed_at: now,
        expires_at: now.plus(ttl),
        attempt,
        fingerprint: None,
        owner: None,
        result: None,
        event: Some(event),
    }))
}
