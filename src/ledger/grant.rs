//! A claim whose answer has not reached its caller yet.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::{Ask, Ledger};
use crate::claim::{Key, Token};

/// Releases the claim when dropped, unless it was kept: a grant that could not be written must not hold the key.
///
/// There is one for a claim that this very call has made. A repeated one is its caller's since an earlier answer: the
/// caller may be at work, whatever became of the repetition.
#[derive(Debug)]
pub struct Grant {
    inner: Option<(Arc<Ledger>, Key, Token)>,
}

impl Grant {
    pub(super) fn armed(ledger: Arc<Ledger>, key: Key, token: Token) -> Self {
        Self { inner: Some((ledger, key, token)) }
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
        if let (Some((ledger, key, token)), Ok(runtime)) = (self.inner.take(), Handle::try_current()) {
            let orphans = ledger.orphans.clone();
            let release = async move {
                if let Err(fault) = ledger.ask(key, Ask::Release { token }).await {
                    tracing::warn!(fault = %fault, "a grant that nobody received could not be released");
                }
            };
            orphans.spawn_on(release, &runtime);
        }
    }
}
