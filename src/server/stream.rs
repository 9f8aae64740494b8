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

use super::carried::carried;
use super::seat::Seat;

/// What carries the bytes.
pub(super) enum Carrier {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

carried!(Carrier: Tcp, Unix, Tls);

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
        if self.line.ends_with_fragment(bytes) {
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
    Method,
    /// Behind the blank.
    Target,
    /// In a target that is a path or a URI.
    Within {
        has_fragment: bool,
    },
    /// At its end, or in what is no request line: where it began had come before.
    Over,
}

impl RequestLine {
    /// Whether the target ends in these bytes and has a fragment.
    fn ends_with_fragment(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            *self = match (*self, byte) {
                (Self::Over, _) => return false,
                (Self::Awaited, b'\r' | b'\n') => Self::Awaited,
                (Self::Awaited | Self::Method, b'A'..=b'Z') => Self::Method,
                (Self::Method, b' ') => Self::Target,
                (Self::Target, b'/' | b'h' | b'H') => Self::Within { has_fragment: false },
                (Self::Within { .. }, b'#') => Self::Within { has_fragment: true },
                (Self::Within { has_fragment }, b' ') => {
                    *self = Self::Over;
                    return has_fragment;
                }
                (Self::Within { has_fragment }, 0x21..) => Self::Within { has_fragment },
                (Self::Awaited | Self::Method | Self::Target | Self::Within { .. }, _) => Self::Over,
            };
        }
        false
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.carrier).poll_read(cx, buffer);
        self.heard(&buffer.filled()[before..]);
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let write = Pin::new(&mut self.carrier).poll_write(cx, bytes);
        self.bounded(cx, write)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let write = Pin::new(&mut self.carrier).poll_write_vectored(cx, pieces);
        self.bounded(cx, write)
    }

    fn is_write_vectored(&self) -> bool {
        self.carrier.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flush = Pin::new(&mut self.carrier).poll_flush(cx);
        self.bounded(cx, flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shutdown = Pin::new(&mut self.carrier).poll_shutdown(cx);
        self.bounded(cx, shutdown)
    }
}

#[cfg(test)]
mod tests {
    use super::RequestLine;

    #[test]
    fn a_fragment_is_seen_in_a_target_and_nowhere_else() {
        for (text, has_fragment) in [
            ("POST /a#b HTTP/1.1\r\n", true),
            ("\r\n\r\nPOST /a?b#c HTTP/1.1\r\n", true),
            ("GET http://a/#b HTTP/1.0\r\n", true),
            ("POST /a HTTP/1.1\r\nX: #b\r\n", false),
            ("POST /a HTTP/1.1#b\r\n", false),
            ("POST #b HTTP/1.1\r\n", false),
            ("nnel: #general HTTP\r\n", false),
            ("#general HTTP\r\n", false),
            ("{\"a\":\"# \"}", false),
        ] {
            let mut whole = RequestLine::Awaited;
            assert_eq!(whole.ends_with_fragment(text.as_bytes()), has_fragment, "{text:?}");
            let mut in_bytes = RequestLine::Awaited;
            let seen = text.as_bytes().chunks(1).filter(|byte| in_bytes.ends_with_fragment(byte)).count();
            assert_eq!(seen, usize::from(has_fragment), "{text:?}");
        }
    }
}
