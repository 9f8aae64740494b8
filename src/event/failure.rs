//! What a failed hand-over makes of an event whose sender will not bring it again.

use super::entry::Delivery;
use super::{Attempt, AttemptOutcome, Cause, Event, EventId, MAX_EXCERPT_BYTES, State};
use crate::claim::{Key, Namespace, Timestamp};

/// A hand-over that failed, of an event that would be lost if it were not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Our name for the event.
    pub id: EventId,
    /// The name of the route.
    pub route: Box<str>,
    /// Where its claim lives, or would live.
    pub namespace: Namespace,
    /// Its key, if it has one.
    pub key: Option<Key>,
    /// When it arrived.
    pub received_at: Timestamp,
    /// The length of its body.
    pub body_bytes: u64,
    /// The app.
    pub app: Box<str>,
    /// Which attempt it was; 0 where there was no room for any, and where it was told of before.
    pub attempt: u32,
    /// When it failed.
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub took_ms: u32,
    /// What became of it.
    pub outcome: AttemptOutcome,
    /// What the app answered.
    pub status: Option<u16>,
    /// Why.
    pub cause: Cause,
    /// The app's answer; cut to what is kept.
    pub excerpt: Box<[u8]>,
}

impl Failure {
    /// The entry that it makes of an event that was not kept before, in the commit with this number.
    #[must_use]
    pub fn first(&self, sequence: u64) -> Event {
        let mut event = Event {
            id: self.id,
            sequence,
            route: self.route.clone(),
            namespace: self.namespace.clone(),
            key: self.key.clone(),
            received_at: self.received_at,
            body_bytes: self.body_bytes,
            state: State::Dead { since: self.at },
            delivery: Delivery::new(&self.app, self.received_at),
        };
        event.delivery.fail(self);
        event
    }
}

impl Event {
    /// The entry after one more failure. What was sent stays what it was at first, and so does when it arrived; one that waits
    /// in a queue meanwhile goes on waiting.
    #[must_use]
    pub fn again(&self, failure: &Failure) -> Self {
        let mut event = self.clone();
        event.delivery.fail(failure);
        match event.state {
            State::Queued(_) | State::Delivering(_) => event.delivery.cause = None,
            State::Delivered { .. } | State::Dead { .. } | State::Passed { .. } => {
                event.state = State::Dead { since: failure.at };
            }
        }
        event
    }
}

impl Delivery {
    /// Attempt numbers begin anew once their claim is forgotten; the count of a kept event goes on.
    fn fail(&mut self, failure: &Failure) {
        if failure.attempt > 0 {
            self.attempts = failure.attempt.max(self.attempts.saturating_add(1));
            let began = failure.at.as_millis().saturating_sub(failure.took_ms.into());
            self.note(Attempt {
                number: self.attempts,
                at: Timestamp::from_millis(began),
                took_ms: failure.took_ms,
                outcome: failure.outcome,
                status: failure.status,
            });
        }
        self.first_at.get_or_insert(failure.at);
        self.last_at = Some(failure.at);
        self.last_status = failure.status;
        self.cause = Some(failure.cause);
        self.excerpt = failure.excerpt[..failure.excerpt.len().min(MAX_EXCERPT_BYTES)].into();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Due, DueLane, MAX_APP_BYTES, MAX_LOG};
    use super::*;

    fn failure(attempt: u32, at_ms: u64, status: Option<u16>) -> Failure {
        let namespace = Namespace::parse_any("route:github").expect("good");
        let (cause, outcome) = match status {
            Some(_) => (Cause::Rejected, AttemptOutcome::Answered),
            None => (Cause::Unreachable, AttemptOutcome::NeverReached),
        };
        Failure {
            id: EventId::from_bytes([7; 16]),
            route: "github".into(),
            key: Key::new(&namespace, "e-1").ok(),
            namespace,
            received_at: Timestamp::from_millis(at_ms - 1),
            body_bytes: 2,
            app: "a".repeat(MAX_APP_BYTES + 1).into(),
            attempt,
            at: Timestamp::from_millis(at_ms),
            took_ms: 10,
            outcome,
            status,
            cause,
            excerpt: vec![b'x'; MAX_EXCERPT_BYTES + 1].into(),
        }
    }

    #[test]
    fn a_later_failure_counts_up_and_leaves_what_was_first() {
        let first = failure(1, 1_000, Some(500)).first(9);
        assert_eq!((first.delivery.attempts, first.delivery.excerpt.len()), (1, MAX_EXCERPT_BYTES));
        assert_eq!(first.delivery.app.len(), MAX_APP_BYTES);
        assert_eq!(first.delivery.log[0].at.as_millis(), 990, "when it began");
        // The attempt number of the claim; or one more, where the claim has been forgotten meanwhile.
        for (attempt, attempts) in [(2, 2), (4, 4), (1, 2), (0, 1)] {
            let again = first.again(&failure(attempt, 5_000, None));
            let delivery = &again.delivery;
            assert_eq!((delivery.attempts, delivery.last_status), (attempts, None));
            assert_eq!(
                (again.state, delivery.cause),
                (State::Dead { since: Timestamp::from_millis(5_000) }, Some(Cause::Unreachable))
            );
            let (first_at, last_at) = (delivery.first_at.expect("known"), delivery.last_at.expect("known"));
            assert_eq!((first_at.as_millis(), last_at.as_millis()), (1_000, 5_000));
            assert_eq!((again.sequence, again.received_at), (9, first.received_at));
            let numbers: Vec<_> = delivery.log.iter().map(|attempt| attempt.number).collect();
            assert_eq!(numbers, if attempt == 0 { vec![1] } else { vec![1, attempts] });
        }
    }

    #[test]
    fn the_log_keeps_the_latest() {
        let mut event = failure(1, 1_000, None).first(1);
        for attempt in 2..30 {
            event = event.again(&failure(attempt, 1_000, None));
        }
        let log = &event.delivery.log;
        assert_eq!((log.len(), log[0].number, log[MAX_LOG - 1].number), (MAX_LOG, 10, 29));
    }

    /// It would have left the schedule without anybody having given it up.
    #[test]
    fn an_event_that_waits_in_a_queue_goes_on_waiting() {
        let mut event = failure(1, 1_000, None).first(1);
        event.state = State::Queued(Due { lane: DueLane::Retry, at: Timestamp::from_millis(7) });
        let again = event.again(&failure(2, 2_000, None));
        assert_eq!((again.state, again.delivery.cause, again.delivery.attempts), (event.state, None, 2));
    }
}
