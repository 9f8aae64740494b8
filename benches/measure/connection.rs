//! A connection of the load generator: bytes out and in, without blocking.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::SocketAddr,
    path::PathBuf,
    time::Instant,
};

use mio::{
    event::Source,
    net::{TcpStream, UnixStream},
};

use super::{keys::Key, load::Step};

/// Room for an answer at first; it grows for those to batches.
const INCOMING: usize = 4 * 1024;
/// No answer is longer: a batch of 1,000 has at most a few hundred bytes a claim.
const INCOMING_MAX: usize = 1024 * 1024;
/// As much as is shown of an answer that was not expected.
const EXCERPT: usize = 300;

/// Where a server listens.
pub(crate) enum Target {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// TCP or Unix, it makes no difference from here on.
trait Socket: Read + Write + Source {}
impl<T: Read + Write + Source> Socket for T {}

/// One connection with its round under way.
pub(crate) struct Connection {
    socket: Box<dyn Socket>,
    outgoing: Vec<u8>,
    sent: usize,
    incoming: Vec<u8>,
    filled: usize,
    /// The round: its (first) key, when it began and what it waits for.
    pub(crate) key: Key,
    pub(crate) begun: Instant,
    pub(crate) step: Step,
}

impl Connection {
    pub(crate) fn open(target: &Target) -> io::Result<Self> {
        // Connecting blocks, so that a refused connection is known here and not at some later read.
        let socket: Box<dyn Socket> = match target {
            Target::Tcp(address) => {
                let stream = std::net::TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Box::new(TcpStream::from_std(stream))
            }
            Target::Unix(path) => {
                let stream = std::os::unix::net::UnixStream::connect(path)?;
                stream.set_nonblocking(true)?;
                Box::new(UnixStream::from_std(stream))
            }
        };
        Ok(Self {
            socket,
            outgoing: Vec::new(),
            sent: 0,
            incoming: vec![0; INCOMING],
            filled: 0,
            key: Key::default(),
            begun: Instant::now(),
            step: Step::Claim,
        })
    }

    pub(crate) fn socket(&mut self) -> &mut dyn Source {
        &mut self.socket
    }

    /// Where the next request is written; the one before it has been answered and is gone.
    pub(crate) fn outgoing(&mut self) -> &mut Vec<u8> {
        self.outgoing.clear();
        self.sent = 0;
        &mut self.outgoing
    }

    /// Sends as much as the kernel takes; the rest goes when the socket is writable again.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        while self.sent < self.outgoing.len() {
            match self.socket.write(&self.outgoing[self.sent..]) {
                Ok(length) => self.sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what is there, and says whether anything was. A short read has emptied the socket: epoll tells of the next
    /// bytes, and the read that would only say "nothing" is saved.
    pub(crate) fn receive(&mut self) -> io::Result<bool> {
        let before = self.filled;
        loop {
            if self.filled == self.incoming.len() {
                self.grow()?;
            }
            match self.socket.read(&mut self.incoming[self.filled..]) {
                Ok(0) => {
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection"));
                }
                Ok(length) => self.filled += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.filled < self.incoming.len() {
                break;
            }
        }
        Ok(self.filled > before)
    }

    fn grow(&mut self) -> io::Result<()> {
        if self.incoming.len() >= INCOMING_MAX {
            return Err(io::Error::new(ErrorKind::InvalidData, "an answer of more than 1 MiB"));
        }
        self.incoming.resize(2 * self.incoming.len(), 0);
        Ok(())
    }

    pub(crate) fn received(&self) -> &[u8] {
        &self.incoming[..self.filled]
    }

    pub(crate) fn forget_received(&mut self) {
        self.filled = 0;
    }

    /// The start of what was received, as text.
    pub(crate) fn excerpt(&self) -> String {
        let bytes = &self.received()[..self.filled.min(EXCERPT)];
        String::from_utf8_lossy(bytes).escape_debug().to_string()
    }
}
