//! The bytes of one connection to an app, in the clear or through TLS.

use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::carried::carried;

/// A connection to an app; an enum for the reason that [`Stream`](super::stream::Stream) gives.
pub(super) enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

carried!(Socket: Plain, Tls);
