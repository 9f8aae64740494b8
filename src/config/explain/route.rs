//! A route in words: its addresses and limits, and what becomes of its events.

use std::time::Duration;

use crate::delivery::LaneSettings;
use crate::provider::{Tolerance, Verifier};
use crate::proxy::{Mode, OnMissingId, RouteSettings};
use crate::quantity::{format_bytes, format_duration};

use super::super::cause::{Cause, RouteCauses};
use super::{delivery, failure};

/// Where its events come from and go to, then its limits, each with its cause, then how what is stored is delivered. The
/// last only where it is of use, or was asked for.
pub(super) fn lines(route: &RouteSettings, lane: &LaneSettings, causes: &RouteCauses) -> Vec<String> {
    let (mode, fallback) = match &route.mode {
        Mode::Sync => ("sync", ""),
        Mode::Queue { .. } => ("queue", ", while the store is down"),
    };
    let length = |key: &str, length: Duration, cause: &Cause| format!("{key} {} ({cause})", format_duration(length));
    let mut lines = vec![
        format!("{}, mode {mode}, {}, forward_to {}", route.path, sender(route), route.forward_to.uri()),
        format!("event_id {}", event_id(route)),
        format!("tolerance {}", tolerance(route)),
        length("max_duration", route.max_duration, &causes.max_duration),
        length("processing_ttl", route.processing_ttl.as_duration(), &causes.processing_ttl) + fallback,
        length("confirmed_ttl", route.confirmed_ttl.as_duration(), &causes.confirmed_ttl),
        length("answer_within", route.answer_within, &causes.answer_within) + fallback,
        format!("max_body {} ({})", format_bytes(route.max_body_bytes), causes.max_body),
        format!("on_store_failure {} ({})", failure(route.on_store_failure), causes.on_store_failure),
        format!("record {} ({}){}", record(route, lane), causes.record, kept_of_queue(route, lane)),
    ];
    if let Mode::Queue { acknowledge } = &route.mode {
        lines.push(format!("acknowledge {acknowledge} ({})", causes.delivery.acknowledge));
    }
    if !matches!(route.mode, Mode::Sync) || causes.delivery.any_set() {
        lines.extend(delivery::lines(lane, &causes.delivery));
    }
    lines.into_iter().map(|line| format!("route {}: {line}", route.name)).collect()
}

fn sender(route: &RouteSettings) -> String {
    match (&route.sender.verifier, &route.sender.provider) {
        (Some(_), Some(provider)) => provider.to_string(),
        (_, Some(provider)) => format!("{provider} unverified"),
        (_, None) => "unverified".to_owned(),
    }
}

/// How old or how far ahead the sender's timestamp may be.
fn tolerance(route: &RouteSettings) -> String {
    match route.sender.verifier.as_ref().map(Verifier::tolerance) {
        Some(Tolerance::Seconds(seconds)) => format_duration(Duration::from_secs(seconds)),
        Some(Tolerance::Off) | None => "off; no timestamp is held against the clock".to_owned(),
    }
}

/// Where its ids are, and what happens without one.
fn event_id(route: &RouteSettings) -> String {
    let without = match (route.on_missing_id, &route.mode) {
        (OnMissingId::Forward, Mode::Sync) => "forwarded unguarded",
        (OnMissingId::Forward, Mode::Queue { .. }) => "queued unguarded",
        (OnMissingId::Reject, _) => "refused",
        (OnMissingId::Hash, _) => "guarded by the hash of its body",
    };
    match &route.sender.event_id {
        Some(source) => format!("{source}; an event without one is {without}"),
        None => format!("none; each event is {without}"),
    }
}

/// The config's words say what is kept of a sender that waits; of a queue more is.
fn kept_of_queue(route: &RouteSettings, lane: &LaneSettings) -> &'static str {
    match (&route.mode, lane.keep_delivered) {
        (Mode::Sync, _) => "",
        (Mode::Queue { .. }, true) => ": dead letters stay, and delivered events for [history]",
        (Mode::Queue { .. }, false) => ": dead letters stay, a delivered event goes at once",
    }
}

/// In the config's word.
fn record(route: &RouteSettings, lane: &LaneSettings) -> &'static str {
    match (route.keep_passed, lane.keep_delivered) {
        (true, _) => "all",
        (false, true) => "failures",
        (false, false) => "off",
    }
}
