//! A claim whose answer has not reached its caller yet.

use std::sync::Arc;
use std::task::{Context, Waker};

use tokio::runtime::Handle;

use super::pledges::Pledge;
use super::{Ask, Ledger};
use crate::claim::{Key, Token};

/// Releases the claim when dropped, unless it was kept: a grant that could not be written must not hold the key.
///
/// There is one for a claim that this very call has made. A repeated one is its caller's since an earlier answer: the
/// caller may be at work, whatever became of the repetition.
#[derive(Debug)]
pub struct Grant {
    inner: Option<(Arc<Ledger>, Pledge)>,
}

impl Grant {
    pub(super) fn armed(ledger: Arc<Ledger>, pledge: Pledge) -> Self {
        Self { inner: Some((ledger, pledge)) }
    }

    /// Hands the release over: whoever holds the receipt calls it if the answer was not written.
    pub fn into_receipt(mut self) -> impl FnOnce() + Send + 'static {
        let inner = self.inner.take();
        move || drop(Self { inner })
    }

    /// The caller has it.
    pub fn keep(&mut self) {
        self.inner = None;
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        // Without a runtime the process is at its end, and the claim expires.
        let (Some((ledger, pledge)), Ok(runtime)) = (self.inner.take(), Handle::try_current()) else {
            return;
        };
        pledge.redeem(|key, token| {
            let mut release = Box::pin(release(Arc::clone(&ledger), key, token));
            // The first poll puts it into the queue; the second one, in the task, brings the waker.
            if release.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                ledger.orphans.spawn_on(release, &runtime);
            }
        });
    }
}

async fn release(ledger: Arc<Ledger>, key: Key, token: Token) {
    if let Err(fault) = ledger.carry_out(key, Ask::Release { token }).await {
        tracing::warn!(fault = %fault, "a grant that nobody received could not be released");
    }
}
