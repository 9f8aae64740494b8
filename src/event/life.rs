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

    /// Nobody is at it any more: it waits where it waited, and nobody knows what became of its last hand-over. `false` where
    /// it was not being handed over.
    pub fn interrupt(&mut self) -> bool {
        let State::Delivering(due) = self.state else {
            return false;
        };
        self.delivery.note_unknown();
        self.state = State::Queued(due);
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

#[cfg(test)]
mod tests {
    use super::super::{Arrival, Cause, EventId};
    use super::*;
    use crate::claim::{ConfirmedTtl, Namespace};

    const FRESH: Due = Due { lane: DueLane::Fresh, at: Timestamp::from_millis(1_000) };
    const NOW: Timestamp = Timestamp::from_millis(5_000);

    fn event(state: State) -> Event {
        let arrival = Arrival {
            route: "q".into(),
            app: "app".into(),
            namespace: Namespace::parse_any("route:q").expect("good"),
            key: None,
            confirmed_ttl: ConfirmedTtl::MAX,
            received_at: Timestamp::from_millis(1_000),
        };
        let mut event = Event::accepted(EventId::queued(7, [0; 8]), 7, &arrival, 0);
        assert_eq!(event.state, State::Queued(FRESH), "due at once");
        event.delivery.attempts = 2;
        event.delivery.cause = matches!(state, State::Dead { .. }).then_some(Cause::Rejected);
        Event { state, ..event }
    }

    fn attempt(number: u32, outcome: AttemptOutcome) -> Attempt {
        Attempt { number, at: NOW, took_ms: 1, outcome, status: None }
    }

    #[test]
    fn every_state_says_for_itself_what_may_begin() {
        let at = Timestamp::from_millis(3_000);
        let (queued, delivering) = (State::Queued(FRESH), State::Delivering(FRESH));
        let (delivered, passed, dead) = (State::Delivered { at }, State::Passed { at }, State::Dead { since: at });
        let anew = State::Delivering(Due { lane: DueLane::Retry, at: NOW });
        let (here, elsewhere) = (How::Scheduled(FRESH), How::Scheduled(Due { lane: DueLane::Retry, at: FRESH.at }));
        let (go, gone, duplicate) = (Beginning::Go, Beginning::Gone, Beginning::Duplicate);
        for (state, how, beginning, after) in [
            (queued, here, go, delivering),
            (queued, elsewhere, gone, queued),
            (queued, How::Replay, go, delivering),
            (queued, How::Force, go, delivering),
            (delivering, here, go, delivering),
            (delivering, elsewhere, gone, delivering),
            (delivering, How::Replay, go, delivering),
            (delivering, How::Force, go, delivering),
            (delivered, here, gone, delivered),
            (delivered, How::Replay, duplicate, delivered),
            (delivered, How::Force, go, delivered),
            (passed, here, gone, passed),
            (passed, How::Replay, duplicate, passed),
            (passed, How::Force, go, passed),
            (dead, here, gone, dead),
            (dead, How::Replay, go, anew),
            (dead, How::Force, go, anew),
        ] {
            let before = event(state);
            let mut event = before.clone();
            let found = event.begin(how, "other", NOW);
            assert_eq!((found, event.state), (beginning, after), "{state:?} {how:?}");
            let delivery = &event.delivery;
            if beginning != go {
                assert_eq!(event, before, "{state:?} {how:?}");
                continue;
            }
            assert_eq!((delivery.attempts, delivery.last_at, &*delivery.app), (3, Some(NOW), "other"));
            let is_fresh = state == dead;
            assert_eq!(delivery.attempts_in_budget(), if is_fresh { 1 } else { 3 });
            assert_eq!(delivery.budget_at, if is_fresh { NOW } else { FRESH.at });
            let cut_off = delivery.log.iter().map(|attempt| (attempt.number, attempt.outcome)).collect::<Vec<_>>();
            let expected = if state == delivering { vec![(2, AttemptOutcome::Unknown)] } else { vec![] };
            assert_eq!(cut_off, expected, "{state:?} {how:?}");
        }
    }

    #[test]
    fn the_end_of_the_latest_hand_over_moves_an_event_and_that_of_an_earlier_one_only_where_it_is_handled() {
        let at = Timestamp::from_millis(9_000);
        let (delivering, queued) = (State::Delivering(FRESH), State::Queued(Due { lane: DueLane::Retry, at }));
        let (dead, delivered) = (State::Dead { since: NOW }, State::Delivered { at: NOW });
        for (state, number, next, after) in [
            (delivering, 2, Next::Delivered, delivered),
            (delivering, 2, Next::Retry(at), queued),
            (delivering, 2, Next::Dead(Cause::TooOld), dead),
            (delivering, 1, Next::Retry(at), delivering),
            (delivering, 1, Next::Dead(Cause::TooOld), delivering),
            (delivering, 1, Next::Delivered, delivered),
            (queued, 2, Next::Delivered, delivered),
            (queued, 2, Next::Retry(NOW), queued),
            (delivered, 2, Next::Retry(at), delivered),
            (delivered, 2, Next::Dead(Cause::TooOld), delivered),
            (dead, 2, Next::Delivered, delivered),
            (dead, 2, Next::Retry(at), dead),
        ] {
            let mut event = event(state);
            let ended = attempt(number, AttemptOutcome::Lost);
            event.finish(&ended, &[b'x'; MAX_EXCERPT_BYTES + 1], next, NOW);
            assert_eq!(event.state, after, "{state:?} {number} {next:?}");
            assert_eq!(event.delivery.cause.is_some(), matches!(after, State::Dead { .. }), "{state:?} {next:?}");
            assert_eq!(event.delivery.excerpt.len(), if number == 2 { MAX_EXCERPT_BYTES } else { 0 });
            let told = event.clone();
            event.finish(&ended, b"again", Next::Delivered, NOW);
            assert_eq!(event, told, "told twice");
        }
    }

    /// The process that was thought dead was only slow: what it says of its hand-over is better than that nobody knows.
    #[test]
    fn what_is_known_of_a_hand_over_replaces_that_nobody_knew() {
        let mut event = event(State::Delivering(FRESH));
        event.begin(How::Scheduled(FRESH), "app", NOW);
        event.finish(&attempt(2, AttemptOutcome::Delivered), b"", Next::Delivered, NOW);
        assert_eq!(event.state, State::Delivered { at: NOW });
        assert_eq!(event.delivery.log, [attempt(2, AttemptOutcome::Delivered)]);
    }

    #[test]
    fn what_was_cut_off_waits_where_it_waited() {
        let mut cut_off = event(State::Delivering(FRESH));
        assert!(cut_off.interrupt() && !cut_off.interrupt());
        assert_eq!((cut_off.state, cut_off.delivery.attempts), (State::Queued(FRESH), 2));
        cut_off.begin(How::Scheduled(FRESH), "app", NOW);
        let log: Vec<_> = cut_off.delivery.log.iter().map(|attempt| (attempt.number, attempt.outcome)).collect();
        assert_eq!(log, [(2, AttemptOutcome::Unknown)], "it is logged once");
    }

    #[test]
    fn only_a_dead_letter_is_queued_anew_and_its_budget_with_it() {
        let mut dead = event(State::Dead { since: FRESH.at });
        assert!(dead.requeue(NOW));
        assert_eq!(dead.state, State::Queued(Due { lane: DueLane::Retry, at: NOW }));
        assert_eq!((dead.delivery.attempts_in_budget(), dead.delivery.budget_at, dead.delivery.cause), (0, NOW, None));
        for state in [State::Queued(FRESH), State::Delivering(FRESH), State::Delivered { at: NOW }] {
            let mut event = event(state);
            assert!(!event.requeue(NOW));
            assert_eq!(event.state, state);
        }
    }
}
