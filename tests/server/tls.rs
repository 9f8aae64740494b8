//! TLS on a listener: who may shake hands, and certificates that are replaced while it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onced::server::{Limits, Listener, Tls, TlsError, keep_fresh};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use crate::harness::{Raw, Server, ok};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Self-signed certificates for `localhost` and their keys, made for these tests and used nowhere else.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server").join(name)
}

async fn server(tls: Tls) -> Server {
    Server::on(Listener::bind_tcp("127.0.0.1:0", Some(tls)).await.unwrap(), Limits::default(), ok)
}

/// A client that trusts this certificate alone.
async fn connect(server: &Server, certificate: &str) -> std::io::Result<Raw<TlsStream<TcpStream>>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(data(certificate)).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let socket = TcpStream::connect(&server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    Ok(Raw(TlsConnector::from(Arc::new(config)).connect(name, socket).await?))
}

/// The two files of a listener, in a directory of their own.
struct Pair(TempDir);

impl Pair {
    fn of(certificate: &str, key: &str) -> Self {
        let pair = Self(tempfile::tempdir().unwrap());
        pair.put("certificate.pem", certificate);
        pair.put("key.pem", key);
        pair
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Replaces a file as renewals do: a new one is moved over it.
    fn put(&self, name: &str, source: &str) {
        let new = self.path("new");
        fs::copy(data(source), &new).unwrap();
        fs::rename(new, self.path(name)).unwrap();
    }

    fn load(&self) -> Tls {
        Tls::load(&self.path("certificate.pem"), &self.path("key.pem")).unwrap()
    }
}

async fn is_served(server: &Server, certificate: &str) -> bool {
    let Ok(mut client) = connect(server, certificate).await else { return false };
    client.send(GET).await;
    client.answer().await.body() == "ok"
}

/// Those who connect and say nothing must not keep others from their handshake.
#[tokio::test]
async fn tls_is_served_while_other_handshakes_stand_still() {
    let server = server(Pair::of("certificate.pem", "key.pem").load()).await;
    let _silent = [server.connect().await, server.connect().await];
    assert!(is_served(&server, "certificate.pem").await);
    assert!(!is_served(&server, "other-certificate.pem").await);
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_stands_still_is_given_up() {
    let server = server(Pair::of("certificate.pem", "key.pem").load()).await;
    let mut silent = server.connect().await;
    let began = tokio::time::Instant::now();
    silent.assert_closed().await;
    assert_eq!(began.elapsed(), Duration::from_secs(10));
}

#[test]
fn a_certificate_or_key_that_cannot_be_used_says_which() {
    let (certificate, key, other) = (data("certificate.pem"), data("key.pem"), data("other-key.pem"));
    let missing = Path::new("/nonexistent.pem");
    assert!(matches!(Tls::load(missing, &key), Err(TlsError::Certificate { .. })));
    assert!(matches!(Tls::load(&certificate, missing), Err(TlsError::Key { .. })));
    assert!(matches!(Tls::load(&key, &key), Err(TlsError::NoCertificate { .. })));
    assert!(matches!(Tls::load(&certificate, &certificate), Err(TlsError::Key { .. })));
    assert!(matches!(Tls::load(&certificate, &other), Err(TlsError::Unusable(_))));
}

/// A renewed certificate was served only after a restart, which nobody made before the old one had run out.
#[tokio::test]
async fn a_replaced_pair_is_used_by_the_next_handshake_and_open_connections_go_on() {
    let pair = Pair::of("certificate.pem", "key.pem");
    let tls = pair.load();
    let server = server(tls.clone()).await;
    let mut open = connect(&server, "certificate.pem").await.unwrap();
    pair.put("certificate.pem", "other-certificate.pem");
    // Between the two files, and with one that is gone, there is no pair: what was good stays.
    assert!(matches!(tls.reload(), Err(TlsError::Unusable(_))));
    fs::remove_file(pair.path("key.pem")).unwrap();
    assert!(matches!(tls.reload(), Err(TlsError::Key { .. })));
    assert!(is_served(&server, "certificate.pem").await);
    pair.put("key.pem", "other-key.pem");
    tls.reload().unwrap();
    assert!(is_served(&server, "other-certificate.pem").await);
    assert!(!is_served(&server, "certificate.pem").await);
    open.send(GET).await;
    assert_eq!(open.answer().await.body(), "ok");
}

#[tokio::test(start_paused = true)]
async fn that_the_files_have_changed_is_noticed_within_seconds() {
    let pair = Pair::of("certificate.pem", "key.pem");
    let tls = pair.load();
    let server = server(tls.clone()).await;
    let watching = tokio::spawn(keep_fresh(tls));
    for (certificate, key) in [("other-certificate.pem", "other-key.pem"), ("certificate.pem", "key.pem")] {
        let began = tokio::time::Instant::now();
        // A look that falls between the two changes nothing, and the next one finds both.
        pair.put("certificate.pem", certificate);
        tokio::time::sleep(Duration::from_secs(4)).await;
        pair.put("key.pem", key);
        while !is_served(&server, certificate).await {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    }
    watching.abort();
}
