//! The delivery of a route's events in words: when attempts are made, when they end, and what holds them back.

use std::time::Duration;

use crate::delivery::{HistorySettings, LaneSettings};
use crate::event::RetryPolicy;
use crate::quantity::{format_bytes, format_duration};

use super::super::cause::{DeliveryCauses, HistoryCauses, RetryCauses};

/// How many gaps are shown one by one.
const SHOWN_GAPS: usize = 5;

pub(super) fn lines(lane: &LaneSettings, causes: &DeliveryCauses) -> [String; 4] {
    let rate = lane.rate.map_or_else(|| "off".to_owned(), |rate| rate.to_string());
    let (concurrency, failures) = (lane.concurrency, lane.breaker_failures);
    [
        format!("concurrency {concurrency} ({}), rate {rate} ({})", causes.concurrency, causes.rate),
        attempts(&lane.policy, &causes.retry),
        end(&lane.policy, &causes.retry),
        format!(
            "breaker_failures {failures} ({}): then the app is left alone but for one event every breaker_probe {} ({})",
            causes.breaker_failures,
            format_duration(lane.breaker_probe),
            causes.breaker_probe
        ),
    ]
}

pub(super) fn history(settings: HistorySettings, causes: &HistoryCauses) -> String {
    let (keep, max_bytes) = (format_duration(settings.keep), format_bytes(settings.max_bytes));
    format!("history: keep {keep} ({}), max_bytes {max_bytes} ({})", causes.keep, causes.max_bytes)
}

fn attempts(policy: &RetryPolicy, causes: &RetryCauses) -> String {
    let shown: Vec<_> = gaps(policy).take(SHOWN_GAPS).map(format_duration).collect();
    let [base, cap, retry_after] =
        [policy.backoff_base, policy.backoff_cap, policy.retry_after_cap].map(format_duration);
    format!(
        "attempts: at once, then after {}, … and up to a quarter more (backoff_base {base} ({}), doubled up to backoff_cap \
         {cap} ({})); Retry-After puts one off by up to retry_after_cap {retry_after} ({})",
        shown.join(", "),
        causes.backoff_base,
        causes.backoff_cap,
        causes.retry_after_cap
    )
}

fn end(policy: &RetryPolicy, causes: &RetryCauses) -> String {
    let give_up_after = format_duration(policy.give_up_after);
    let max_attempts = policy.max_attempts.map_or_else(|| "off".to_owned(), |most| most.to_string());
    let (give_up_cause, max_attempts_cause) = (&causes.give_up_after, &causes.max_attempts);
    let most = match most_attempts(policy) {
        1 => "1 attempt".to_owned(),
        most => format!("{most} attempts at most"),
    };
    format!(
        "give_up_after {give_up_after} ({give_up_cause}), max_attempts {max_attempts} ({max_attempts_cause}): a dead letter \
         after {most}"
    )
}

/// The gaps between attempts at their shortest, without end.
fn gaps(policy: &RetryPolicy) -> impl Iterator<Item = Duration> {
    let RetryPolicy { backoff_base, backoff_cap, .. } = *policy;
    let doubled = move |gap: &Duration| Some(gap.saturating_mul(2).min(backoff_cap));
    std::iter::successors(Some(backoff_base), doubled)
}

/// How many attempts an event can have: as many as its time has room for, the last one at its end, if no more are allowed.
fn most_attempts(policy: &RetryPolicy) -> u128 {
    let RetryPolicy { backoff_cap, give_up_after, .. } = *policy;
    let (mut at, mut attempts) = (Duration::ZERO, 0);
    for gap in gaps(policy).take_while(|gap| *gap < backoff_cap) {
        if at >= give_up_after {
            break;
        }
        at += gap;
        attempts += 1;
    }
    let rest = give_up_after.saturating_sub(at).as_millis().div_ceil(backoff_cap.as_millis());
    let attempts = attempts + rest + 1;
    attempts.min(policy.max_attempts.map_or(attempts, u128::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_as_many_attempts_as_its_time_has_room_for() {
        let seconds = Duration::from_secs;
        for (base, cap, give_up_after, max_attempts, expected) in [
            // 11 within 5115 s, then every hour 70 times, and one at the end.
            (5, 3_600, 3 * 86_400, None, 82),
            (5, 3_600, 3 * 86_400, Some(82), 82),
            (5, 3_600, 3 * 86_400, Some(81), 81),
            (3_600, 3_600, 3 * 86_400, None, 73),
            (5, 3_600, 1, None, 2),
            (5, 3_600, 5, None, 2),
            (5, 3_600, 6, None, 3),
            (5, 3_600, 6, Some(1), 1),
        ] {
            let policy = RetryPolicy {
                backoff_base: seconds(base),
                backoff_cap: seconds(cap),
                retry_after_cap: seconds(1),
                give_up_after: seconds(give_up_after),
                max_attempts,
            };
            assert_eq!(most_attempts(&policy), expected, "{policy:?}");
        }
    }
}
