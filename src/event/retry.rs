//! Whether there is another hand-over, and when.
//!
//! | What the last one came to | What follows |
//! |---|---|
//! | 2xx | delivered |
//! | never reached, timed out, lost, unknown; 408, 425, 429, 5xx | another, until the give-up age or the attempt limit |
//! | every other status: 1xx, 3xx, 410, other 4xx, 600 and above | another, up to three such answers, then rejected |
//!
//! The gaps double from the back-off's base to its cap, with up to a quarter more by chance below the cap, so that events
//! which failed together drift apart while their gaps grow. At the cap every gap is the cap: one that nobody exceeds is worth
//! more than chance, and what is due at once is held to the lane's limits. What the app asks for in `Retry-After` is a floor. Nothing overflows: a gap is never
//! below the base, and never above the cap unless the app asks for it.

use std::time::Duration;

use super::{Attempt, AttemptOutcome, Cause, Due, Event, Next, State};
use crate::claim::Timestamp;

/// Answers of an app that refuses an event, in one budget: an app in the middle of a deploy is forgiven, and one that
/// means it is not asked for days.
pub const FEW: u32 = 3;

/// When events of a route are handed over again, and when they are given up on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The first gap; never 0.
    pub backoff_base: Duration,
    /// The longest gap; never below the first.
    pub backoff_cap: Duration,
    /// The longest that an app may ask for.
    pub retry_after_cap: Duration,
    /// How long after its arrival, or after its redrive, an event is given up on.
    pub give_up_after: Duration,
    /// How many hand-overs an event may have; `None` is as many as its time allows.
    pub max_attempts: Option<u32>,
}

impl Event {
    /// Gives up on the event, if it waits at this place.
    pub fn give_up(&mut self, due: Due, cause: Cause, at: Timestamp) -> bool {
        if self.state != State::Queued(due) {
            return false;
        }
        self.delivery.cause = Some(cause);
        self.state = State::Dead { since: at };
        true
    }
}

/// What an attempt says about the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Handled,
    /// It may well pass.
    Passing,
    /// The app does not want this event.
    Refused,
}

impl RetryPolicy {
    /// What follows from an attempt, which the event has counted. `jitter` is a random number from 0 to 1.
    #[must_use]
    pub fn next(
        &self,
        event: &Event,
        attempt: &Attempt,
        retry_after: Option<Duration>,
        now: Timestamp,
        jitter: f64,
    ) -> Next {
        let tries = event.delivery.attempts_in_budget().max(1);
        match sign(attempt) {
            Sign::Handled => return Next::Delivered,
            Sign::Refused if refusals(event, attempt) >= FEW => return Next::Dead(Cause::Rejected),
            Sign::Passing | Sign::Refused => {}
        }
        if self.max_attempts.is_some_and(|most| tries >= most) {
            return Next::Dead(Cause::AttemptsExhausted);
        }
        let given_up_at = self.given_up_at(event);
        if now >= given_up_at {
            return Next::Dead(too_old(attempt.status.is_some()));
        }
        let asked = retry_after.unwrap_or_default().min(self.retry_after_cap);
        let due = now.after(self.gap(tries, jitter).max(asked));
        // The last one is not left out for want of a moment.
        Next::Retry(if due > given_up_at { given_up_at.max(now.after(self.backoff_base)) } else { due })
    }

    /// Why an event that waits is given up on by now without another hand-over; `None` as long as it is not.
    #[must_use]
    pub fn given_up(&self, event: &Event, now: Timestamp) -> Option<Cause> {
        (now >= self.given_up_at(event)).then(|| too_old(event.delivery.last_status.is_some()))
    }

    fn given_up_at(&self, event: &Event) -> Timestamp {
        event.delivery.budget_at.after(self.give_up_after)
    }

    /// From the end of the attempt of this number in its budget to the next.
    fn gap(&self, tries: u32, jitter: f64) -> Duration {
        let doublings = u32::checked_pow(2, tries.saturating_sub(1)).unwrap_or(u32::MAX);
        let gap = self.backoff_base.saturating_mul(doublings).min(self.backoff_cap);
        let gap = gap.saturating_add(gap.mul_f64(jitter.clamp(0.0, 1.0) / 4.0));
        gap.min(self.backoff_cap).max(self.backoff_base)
    }
}

/// How often the app has refused the event in its present budget, this time included; as far as the log goes back.
fn refusals(event: &Event, attempt: &Attempt) -> u32 {
    let delivery = &event.delivery;
    let others = delivery.log.iter().filter(|other| {
        other.number > delivery.budget_from && other.number != attempt.number && sign(other) == Sign::Refused
    });
    others.fold(1, |refusals, _| refusals + 1)
}

fn sign(attempt: &Attempt) -> Sign {
    match (attempt.outcome, attempt.status) {
        (AttemptOutcome::Delivered, _) => Sign::Handled,
        (AttemptOutcome::Answered, Some(408 | 425 | 429 | 500..=599)) => Sign::Passing,
        (AttemptOutcome::Answered, _) => Sign::Refused,
        (
            AttemptOutcome::NeverReached | AttemptOutcome::TimedOut | AttemptOutcome::Lost | AttemptOutcome::Unknown,
            _,
        ) => Sign::Passing,
    }
}

fn too_old(answered: bool) -> Cause {
    if answered { Cause::TooOld } else { Cause::Unreachable }
}

#[cfg(test)]
mod tests;
