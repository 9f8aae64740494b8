//! `[route.delivery]`: how the events of a route that are stored go to its app. A sync route may have it as well: a dead
//! letter of it can be redriven, and what it had queued before it was switched goes on by these rules.

use std::time::Duration;

use crate::delivery::Rate;
use crate::event::RetryPolicy;
use crate::provider::{Acknowledgement, Profile};
use crate::quantity::format_duration;

use super::super::cause::{Cause, DeliveryCauses, RetryCauses};
use super::super::faults::Reported;
use super::super::section::{Read, Section};
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
    let concurrency = filled(section.number("concurrency", 1..=MAX_CONCURRENCY), DEFAULT_CONCURRENCY);
    let rate = optional(section.parse("rate", Rate::parse));
    let policy = policy(&mut section);
    let breaker_failures =
        filled(section.number("breaker_failures", 1..=MAX_BREAKER_FAILURES), DEFAULT_BREAKER_FAILURES);
    let breaker_probe = filled(section.parse("breaker_probe", value::length(MAX_BREAKER_PROBE)), DEFAULT_BREAKER_PROBE);
    let acknowledge = acknowledge::read(&mut section, profile, mode);
    section.finish();
    let (concurrency, rate, (policy, retry)) = (concurrency?, rate?, policy?);
    let (breaker_failures, breaker_probe, acknowledge) = (breaker_failures?, breaker_probe?, acknowledge?);
    Ok(Delivery {
        policy,
        concurrency: usize::from(concurrency.0),
        rate: rate.0,
        breaker_failures: breaker_failures.0,
        breaker_probe: breaker_probe.0,
        acknowledge: acknowledge.0,
        causes: DeliveryCauses {
            acknowledge: acknowledge.1,
            concurrency: concurrency.1,
            rate: rate.1,
            retry,
            breaker_failures: breaker_failures.1,
            breaker_probe: breaker_probe.1,
        },
    })
}

/// What is set, else what holds then.
fn filled<T>(read: Read<T>, default: T) -> Result<(T, Cause), Reported> {
    Ok(read?.map_or((default, Cause::BuiltIn), |value| (value, Cause::Delivery)))
}

/// What is set, else nothing.
fn optional<T>(read: Read<T>) -> Result<(Option<T>, Cause), Reported> {
    filled(read.map(|set| set.map(Some)), None)
}

fn policy(section: &mut Section<'_>) -> Result<(RetryPolicy, RetryCauses), Reported> {
    let backoff = backoff(section);
    let retry_after_cap = filled(section.parse("retry_after_cap", value::length(MAX_GAP)), DEFAULT_RETRY_AFTER_CAP);
    let give_up_after = filled(section.parse("give_up_after", value::length(MAX_GIVE_UP_AFTER)), DEFAULT_GIVE_UP_AFTER);
    let max_attempts = optional(section.number("max_attempts", 1..=MAX_MAX_ATTEMPTS));
    let [base, cap] = backoff?;
    let (retry_after_cap, give_up_after, max_attempts) = (retry_after_cap?, give_up_after?, max_attempts?);
    let policy = RetryPolicy {
        backoff_base: base.0,
        backoff_cap: cap.0,
        retry_after_cap: retry_after_cap.0,
        give_up_after: give_up_after.0,
        max_attempts: max_attempts.0,
    };
    let causes = RetryCauses {
        backoff_base: base.1,
        backoff_cap: cap.1,
        retry_after_cap: retry_after_cap.1,
        give_up_after: give_up_after.1,
        max_attempts: max_attempts.1,
    };
    Ok((policy, causes))
}

/// Base and cap. A base of 0 would be no back-off, and one above the cap none that grows.
fn backoff(section: &mut Section<'_>) -> Result<[(Duration, Cause); 2], Reported> {
    let base = filled(section.parse("backoff_base", value::length(MAX_GAP)), DEFAULT_BACKOFF_BASE);
    let cap = filled(section.parse("backoff_cap", value::length(MAX_GAP)), DEFAULT_BACKOFF_CAP);
    let (base, cap) = (base?, cap?);
    if base.0 > cap.0 {
        let [base_text, cap_text] = [base.0, cap.0].map(format_duration);
        // Of the two, the one that was set.
        let (key, told) = if base.1 == Cause::Delivery {
            ("backoff_base", format!("is {base_text}, above the {cap_text} of backoff_cap"))
        } else {
            ("backoff_cap", format!("is {cap_text}, below the {base_text} of backoff_base"))
        };
        return Err(section.fault(key, format_args!("{told}: gaps between attempts only grow")));
    }
    Ok([base, cap])
}
