//! Stops listeners and connections, by a deadline.
//!
//! hyper's own graceful shutdown waits as long as the slowest peer likes, so the deadline is ours: what is not
//! finished by then is cut, and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The settings of `[shutdown]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownSettings {
    /// How long requests under way may go on after the signal to stop.
    pub drain: Duration,
}

/// The handle by which any number of [`serve`](super::serve())s are stopped; clones are the same handle.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Cancelled: accept nothing more, finish what is in flight.
    pub(super) stop: CancellationToken,
    /// Cancelled: the deadline has passed, let go of everything.
    pub(super) cut: CancellationToken,
    /// The accept loops and their connections.
    pub(super) tasks: TaskTracker,
    ends: Arc<Ends>,
}

#[derive(Debug, Default)]
struct Ends {
    finished: AtomicUsize,
    cut: AtomicUsize,
}

/// How the connections that were open when the stop began have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// By themselves: they were idle, or their last answer was given to them.
    pub finished: usize,
    /// By the deadline, with a request in flight.
    pub cut: usize,
}

impl Shutdown {
    /// A handle of which nothing has been asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops accepting and closes idle connections at once. Requests in flight, those with half a body too, are finished,
    /// and their answers carry `Connection: close`. A head that has begun has a second for the rest of it.
    pub fn begin(&self) {
        self.stop.cancel();
    }

    /// Waits until somebody has called [`begin`](Self::begin).
    pub async fn begun(&self) {
        self.stop.cancelled().await;
    }

    /// Begins, if nobody has, and waits until every listener and connection has ended; at the deadline it cuts those
    /// that have not.
    pub async fn drain(&self, deadline: Instant) -> Drained {
        self.begin();
        self.tasks.close();
        if timeout_at(deadline, self.tasks.wait()).await.is_err() {
            self.cut.cancel();
            self.tasks.wait().await;
        }
        let Ends { finished, cut } = &*self.ends;
        Drained { finished: finished.load(Ordering::Relaxed), cut: cut.load(Ordering::Relaxed) }
    }

    /// Counts one connection's end, which is when the value is dropped: a handler's panic ends it too.
    pub(super) fn count(&self) -> Counted {
        Counted(self.clone())
    }
}

pub(super) struct Counted(Shutdown);

impl Drop for Counted {
    fn drop(&mut self) {
        let Shutdown { stop, cut, ends, .. } = &self.0;
        if cut.is_cancelled() {
            ends.cut.fetch_add(1, Ordering::Relaxed);
        } else if stop.is_cancelled() {
            ends.finished.fetch_add(1, Ordering::Relaxed);
        }
    }
}
