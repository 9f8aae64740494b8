//! Where an effective setting comes from: what `onced check` prints beside it.

use std::collections::BTreeMap;
use std::fmt;

use crate::claim::Namespace;

/// The part of the config that decided, or the rule that did where the config is silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Nothing was set.
    BuiltIn,
    /// `[defaults]`.
    Defaults,
    /// `[namespace.…]`.
    Namespace(Namespace),
    /// The route's own key.
    Route,
    /// The route's `[route.delivery]`.
    Delivery,
    /// `[history]`.
    History,
    /// It follows from the provider or from another key; the rule in words.
    Derived(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("default"),
            Self::Defaults => f.write_str("[defaults]"),
            Self::Namespace(name) if name.as_str().contains([':', '.']) => write!(f, "[namespace.\"{name}\"]"),
            Self::Namespace(name) => write!(f, "[namespace.{name}]"),
            Self::Route => f.write_str("[[route]]"),
            Self::Delivery => f.write_str("[route.delivery]"),
            Self::History => f.write_str("[history]"),
            Self::Derived(rule) => f.write_str(rule),
        }
    }
}

/// The causes of a namespace's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceCauses {
    /// Of the processing TTL.
    pub processing_ttl: Cause,
    /// Of the confirmed TTL.
    pub confirmed_ttl: Cause,
    /// Of what happens when the store cannot be asked.
    pub on_store_failure: Cause,
}

/// The causes of a route's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteCauses {
    /// Of how long the app may take.
    pub max_duration: Cause,
    /// Of the processing TTL.
    pub processing_ttl: Cause,
    /// Of the confirmed TTL.
    pub confirmed_ttl: Cause,
    /// Of how long the sender is kept waiting.
    pub answer_within: Cause,
    /// Of the largest body.
    pub max_body: Cause,
    /// Of what happens when the store cannot be asked.
    pub on_store_failure: Cause,
    /// Of what is kept of its events.
    pub record: Cause,
    /// Of how they are delivered.
    pub delivery: DeliveryCauses,
}

/// The causes of how a route's stored events are acknowledged and delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryCauses {
    /// Of the answer to an accepted event.
    pub acknowledge: Cause,
    /// Of how many go to the app at once.
    pub concurrency: Cause,
    /// Of how many it gets in a time.
    pub rate: Cause,
    /// Of when they go again.
    pub retry: RetryCauses,
    /// Of what opens the breaker.
    pub breaker_failures: Cause,
    /// Of how often an open one tries.
    pub breaker_probe: Cause,
}

/// The causes of when a failed attempt is made again, and when an event is given up on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryCauses {
    /// Of the first gap.
    pub backoff_base: Cause,
    /// Of the longest gap.
    pub backoff_cap: Cause,
    /// Of what `Retry-After` counts for.
    pub retry_after_cap: Cause,
    /// Of when an event is given up on.
    pub give_up_after: Cause,
    /// Of after how many attempts it is.
    pub max_attempts: Cause,
}

impl DeliveryCauses {
    /// Whether the route says anything about it.
    pub(super) fn any_set(&self) -> bool {
        let all = [
            &self.acknowledge,
            &self.concurrency,
            &self.rate,
            &self.retry.backoff_base,
            &self.retry.backoff_cap,
            &self.retry.retry_after_cap,
            &self.retry.give_up_after,
            &self.retry.max_attempts,
            &self.breaker_failures,
            &self.breaker_probe,
        ];
        all.contains(&&Cause::Delivery)
    }
}

/// The causes of what is kept of finished events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryCauses {
    /// Of for how long.
    pub keep: Cause,
    /// Of how much.
    pub max_bytes: Cause,
}

/// Every cause of a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Causes {
    /// For a namespace that nothing is said about.
    pub defaults: NamespaceCauses,
    /// For the namespaces that have a table.
    pub by_namespace: BTreeMap<Namespace, NamespaceCauses>,
    /// For the routes, by name; every route is here.
    pub by_route: BTreeMap<Box<str>, RouteCauses>,
    /// For the history.
    pub history: HistoryCauses,
}
