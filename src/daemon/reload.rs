//! Loads the config anew while the daemon serves: routes, namespaces, providers, secrets and tokens, all or nothing.
//!
//! A config that has a fault, or that changes what only a restart can change (addresses, certificates' places, the store),
//! is refused as a whole and nothing changes. One that holds is put in the place of the old one part by part, each in one
//! step; requests that have come already go on by what they came to. Nothing of a reload is on disk: a process that dies
//! in the middle starts with the file as it is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::listeners::{Doors, Shared};
use super::workers::Workers;
use super::{listeners, namespaces};
use crate::api::{Api, ReloadCall, ReloadOutcome, ReloadRefused, Reloaded};
use crate::chain::Chain;
use crate::config::{Config, ConfigFaults};
use crate::delivery::Delivery;
use crate::ledger::Ledger;
use crate::metrics::Metrics;
use crate::proxy::Proxy;
use crate::server::Shutdown;

/// Faults that are logged one by one; who asked for the reload is told all of them.
const MAX_LOGGED_FAULTS: usize = 20;

/// Where a config comes from, once more.
pub type Load = Box<dyn Fn() -> Result<Config, ConfigFaults> + Send + Sync>;

/// How long a stop may drain; a reload may change it.
pub(super) type Drain = Arc<Mutex<Duration>>;

/// The parts that take another config.
pub(super) struct Reloader {
    pub(super) load: Arc<Load>,
    /// What holds: what a new config must not change is compared with it.
    pub(super) config: Config,
    /// Whether anybody listens for senders: without routes nobody does.
    pub(super) hears_senders: bool,
    pub(super) ledger: Arc<Ledger>,
    pub(super) api: Arc<Api>,
    pub(super) proxy: Arc<Proxy>,
    pub(super) delivery: Arc<Delivery>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) drain: Drain,
    pub(super) shared: Shared,
    pub(super) shutdown: Shutdown,
}

impl Reloader {
    /// Reloads whenever it is asked to. Ends only when a listener does that a reload has opened.
    pub(super) async fn run(mut self, mut calls: mpsc::Receiver<ReloadCall>) -> &'static str {
        let mut opened = Workers::default();
        loop {
            tokio::select! {
                call = calls.recv() => match call {
                    Some(call) => {
                        let outcome = self.reload(&mut opened).await;
                        self.note(&outcome);
                        // Whoever asked may have gone; the outcome is in the log.
                        let _gone = call.send(outcome);
                    }
                    None => return "the reload",
                },
                name = opened.ended() => return name,
            }
        }
    }

    async fn reload(&mut self, opened: &mut Workers) -> ReloadOutcome {
        let load = Arc::clone(&self.load);
        let loaded = tokio::task::spawn_blocking(move || load()).await;
        let config = match loaded {
            Ok(Ok(config)) => config,
            Ok(Err(faults)) => return Err(refused(faults.to_string().lines())),
            Err(_) => return Err(refused(["reading the config broke down"].into_iter())),
        };
        let fixed: Vec<_> = needs_restart(&self.config, &config).collect();
        if !fixed.is_empty() {
            let told = fixed.iter().map(|key| format!("{key}: a change needs a restart"));
            return Err(ReloadRefused { faults: told.collect() });
        }
        let doors = if !self.hears_senders && !config.routes.is_empty() {
            let doors = listeners::bind_hooks(&config).await;
            Some(doors.map_err(|fault| refused([Chain(&fault).to_string().as_str()].into_iter()))?)
        } else {
            None
        };
        let addresses = doors.as_ref().map_or_else(Vec::new, Doors::addresses);
        let reloaded = self.put(config, addresses);
        self.shared.follow(&self.config).await;
        self.proxy.prepare().await;
        // Served last: before, the first events would have found no route. Whoever comes meanwhile waits at the door.
        if let Some(doors) = doors {
            listeners::serve_hooks(doors, &self.proxy, &self.shared, &self.shutdown, opened);
            self.hears_senders = true;
        }
        Ok(reloaded)
    }

    /// Puts a config that holds into the place of the one before.
    fn put(&mut self, config: Config, opened: Vec<String>) -> Reloaded {
        self.ledger.replace_settings(namespaces(&config));
        self.proxy.replace_routes(&config.hooks, config.routes.clone());
        self.delivery.replace(config.lanes.clone(), config.history);
        self.api.replace_settings(config.api.clone());
        *self.drain.lock().unwrap_or_else(PoisonError::into_inner) = config.shutdown.drain;
        super::note_loaded(&self.ledger, &self.metrics);
        let warnings = config.warnings.iter().map(ToString::to_string).collect();
        let reloaded = Reloaded { routes: config.routes.len(), warnings, opened };
        self.config = config;
        reloaded
    }

    fn note(&self, outcome: &ReloadOutcome) {
        match outcome {
            Ok(Reloaded { routes, warnings, opened: _ }) => {
                for warning in warnings {
                    tracing::warn!("{warning}");
                }
                tracing::info!(routes, "the config was loaded anew");
            }
            Err(ReloadRefused { faults }) => {
                self.metrics.config_reload_failures.inc();
                for fault in faults.iter().take(MAX_LOGGED_FAULTS) {
                    tracing::error!("{fault}");
                }
                let faults = faults.len();
                tracing::error!(faults, "the config was not loaded anew: what held before holds on");
            }
        }
    }
}

fn refused<'f>(faults: impl Iterator<Item = &'f str>) -> ReloadRefused {
    ReloadRefused { faults: faults.map(str::to_owned).collect() }
}

/// The tables and keys in which two configs differ and that only a restart can change.
fn needs_restart(held: &Config, new: &Config) -> impl Iterator<Item = &'static str> {
    let fixed = [
        ("api.listen", held.api.listen == new.api.listen),
        ("api.socket", held.api.socket == new.api.socket),
        ("api.tls", held.api.tls == new.api.tls),
        ("hooks.listen", held.hooks.listen == new.hooks.listen),
        ("hooks.tls", held.hooks.tls == new.hooks.tls),
        ("store", held.store == new.store),
    ];
    fixed.into_iter().filter(|(_, same)| !same).map(|(key, _)| key)
}
