//! The daemon.

use std::path::Path;
use std::sync::Arc;

use onced::api::ReloadOutcome;
use onced::clock::{ManualTime, Source};
use onced::config::{self, Environment};
use onced::daemon::{Daemon, Surroundings};
use onced::metrics::ByOutcome;
use onced::store::{EventSelection, Selection};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::{Answer, App, Event, SECRET, Sender, soon, until};

/// Directories in the places of files that the store writes.
const FOILS: [&str; 2] = ["probe", "mark.new"];

/// A running daemon with routes, in a directory of its own.
pub(crate) struct Front {
    pub(crate) daemon: Daemon,
    pub(crate) hooks: String,
    source: Source,
    config: String,
    dir: TempDir,
}

/// One `[[route]]`, named after its provider, at `/hooks/` and that name, to the app's `/in`; `more` is further lines.
pub(crate) fn route(provider: &str, app: &App, more: &str) -> String {
    let url = app.url();
    format!(
        "[[route]]\nname = \"{provider}\"\nprovider = \"{provider}\"\npath = \"/hooks/{provider}\"\n\
         secrets = [{{ inline = \"{SECRET}\" }}]\nforward_to = \"{url}/in\"\n{more}\n"
    )
}

impl Front {
    /// With one GitHub route.
    pub(crate) async fn github(app: &App, more: &str) -> Self {
        Self::start(&route("github", app, more)).await
    }

    /// With these routes, on the machine's clocks.
    pub(crate) async fn start(routes: &str) -> Self {
        Self::surrounded(routes, "", Source::machine()).await
    }

    /// With these routes, on the test's clock.
    pub(crate) async fn on_clock(routes: &str, time: &ManualTime) -> Self {
        Self::surrounded(routes, "", Source::manual(time)).await
    }

    /// `hooks` is further lines of `[hooks]`.
    pub(crate) async fn surrounded(routes: &str, hooks: &str, source: Source) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let text = format!(
            "[api]\nlisten = \"\"\nsocket = \"\"\n[hooks]\nlisten = \"127.0.0.1:0\"\n{hooks}\n[store]\ndir = \"{}\"\n{routes}",
            dir.path().join("store").display()
        );
        Self::run(text, dir, source).await
    }

    async fn run(text: String, dir: TempDir, source: Source) -> Self {
        let environment = Environment::default().with_inline_secrets();
        let file = dir.path().join("onced.toml");
        std::fs::write(&file, &text).unwrap();
        let load = move || config::load(&file, &environment);
        let config = load().unwrap_or_else(|faults| panic!("{faults}"));
        let surroundings = Surroundings { source: source.clone(), real_sync: false };
        let daemon = Daemon::start(config, surroundings).await.unwrap().reloading(Box::new(load));
        let hooks = daemon.bound().hooks.first().cloned().unwrap_or_default();
        Self { daemon, hooks, source, config: text, dir }
    }

    /// Stops in order and starts anew, on the same store; `meanwhile` goes on beside the stop.
    pub(crate) async fn restarted(self, meanwhile: impl Future<Output = ()>) -> Self {
        soon("the end of the daemon and of what goes on beside it", async {
            let (stopped, ()) = tokio::join!(self.daemon.stop(), meanwhile);
            stopped.unwrap();
        })
        .await;
        Self::run(self.config, self.dir, self.source).await
    }

    /// Puts another text into the place of a part of the config, and loads it anew.
    pub(crate) async fn reload(&mut self, from: &str, to: &str) -> ReloadOutcome {
        let text = self.config.replacen(from, to, 1);
        assert_ne!(text, self.config, "{from} is not in the config");
        std::fs::write(self.dir.path().join("onced.toml"), &text).unwrap();
        let outcome = soon("a reload", self.daemon.reloads().ask()).await;
        if outcome.is_ok() {
            self.config = text;
        }
        outcome
    }

    /// A sender that believes this certificate, and nobody else.
    pub(crate) async fn sender_over_tls(&self, certificate: &Path) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let socket = TcpStream::connect(&self.hooks).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, socket).await.unwrap()
    }

    pub(crate) async fn sender(&self) -> Sender {
        Sender(TcpStream::connect(&self.hooks).await.unwrap())
    }

    /// Sends on a connection of its own and waits for the answer.
    pub(crate) async fn post(&self, event: &Event) -> Answer {
        let mut sender = self.sender().await;
        sender.send(event.bytes()).await;
        sender.answer().await
    }

    /// Sends on a connection of its own; the answer is for later.
    pub(crate) async fn sent(&self, event: &Event) -> Sender {
        let mut sender = self.sender().await;
        sender.send(event.bytes()).await;
        sender
    }

    /// Makes the store fail and stay down: neither its mark nor a probe of the disk can be written.
    pub(crate) async fn lose_store(&self) {
        let store = self.daemon.ledger().store();
        for name in FOILS {
            std::fs::create_dir(store.dir().join(name)).unwrap();
        }
        // The mark is due only after a commit.
        let confirm = onced::ledger::Ask::Confirm { token: None, confirmed_ttl: None, result: None };
        let key = onced::claim::Key::new(&onced::claim::Namespace::parse("other").unwrap(), "k").unwrap();
        self.daemon.ledger().ask(key, confirm).await.unwrap();
        until("the loss of the store", || store.fault().is_some()).await;
    }

    /// Lets the store come back, as time goes by.
    pub(crate) async fn regain_store(&self, time_goes_by: impl Fn()) {
        let store = self.daemon.ledger().store();
        for name in FOILS {
            std::fs::remove_dir(store.dir().join(name)).unwrap();
        }
        until("the store is back", || {
            time_goes_by();
            store.fault().is_none()
        })
        .await;
    }

    /// How often an answer about claims came to this, on the route of this name.
    pub(crate) fn claims(&self, route: &str, outcome: &'static str) -> u64 {
        let namespace = format!("route:{route}");
        let labels = ByOutcome { namespace, outcome };
        self.daemon.metrics().claims.get_or_create(&labels).get()
    }

    /// Waits until so many answers on the GitHub route have come to this.
    pub(crate) async fn until_claims(&self, outcome: &'static str, count: u64) {
        until(outcome, || self.claims("github", outcome) >= count).await;
    }

    /// The dead letters.
    pub(crate) async fn letters(&self) -> Vec<onced::event::Event> {
        let selection = EventSelection { limit: 1_000, ..EventSelection::default() };
        self.daemon.ledger().store().events(selection).await.unwrap().events
    }

    /// The one dead letter, with what was sent.
    pub(crate) async fn letter(&self) -> (onced::event::Event, onced::event::Content) {
        let [letter] = &self.letters().await[..] else { panic!("one dead letter") };
        self.daemon.ledger().store().event_content(letter.id).await.unwrap().unwrap()
    }

    /// The value of a sample in what Prometheus reads; 0 where there is none.
    pub(crate) fn sample(&self, name: &str) -> f64 {
        let text = self.daemon.metrics().render();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().unwrap())
    }

    /// How many records there are.
    pub(crate) async fn records(&self) -> usize {
        let selection = Selection { namespace: None, state: None, after: None, limit: 1_000 };
        self.daemon.ledger().list(selection).await.unwrap().records.len()
    }
}
