//! Watches over the commit thread. It cannot watch over itself: a disk that hangs takes it along.

use std::sync::Arc;
use std::time::Duration;

use crate::ledger::Ledger;
use crate::store::Store;

/// How often it looks.
const PERIOD: Duration = Duration::from_millis(250);
/// Rounds that contain a reopening may take this many commit deadlines: recovery reads the log.
const PATIENCE: u32 = 2;

/// After this time a round hangs.
pub(super) fn limit(store: &Store) -> Duration {
    store.commit_deadline() * PATIENCE
}

/// Ends when commits cannot be expected any more: the thread has ended, or one commit hangs. Callers were answered by
/// then, each by its own deadline; stuck threads keep the store's lock, so nothing but a new process can help.
pub(super) async fn commits(ledger: Arc<Ledger>) -> &'static str {
    let store = ledger.store();
    let limit = limit(store);
    let mut ticks = tokio::time::interval(PERIOD);
    loop {
        tokio::select! {
            () = store.ended() => return "the commit thread",
            _ = ticks.tick() => {}
        }
        let busy = store.busy_for();
        if busy > limit {
            tracing::error!(busy_ms = busy.as_millis(), "a commit hangs");
            return "a commit that hangs";
        }
    }
}
