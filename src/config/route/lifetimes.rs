//! The lifetimes of a route: its own keys, else its namespace's table, else what follows from `max_duration` and, later,
//! from the provider. `[defaults]` has no say.

use std::time::Duration;

use crate::claim::{ConfirmedTtl, MAX_PROCESSING_MS, Namespace, ProcessingTtl};
use crate::ledger::OnStoreFailure;
use crate::quantity::format_duration;

use super::super::cause::{Cause, RouteCauses};
use super::super::faults::Reported;
use super::super::namespaces::{Overrides, RouteTable, overrides};
use super::super::section::Section;
use super::super::value;

/// How long an app may take when nothing is said.
const DEFAULT_MAX_DURATION: Duration = Duration::from_secs(30);
/// A processing TTL that nobody set is this many times `max_duration`: the claim must outlive the attempt with room for
/// a slow commit, and a crash must not use up the provider's retries.
const ATTEMPTS_IN_A_CLAIM: u32 = 4;
/// The longest `max_duration`: what is derived from it is a processing TTL all the same.
const MAX_MAX_DURATION: Duration = Duration::from_millis(MAX_PROCESSING_MS / ATTEMPTS_IN_A_CLAIM as u64);

pub(super) struct Lifetimes {
    pub(super) max_duration: Duration,
    pub(super) processing_ttl: ProcessingTtl,
    pub(super) confirmed_ttl: Option<ConfirmedTtl>,
    pub(super) on_store_failure: OnStoreFailure,
    pub(super) causes: RouteCauses,
}

/// The table of a route's namespace, if the config has one.
type Shared<'t, 'a> = Option<(&'t Namespace, &'t RouteTable<'a>)>;

pub(super) fn read(section: &mut Section<'_>, shared: Shared<'_, '_>) -> Result<Lifetimes, Reported> {
    let max_duration = section.parse("max_duration", value::length(MAX_MAX_DURATION));
    let own = overrides(section);
    let (max_duration, own) = (max_duration?.unwrap_or(DEFAULT_MAX_DURATION), own?);
    let derived = ProcessingTtl::new(max_duration * ATTEMPTS_IN_A_CLAIM)
        .expect("MAX_MAX_DURATION is a quarter of the longest processing TTL");
    let processing = set(&own, shared, |set| set.processing_ttl);
    let confirmed = set(&own, shared, |set| set.confirmed_ttl);
    let failure = set(&own, shared, |set| set.on_store_failure);
    let (processing_ttl, processing_cause) = processing.unwrap_or((derived, Cause::MaxDuration));
    let (on_store_failure, failure_cause) = failure.unwrap_or((OnStoreFailure::Open, Cause::BuiltIn));
    refuse_short_claim(section, shared, &processing_cause, processing_ttl, max_duration)?;
    Ok(Lifetimes {
        max_duration,
        processing_ttl,
        confirmed_ttl: confirmed.as_ref().map(|(ttl, _)| *ttl),
        on_store_failure,
        causes: RouteCauses {
            processing_ttl: processing_cause,
            confirmed_ttl: confirmed.map(|(_, cause)| cause),
            on_store_failure: failure_cause,
        },
    })
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
fn refuse_short_claim(
    section: &Section<'_>,
    shared: Shared<'_, '_>,
    cause: &Cause,
    processing_ttl: ProcessingTtl,
    max_duration: Duration,
) -> Result<(), Reported> {
    if processing_ttl.as_duration() >= max_duration {
        return Ok(());
    }
    let place = match (cause, shared) {
        (Cause::Namespace(_), Some((_, table))) => &table.section,
        _ => section,
    };
    let max_duration = format_duration(max_duration);
    let route = section.dotted("max_duration");
    Err(place.fault(
        "processing_ttl",
        format_args!("must be at least the {max_duration} of {route}"),
    ))
}
