//! The history of events that went well while their sender waited, on a route that records all of them.
//!
//! It is for people who look into what happened, so it holds up nobody: the sender has its answer before. What cannot be
//! kept, or finds too many others on their way, is counted and let go. If the process dies first, the history lacks the
//! event; its claim is safe.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::chain::Chain;
use crate::event::{Content, Passed};
use crate::ledger::Ledger;
use crate::metrics::{ByRouteAndReason, Metrics};
use crate::quiet::Quiet;

/// Events that may be on their way into the history at once, each with its body.
const MAX_ON_THEIR_WAY: usize = 1_000;

/// The way into the history; clones are the same.
#[derive(Debug, Clone)]
pub(super) struct History {
    ledger: Arc<Ledger>,
    metrics: Arc<Metrics>,
    tasks: TaskTracker,
    places: Arc<Semaphore>,
    quiet: Arc<Quiet<()>>,
}

impl History {
    /// `tasks` is what a stop waits for.
    pub(super) fn new(ledger: Arc<Ledger>, metrics: Arc<Metrics>, tasks: TaskTracker) -> Self {
        Self { ledger, metrics, tasks, places: Arc::new(Semaphore::new(MAX_ON_THEIR_WAY)), quiet: Arc::default() }
    }

    /// Keeps an event, some time soon.
    pub(super) fn keep(&self, passed: Passed, content: impl Future<Output = Content> + Send + 'static) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return self.let_go(&passed.route, "crowded", &"too many events are on their way into the history");
        };
        let history = self.clone();
        self.tasks.spawn(async move {
            let (_place, route) = (place, passed.route.clone());
            if let Err(why) = history.ledger.store().keep_passed(passed, content.await).await {
                history.let_go(&route, why.as_str(), &Chain(&why));
            }
        });
    }

    fn let_go(&self, route: &str, reason: &'static str, why: &dyn std::fmt::Display) {
        let labels = ByRouteAndReason { route: route.to_owned(), reason };
        self.metrics.events_not_recorded.get_or_create(&labels).inc();
        if let Some(left_out) = self.quiet.permits(route, ()) {
            tracing::warn!(%route, error = %why, left_out, "the history lacks an event that its app has handled");
        }
    }
}
