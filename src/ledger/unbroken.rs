//! Work that is finished though nobody waits for it any more.
//!
//! The transport drops a handler as soon as its caller has gone, wherever it awaits. A command that is in the commit queue
//! by then lands all the same, and what has to follow it (others are called, it is counted) must not be lost with the
//! caller. A task for every command was not taken: it costs more than the command, and hardly any caller goes.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// Runs where it is awaited, and becomes a task of its own when dropped before its end.
pub(super) struct Unbroken<T: Send + 'static> {
    /// `None` once it has ended.
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    orphans: TaskTracker,
}

impl<T: Send + 'static> Unbroken<T> {
    /// `orphans` gets the task, so that a stop can wait for it.
    pub(super) fn new(work: impl Future<Output = T> + Send + 'static, orphans: &TaskTracker) -> Self {
        Self { work: Some(Box::pin(work)), orphans: orphans.clone() }
    }
}

impl<T: Send + 'static> Future for Unbroken<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let work = self.work.as_mut().expect("a future is not polled again after its end");
        let ended = work.as_mut().poll(context);
        if ended.is_ready() {
            self.work = None;
        }
        ended
    }
}

impl<T: Send + 'static> Drop for Unbroken<T> {
    fn drop(&mut self) {
        // Without a runtime the process is at its end.
        if let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) {
            // Dropped within the task: what its outcome leaves to be done must begin before the task counts as ended.
            self.orphans.spawn_on(async move { drop(work.await) }, &runtime);
        }
    }
}
