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

#[cfg(test)]
mod tests {
    use super::super::record::{Free, Held, Previous};
    use super::super::text::Token;
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000);
    const LATER: Timestamp = Timestamp::from_millis(2_000);
    const US: EventRef = EventRef::from_bytes([1; 16]);
    const OTHER: EventRef = EventRef::from_bytes([2; 16]);

    fn held(expires_at: Timestamp) -> Record {
        Record::Held(Held {
            token: Token::from_bits([1; 16]),
            claimed_at: Timestamp::from_millis(1),
            expires_at,
            retention: ConfirmedTtl::MAX,
            attempt: 3,
            fence: 1,
            previous: Previous::None,
            fingerprint: None,
            owner: None,
        })
    }

    fn done(expires_at: Timestamp, event: Option<EventRef>) -> Record {
        let (confirmed_at, fingerprint, owner, result) = (NOW, None, None, None);
        Record::Done(Done { confirmed_at, expires_at, attempt: 3, fingerprint, owner, result, event })
    }

    #[test]
    fn an_event_is_accepted_unless_its_key_is_done_or_somebody_is_at_work_on_it() {
        let ttl = ConfirmedTtl::clamped_ms(500);
        let new = |attempt| {
            let Record::Done(done) = done(NOW.plus(ttl), Some(US)) else { unreachable!() };
            Acceptance::New(Record::Done(Done { attempt, ..done }))
        };
        for (record, acceptance) in [
            (None, new(1)),
            (Some(Record::Free(Free { attempt: 3, expires_at: LATER })), new(4)),
            (Some(Record::Free(Free { attempt: 3, expires_at: NOW })), new(1)),
            (Some(held(LATER)), Acceptance::InProgress { expires_at: LATER }),
            (Some(held(NOW)), new(4)),
            (Some(done(LATER, None)), Acceptance::Duplicate { event: None }),
            (Some(done(LATER, Some(OTHER))), Acceptance::Duplicate { event: Some(OTHER) }),
            (Some(done(NOW, Some(OTHER))), new(1)),
        ] {
            assert_eq!(accept(record.as_ref(), US, ttl, NOW), acceptance, "{record:?}");
        }
    }

    #[test]
    fn a_key_that_is_remembered_anew_is_so_for_as_long_as_it_was_at_first() {
        let Record::Done(done) = done(LATER, Some(US)) else { unreachable!() };
        assert_eq!(done.renewed(Timestamp::from_millis(9_000)).expires_at, Timestamp::from_millis(10_000));
    }
}
