//! An address at which the app may come and go.

use std::{io, net::SocketAddr};

use tokio::net::TcpSocket;

/// An address that is nobody else's: bound, and never listening. Until the app is there, it refuses.
pub(crate) struct Address {
    pub(crate) address: SocketAddr,
    _socket: TcpSocket,
}

impl Address {
    pub(crate) fn reserve() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        Ok(Self { address: socket.local_addr()?, _socket: socket })
    }
}
