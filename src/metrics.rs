//! What is counted and measured. A leaf: it knows names, labels and units, and nothing of what they stand for.
//!
//! Names and labels are a contract with dashboards and alerts; the text form is Prometheus' own (`/metrics`).

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
pub use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// The content type of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Labels of a count of claims.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByOutcome {
    /// Whose claim.
    pub namespace: String,
    /// What the command came to.
    pub outcome: &'static str,
}

/// Labels of a count of degraded answers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByReason {
    /// Whose claim.
    pub namespace: String,
    /// Why: a fault of the store, or `no_event_id`.
    pub reason: &'static str,
}

/// The label of a count by namespace alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByNamespace {
    /// Whose claim.
    pub namespace: String,
}

/// Labels of a count of webhooks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByRoute {
    /// The route's name.
    pub route: String,
    /// What the sender was told.
    pub outcome: &'static str,
}

/// Labels of a count of hand-overs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByApp {
    /// The route's name.
    pub route: String,
    /// The app: its host, and its port where that is not the scheme's own.
    pub app: String,
    /// What became of the hand-over.
    pub outcome: &'static str,
}

/// The label of a gauge of apps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByAppAlone {
    /// The app: its host, and its port where that is not the scheme's own.
    pub app: String,
}

/// The label of a gauge of routes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByRouteAlone {
    /// The route's name.
    pub route: String,
}

/// Labels of a gauge of dead letters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByCause {
    /// The route's name.
    pub route: String,
    /// Why they were given up on.
    pub cause: &'static str,
}

/// Labels of a gauge of events.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByRouteAndState {
    /// The route's name.
    pub route: String,
    /// queued, delivering, delivered, dead or passed.
    pub state: &'static str,
}

/// Labels of a count of events that could not be kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByRouteAndReason {
    /// The route's name.
    pub route: String,
    /// Why: a fault of the store, or the limit that was reached.
    pub reason: &'static str,
}

/// The label of a gauge of records.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByState {
    /// held, free or done.
    pub state: &'static str,
}

/// The label of a gauge by provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByProvider {
    /// The profile's name.
    pub provider: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

/// All counters, gauges and histograms of one daemon.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Commands by what they came to.
    pub claims: Family<ByOutcome, Counter>,
    /// Answers that came from memory while the store was down, and events that had no id to be claimed by.
    pub degraded: Family<ByReason, Counter>,
    /// Confirms of a claim that had ended or passed to somebody else.
    pub late_confirms: Family<ByNamespace, Counter>,
    /// Webhooks by what their sender was told.
    pub hooks: Family<ByRoute, Counter>,
    /// Hand-overs by what became of them.
    pub attempts: Family<ByApp, Counter>,
    /// How long hand-overs took.
    pub attempt_seconds: Histogram,
    /// Whether the breaker of an app is open.
    pub breaker_open: Family<ByAppAlone, Gauge>,
    /// How long ago the event arrived that has waited longest for its delivery.
    pub queue_oldest_seconds: Family<ByRouteAlone, Gauge>,
    /// Events that are kept, by state.
    pub queue_events: Family<ByRouteAndState, Gauge>,
    /// Bytes that events take.
    pub event_bytes: Gauge,
    /// Events that were given up on and are kept.
    pub dead_letters: Family<ByCause, Gauge>,
    /// Events that are kept and whose entries cannot be read.
    pub unreadable_events: Gauge,
    /// Events that should have been kept and could not be.
    pub events_not_kept: Family<ByRouteAndReason, Counter>,
    /// Events that went well and that the history lacks.
    pub events_not_recorded: Family<ByRouteAndReason, Counter>,
    /// Records of each state, as the last sweep counted them.
    pub store_records: Family<ByState, Gauge>,
    /// Bytes that the store takes on the disk.
    pub store_disk_bytes: Gauge,
    /// Bytes that are free on the store's file system.
    pub store_free_bytes: Gauge,
    /// How long commits took, from the first decision to the end of the sync.
    pub commit_seconds: Histogram,
    /// How many jobs shared one commit.
    pub commit_group_size: Histogram,
    /// The sender's clock minus ours, as the last signed timestamp had it.
    pub sender_clock_skew_seconds: Family<ByProvider, Gauge>,
    /// Records that the sweep has removed.
    pub swept: Counter,
    /// When the config in force was loaded.
    pub config_loaded_seconds: Gauge,
    /// `onced_config_reload_failures_total`
    pub config_reload_failures: Counter,
}

impl Metrics {
    /// Everything at zero.
    #[must_use]
    pub fn new() -> Self {
        // 100 µs to 13 s: a commit on a good disk takes some 200 µs, the default deadline is 5 s.
        let commit = || Histogram::new(exponential_buckets(0.000_1, 2.0, 18));
        // 1 ms to 131 s: apps are given 30 s by default.
        let attempt = Histogram::new(exponential_buckets(0.001, 2.0, 18));
        let mut metrics = Self {
            registry: Registry::default(),
            claims: Family::default(),
            degraded: Family::default(),
            late_confirms: Family::default(),
            hooks: Family::default(),
            attempts: Family::default(),
            attempt_seconds: attempt,
            breaker_open: Family::default(),
            queue_oldest_seconds: Family::default(),
            queue_events: Family::default(),
            event_bytes: Gauge::default(),
            dead_letters: Family::default(),
            unreadable_events: Gauge::default(),
            events_not_kept: Family::default(),
            events_not_recorded: Family::default(),
            store_records: Family::default(),
            store_disk_bytes: Gauge::default(),
            store_free_bytes: Gauge::default(),
            commit_seconds: commit(),
            commit_group_size: Histogram::new(exponential_buckets(1.0, 2.0, 12)),
            sender_clock_skew_seconds: Family::default(),
            swept: Counter::default(),
            config_loaded_seconds: Gauge::default(),
            config_reload_failures: Counter::default(),
        };
        metrics.register();
        metrics
    }

    /// The library appends `_total` to the names of counters.
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("onced_claims", "Commands on claims by namespace and outcome", self.claims.clone());
        registry.register(
            "onced_degraded",
            "Answers given from memory while the store was down, and events handed over unguarded for want of an id",
            self.degraded.clone(),
        );
        registry.register("onced_late_confirms", "Confirms after the claim had ended", self.late_confirms.clone());
        registry.register("onced_hooks", "Webhooks by what their sender was told", self.hooks.clone());
        registry.register("onced_attempts", "Hand-overs to apps by outcome", self.attempts.clone());
        registry.register("onced_attempt_seconds", "Duration of hand-overs to apps", self.attempt_seconds.clone());
        registry.register("onced_breaker_open", "Whether the breaker of an app is open", self.breaker_open.clone());
        registry.register(
            "onced_queue_oldest_seconds",
            "Age of the event that has waited longest for its delivery",
            self.queue_oldest_seconds.clone(),
        );
        registry.register("onced_queue_events", "Events that are kept, by state", self.queue_events.clone());
        registry.register("onced_event_bytes", "Bytes that kept events take", self.event_bytes.clone());
        registry.register("onced_dead_letters", "Events given up on and kept", self.dead_letters.clone());
        registry.register(
            "onced_unreadable_events",
            "Events that are kept and cannot be read, as they were counted last",
            self.unreadable_events.clone(),
        );
        registry.register(
            "onced_events_not_kept",
            "Events given up on that could not be kept",
            self.events_not_kept.clone(),
        );
        registry.register(
            "onced_events_not_recorded",
            "Events that went well and that the history lacks",
            self.events_not_recorded.clone(),
        );
        registry.register("onced_store_records", "Records by state at the last sweep", self.store_records.clone());
        registry.register("onced_store_disk_bytes", "Bytes of the store's files", self.store_disk_bytes.clone());
        registry.register("onced_store_free_bytes", "Free bytes beside the store", self.store_free_bytes.clone());
        registry.register("onced_commit_seconds", "Duration of commits", self.commit_seconds.clone());
        registry.register("onced_commit_group_size", "Jobs in one commit", self.commit_group_size.clone());
        registry.register(
            "onced_sender_clock_skew_seconds",
            "The sender's clock minus ours at its last timestamp",
            self.sender_clock_skew_seconds.clone(),
        );
        registry.register("onced_swept", "Records removed by the sweep", self.swept.clone());
        registry.register(
            "onced_config_loaded_seconds",
            "Unix time at which the config was loaded",
            self.config_loaded_seconds.clone(),
        );
        registry.register(
            "onced_config_reload_failures",
            "Configs that were to be loaded anew and could not hold",
            self.config_reload_failures.clone(),
        );
        let build = Family::<Build, Gauge>::default();
        build.get_or_create(&Build { version: env!("CARGO_PKG_VERSION") }).set(1);
        registry.register("onced_build_info", "The version of this program", build);
    }

    /// The text that Prometheus reads.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a String takes every write");
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_names_are_there() {
        let metrics = Metrics::new();
        metrics.claims.get_or_create(&ByOutcome { namespace: "a".into(), outcome: "claimed" }).inc();
        let text = metrics.render();
        assert!(text.contains("onced_claims_total{namespace=\"a\",outcome=\"claimed\"} 1"), "{text}");
        for name in ["onced_build_info{version=", "onced_swept_total 0", "onced_commit_seconds_count 0"] {
            assert!(text.contains(name), "{name} is missing in {text}");
        }
    }
}
