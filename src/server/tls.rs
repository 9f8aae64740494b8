//! TLS for a listener: rustls with ring, TLS 1.2 and 1.3, no client certificates.
//!
//! Certificates are renewed every few weeks by programs that know nothing of us, so the files are looked at again and
//! again ([`keep_fresh`]). A handshake uses the pair that was good last; connections that are open keep theirs. A pair
//! that cannot be used, as when only one of the two files has been replaced yet, changes nothing, and is told once.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig, crypto};

use crate::chain::Chain;

/// How often the files are looked at. Four calls to stat cost nothing, and whoever has replaced a certificate by hand and
/// looks whether it is served has no more patience than this.
const LOOK: Duration = Duration::from_secs(3);

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

/// A certificate chain with its key, ready for handshakes. Clones share it, also after a reload.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    files: TlsFiles,
    pair: RwLock<Pair>,
}

/// What is used, and the files as they were when they were last looked at.
struct Pair {
    acceptor: TlsAcceptor,
    seen: [Option<Print>; 2],
}

/// What tells one state of a file from another: a renewal replaces the file or rewrites it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Print {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Tls {
    /// Reads a PEM chain (own certificate first) and its PEM key.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let files = TlsFiles { cert: certificate.into(), key: key.into() };
        let seen = prints(&files);
        let acceptor = acceptor(&files)?;
        Ok(Self(Arc::new(Shared { files, pair: RwLock::new(Pair { acceptor, seen }) })))
    }

    /// Reads the files again, for the handshakes from now on. On an error the old pair stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        // Before they are read: what changes meanwhile is noticed by the next look.
        let seen = prints(&self.0.files);
        let read = acceptor(&self.0.files);
        let mut pair = self.0.pair.write().unwrap_or_else(PoisonError::into_inner);
        pair.seen = seen;
        pair.acceptor = read?;
        Ok(())
    }

    /// Reads the files again if they have changed.
    fn refresh(&self) {
        let seen = self.0.pair.read().unwrap_or_else(PoisonError::into_inner).seen;
        if prints(&self.0.files) == seen {
            return;
        }
        let certificate = self.0.files.cert.display();
        match self.reload() {
            Ok(()) => tracing::info!(%certificate, "the TLS certificate has changed and is used from now on"),
            Err(error) => {
                tracing::error!(%certificate, error = %Chain(&error), "the TLS certificate has changed and cannot be used; the old one stays");
            }
        }
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.0.pair.read().unwrap_or_else(PoisonError::into_inner).acceptor.clone()
    }
}

/// Looks after the files of a pair, for ever.
pub async fn keep_fresh(tls: Tls) -> std::convert::Infallible {
    loop {
        sleep(LOOK).await;
        let pair = tls.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || pair.refresh()).await {
            tracing::error!(%error, "a TLS certificate could not be looked after; it is tried again");
        }
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let chain = read_chain(&files.cert)?;
    let unreadable = |source| TlsError::Key { path: files.key.clone(), source };
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(unreadable)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(TlsError::Unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
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

/// Of the files themselves, not of links to them: a renewal often turns a link.
fn prints(files: &TlsFiles) -> [Option<Print>; 2] {
    [&files.cert, &files.key].map(|path| {
        let found = fs::metadata(path).ok()?; // a file that is gone is a state too, and reading it says why
        let modified = (found.mtime(), found.mtime_nsec());
        Some(Print { device: found.dev(), inode: found.ino(), bytes: found.size(), modified })
    })
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tls").field(&self.0.files).finish()
    }
}
