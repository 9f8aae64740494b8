//! An entry of the event log, and what a failed hand-over makes of it.

use super::EventId;
use crate::claim::{Key, Namespace, Timestamp};

/// What is kept of an app's answer, in bytes: enough for the sentence in which most apps say what is wrong.
pub const MAX_EXCERPT_BYTES: usize = 256;
/// What is kept of an app's name, in bytes: a host has 253 at most, and then there is a port.
pub const MAX_APP_BYTES: usize = 264;

/// An event that is kept, apart from what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Our name for it.
    pub id: EventId,
    /// The number of the commit that kept it first: rises over all events and restarts.
    pub sequence: u64,
    /// The name of the route that it came by.
    pub route: Box<str>,
    /// Where its claim lives, or would live if it had a key.
    pub namespace: Namespace,
    /// Its key; `None` for an event without an identity.
    pub key: Option<Key>,
    /// When it arrived.
    pub received_at: Timestamp,
    /// The length of its body.
    pub body_bytes: u64,
    /// How it goes with its app.
    pub delivery: Delivery,
}

/// How the hand-over of an event to one app went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The app: its host, and its port where that is not the scheme's own.
    pub app: Box<str>,
    /// How many hand-overs there were.
    pub attempts: u32,
    /// When the first failed that is known of.
    pub first_at: Timestamp,
    /// When the last failed.
    pub last_at: Timestamp,
    /// What the app answered last; `None` where its last answer is missing.
    pub last_status: Option<u16>,
    /// Why the event was given up on.
    pub cause: Cause,
    /// How the app's last answer begins.
    pub excerpt: Box<[u8]>,
}

/// Why an event was given up on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The app answered, and not with 2xx.
    Rejected,
    /// The app was not reached, or its answer is missing.
    Unreachable,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Rejected, Self::Unreachable];

    /// The word in answers and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Unreachable => "unreachable",
        }
    }
}

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
    /// Which attempt it was; 0 where there was no room for any.
    pub attempt: u32,
    /// When it failed.
    pub at: Timestamp,
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
        Event {
            id: self.id,
            sequence,
            route: self.route.clone(),
            namespace: self.namespace.clone(),
            key: self.key.clone(),
            received_at: self.received_at,
            body_bytes: self.body_bytes,
            delivery: self.delivery(self.attempt, self.at),
        }
    }

    fn delivery(&self, attempts: u32, first_at: Timestamp) -> Delivery {
        Delivery {
            app: cut(&self.app, MAX_APP_BYTES).into(),
            attempts,
            first_at,
            last_at: self.at,
            last_status: self.status,
            cause: self.cause,
            excerpt: self.excerpt[..self.excerpt.len().min(MAX_EXCERPT_BYTES)].into(),
        }
    }
}

impl Event {
    /// The entry after one more failure. What was sent stays what it was at first, and so does when it arrived.
    ///
    /// Attempt numbers begin anew once their claim is forgotten; the count of a kept event goes on.
    #[must_use]
    pub fn again(&self, failure: &Failure) -> Self {
        let attempts = match failure.attempt {
            0 => self.delivery.attempts,
            attempt => attempt.max(self.delivery.attempts.saturating_add(1)),
        };
        Self { delivery: failure.delivery(attempts, self.delivery.first_at), ..self.clone() }
    }
}

/// The beginning of a text, in whole characters.
fn cut(text: &str, max_bytes: usize) -> &str {
    let mut end = text.len().min(max_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(attempt: u32, at_ms: u64, status: Option<u16>) -> Failure {
        let namespace = Namespace::parse_any("route:github").expect("good");
        let cause = if status.is_some() { Cause::Rejected } else { Cause::Unreachable };
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
        // The attempt number of the claim; or one more, where the claim has been forgotten meanwhile.
        for (attempt, attempts) in [(2, 2), (4, 4), (1, 2), (0, 1)] {
            let again = first.again(&failure(attempt, 5_000, None));
            let delivery = &again.delivery;
            assert_eq!((delivery.attempts, delivery.last_status, delivery.cause), (attempts, None, Cause::Unreachable));
            assert_eq!((delivery.first_at.as_millis(), delivery.last_at.as_millis()), (1_000, 5_000));
            assert_eq!((again.sequence, again.received_at), (9, first.received_at));
        }
    }

    #[test]
    fn a_name_is_cut_between_characters() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
    }
}
