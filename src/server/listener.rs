//! A bound socket and what arrives at it.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio::time::timeout;

use super::seat::Seat;
use super::stream::{Carrier, Stream};
use super::unix::{self, SocketFile};
use super::{Limits, Peer, Tls};

/// Why a socket could not be bound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address is not ours, is taken, or its name has no address.
    #[error("{address} cannot be bound")]
    Address {
        /// As it was given.
        address: String,
        /// What the kernel says.
        source: io::Error,
    },
    /// Somebody answers on this socket, or its file gives no proof that nobody does.
    #[error("{} is in use", path.display())]
    InUse {
        /// The socket file.
        path: PathBuf,
    },
    /// There is a file of another kind, which is not ours to remove.
    #[error("{} exists and is not a socket", path.display())]
    NotASocket {
        /// The file.
        path: PathBuf,
    },
    /// The socket file cannot be made.
    #[error("the socket {} cannot be made", path.display())]
    Place {
        /// The socket file.
        path: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
}

/// A bound socket. Dropping it closes it and removes a Unix socket's file.
#[derive(Debug)]
pub struct Listener(Socket);

#[derive(Debug)]
enum Socket {
    Tcp { socket: TcpListener, address: SocketAddr, tls: Option<Tls> },
    Unix { socket: UnixListener, file: SocketFile },
}

/// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn`. The customary 128 is one burst of a
/// sender's: whoever comes behind it waits a second for its packet to be sent again.
const BACKLOG: u32 = 4096;

impl Listener {
    /// Binds `address` (`host:port`; port 0 takes a free one), with TLS if a certificate is given.
    pub async fn bind_tcp(address: &str, tls: Option<Tls>) -> Result<Self, ListenError> {
        let unbound = |source| ListenError::Address { address: address.into(), source };
        let resolved = tokio::net::lookup_host(address).await.map_err(unbound)?.next();
        let resolved = resolved.ok_or_else(|| unbound(io::ErrorKind::NotFound.into()))?;
        let socket = if resolved.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.map_err(unbound)?;
        socket.set_reuseaddr(true).map_err(unbound)?;
        socket.bind(resolved).map_err(unbound)?;
        let socket = socket.listen(BACKLOG).map_err(unbound)?;
        let address = socket.local_addr().map_err(unbound)?;
        Ok(Self(Socket::Tcp { socket, address, tls }))
    }

    /// Binds the socket file `path` with the permissions `mode`, at no moment wider ones. The file of a daemon that
    /// was killed is replaced; a live one is [`ListenError::InUse`].
    pub async fn bind_unix(path: &Path, mode: u32) -> Result<Self, ListenError> {
        let (socket, file) = unix::bind(path, mode).await?;
        Ok(Self(Socket::Unix { socket, file }))
    }

    /// For the log and for connecting: `127.0.0.1:1234`, or the path.
    pub fn local_address(&self) -> String {
        match &self.0 {
            Socket::Tcp { address, .. } => address.to_string(),
            Socket::Unix { file, .. } => file.path.display().to_string(),
        }
    }

    /// The next connection. Cancel-safe.
    pub(super) async fn accept(&self) -> io::Result<Arrival> {
        match &self.0 {
            Socket::Tcp { socket, tls, .. } => {
                let (stream, address) = socket.accept().await?;
                Ok(Arrival::Tcp { stream, address, tls: tls.clone() })
            }
            Socket::Unix { socket, .. } => Ok(Arrival::Unix(socket.accept().await?.0)),
        }
    }
}

/// A connection that has not said anything yet.
pub(super) enum Arrival {
    Tcp { stream: TcpStream, address: SocketAddr, tls: Option<Tls> },
    Unix(UnixStream),
}

impl Arrival {
    pub(super) fn peer(&self) -> Peer {
        match self {
            Self::Tcp { address, .. } => Peer::Tcp(SocketAddr::new(address.ip().to_canonical(), address.port())),
            Self::Unix(_) => Peer::Unix,
        }
    }

    /// Makes it ready for HTTP; with TLS this is the handshake, so it runs in the connection's own task.
    pub(super) async fn open(self, seat: Arc<Seat>, limits: &Limits) -> io::Result<Stream> {
        let carrier = match self {
            Self::Unix(stream) => Carrier::Unix(stream),
            Self::Tcp { stream, tls, .. } => {
                stream.set_nodelay(true)?; // an answer is one write: waiting to fill a packet only costs time
                match tls {
                    None => Carrier::Tcp(stream),
                    Some(tls) => {
                        let session = timeout(limits.handshake_timeout, tls.acceptor().accept(stream)).await??;
                        Carrier::Tls(Box::new(session))
                    }
                }
            }
        };
        Ok(Stream::new(carrier, seat, limits.write_stall))
    }
}
