//! A config in words: what holds, and why. The lines of `onced check`.

mod delivery;
mod route;

use std::net::SocketAddr;

use crate::api::{ApiSettings, Scope};
use crate::ledger::{NamespaceSettings, OnStoreFailure};
use crate::proxy::HooksSettings;
use crate::quantity::format_duration;
use crate::store::{StoreSettings, SyncMode};

use super::Config;
use super::cause::NamespaceCauses;

/// Listeners, store, namespaces, routes, history and the drain: each line begins with what it is about.
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
    for (settings, lane) in config.routes.iter().zip(&config.lanes) {
        let causes = &config.causes.by_route[&settings.name];
        lines.extend(route::lines(settings, lane, causes));
    }
    if !config.routes.is_empty() {
        lines.push(delivery::history(config.history, &config.causes.history));
    }
    lines.push(format!("shutdown: drain {}", format_duration(config.shutdown.drain)));
    lines
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
