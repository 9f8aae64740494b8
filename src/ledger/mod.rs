//! The ledger.

mod settings;

pub use settings::{LedgerSettings, NamespaceSettings, OnStoreFailure};
