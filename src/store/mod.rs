//! The store.

mod settings;

pub use settings::{StoreSettings, SyncMode};
