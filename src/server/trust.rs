//! TLS towards apps: rustls with ring and the machine's own root certificates.
//!
//! The roots are read once, when they are first needed; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others, as they do for
//! OpenSSL. An app's certificate must be for the name in its URL; there is no switch that lets another pass.

use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore, crypto};

/// Why no certificate of an app can be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// This machine has none, or they cannot be read; the log says which file.
    #[error("this machine has no root certificates that could be read")]
    NoRoots,
    /// rustls does not take the settings.
    #[error("TLS cannot be set up")]
    Settings(#[source] Error),
    /// The thread that was to read them.
    #[error("reading the root certificates broke down")]
    Thread(#[source] tokio::task::JoinError),
}

/// Reads the roots; what is no certificate among them is told and left out.
pub(super) async fn connector() -> Result<TlsConnector, TrustError> {
    let found =
        tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await.map_err(TrustError::Thread)?;
    for error in &found.errors {
        tracing::warn!(%error, "a root certificate could not be read");
    }
    let mut roots = RootCertStore::empty();
    let (taken, left) = roots.add_parsable_certificates(found.certs);
    if taken == 0 {
        return Err(TrustError::NoRoots);
    }
    tracing::info!(taken, left, "root certificates read for apps behind https");
    let mut config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TrustError::Settings)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
