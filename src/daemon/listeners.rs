//! Binds what the config names, and says where.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, getrlimit};

use super::workers::Workers;
use crate::api::Api;
use crate::chain::Chain;
use crate::config::Config;
use crate::proxy::{self, Proxy};
use crate::server::{self, BodyBudget, HalfClosed, Limits, ListenError, Listener, Shutdown, Tls, TlsError, TlsFiles};

/// Owner and group may talk to the daemon: the mode is all that guards the socket.
const SOCKET_MODE: u32 = 0o660;

/// Descriptors of the store, the log, the listeners, the runtime and some callers of the API.
const RESERVED_DESCRIPTORS: u64 = 64;
/// Fewer places than this serve nobody, however few descriptors there are.
const MIN_PLACES: usize = 8;

/// Where a daemon listens. With port 0 in the config these are the ports that the system chose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bound {
    /// The control API on TCP.
    pub api: Vec<String>,
    /// The control API's Unix socket.
    pub socket: Option<PathBuf>,
    /// Where senders arrive.
    pub hooks: Vec<String>,
}

/// Why a listener cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ListenFault {
    /// The address.
    #[error("cannot listen")]
    Listen(#[from] ListenError),
    /// The certificate.
    #[error("cannot use the TLS certificate")]
    Tls(#[from] TlsError),
    /// The thread that read the certificate broke down.
    #[error("reading the TLS certificate broke down")]
    Thread(#[source] tokio::task::JoinError),
}

/// What listeners share, those included that a reload opens.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) certificates: Certificates,
    /// The memory for all senders' bodies. Callers of the API have their own, which no stranger can spend.
    bodies: BodyBudget,
}

impl Shared {
    pub(super) fn new(config: &Config) -> Self {
        Self { certificates: Certificates::default(), bodies: BodyBudget::for_bodies_up_to(largest_body(config)) }
    }

    /// Follows another config. Its certificates were good a moment ago, when it was read.
    pub(super) async fn follow(&self, config: &Config) {
        self.bodies.fit(largest_body(config));
        let certificates = self.certificates.clone();
        match tokio::task::spawn_blocking(move || certificates.reload()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(error = %Chain(&error), "a TLS certificate cannot be used; the old one stays");
            }
            Err(error) => tracing::error!(%error, "the TLS certificates could not be read again; the old ones stay"),
        }
    }
}

fn largest_body(config: &Config) -> u64 {
    config.routes.iter().map(|route| route.max_body_bytes).max().unwrap_or(0)
}

/// The certificates of all listeners; clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Certificates(Arc<Mutex<Vec<Tls>>>);

impl Certificates {
    /// Reads the files again, for the handshakes from now on, without waiting until somebody notices that they have
    /// changed. Where a pair cannot be used the old one stays. Blocks for as long as the files take.
    ///
    /// # Errors
    /// The first of those that cannot be used; the others have been read all the same.
    pub fn reload(&self) -> Result<(), TlsError> {
        // A list of its own: whoever adds to it does not wait for the disk.
        let all = self.lock().clone();
        all.iter().map(Tls::reload).fold(Ok(()), Result::and)
    }

    /// A panic elsewhere leaves the list whole.
    fn lock(&self) -> MutexGuard<'_, Vec<Tls>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bound sockets, with what they encrypt with.
pub(super) struct Doors {
    pub(super) listeners: Vec<Listener>,
    tls: Option<Tls>,
}

impl Doors {
    async fn bind(addresses: &[SocketAddr], tls: Option<&TlsFiles>) -> Result<Self, ListenFault> {
        let tls = match tls.cloned() {
            Some(files) => {
                let loaded = tokio::task::spawn_blocking(move || Tls::load(&files.cert, &files.key)).await;
                Some(loaded.map_err(ListenFault::Thread)??)
            }
            None => None,
        };
        let mut listeners = Vec::new();
        for address in addresses {
            listeners.push(Listener::bind_tcp(&address.to_string(), tls.clone()).await?);
        }
        Ok(Self { listeners, tls })
    }

    pub(super) fn addresses(&self) -> Vec<String> {
        self.listeners.iter().map(Listener::local_address).collect()
    }

    /// Looks after the certificate for as long as the listeners are there.
    fn keep_fresh(&mut self, certificates: &Certificates, workers: &mut Workers) {
        if let Some(tls) = self.tls.take() {
            certificates.lock().push(tls.clone());
            workers.start("the watch over a certificate", async move { match server::keep_fresh(tls).await {} });
        }
    }
}

/// Binds every address before it serves on any, so that a start that fails has answered nobody.
pub(super) async fn serve(
    config: &Config,
    api: &Arc<Api>,
    proxy: &Arc<Proxy>,
    shared: &Shared,
    shutdown: &Shutdown,
    workers: &mut Workers,
) -> Result<Bound, ListenFault> {
    let mut for_api = Doors::bind(&config.api.listen, config.api.tls.as_ref()).await?;
    let mut bound = Bound { api: for_api.addresses(), ..Bound::default() };
    if let Some(path) = &config.api.socket {
        for_api.listeners.push(Listener::bind_unix(path, SOCKET_MODE).await?);
        bound.socket = Some(path.clone());
    }
    // Nobody listens for senders where nothing is to be done with what they send.
    let for_hooks = if config.routes.is_empty() { None } else { Some(bind_hooks(config).await?) };
    bound.hooks = for_hooks.as_ref().map_or_else(Vec::new, Doors::addresses);
    for_api.keep_fresh(&shared.certificates, workers);
    for door in for_api.listeners {
        tracing::info!(listener = "api", address = door.local_address(), "listening");
        let api = Arc::clone(api);
        let service = move |request| Arc::clone(&api).handle(request);
        listen(server::serve(door, Limits::default(), service, shutdown.clone()), workers);
    }
    if let Some(doors) = for_hooks {
        serve_hooks(doors, proxy, shared, shutdown, workers);
    }
    Ok(bound)
}

/// Binds where senders arrive.
pub(super) async fn bind_hooks(config: &Config) -> Result<Doors, ListenFault> {
    Doors::bind(&config.hooks.listen, config.hooks.tls.as_ref()).await
}

/// Serves senders.
pub(super) fn serve_hooks(
    mut doors: Doors,
    proxy: &Arc<Proxy>,
    shared: &Shared,
    shutdown: &Shutdown,
    workers: &mut Workers,
) {
    doors.keep_fresh(&shared.certificates, workers);
    for door in doors.listeners {
        tracing::info!(listener = "hooks", address = door.local_address(), "listening");
        let proxy = Arc::clone(proxy);
        let service = move |request| Arc::clone(&proxy).handle(request);
        let limits = Limits {
            // A sender that has sent its event and closes must not lose it on the last piece of the body.
            half_closed: HalfClosed::Waiting,
            bodies: shared.bodies.clone(),
            stamp: Some(proxy::STAMP),
            max_connections: places(Limits::default().max_connections),
            ..Limits::default()
        };
        listen(server::serve(door, limits, service, shutdown.clone()), workers);
    }
}

/// How many senders may be connected: half of the descriptors that are not needed elsewhere, since each event may need
/// another one for its app. Where senders could take the last descriptor, none of their events could be handed over.
fn places(at_most: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    let shared = limit.map_or(u64::MAX, |limit| limit.saturating_sub(RESERVED_DESCRIPTORS) / 2);
    at_most.min(usize::try_from(shared).unwrap_or(usize::MAX)).max(MIN_PLACES)
}

/// A daemon that has lost a listener would call itself ready and hear nobody. When the drain ends it, nobody looks.
fn listen(serving: impl Future<Output = ()> + Send + 'static, workers: &mut Workers) {
    let name = "a listener";
    workers.start(name, async move {
        serving.await;
        name
    });
}
