//! TLS in both directions: apps behind https, and certificates of the listener that are replaced.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use onced::clock::Source;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use crate::binary::{Place, Process};
use crate::harness::{App, Event, Front, Reply, SECRET, route, soon};

/// Certificates for `localhost` that belong to the tests of the transport.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server").join(name)
}

/// An app behind https that answers everything with `ok`.
struct SecureApp {
    port: u16,
    /// The number of the connection, what ALPN agreed on, and the request.
    seen: mpsc::UnboundedReceiver<(usize, Option<Vec<u8>>, String)>,
}

impl SecureApp {
    async fn start() -> Self {
        let chain = vec![CertificateDer::from_pem_file(data("certificate.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(data("key.pem")).unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, seen) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for connection in 1.. {
                let (socket, _) = listener.accept().await.unwrap();
                let (acceptor, tell) = (acceptor.clone(), tell.clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(socket).await else { return };
                    let protocol = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
                    let (mut text, mut piece) = (String::new(), [0; 4096]);
                    while let Ok(count @ 1..) = stream.read(&mut piece).await {
                        text.push_str(std::str::from_utf8(&piece[..count]).unwrap());
                        if text.ends_with("{\"whole\":true}") {
                            tell.send((connection, protocol.clone(), std::mem::take(&mut text))).unwrap();
                            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
                        }
                    }
                });
            }
        });
        Self { port, seen }
    }

    /// A daemon with a route to this app by this name, which trusts this certificate alone.
    fn front(&self, name: &str, trusted: &str) -> (Place, Process) {
        let route = format!(
            "[[route]]\nname = \"github\"\nprovider = \"github\"\npath = \"/hooks/github\"\n\
             secrets = [{{ inline = \"{SECRET}\" }}]\nforward_to = \"https://{name}:{}/in\"\n",
            self.port
        );
        let place = Place::with_route(SECRET, &route);
        let mut command = Command::new(env!("CARGO_BIN_EXE_onced"));
        command.env_clear().env("ONCED_LOG", "debug").env("SSL_CERT_FILE", data(trusted));
        let process = Process::start_in(&place.config, &mut command);
        (place, process)
    }
}

fn event(id: &str) -> Event {
    Event::github(id, "{\"whole\":true}")
}

#[tokio::test]
async fn an_app_behind_https_gets_its_events_on_one_connection() {
    let mut app = SecureApp::start().await;
    let (_place, process) = app.front("localhost", "certificate.pem");
    for id in ["e-1", "e-2", "e-3"] {
        process.post(&event(id)).await.assert(200, "forwarded");
        let (connection, protocol, request) = app.seen.recv().await.unwrap();
        assert_eq!((connection, protocol.as_deref()), (1, Some(&b"http/1.1"[..])));
        assert!(
            request.starts_with("POST /in HTTP/1.1\r\n") && request.contains("\r\nHost: hooks.example\r\n"),
            "{request}"
        );
    }
    process.post(&event("e-1")).await.assert(200, "duplicate");
    process.stop();
}

/// An app that is not who it should be never sees the event, so the event may come again.
#[tokio::test]
async fn an_app_that_cannot_show_who_it_is_was_never_reached() {
    for (name, trusted, told) in [
        ("localhost", "other-certificate.pem", "the TLS handshake failed"),
        ("127.0.0.1", "certificate.pem", "the TLS handshake failed"),
        ("localhost", "no-such-file.pem", "no certificate of an app can be checked"),
    ] {
        let mut app = SecureApp::start().await;
        let (_place, process) = app.front(name, trusted);
        for _ in 0..2 {
            process.post(&event("e-1")).await.assert(502, "failed");
        }
        assert!(app.seen.try_recv().is_err(), "{name} with {trusted}");
        let metrics = process.text("/metrics").await;
        let never_reached =
            format!("onced_attempts_total{{route=\"github\",app=\"{name}:{}\",outcome=\"never_reached\"}} 2", app.port);
        assert!(metrics.contains(&never_reached), "{metrics}");
        let log = process.stop();
        assert!(log.contains(told), "{log}");
    }
}

/// An app in the clear where https is said, as behind a port that was mixed up.
#[tokio::test]
async fn an_app_that_speaks_no_tls_was_never_reached() {
    let mut app = App::start().await;
    let url = app.url().replace("http:", "https:");
    let front = Front::start(&route("github", &app, "").replace(&app.url(), &url)).await;
    let answer = soon("an answer", front.post(&event("e-1"))).await;
    answer.assert(502, "failed");
    app.assert_quiet();
}

#[tokio::test]
async fn a_renewed_certificate_of_the_listener_is_served_when_the_daemon_is_told() {
    let mut app = App::start().await;
    let dir = tempfile::tempdir().unwrap();
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    let put = |of: &str| {
        std::fs::copy(data(&format!("{of}certificate.pem")), &cert).unwrap();
        std::fs::copy(data(&format!("{of}key.pem")), &key).unwrap();
    };
    put("");
    let hooks = format!("tls = {{ cert = \"{}\", key = \"{}\" }}", cert.display(), key.display());
    let front = Front::surrounded(&route("github", &app, ""), &hooks, Source::machine()).await;
    for (number, of) in ["", "other-"].into_iter().enumerate() {
        put(of);
        front.daemon.certificates().reload().unwrap();
        let mut stream = front.sender_over_tls(&data(&format!("{of}certificate.pem"))).await;
        stream.write_all(&event(&number.to_string()).bytes()).await.unwrap();
        app.answers(Reply::ok()).await;
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    }
    std::fs::write(&key, "no key").unwrap();
    assert!(front.daemon.certificates().reload().is_err());
}
