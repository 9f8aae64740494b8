//! Keeps an app that is down from being asked for every event that it has: pure, one for each app.
//!
//! Closed, it lets everything through and counts failures in a row. With as many as the route allows it opens: then one
//! probe at a time is let through, one every so often, until an answer closes it. What it counts is whether the app is
//! there ([`Sign`]); an app that refuses events is there, and ten bad events must not stall the good ones.

use std::time::Duration;

use super::settings::LaneSettings;
use crate::claim::Timestamp;
use crate::event::{Attempt, AttemptOutcome};

/// What an attempt says of the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// It is there.
    Up,
    /// It is not, or what stands before it says so.
    Down,
}

/// Whether a hand-over may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// It may.
    Free,
    /// It may, as the one that shows whether the app is back.
    Probe,
    /// Not now.
    Not {
        /// When a probe is due; `None` while one is under way.
        before: Option<Timestamp>,
    },
}

/// When a breaker opens, and how often it lets a probe through.
#[derive(Debug, Clone, Copy)]
pub(super) struct BreakerSettings {
    pub(super) failures: u32,
    pub(super) probe: Duration,
}

impl BreakerSettings {
    pub(super) fn of(settings: &LaneSettings) -> Self {
        Self { failures: settings.breaker_failures, probe: settings.breaker_probe }
    }
}

/// Of one app.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// In a row.
    failures: u32,
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    probe_at: Timestamp,
    is_probed: bool,
}

impl Sign {
    /// The sign of an attempt; `None` where a stop has cut it.
    pub(super) fn of(attempt: &Attempt) -> Option<Self> {
        match (attempt.outcome, attempt.status) {
            (AttemptOutcome::NeverReached | AttemptOutcome::TimedOut | AttemptOutcome::Lost, _)
            | (AttemptOutcome::Answered, Some(502..=504)) => Some(Self::Down),
            (AttemptOutcome::Delivered | AttemptOutcome::Answered, _) => Some(Self::Up),
            (AttemptOutcome::Unknown, _) => None,
        }
    }
}

impl Breaker {
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// What would be admitted now.
    pub(super) fn looks(&self, now: Timestamp) -> Admission {
        match self.open {
            None => Admission::Free,
            Some(Open { is_probed: true, .. }) => Admission::Not { before: None },
            Some(Open { probe_at, .. }) if now < probe_at => Admission::Not { before: Some(probe_at) },
            Some(_) => Admission::Probe,
        }
    }

    /// Admits what may be admitted; a probe has to be followed by [`note`](Self::note) or [`withdraw`](Self::withdraw).
    pub(super) fn admit(&mut self, now: Timestamp) -> Admission {
        let admission = self.looks(now);
        if let (Admission::Probe, Some(open)) = (admission, &mut self.open) {
            open.is_probed = true;
        }
        admission
    }

    /// The probe that was admitted is not made.
    pub(super) fn withdraw(&mut self) {
        if let Some(open) = &mut self.open {
            open.is_probed = false;
        }
    }

    /// Takes in what an attempt says that was admitted like this.
    pub(super) fn note(&mut self, sign: Sign, admission: Admission, now: Timestamp, settings: BreakerSettings) {
        match sign {
            Sign::Up => *self = Self::default(),
            Sign::Down => {
                self.failures = self.failures.saturating_add(1);
                let next = Open { probe_at: now.after(settings.probe), is_probed: false };
                match self.open {
                    // One that began before it opened says nothing new.
                    Some(_) if admission != Admission::Probe => {}
                    Some(_) => self.open = Some(next),
                    None if self.failures >= settings.failures => self.open = Some(next),
                    None => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: BreakerSettings = BreakerSettings { failures: 3, probe: Duration::from_secs(30) };

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn attempt(outcome: AttemptOutcome, status: Option<u16>) -> Attempt {
        Attempt { number: 1, at: at(0), took_ms: 0, outcome, status }
    }

    #[test]
    fn network_faults_and_gateways_count_and_any_other_answer_resets() {
        use AttemptOutcome::{Answered, Delivered, Lost, NeverReached, TimedOut, Unknown};
        for (outcome, status, sign) in [
            (NeverReached, None, Some(Sign::Down)),
            (TimedOut, None, Some(Sign::Down)),
            (Lost, None, Some(Sign::Down)),
            (Answered, Some(502), Some(Sign::Down)),
            (Answered, Some(503), Some(Sign::Down)),
            (Answered, Some(504), Some(Sign::Down)),
            (Answered, Some(500), Some(Sign::Up)),
            (Answered, Some(505), Some(Sign::Up)),
            (Answered, Some(429), Some(Sign::Up)),
            (Answered, Some(410), Some(Sign::Up)),
            (Answered, Some(301), Some(Sign::Up)),
            (Delivered, Some(200), Some(Sign::Up)),
            (Unknown, None, None),
        ] {
            assert_eq!(Sign::of(&attempt(outcome, status)), sign, "{outcome:?} {status:?}");
        }
    }

    #[test]
    fn it_opens_on_failures_in_a_row_probes_and_closes() {
        let mut breaker = Breaker::default();
        // What happens, when, and what the next hand-over is told.
        let rows: &[(Option<Sign>, u64, Admission)] = &[
            (None, 0, Admission::Free),
            (Some(Sign::Down), 0, Admission::Free),
            (Some(Sign::Down), 0, Admission::Free),
            (Some(Sign::Up), 0, Admission::Free),
            (Some(Sign::Down), 0, Admission::Free),
            (Some(Sign::Down), 1, Admission::Free),
            (Some(Sign::Down), 2, Admission::Not { before: Some(at(32)) }),
            (None, 31, Admission::Not { before: Some(at(32)) }),
            (None, 32, Admission::Probe),
            (None, 99, Admission::Not { before: None }),
            // The probe fails.
            (Some(Sign::Down), 100, Admission::Not { before: Some(at(130)) }),
            (None, 130, Admission::Probe),
            (Some(Sign::Up), 131, Admission::Free),
            (Some(Sign::Down), 132, Admission::Free),
            (Some(Sign::Down), 133, Admission::Free),
            (Some(Sign::Down), 134, Admission::Not { before: Some(at(164)) }),
        ];
        let mut admitted = Admission::Free;
        for (row, (sign, seconds, expected)) in rows.iter().enumerate() {
            if let Some(sign) = sign {
                breaker.note(*sign, admitted, at(*seconds), SETTINGS);
            }
            let admission = breaker.admit(at(*seconds));
            assert_eq!(admission, *expected, "row {row}");
            assert_eq!(breaker.is_open(), admission != Admission::Free, "row {row}");
            admitted = if let Admission::Not { before: None } = admission { Admission::Probe } else { admission };
        }
    }

    #[test]
    fn what_began_before_it_opened_neither_puts_the_probe_off_nor_keeps_it_open() {
        let mut breaker = Breaker::default();
        for _ in 0..8 {
            breaker.note(Sign::Down, Admission::Free, at(0), SETTINGS);
        }
        breaker.note(Sign::Down, Admission::Free, at(29), SETTINGS);
        assert_eq!(breaker.admit(at(30)), Admission::Probe);
        breaker.withdraw();
        assert_eq!(breaker.admit(at(30)), Admission::Probe, "one that was not made is made by the next");
        breaker.note(Sign::Up, Admission::Free, at(31), SETTINGS);
        assert_eq!(breaker.admit(at(31)), Admission::Free);
    }
}
