//! An entry of the event log.

use super::{Attempt, Cause, EventId, State};
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
    /// Where it stands.
    pub state: State,
    /// How it goes with its app.
    pub delivery: Delivery,
}

/// How the hand-over of an event to one app goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The app: its host, and its port where that is not the scheme's own.
    pub app: Box<str>,
    /// How many hand-overs there were, replays included; counted before each of them begins.
    pub attempts: u32,
    /// How many there were before the present budget: each redrive gives a fresh one.
    pub budget_from: u32,
    /// When the present budget began: with the arrival, or with the redrive.
    pub budget_at: Timestamp,
    /// When the first hand-over that is known of was.
    pub first_at: Option<Timestamp>,
    /// When the last was.
    pub last_at: Option<Timestamp>,
    /// What the app answered last; `None` where its last answer is missing.
    pub last_status: Option<u16>,
    /// Why the event was given up on; every dead letter has a cause, and nothing else has.
    pub cause: Option<Cause>,
    /// How the app's last answer begins.
    pub excerpt: Box<[u8]>,
    /// The latest attempts whose end is known, or known not to be.
    pub log: Vec<Attempt>,
}

impl Delivery {
    /// That of an event which was never handed over.
    pub(super) fn new(app: &str, budget_at: Timestamp) -> Self {
        Self {
            app: cut(app, MAX_APP_BYTES).into(),
            attempts: 0,
            budget_from: 0,
            budget_at,
            first_at: None,
            last_at: None,
            last_status: None,
            cause: None,
            excerpt: Box::default(),
            log: Vec::new(),
        }
    }

    /// How many hand-overs of the present budget there were.
    #[must_use]
    pub fn attempts_in_budget(&self) -> u32 {
        self.attempts.saturating_sub(self.budget_from)
    }
}

/// The beginning of a text, in whole characters.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    let mut end = text.len().min(max_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_between_characters() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
    }
}
