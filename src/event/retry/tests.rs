//! Every rule of what follows from an attempt, row by row. The names `B…` are those of reported cases.

use super::*;
use crate::claim::{ConfirmedTtl, Namespace};
use crate::event::{Arrival, AttemptOutcome as Came, EventId};

const START_MS: u64 = 1_000_000_000;
const DAY: Duration = Duration::from_secs(86_400);

fn policy() -> RetryPolicy {
    RetryPolicy {
        backoff_base: Duration::from_secs(5),
        backoff_cap: Duration::from_secs(3_600),
        retry_after_cap: Duration::from_secs(3_600),
        give_up_after: 3 * DAY,
        max_attempts: None,
    }
}

/// An event that arrived at the start and has had so many hand-overs.
fn event(attempts: u32) -> Event {
    let arrival = Arrival {
        route: "github".into(),
        app: "app".into(),
        namespace: Namespace::parse_any("route:github").expect("good"),
        key: None,
        confirmed_ttl: ConfirmedTtl::MAX,
        received_at: Timestamp::from_millis(START_MS),
    };
    let mut event = Event::accepted(EventId::from_bytes([0; 16]), 1, &arrival, 2);
    event.delivery.attempts = attempts;
    event
}

/// One that has been through these attempts and is at one more.
fn after_attempts(before: &[Attempt]) -> Event {
    let mut event = event(before.len() as u32 + 1);
    event.delivery.log = before[before.len().saturating_sub(20)..].to_vec();
    event
}

fn attempt(number: u32, outcome: Came, status: Option<u16>) -> Attempt {
    Attempt { number, at: Timestamp::from_millis(START_MS), took_ms: 1, outcome, status }
}

fn answered(number: u32, status: u16) -> Attempt {
    let outcome = if (200..300).contains(&status) { Came::Delivered } else { Came::Answered };
    attempt(number, outcome, Some(status))
}

fn after(length: Duration) -> Timestamp {
    Timestamp::from_millis(START_MS).after(length)
}

fn gap_of(next: Next, now: Timestamp) -> Duration {
    match next {
        Next::Retry(at) => at.since(now),
        Next::Delivered | Next::Dead(_) => panic!("{next:?}"),
    }
}

/// B77: name-resolution errors, 408 or 429 were treated as final and the event dropped on the first try.
#[test]
fn only_what_the_app_says_of_the_event_ends_it_and_only_after_a_few_tries() {
    let mut rows = 0;
    let mut row = |attempt_of: &dyn Fn(u32) -> Attempt, ends: Option<Next>| {
        rows += 1;
        for tries in 1..=30 {
            let attempt = attempt_of(tries);
            let before: Vec<_> = (1..tries).map(attempt_of).collect();
            let next = policy().next(&after_attempts(&before), &attempt, None, after(Duration::from_secs(9)), 0.5);
            match ends {
                Some(Next::Delivered) => assert_eq!(next, Next::Delivered, "{attempt:?}"),
                Some(end) if tries >= FEW => assert_eq!(next, end, "{attempt:?}"),
                Some(_) | None => assert!(matches!(next, Next::Retry(_)), "{attempt:?}: {next:?}"),
            }
        }
    };
    for outcome in [Came::NeverReached, Came::TimedOut, Came::Lost, Came::Unknown] {
        row(&|number| attempt(number, outcome, None), None);
    }
    for status in [408, 425, 429, 500, 501, 502, 503, 504, 599] {
        row(&|number| answered(number, status), None);
    }
    for status in [100, 199, 300, 301, 304, 399, 400, 401, 404, 405, 409, 410, 422, 424, 426, 428, 499, 600, 999] {
        row(&|number| answered(number, status), Some(Next::Dead(Cause::Rejected)));
    }
    for status in [200, 201, 202, 204, 299] {
        row(&|number| answered(number, status), Some(Next::Delivered));
    }
    assert_eq!(rows, 37);
}

/// An event had waited out an outage with many attempts, and the first 404 of the app that came back made it a dead letter.
#[test]
fn only_refusals_count_towards_the_few() {
    let refused = Some(Next::Dead(Cause::Rejected));
    for (statuses, end) in [
        (&[503, 503, 503, 503, 404][..], None),
        (&[503, 404, 503, 503, 410], None),
        (&[404, 503, 410, 503, 404], refused),
        (&[404, 404, 503], None),
        (&[404, 404, 404], refused),
    ] {
        let attempts: Vec<_> = (1..).zip(statuses).map(|(number, status)| answered(number, *status)).collect();
        let (last, before) = attempts.split_last().expect("some");
        let next = policy().next(&after_attempts(before), last, None, after(Duration::from_secs(9)), 0.5);
        assert_eq!(Some(next).filter(|next| !matches!(next, Next::Retry(_))), end, "{statuses:?}");
        // Those of an earlier budget are forgiven.
        let mut redriven = after_attempts(before);
        redriven.delivery.budget_from = before.len() as u32;
        let next = policy().next(&redriven, last, None, after(Duration::from_secs(9)), 0.5);
        assert!(matches!(next, Next::Retry(_)), "{statuses:?}: {next:?}");
    }
}

/// B76: after many attempts the doubled delay wrapped round and the retry loop ran hot; jitter pushed past the cap.
#[test]
fn gaps_double_from_the_base_to_the_cap_and_stay_there_for_ever() {
    let (base, cap) = (Duration::from_secs(1), Duration::from_secs(5));
    let policy = RetryPolicy { backoff_base: base, backoff_cap: cap, give_up_after: 90 * DAY, ..policy() };
    let now = after(Duration::from_secs(1));
    for jitter in [0.0, 0.3, 0.999, 1.0, -7.0, 7.0, f64::INFINITY] {
        for tries in (1..=200).chain([u32::MAX - 1, u32::MAX]) {
            let next = policy.next(&event(tries), &answered(tries, 503), None, now, jitter);
            let gap = gap_of(next, now);
            assert!((base..=cap).contains(&gap), "{tries}: {gap:?}");
            assert!(tries < 60 || gap == cap, "{tries}: {gap:?}");
        }
    }
    let gaps = |jitter| {
        [1, 2, 3, 4, 5].map(|tries| {
            let policy = RetryPolicy { backoff_base: base, ..super::tests::policy() };
            gap_of(policy.next(&event(tries), &answered(tries, 503), None, now, jitter), now).as_millis()
        })
    };
    assert_eq!(gaps(0.0), [1_000, 2_000, 4_000, 8_000, 16_000]);
    assert_eq!(gaps(1.0), [1_250, 2_500, 5_000, 10_000, 20_000]);
}

#[test]
fn what_the_app_asks_for_is_a_floor_and_has_a_cap() {
    let now = after(Duration::from_secs(1));
    for (asked_s, gap_s) in [(0, 5), (4, 5), (6, 6), (3_600, 3_600), (3_601, 3_600), (u64::MAX, 3_600)] {
        let asked = Some(Duration::from_secs(asked_s));
        let next = policy().next(&event(1), &answered(1, 429), asked, now, 0.0);
        assert_eq!(gap_of(next, now).as_secs(), gap_s, "{asked_s}");
    }
}

#[test]
fn an_event_ends_with_its_time_or_with_its_attempts() {
    let few = RetryPolicy { max_attempts: Some(4), ..policy() };
    let exhausted = Next::Dead(Cause::AttemptsExhausted);
    let rejected = Next::Dead(Cause::Rejected);
    let now = after(Duration::from_secs(1));
    for (policy, tries, status, end) in [
        (few, 3, 500, None),
        (few, 4, 500, Some(exhausted)),
        (few, 9, 500, Some(exhausted)),
        (few, 3, 404, Some(rejected)),
        (RetryPolicy { max_attempts: Some(2), ..policy() }, 2, 404, Some(exhausted)),
        (RetryPolicy { max_attempts: Some(1), ..policy() }, 1, 500, Some(exhausted)),
    ] {
        let before: Vec<_> = (1..tries).map(|number| answered(number, status)).collect();
        let next = policy.next(&after_attempts(&before), &answered(tries, status), None, now, 0.5);
        assert_eq!(Some(next).filter(|next| !matches!(next, Next::Retry(_))), end, "{tries} {status}");
    }
    let late = after(3 * DAY);
    let just_before = after(3 * DAY - Duration::from_millis(1));
    for (last, cause) in [
        (answered(9, 500), Cause::TooOld),
        (attempt(9, Came::TimedOut, None), Cause::Unreachable),
        (attempt(9, Came::NeverReached, None), Cause::Unreachable),
        (attempt(9, Came::Unknown, None), Cause::Unreachable),
    ] {
        assert_eq!(policy().next(&event(9), &last, None, late, 0.5), Next::Dead(cause), "{last:?}");
        // The last gap is shortened to the end of the time, but to no less than the base.
        let next = policy().next(&event(9), &last, None, just_before, 0.5);
        assert_eq!(gap_of(next, just_before), policy().backoff_base, "{last:?}");
        let hour_before = after(3 * DAY - Duration::from_secs(600));
        assert_eq!(policy().next(&event(9), &last, None, hour_before, 0.5), Next::Retry(after(3 * DAY)));
    }
}

/// A dead letter that was redriven after a week was given up on at its first failure.
#[test]
fn a_redrive_begins_a_fresh_budget_of_time_and_attempts() {
    let policy = RetryPolicy { max_attempts: Some(3), ..policy() };
    let mut event = event(3);
    event.state = super::super::State::Dead { since: after(DAY) };
    assert!(event.requeue(after(7 * DAY)));
    let now = after(7 * DAY + Duration::from_secs(1));
    for (attempts, ends) in [(4, false), (5, false), (6, true)] {
        event.delivery.attempts = attempts;
        let next = policy.next(&event, &answered(attempts, 404), None, now, 0.0);
        assert_eq!(matches!(next, Next::Dead(_)), ends, "{attempts}: {next:?}");
        // The gaps begin anew too.
        assert!(ends || gap_of(next, now).as_secs() == [5, 10][attempts as usize - 4]);
    }
    assert_eq!(policy.given_up(&event, now), None);
    assert_eq!(policy.given_up(&event, after(10 * DAY)), Some(Cause::Unreachable));
}

#[test]
fn an_event_that_waits_is_given_up_on_by_its_age_alone() {
    let mut event = event(0);
    assert_eq!(policy().given_up(&event, after(3 * DAY - Duration::from_millis(1))), None);
    assert_eq!(policy().given_up(&event, after(3 * DAY)), Some(Cause::Unreachable));
    event.delivery.last_status = Some(503);
    assert_eq!(policy().given_up(&event, after(3 * DAY)), Some(Cause::TooOld));
}
