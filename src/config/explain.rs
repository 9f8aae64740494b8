//! A config in words: what holds, and why. The lines of `onced check`.

use std::net::SocketAddr;
use std::time::Duration;

use crate::api::{ApiSettings, Scope};
use crate::ledger::{NamespaceSettings, OnStoreFailure};
use crate::provider::{Tolerance, Verifier};
use crate::proxy::{HooksSettings, OnMissingId, RouteSettings};
use crate::quantity::{format_bytes, format_duration};
use crate::store::{StoreSettings, SyncMode};

use super::Config;
use super::cause::{Cause, NamespaceCauses, RouteCauses};

/// Listeners, store, namespaces, routes and the drain: each line begins with what it is about.
#[must_use]
pub fn explain(config: &Config) -> Vec<String> {
    let mut lines = api(&config.api);
    if !config.routes.is_empty() {
        lines.push(hooks(&config.hooks));
    }
    lines.push(store(&config.store));
    for (name, causes) in &config.causes.by_namespace {
        lines.push(namespace(name.as_str(), config.ledger.of(name.as_str()), causes));
    }
    lines.push(namespace("any other", config.ledger.defaults, &config.causes.defaults));
    for settings in &config.routes {
        lines.extend(route(settings, &config.causes.by_route[&settings.name]));
    }
    lines.push(format!("shutdown: drain {}", format_duration(config.shutdown.drain)));
    lines
}

/// Where its events come from and go to, then its limits, each with its cause.
fn route(route: &RouteSettings, causes: &RouteCauses) -> [String; 8] {
    let name = &route.name;
    let sender = match (&route.sender.verifier, &route.sender.provider) {
        (Some(_), Some(provider)) => provider.to_string(),
        (_, Some(provider)) => format!("{provider} unverified"),
        (_, None) => "unverified".to_owned(),
    };
    let length = |key: &str, length: Duration, cause: &Cause| {
        format!("route {name}: {key} {} ({cause})", format_duration(length))
    };
    [
        format!("route {name}: {}, mode sync, {sender}, forward_to {}", route.path, route.forward_to.uri()),
        format!("route {name}: event_id {}", event_id(route)),
        format!("route {name}: tolerance {}", tolerance(route)),
        length("processing_ttl", route.processing_ttl.as_duration(), &causes.processing_ttl),
        length("confirmed_ttl", route.confirmed_ttl.as_duration(), &causes.confirmed_ttl),
        length("answer_within", route.answer_within, &causes.answer_within),
        format!("route {name}: max_body {} ({})", format_bytes(route.max_body_bytes), causes.max_body),
        format!("route {name}: on_store_failure {} ({})", failure(route.on_store_failure), causes.on_store_failure),
    ]
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
    let without = match route.on_missing_id {
        OnMissingId::Forward => "forwarded unguarded",
        OnMissingId::Reject => "refused",
        OnMissingId::Hash => "guarded by the hash of its body",
    };
    match &route.sender.event_id {
        Some(source) => format!("{source}; an event without one is {without}"),
        None => format!("none; each event is {without}"),
    }
}

fn api(api: &ApiSettings) -> Vec<String> {
    let loopback = match api.loopback {
        Some(Scope::Claim) => "claim",
        Some(Scope::Operate) => "operate",
        None => "none",
    };
    let mut lines = Vec::new();
    if !api.listen.is_empty() {
        let (addresses, tls) = (list(&api.listen), if api.tls.is_some() { ", TLS" } else { "" });
        lines.push(format!("api: tcp {addresses}{tls}, loopback without a token: {loopback}"));
    }
    if let Some(socket) = &api.socket {
        lines.push(format!("api: unix {}", socket.display()));
    }
    if !api.tokens.is_empty() {
        let names: Vec<_> = api.tokens.iter().map(|token| &token.name).collect();
        lines.push(format!("api: tokens {}", list(&names)));
    }
    lines
}

fn hooks(hooks: &HooksSettings) -> String {
    let tls = if hooks.tls.is_some() { ", TLS" } else { "" };
    format!("hooks: tcp {}{tls}", list::<SocketAddr>(&hooks.listen))
}

fn store(store: &StoreSettings) -> String {
    let sync = match store.sync {
        SyncMode::Always => "always",
        SyncMode::Interval => "interval",
    };
    let deadline = format_duration(store.commit_deadline);
    format!("store: {}, sync {sync}, commit_deadline {deadline}", store.dir.display())
}

fn namespace(name: &str, settings: NamespaceSettings, causes: &NamespaceCauses) -> String {
    let failure = failure(settings.on_store_failure);
    let processing = format_duration(settings.processing_ttl.as_duration());
    let confirmed = format_duration(settings.confirmed_ttl.as_duration());
    format!(
        "namespace {name}: processing_ttl {processing} ({}), confirmed_ttl {confirmed} ({}), on_store_failure {failure} ({})",
        causes.processing_ttl, causes.confirmed_ttl, causes.on_store_failure
    )
}

fn failure(on_store_failure: OnStoreFailure) -> &'static str {
    match on_store_failure {
        OnStoreFailure::Open => "open",
        OnStoreFailure::Closed => "closed",
    }
}

fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
