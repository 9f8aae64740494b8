//! `[route.delivery]`: how the events of a route that are stored go to its app. A sync route may have it as well: a dead
//! letter of it can be redriven, and what it had queued before it was switched goes on by these rules.

use std::time::Duration;

use crate::delivery::Rate;
use crate::event::RetryPolicy;
use crate::provider::{Acknowledgement, Profile};
use crate::quantity::format_duration;

use super::super::cause::{Cause, DeliveryCauses};
use super::super::faults::Reported;
use super::super::section::Section;
use super::super::value;
use super::acknowledge;
use super::mode::Mode;

/// The longest gap between two attempts, by back-off or by `Retry-After`. Whoever mends an app wants to see its events come
/// within the day.
const MAX_GAP: Duration = Duration::from_secs(86_400);
/// The longest that an event is tried, as long as a finished key may be remembered at most: what is older is news to nobody.
const MAX_GIVE_UP_AFTER: Duration = Duration::from_secs(90 * 86_400);
/// More attempts than the shortest sensible gaps lead to in the longest time; what is above is a slip.
const MAX_MAX_ATTEMPTS: u32 = 100_000;
/// More hand-overs at once than one machine's app is any faster by. Each is a connection, and a body in memory.
const MAX_CONCURRENCY: u16 = 1_000;
/// An app that fails so often in a row is down by anyone's measure.
const MAX_BREAKER_FAILURES: u32 = 1_000;
/// The longest until it is seen that an app is back.
const MAX_BREAKER_PROBE: Duration = Duration::from_secs(3_600);

/// What holds where nothing is set.
const DEFAULT_CONCURRENCY: u16 = 8;
const DEFAULT_BACKOFF_BASE: Duration = Duration::from_secs(5);
const DEFAULT_BACKOFF_CAP: Duration = Duration::from_secs(3_600);
const DEFAULT_RETRY_AFTER_CAP: Duration = Duration::from_secs(3_600);
const DEFAULT_GIVE_UP_AFTER: Duration = Duration::from_secs(3 * 86_400);
const DEFAULT_BREAKER_FAILURES: u32 = 10;
const DEFAULT_BREAKER_PROBE: Duration = Duration::from_secs(30);

/// The table, filled up.
pub(super) struct Delivery {
    pub(super) policy: RetryPolicy,
    pub(super) concurrency: usize,
    pub(super) rate: Option<Rate>,
    pub(super) breaker_failures: u32,
    pub(super) breaker_probe: Duration,
    pub(super) acknowledge: Acknowledgement,
    pub(super) causes: DeliveryCauses,
}

pub(super) fn read(
    route: &mut Section<'_>,
    profile: Option<&Profile>,
    mode: Result<Mode, Reported>,
) -> Result<Delivery, Reported> {
    let mut section = route.section("delivery")?;
    let concurrency = section.number("concurrency", 1..=MAX_CONCURRENCY);
    let rate = section.parse("rate", Rate::parse);
    let backoff = backoff(&mut section);
    let retry_after_cap = section.parse("retry_after_cap", value::length(MAX_GAP));
    let give_up_after = section.parse("give_up_after", value::length(MAX_GIVE_UP_AFTER));
    let max_attempts = section.number("max_attempts", 1..=MAX_MAX_ATTEMPTS);
    let breaker_failures = section.number("breaker_failures", 1..=MAX_BREAKER_FAILURES);
    let breaker_probe = section.parse("breaker_probe", value::length(MAX_BREAKER_PROBE));
    let acknowledge = acknowledge::read(&mut section, profile, mode);
    section.finish();
    let [backoff_base, backoff_cap] = backoff?;
    let (concurrency, concurrency_cause) = filled(concurrency?, DEFAULT_CONCURRENCY);
    let (rate, rate_cause) = filled(rate?.map(Some), None);
    let (retry_after_cap, retry_after_cause) = filled(retry_after_cap?, DEFAULT_RETRY_AFTER_CAP);
    let (give_up_after, give_up_cause) = filled(give_up_after?, DEFAULT_GIVE_UP_AFTER);
    let (max_attempts, max_attempts_cause) = filled(max_attempts?.map(Some), None);
    let (breaker_failures, failures_cause) = filled(breaker_failures?, DEFAULT_BREAKER_FAILURES);
    let (breaker_probe, probe_cause) = filled(breaker_probe?, DEFAULT_BREAKER_PROBE);
    let (acknowledge, acknowledge_cause) = acknowledge?;
    let causes = DeliveryCauses {
        acknowledge: acknowledge_cause,
        concurrency: concurrency_cause,
        rate: rate_cause,
        backoff_base: backoff_base.1,
        backoff_cap: backoff_cap.1,
        retry_after_cap: retry_after_cause,
        give_up_after: give_up_cause,
        max_attempts: max_attempts_cause,
        breaker_failures: failures_cause,
        breaker_probe: probe_cause,
    };
    let (backoff_base, backoff_cap) = (backoff_base.0, backoff_cap.0);
    let policy = RetryPolicy { backoff_base, backoff_cap, retry_after_cap, give_up_after, max_attempts };
    let concurrency = usize::from(concurrency);
    Ok(Delivery { policy, concurrency, rate, breaker_failures, breaker_probe, acknowledge, causes })
}

/// What is set, else what holds then.
fn filled<T>(set: Option<T>, default: T) -> (T, Cause) {
    set.map_or((default, Cause::BuiltIn), |value| (value, Cause::Delivery))
}

/// Base and cap. A base of 0 would be no back-off, and one above the cap none that grows.
fn backoff(section: &mut Section<'_>) -> Result<[(Duration, Cause); 2], Reported> {
    let base = section.parse("backoff_base", value::length(MAX_GAP));
    let cap = section.parse("backoff_cap", value::length(MAX_GAP));
    let (base, cap) = (filled(base?, DEFAULT_BACKOFF_BASE), filled(cap?, DEFAULT_BACKOFF_CAP));
    if base.0 > cap.0 {
        let [base_text, cap_text] = [base.0, cap.0].map(format_duration);
        let (key, told) = match base.1 {
            Cause::Delivery => ("backoff_base", format!("is {base_text}, above the {cap_text} of backoff_cap")),
            _ => ("backoff_cap", format!("is {cap_text}, below the {base_text} of backoff_base")),
        };
        return Err(section.fault(key, format_args!("{told}: gaps between attempts only grow")));
    }
    Ok([base, cap])
}
