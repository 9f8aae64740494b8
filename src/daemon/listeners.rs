//! Binds what the config names, and says where.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::workers::Workers;
use crate::api::Api;
use crate::config::Config;
use crate::proxy::Proxy;
use crate::server::{self, HalfClosed, Limits, ListenError, Listener, Shutdown, Tls, TlsError, TlsFiles};

/// Owner and group may talk to the daemon: the mode is all that guards the socket.
const SOCKET_MODE: u32 = 0o660;

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

/// Binds every address before it serves on any, so that a start that fails has answered nobody.
pub(super) async fn serve(
    config: &Config,
    api: &Arc<Api>,
    proxy: &Arc<Proxy>,
    shutdown: &Shutdown,
    workers: &mut Workers,
) -> Result<Bound, ListenFault> {
    let mut bound = Bound::default();
    let mut for_api = bind_all(&config.api.listen, config.api.tls.as_ref()).await?;
    bound.api = for_api.iter().map(Listener::local_address).collect();
    if let Some(path) = &config.api.socket {
        for_api.push(Listener::bind_unix(path, SOCKET_MODE).await?);
        bound.socket = Some(path.clone());
    }
    // Nobody listens for senders where nothing is to be done with what they send.
    let for_hooks = if config.routes.is_empty() { Vec::new() } else { bind_hooks(config).await? };
    bound.hooks = for_hooks.iter().map(Listener::local_address).collect();
    for door in for_api {
        tracing::info!(listener = "api", address = door.local_address(), "listening");
        let api = Arc::clone(api);
        let service = move |request| Arc::clone(&api).handle(request);
        listen(server::serve(door, Limits::default(), service, shutdown.clone()), workers);
    }
    serve_hooks(for_hooks, proxy, shutdown, workers);
    Ok(bound)
}

/// Binds where senders arrive.
pub(super) async fn bind_hooks(config: &Config) -> Result<Vec<Listener>, ListenFault> {
    bind_all(&config.hooks.listen, config.hooks.tls.as_ref()).await
}

/// Serves senders.
pub(super) fn serve_hooks(doors: Vec<Listener>, proxy: &Arc<Proxy>, shutdown: &Shutdown, workers: &mut Workers) {
    for door in doors {
        tracing::info!(listener = "hooks", address = door.local_address(), "listening");
        let proxy = Arc::clone(proxy);
        let service = move |request| Arc::clone(&proxy).handle(request);
        // A sender that has sent its event and closes must not lose it on the last piece of the body.
        let limits = Limits { half_closed: HalfClosed::Waiting, ..Limits::default() };
        listen(server::serve(door, limits, service, shutdown.clone()), workers);
    }
}

/// A daemon that has lost a listener would call itself ready and hear nobody. When the drain ends it, nobody looks.
fn listen(serving: impl Future<Output = ()> + Send + 'static, workers: &mut Workers) {
    let name = "a listener";
    workers.start(name, async move {
        serving.await;
        name
    });
}

async fn bind_all(addresses: &[SocketAddr], tls: Option<&TlsFiles>) -> Result<Vec<Listener>, ListenFault> {
    let tls = tls.map(|files| Tls::load(&files.cert, &files.key)).transpose()?;
    let mut doors = Vec::new();
    for address in addresses {
        doors.push(Listener::bind_tcp(&address.to_string(), tls.clone()).await?);
    }
    Ok(doors)
}
