//! Binds what the config names, and says where.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Resource, getrlimit};

use super::workers::Workers;
use crate::api::Api;
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
}

/// The certificates of all listeners.
#[derive(Debug, Clone, Default)]
pub struct Certificates(Vec<Tls>);

impl Certificates {
    /// Reads the files again, for the handshakes from now on, without waiting until somebody notices that they have
    /// changed. Where a pair cannot be used the old one stays.
    ///
    /// # Errors
    /// The first of those that cannot be used; the others have been read all the same.
    pub fn reload(&self) -> Result<(), TlsError> {
        self.0.iter().map(Tls::reload).fold(Ok(()), Result::and)
    }

    fn load(&mut self, files: Option<&TlsFiles>) -> Result<Option<Tls>, TlsError> {
        let tls = files.map(|files| Tls::load(&files.cert, &files.key)).transpose()?;
        self.0.extend(tls.clone());
        Ok(tls)
    }
}

/// Where a daemon listens, and with what.
#[derive(Debug, Default)]
pub(super) struct Doors {
    pub(super) bound: Bound,
    pub(super) certificates: Certificates,
}

/// Binds every address before it serves on any, so that a start that fails has answered nobody.
pub(super) async fn serve(
    config: &Config,
    api: Arc<Api>,
    proxy: Arc<Proxy>,
    shutdown: &Shutdown,
    workers: &mut Workers,
) -> Result<Doors, ListenFault> {
    let mut doors = Doors::default();
    let Doors { bound, certificates } = &mut doors;
    let tls = certificates.load(config.api.tls.as_ref())?;
    let mut for_api = bind_all(&config.api.listen, tls, &mut bound.api).await?;
    if let Some(path) = &config.api.socket {
        for_api.push(Listener::bind_unix(path, SOCKET_MODE).await?);
        bound.socket = Some(path.clone());
    }
    // Nobody listens for senders where nothing is to be done with what they send.
    let addresses = if config.routes.is_empty() { &[][..] } else { &config.hooks.listen };
    let tls = certificates.load(config.hooks.tls.as_ref())?;
    let for_hooks = bind_all(addresses, tls, &mut bound.hooks).await?;
    for door in for_api {
        tracing::info!(listener = "api", address = door.local_address(), "listening");
        let api = Arc::clone(&api);
        let service = move |request| Arc::clone(&api).handle(request);
        listen(server::serve(door, Limits::default(), service, shutdown.clone()), workers);
    }
    let bodies = budget(config);
    for door in for_hooks {
        tracing::info!(listener = "hooks", address = door.local_address(), "listening");
        let proxy = Arc::clone(&proxy);
        let service = move |request| Arc::clone(&proxy).handle(request);
        // A sender that has sent its event and closes must not lose it on the last piece of the body.
        let limits = Limits {
            half_closed: HalfClosed::Waiting,
            bodies: bodies.clone(),
            stamp: Some(proxy::STAMP),
            max_connections: places(Limits::default().max_connections),
            ..Limits::default()
        };
        listen(server::serve(door, limits, service, shutdown.clone()), workers);
    }
    let fresh = server::keep_fresh(certificates.0.clone());
    workers.start("the watch over the certificates", async move { match fresh.await {} });
    Ok(doors)
}

/// The memory that all senders' bodies share. Callers of the API have their own, which no stranger can spend.
fn budget(config: &Config) -> BodyBudget {
    let largest = config.routes.iter().map(|route| route.max_body_bytes).max();
    BodyBudget::for_bodies_up_to(largest.unwrap_or(0))
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

/// Binds addresses and notes what they have become.
async fn bind_all(
    addresses: &[SocketAddr],
    tls: Option<Tls>,
    bound: &mut Vec<String>,
) -> Result<Vec<Listener>, ListenFault> {
    let mut doors = Vec::new();
    for address in addresses {
        let door = Listener::bind_tcp(&address.to_string(), tls.clone()).await?;
        bound.push(door.local_address());
        doors.push(door);
    }
    Ok(doors)
}
