//! Events that are accepted, or that their apps have handled at once.

use super::entry::Delivery;
use super::{Attempt, Due, DueLane, Event, EventId, MAX_EXCERPT_BYTES, State};
use crate::claim::{ConfirmedTtl, Key, Namespace, Timestamp};

/// An event that arrives on a queue route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The name of the route.
    pub route: Box<str>,
    /// The app.
    pub app: Box<str>,
    /// Where its claim lives, or would live.
    pub namespace: Namespace,
    /// Its key, if it has one.
    pub key: Option<Key>,
    /// How long its key is remembered, from the acceptance on.
    pub confirmed_ttl: ConfirmedTtl,
    /// When it arrived.
    pub received_at: Timestamp,
}

impl Event {
    /// The entry of an event that is accepted in the commit with the number of its id: due at once.
    #[must_use]
    pub fn accepted(id: EventId, sequence: u64, arrival: &Arrival, body_bytes: u64) -> Self {
        Self {
            id,
            sequence,
            route: arrival.route.clone(),
            namespace: arrival.namespace.clone(),
            key: arrival.key.clone(),
            received_at: arrival.received_at,
            body_bytes,
            state: State::Queued(Due { lane: DueLane::Fresh, at: arrival.received_at }),
            delivery: Delivery::new(&arrival.app, arrival.received_at),
        }
    }
}

/// An event that its app has handled while its sender waited, on a route that records all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
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
    /// The hand-over.
    pub attempt: Attempt,
    /// When the app had handled it.
    pub at: Timestamp,
    /// The app's answer; cut to what is kept.
    pub excerpt: Box<[u8]>,
}

impl Passed {
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
            state: State::Passed { at: self.at },
            delivery: Delivery::new(&self.app, self.received_at),
        };
        event.pass(self);
        event
    }
}

impl Event {
    /// The entry becomes one of an event that its app has handled, whatever it was.
    pub fn pass(&mut self, passed: &Passed) {
        let delivery = &mut self.delivery;
        delivery.attempts = passed.attempt.number.max(delivery.attempts.saturating_add(1));
        delivery.first_at.get_or_insert(passed.attempt.at);
        delivery.last_at = Some(passed.attempt.at);
        delivery.last_status = passed.attempt.status;
        delivery.cause = None;
        delivery.excerpt = passed.excerpt[..passed.excerpt.len().min(MAX_EXCERPT_BYTES)].into();
        let number = delivery.attempts;
        delivery.note(Attempt { number, ..passed.attempt.clone() });
        self.state = State::Passed { at: passed.at };
    }
}
