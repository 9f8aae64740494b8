//! The running daemon: puts the parts together, and takes them apart in order.
//!
//! Start: store, ledger, the claims that the process before has left, listeners, workers, ready. A start that fails says why and leaves nothing behind. Stop, with a
//! log line each: not ready, accept nothing more, drain to the deadline (and finish what the cut callers have begun), stop
//! the sweep, commit, close. A worker or listener that ends while nobody asked it to ends the daemon, so that the service
//! manager can start it anew.

mod listeners;
mod orphans;
mod reload;
mod watch;
mod workers;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use crate::api::ReloadDoor;
use listeners::Shared;
pub use listeners::{Bound, Certificates, ListenFault};
pub use reload::Load;

use crate::api::Api;
use crate::app::Apps;
use crate::clock::Source;
use crate::config::Config;
use crate::delivery::Delivery;
use crate::ledger::{Ledger, LedgerSettings, NamespaceSettings};
use crate::metrics::Metrics;
use crate::proxy::Proxy;
use crate::server::Shutdown;
use crate::store::{NotClosed, OpenError, Store};
use crate::sweep;
use reload::{Drain, Reloader};
use workers::Workers;

/// Attempts that the drain cuts are settled, and their events kept, within this time: a commit's deadline.
const KEEPING: Duration = Duration::from_secs(5);
/// What callers leave behind when the drain cuts them is finished within this time: two commits, one after the other.
const AFTERMATH: Duration = Duration::from_secs(1);

/// What the daemon stands in: the machine, or a test.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Where the time comes from.
    pub source: Source,
    /// Whether sled's flush is a real sync in this process ([`crate::store::force_real_sync`]).
    pub real_sync: bool,
}

/// Why the daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// A listener.
    #[error(transparent)]
    Listen(#[from] ListenFault),
    /// A thread that was to start it.
    #[error("a thread broke down")]
    Thread(#[source] tokio::task::JoinError),
}

/// Why the daemon ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} ended")]
pub struct Ended(&'static str);

/// A daemon that serves.
#[derive(Debug)]
pub struct Daemon {
    ledger: Arc<Ledger>,
    metrics: Arc<Metrics>,
    api: Arc<Api>,
    proxy: Arc<Proxy>,
    delivery: Arc<Delivery>,
    /// As it was at the start.
    config: Config,
    reloads: ReloadDoor,
    bound: Bound,
    shared: Shared,
    shutdown: Shutdown,
    stopping: CancellationToken,
    /// Tasks that never end by themselves, the listeners among them.
    workers: Workers,
    drain: Drain,
}

impl Daemon {
    /// Starts a daemon. When this returns it serves.
    ///
    /// # Errors
    /// Where the store cannot be opened or an address cannot be had.
    pub async fn start(config: Config, surroundings: Surroundings) -> Result<Self, StartError> {
        let metrics = Arc::new(Metrics::new());
        let store = open_store(&config, surroundings, Arc::clone(&metrics)).await?;
        let ledger = Arc::new(Ledger::new(store, namespaces(&config), Arc::clone(&metrics)));
        let (shutdown, stopping) = (Shutdown::new(), CancellationToken::new());
        let reloads = ReloadDoor::default();
        let apps = Apps::new(Arc::clone(&metrics));
        let (of_ledger, of_metrics) = (Arc::clone(&ledger), Arc::clone(&metrics));
        let proxy = Proxy::new(of_ledger, of_metrics, apps.clone(), &config.hooks, config.routes.clone());
        let proxy = Arc::new(proxy);
        proxy.prepare().await;
        let (of_ledger, of_metrics, lanes) = (Arc::clone(&ledger), Arc::clone(&metrics), config.lanes.clone());
        let delivery = Arc::new(Delivery::new(of_ledger, of_metrics, apps, lanes, config.history));
        let (of_ledger, of_metrics, delivered) = (Arc::clone(&ledger), Arc::clone(&metrics), Arc::clone(&delivery));
        let callers = config.api.clone();
        let api = Arc::new(Api::new(of_ledger, delivered, of_metrics, callers, reloads.clone(), stopping.clone()));
        let mut workers = Workers::default();
        orphans::settle(&ledger, &config.routes).await;
        let shared = Shared::new(&config);
        let bound = match listeners::serve(&config, &api, &proxy, &shared, &shutdown, &mut workers).await {
            Ok(bound) => bound,
            Err(fault) => {
                // The listener's fault is the one to tell; the store has logged its own.
                let _closed = ledger.store().close().await;
                return Err(fault.into());
            }
        };
        let (swept, counted) = (Arc::clone(&ledger), Arc::clone(&metrics));
        workers.start("the sweep", async move {
            sweep::run(swept, counted).await;
            "the sweep"
        });
        workers.start("the watch over the commits", watch::commits(Arc::clone(&ledger)));
        deliver(&delivery, &mut workers);
        note_loaded(&ledger, &metrics);
        tracing::info!("ready");
        let drain = Arc::new(Mutex::new(config.shutdown.drain));
        Ok(Self {
            ledger,
            metrics,
            api,
            proxy,
            delivery,
            config,
            reloads,
            bound,
            shared,
            shutdown,
            stopping,
            workers,
            drain,
        })
    }

    /// Lets the config be loaded anew, from where `load` says.
    #[must_use]
    pub fn reloading(mut self, load: Load) -> Self {
        if let Some(calls) = self.reloads.open() {
            let reloader = Reloader {
                load: Arc::new(load),
                config: self.config.clone(),
                hears_senders: !self.bound.hooks.is_empty(),
                ledger: Arc::clone(&self.ledger),
                api: Arc::clone(&self.api),
                proxy: Arc::clone(&self.proxy),
                delivery: Arc::clone(&self.delivery),
                metrics: Arc::clone(&self.metrics),
                drain: Arc::clone(&self.drain),
                shared: self.shared.clone(),
                shutdown: self.shutdown.clone(),
            };
            self.workers.start("the reload", reloader.run(calls));
        }
        self
    }

    /// Where a reload is asked for.
    #[must_use]
    pub fn reloads(&self) -> &ReloadDoor {
        &self.reloads
    }

    /// Where it listens.
    #[must_use]
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// The certificates of its listeners, for whoever is told that they have changed. That they have is noticed anyway,
    /// within seconds.
    #[must_use]
    pub fn certificates(&self) -> &Certificates {
        &self.shared.certificates
    }

    /// The ledger, for tests that look behind the scenes.
    #[must_use]
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// The delivery, for tests that look behind the scenes.
    #[must_use]
    pub fn delivery(&self) -> &Arc<Delivery> {
        &self.delivery
    }

    /// What it counts.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Serves until `stop` comes, then stops in order.
    ///
    /// # Errors
    /// When a part ended by itself; there is no order then, and nothing to wait for.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Result<(), Ended> {
        tokio::select! {
            () = stop => {}
            name = self.workers.ended() => {
                tracing::error!(part = name, "a part of the daemon ended; the daemon ends too");
                return Err(Ended(name));
            }
        }
        self.stop().await
    }

    /// Stops in order.
    ///
    /// # Errors
    /// When the last commit hangs, and there is nothing to wait for, or when the store cannot be closed in order.
    pub async fn stop(mut self) -> Result<(), Ended> {
        self.stopping.cancel();
        let drain = *self.drain.lock().unwrap_or_else(PoisonError::into_inner);
        tracing::info!(drain_ms = drain.as_millis(), "stopping: not ready, accepting nothing more");
        let deadline = Instant::now() + drain;
        self.delivery.stop();
        let drained = self.shutdown.drain(deadline).await;
        // Attempts whose senders have gone go on by themselves.
        let mut attempts_ended = tokio::time::timeout_at(deadline, self.attempts()).await.is_ok();
        tracing::info!(finished = drained.finished, cut = drained.cut, attempts_ended, "drained");
        if !attempts_ended {
            // What apps are still at is settled as unknown, and kept where its sender would not bring it again.
            self.proxy.cut();
            self.delivery.cut();
            let last = Instant::now() + KEEPING;
            attempts_ended = tokio::time::timeout_at(last, self.attempts()).await.is_ok();
            tracing::warn!(attempts_ended, "attempts that were under way are cut");
        }
        // Callers that the deadline cut leave claims behind that nobody has: it is past, and yet they are to be released.
        let last = deadline.max(Instant::now() + AFTERMATH);
        let all_finished = tokio::time::timeout_at(last, self.ledger.finish()).await.is_ok();
        if !all_finished {
            tracing::warn!("what callers have left behind could not be finished");
        }
        if attempts_ended && all_finished {
            self.ledger.store().note_holders_gone();
        }
        // The listeners have ended with the drain.
        self.workers.stop().await;
        tracing::info!("workers stopped");
        // The watch over the commits is one of the workers, and gone.
        let store = self.ledger.store();
        match tokio::time::timeout(watch::limit(store), store.close()).await {
            Ok(Ok(())) => tracing::info!("stopped"),
            Ok(Err(NotClosed)) => return Err(Ended("a store that was not closed in order")),
            Err(_) => {
                tracing::error!("the last commit hangs");
                return Err(Ended("a commit that hangs"));
            }
        }
        Ok(())
    }

    /// Waits until every attempt that is under way has ended.
    async fn attempts(&self) {
        tokio::join!(self.proxy.finish(), self.delivery.finish());
    }
}

/// Starts handing over what is queued, and what belongs to that.
fn deliver(delivery: &Arc<Delivery>, workers: &mut Workers) {
    workers.start("the delivery", Arc::clone(delivery).run());
    let redriven = Arc::clone(delivery);
    workers.start("the redrive", async move { match redriven.work_off_redrives().await {} });
    let kept = Arc::clone(delivery);
    workers.start("the housekeeping of the queue", async move { match kept.keep_house().await {} });
}

/// Notes when the config that holds was loaded.
fn note_loaded(ledger: &Ledger, metrics: &Metrics) {
    let loaded = ledger.clock().wall_now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    metrics.config_loaded_seconds.set(i64::try_from(loaded.as_secs()).unwrap_or(i64::MAX));
}

/// The namespaces of the claim API, and those of the routes.
fn namespaces(config: &Config) -> LedgerSettings {
    let mut settings = config.ledger.clone();
    for route in &config.routes {
        let namespace = NamespaceSettings {
            processing_ttl: route.processing_ttl,
            confirmed_ttl: route.confirmed_ttl,
            on_store_failure: route.on_store_failure,
        };
        settings.by_namespace.insert(route.namespace.clone(), namespace);
    }
    settings
}

async fn open_store(config: &Config, surroundings: Surroundings, metrics: Arc<Metrics>) -> Result<Store, StartError> {
    let settings = config.store.clone();
    let Surroundings { source, real_sync } = surroundings;
    let dir = settings.dir.clone();
    let open = move || Store::open(settings, source, real_sync, metrics);
    let store = tokio::task::spawn_blocking(open).await.map_err(StartError::Thread)??;
    // The whole path: a daemon that was started elsewhere remembers elsewhere.
    let dir = dir.canonicalize().unwrap_or(dir);
    tracing::info!(dir = %dir.display(), "the store is open");
    Ok(store)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
mod tests {
    use super::*;
    use crate::config::{self, Environment};

    /// It went on, called itself ready, and heard nobody.
    #[tokio::test]
    async fn a_daemon_that_loses_its_listener_ends_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        let text = format!("[api]\nlisten = \"127.0.0.1:0\"\nsocket = \"\"\n[store]\ndir = {store:?}\n");
        let config = config::parse(&text, &dir.path().join("onced.toml"), &Environment::default()).unwrap();
        let daemon = Daemon::start(config, Surroundings { source: Source::machine(), real_sync: false }).await.unwrap();
        // The accept loop returns, as it would at a stop.
        daemon.shutdown.begin();
        let ended = tokio::time::timeout(Duration::from_secs(20), daemon.run(std::future::pending())).await;
        assert_eq!(ended.unwrap().unwrap_err().to_string(), "a listener ended");
    }
}
