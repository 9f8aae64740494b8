//! The lifetimes of a route: its own keys, else its namespace's table, else what follows from `max_duration` and from
//! the provider. `[defaults]` has no say.

use std::time::Duration;

use crate::claim::{ConfirmedTtl, MAX_PROCESSING_MS, Namespace, ProcessingTtl};
use crate::ledger::OnStoreFailure;
use crate::provider::{self, Caused, PROCESSING_FACTOR, Profile};
use crate::quantity::format_duration;

use super::super::cause::Cause;
use super::super::faults::Reported;
use super::super::namespaces::{Overrides, RouteTable, overrides};
use super::super::section::Section;
use super::super::value;

/// How long an app may take when nothing is said.
const DEFAULT_MAX_DURATION: Duration = Duration::from_secs(30);
/// The longest `max_duration`: what is derived from it is a processing TTL all the same.
const MAX_MAX_DURATION: Duration = Duration::from_millis(MAX_PROCESSING_MS / PROCESSING_FACTOR as u64);
/// The longest that a sender may be kept waiting. None waits for more than a minute or two; what is longer is a slip.
const MAX_ANSWER_WITHIN: Duration = Duration::from_secs(3_600);

/// The lengths of a route, each that can have several causes with its own.
pub(super) struct Lifetimes {
    pub(super) max_duration: (Duration, Cause),
    pub(super) processing_ttl: (ProcessingTtl, Cause),
    pub(super) confirmed_ttl: (ConfirmedTtl, Cause),
    pub(super) answer_within: (Duration, Cause),
    pub(super) on_store_failure: (OnStoreFailure, Cause),
}

/// The table of a route's namespace, if the config has one.
type Shared<'t, 'a> = Option<(&'t Namespace, &'t RouteTable<'a>)>;

pub(super) fn read(
    section: &mut Section<'_>,
    shared: Shared<'_, '_>,
    profile: Option<&Profile>,
) -> Result<Lifetimes, Reported> {
    let max_duration = section.parse("max_duration", value::length(MAX_MAX_DURATION));
    let answer_within = section.parse("answer_within", value::length(MAX_ANSWER_WITHIN));
    let own = overrides(section);
    let (max_duration, answer_within, own) = (max_duration?, answer_within?, own?);
    let cause = if max_duration.is_some() { Cause::Route } else { Cause::BuiltIn };
    let max_duration = max_duration.unwrap_or(DEFAULT_MAX_DURATION);
    let derived = match profile {
        Some(profile) => provider::Lifetimes::derive(profile, max_duration),
        None => provider::Lifetimes::without_profile(max_duration),
    };
    let lifetimes = Lifetimes {
        max_duration: (max_duration, cause),
        processing_ttl: set(&own, shared, |set| set.processing_ttl)
            .unwrap_or_else(|| processing_ttl(derived.processing_ttl)),
        confirmed_ttl: set(&own, shared, |set| set.confirmed_ttl)
            .unwrap_or_else(|| confirmed_ttl(derived.confirmed_ttl)),
        answer_within: match answer_within {
            Some(length) => (length, Cause::Route),
            None => (derived.answer_within.span, Cause::Derived(derived.answer_within.cause)),
        },
        on_store_failure: set(&own, shared, |set| set.on_store_failure)
            .unwrap_or((OnStoreFailure::Open, Cause::BuiltIn)),
    };
    refuse_short_claim(section, shared, &lifetimes)?;
    Ok(lifetimes)
}

fn processing_ttl(derived: Caused) -> (ProcessingTtl, Cause) {
    let ttl = ProcessingTtl::new(derived.span).expect("MAX_MAX_DURATION leaves room for the factor");
    (ttl, Cause::Derived(derived.cause))
}

fn confirmed_ttl(derived: Caused) -> (ConfirmedTtl, Cause) {
    let ttl = ConfirmedTtl::new(derived.span).expect("a profile's windows are bounded so that their TTL fits");
    (ttl, Cause::Derived(derived.cause))
}

/// What the route's own keys say, else the table of its namespace.
fn set<T>(own: &Overrides, shared: Shared<'_, '_>, key: impl Fn(&Overrides) -> Option<T>) -> Option<(T, Cause)> {
    let (value, cause) = match (key(own), shared) {
        (Some(value), _) => (value, Cause::Route),
        (None, Some((name, table))) => (key(&table.overrides)?, Cause::Namespace(name.clone())),
        (None, None) => return None,
    };
    Some((value, cause))
}

/// A claim that ends before its attempt has to would hand the event over a second time while the app is at it. The
/// fault is reported where the number stands.
fn refuse_short_claim(section: &Section<'_>, shared: Shared<'_, '_>, lifetimes: &Lifetimes) -> Result<(), Reported> {
    let (processing_ttl, cause) = &lifetimes.processing_ttl;
    if processing_ttl.as_duration() >= lifetimes.max_duration.0 {
        return Ok(());
    }
    let place = match (cause, shared) {
        (Cause::Namespace(_), Some((_, table))) => &table.section,
        _ => section,
    };
    let max_duration = format_duration(lifetimes.max_duration.0);
    let route = section.dotted("max_duration");
    Err(place.fault("processing_ttl", format_args!("must be at least the {max_duration} of {route}")))
}
