//! The bytes of one connection, whatever carries them, with a bound on how long a write may stand still.
//!
//! An enum rather than a type parameter: hyper's connection would otherwise be compiled once for each of the three.
//! The bound is here because hyper has none: a peer that sends requests and never reads the answers would keep its
//! connection, and a place among the connections, for good.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Sleep, sleep};
use tokio_rustls::server::TlsStream;

use super::seat::Seat;

/// What carries the bytes.
pub(super) enum Carrier {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// One connection's bytes in both directions.
pub(super) struct Stream {
    carrier: Carrier,
    seat: Arc<Seat>,
    line: RequestLine,
    max_stall: Duration,
    /// Runs while the last write is waiting for the peer.
    stall: Option<Pin<Box<Sleep>>>,
}

impl Stream {
    pub(super) fn new(carrier: Carrier, seat: Arc<Seat>, max_stall: Duration) -> Self {
        Self { carrier, seat, line: RequestLine::Awaited, max_stall, stall: None }
    }

    /// Looks at what has come. hyper cuts the fragment off a target without a word, so this is where it can be seen. A
    /// request that comes in one piece with the end of the one before it is not looked at: its fragment is cut off.
    fn heard(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.seat.hears() {
            self.line = RequestLine::Awaited;
        }
        if self.line.has_fragment(bytes) {
            self.seat.sees_fragment();
        }
    }

    /// Passes a write's outcome on, and turns one that has been pending for too long into an error.
    fn bounded<T>(&mut self, cx: &mut Context<'_>, write: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if write.is_ready() {
            self.stall = None;
            return write;
        }
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(self.max_stall)));
        stall.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// How far the request line has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestLine {
    /// Empty lines before it do not count (RFC 9112, section 2.2).
    Awaited,
    Begun,
    Over,
}

impl RequestLine {
    /// Whether there is a `#` in what has come of the line. No method and no version has one.
    fn has_fragment(&mut self, mut bytes: &[u8]) -> bool {
        if *self == Self::Awaited {
            bytes = bytes.trim_ascii_start();
        }
        if *self == Self::Over || bytes.is_empty() {
            return false;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        *self = if end.is_some() { Self::Over } else { Self::Begun };
        bytes[..end.unwrap_or(bytes.len())].contains(&b'#')
    }
}

/// Calls an I/O method on whatever carries the bytes.
macro_rules! on_carrier {
    ($stream:expr, $method:ident, $($argument:expr),*) => {
        match &mut $stream.carrier {
            Carrier::Tcp(socket) => Pin::new(socket).$method($($argument),*),
            Carrier::Unix(socket) => Pin::new(socket).$method($($argument),*),
            Carrier::Tls(session) => Pin::new(session.as_mut()).$method($($argument),*),
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = on_carrier!(self, poll_read, cx, buffer);
        self.heard(&buffer.filled()[before..]);
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let write = on_carrier!(self, poll_write, cx, bytes);
        self.bounded(cx, write)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let write = on_carrier!(self, poll_write_vectored, cx, pieces);
        self.bounded(cx, write)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.carrier {
            Carrier::Tcp(socket) => socket.is_write_vectored(),
            Carrier::Unix(socket) => socket.is_write_vectored(),
            Carrier::Tls(session) => session.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flush = on_carrier!(self, poll_flush, cx);
        self.bounded(cx, flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shutdown = on_carrier!(self, poll_shutdown, cx);
        self.bounded(cx, shutdown)
    }
}
