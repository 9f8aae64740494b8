//! TLS for a listener: rustls with ring, TLS 1.2 and 1.3, no client certificates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig, crypto};

/// Why certificate and key cannot be used. The texts name paths: they are for the log of whoever starts the daemon.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The certificate file cannot be read or is no PEM.
    #[error("the certificate {} cannot be read", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// The certificate file holds no certificate.
    #[error("there is no certificate in {}", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The key file cannot be read or holds no private key.
    #[error("the private key {} cannot be read", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// They do not belong together, or are of a kind that ring does not know.
    #[error("certificate and private key cannot be used")]
    Unusable(#[source] rustls::Error),
}

/// The PEM files of a TLS listener, as the config names them. Whether they fit is seen by [`Tls::load`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, own certificate first.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// A certificate chain with its key, ready for handshakes.
#[derive(Clone)]
pub struct Tls(pub(super) TlsAcceptor);

impl Tls {
    /// Reads a PEM chain (own certificate first) and its PEM key.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = read_chain(certificate)?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(|source| TlsError::Key { path: key.into(), source })?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(TlsError::Unusable)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable = |source| TlsError::Certificate { path: path.into(), source };
    let chain = CertificateDer::pem_file_iter(path)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(unreadable)?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: path.into() });
    }
    Ok(chain)
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}
