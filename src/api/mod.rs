//! The control API.

mod settings;

pub use settings::{ApiSettings, BearerToken, BearerTokenError, MIN_BEARER_BYTES, Scope, TlsFiles, TokenSettings};
