//! A claim whose answer has not reached its caller yet.

use std::sync::Arc;

use super::{Ask, Ledger};
use crate::claim::{Key, Token};

/// Releases the claim when dropped, unless it was kept: a grant that could not be written must not hold the key.
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

    /// The caller has it, or there was nothing to have.
    pub fn keep(&mut self) {
        self.inner = None;
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let Some((ledger, key, token)) = self.inner.take() else {
            return;
        };
        // The queue keeps its order, so this lands after the claim even if that is still under way.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(fault) = ledger.ask(key, Ask::Release { token }).await {
                    tracing::warn!(fault = %fault, "a grant that nobody received could not be released");
                }
            });
        }
    }
}
