//! Binds what the config names, and says where.

use std::path::PathBuf;
use std::sync::Arc;

use crate::api::Api;
use crate::config::Config;
use crate::server::{self, Limits, ListenError, Listener, Shutdown, Tls, TlsError};

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
pub(super) async fn serve(config: &Config, api: Arc<Api>, shutdown: &Shutdown) -> Result<Bound, ListenFault> {
    let (mut bound, mut doors) = (Bound::default(), Vec::new());
    let tls = config
        .api
        .tls
        .as_ref()
        .map(|files| Tls::load(&files.cert, &files.key))
        .transpose()?;
    for address in &config.api.listen {
        let door = Listener::bind_tcp(&address.to_string(), tls.clone()).await?;
        bound.api.push(door.local_address());
        doors.push(door);
    }
    if let Some(path) = &config.api.socket {
        doors.push(Listener::bind_unix(path, SOCKET_MODE).await?);
        bound.socket = Some(path.clone());
    }
    for door in doors {
        tracing::info!(listener = "api", address = door.local_address(), "listening");
        let api = Arc::clone(&api);
        let service = move |request| Arc::clone(&api).handle(request);
        tokio::spawn(server::serve(door, Limits::default(), service, shutdown.clone()));
    }
    Ok(bound)
}
