//! What can be set about the claims of a namespace.

use std::collections::HashMap;

use crate::claim::{ConfirmedTtl, Namespace, ProcessingTtl};
pub use crate::store::OnStoreFailure;

/// What holds for the claims of one namespace where a request says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamespaceSettings {
    /// How long a claim lives unfinished.
    pub processing_ttl: ProcessingTtl,
    /// How long a finished key is remembered.
    pub confirmed_ttl: ConfirmedTtl,
    /// What happens when the store cannot be asked.
    pub on_store_failure: OnStoreFailure,
}

impl Default for NamespaceSettings {
    fn default() -> Self {
        Self {
            processing_ttl: ProcessingTtl::clamped_ms(120_000),
            confirmed_ttl: ConfirmedTtl::clamped_ms(7 * 24 * 3_600_000),
            on_store_failure: OnStoreFailure::Open,
        }
    }
}

/// `[defaults]` and the overrides of `[namespace.…]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerSettings {
    /// What holds for a namespace that nothing is said about.
    pub defaults: NamespaceSettings,
    /// What holds for the others, complete: the config has filled in the defaults.
    pub by_namespace: HashMap<Namespace, NamespaceSettings>,
}

impl LedgerSettings {
    /// What holds for a namespace.
    #[must_use]
    pub fn of(&self, namespace: &str) -> NamespaceSettings {
        self.by_namespace.get(namespace).copied().unwrap_or(self.defaults)
    }
}
