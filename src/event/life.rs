//! What becomes of an entry while it is handed over: beginning, finishing, and being queued anew.

use super::entry::{Delivery, MAX_APP_BYTES, cut};
use super::{Attempt, AttemptOutcome, Due, DueLane, Event, MAX_EXCERPT_BYTES, MAX_LOG, Next, State};
use crate::claim::Timestamp;

/// Why a hand-over begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The event was found at this place of its schedule.
    Scheduled(Due),
    /// Somebody asks for it, through the guard.
    Replay,
    /// Somebody asks for it, past the guard.
    Force,
}

/// Whether a hand-over may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// It may: the entry says so now.
    Go,
    /// The event is not at that place any more.
    Gone,
    /// The app has handled it.
    Duplicate,
}

impl Event {
    /// Counts the hand-over that begins now, if it may.
    pub fn begin(&mut self, how: How, app: &str, at: Timestamp) -> Beginning {
        let due = match (how, self.state) {
            (How::Scheduled(due), State::Queued(place) | State::Delivering(place)) if due == place => Some(due),
            (How::Scheduled(_), _) => return Beginning::Gone,
            (How::Replay | How::Force, State::Queued(due) | State::Delivering(due)) => Some(due),
            (How::Replay | How::Force, State::Dead { .. }) => {
                self.renew_budget(at);
                Some(Due { lane: DueLane::Retry, at })
            }
            (How::Replay, State::Delivered { .. } | State::Passed { .. }) => return Beginning::Duplicate,
            // It stays what it is: nothing that this hand-over comes to makes it less handled.
            (How::Force, State::Delivered { .. } | State::Passed { .. }) => None,
        };
        if let State::Delivering(_) = self.state {
            self.delivery.note_unknown();
        }
        if let Some(due) = due {
            self.state = State::Delivering(due);
        }
        self.delivery.begin(app, at);
        Beginning::Go
    }

    /// Takes in what became of a hand-over. Told twice it changes nothing more; nor does what has been overtaken by another
    /// hand-over, or by somebody's word, change where the event stands.
    pub fn finish(&mut self, attempt: &Attempt, excerpt: &[u8], next: Next, at: Timestamp) {
        let is_latest = attempt.number == self.delivery.attempts;
        if !self.delivery.note(attempt.clone()) {
            return;
        }
        if is_latest {
            self.delivery.last_status = attempt.status;
            self.delivery.excerpt = excerpt[..excerpt.len().min(MAX_EXCERPT_BYTES)].into();
        }
        match (self.state, next) {
            // The app has handled it, however many others are at it.
            (State::Queued(_) | State::Delivering(_) | State::Dead { .. }, Next::Delivered) => {
                self.delivery.cause = None;
                self.state = State::Delivered { at };
            }
            (State::Delivering(_), Next::Retry(due)) if is_latest => {
                self.state = State::Queued(Due { lane: DueLane::Retry, at: due });
            }
            (State::Delivering(_), Next::Dead(cause)) if is_latest => {
                self.delivery.cause = Some(cause);
                self.state = State::Dead { since: at };
            }
            (State::Queued(_) | State::Delivering(_) | State::Dead { .. }, Next::Retry(_) | Next::Dead(_))
            | (State::Delivered { .. } | State::Passed { .. }, _) => {}
        }
    }

    /// Queues a dead letter anew, due at once; `false` when it is none.
    pub fn requeue(&mut self, at: Timestamp) -> bool {
        let State::Dead { .. } = self.state else {
            return false;
        };
        self.renew_budget(at);
        self.state = State::Queued(Due { lane: DueLane::Retry, at });
        true
    }

    fn renew_budget(&mut self, at: Timestamp) {
        self.delivery.cause = None;
        self.delivery.budget_from = self.delivery.attempts;
        self.delivery.budget_at = at;
    }
}

impl Delivery {
    fn begin(&mut self, app: &str, at: Timestamp) {
        if *self.app != *app {
            self.app = cut(app, MAX_APP_BYTES).into();
        }
        self.attempts = self.attempts.saturating_add(1);
        self.first_at.get_or_insert(at);
        self.last_at = Some(at);
    }

    /// Nobody knows what became of the last hand-over.
    fn note_unknown(&mut self) {
        self.last_status = None;
        self.excerpt = Box::default();
        self.note(Attempt {
            number: self.attempts,
            at: self.last_at.unwrap_or(self.budget_at),
            took_ms: 0,
            outcome: AttemptOutcome::Unknown,
            status: None,
        });
    }

    /// Takes an attempt into the log, the oldest out where it is full; `false` when it was told of before. What is known of
    /// one counts more than that nobody knows.
    pub(super) fn note(&mut self, attempt: Attempt) -> bool {
        if let Some(there) = self.log.iter_mut().find(|there| there.number == attempt.number) {
            let is_news = there.outcome == AttemptOutcome::Unknown && attempt.outcome != AttemptOutcome::Unknown;
            if is_news {
                *there = attempt;
            }
            return is_news;
        }
        if self.log.len() >= MAX_LOG {
            self.log.remove(0);
        }
        self.log.push(attempt);
        true
    }
}
