//! One connection to somebody else, and one exchange after another on it.
//!
//! Whoever exchanges also drives the connection: it has no task of its own. That spares a hop between threads for each
//! request, and a caller that gives up closes the connection by letting go. The price is that an idle connection does
//! not notice its peer closing until somebody looks, which is why [`Link::is_usable`] is asked before each use.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use super::framing::is_chunked_alone;
use super::gathered::{Bounds, Gathered};

/// The largest reply head taken, as large as the largest request head.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// More than any app sends by intention; room for them is made with every reply. hyper's own limit, 100, made a success with
/// 150 short headers one that was lost.
const MAX_HEADERS: usize = 1024;

/// Why there is no whole reply, although the other side may have taken the request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// The deadline passed.
    #[error("the reply did not come in time")]
    TimedOut,
    /// The connection ended before the reply did.
    #[error("the connection was closed before the end of the reply")]
    Truncated(#[source] hyper::Error),
    /// What came is no HTTP reply, or its head is larger than 64 KiB.
    #[error("the reply is malformed")]
    Malformed(#[source] hyper::Error),
    /// A `101 Switching Protocols` to a request that asked for none.
    #[error("the reply switches to a protocol that nobody asked for")]
    UnaskedUpgrade,
    /// A transfer coding besides `chunked`, of which the reply's end cannot be told from a broken connection.
    #[error("the reply has a transfer coding that is not taken")]
    TransferCoding,
    /// Anything else that broke the connection, a reset above all.
    #[error("the connection broke")]
    Broken(#[source] hyper::Error),
}

/// How much of a reply is read, and what its loss means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reading {
    /// All of it, for somebody who wants it: one that breaks off is none.
    Whole {
        /// The longest body taken.
        max_bytes: u64,
    },
    /// Its head, which decides, and of its body what comes in a moment.
    Beginning {
        /// The most of the body that is read.
        max_bytes: u64,
        /// How long it may take once the head is there.
        patience: Duration,
    },
}

/// How an exchange fails.
pub(super) enum Failure {
    /// The connection was closed before a byte of the request was handed to it; here it is again.
    Untaken(Box<Request<Full<Bytes>>>),
    /// Bytes may have been taken. The status is known if the reply's head had come.
    Lost { status: Option<StatusCode>, cause: Lost },
    /// The reply's body is longer than allowed.
    TooLong { status: StatusCode },
}

/// A connection with nothing in flight, or one that an exchange has just left in an unknown state.
pub(super) struct Link<I>
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    sender: SendRequest<Full<Bytes>>,
    wire: Wire<I>,
}

/// The driven half. It is dropped as soon as it has ended, which gives a request that it never took back to its sender.
struct Wire<I: AsyncRead + AsyncWrite + Unpin>(Option<Connection<TokioIo<I>, Full<Bytes>>>);

impl<I: AsyncRead + AsyncWrite + Unpin> Link<I> {
    /// Prepares a connected socket; nothing is sent.
    pub(super) async fn open(socket: I) -> Result<Self, hyper::Error> {
        let mut builder = Builder::new();
        builder.preserve_header_case(true).max_header_size(MAX_HEAD_BYTES).max_headers(MAX_HEADERS);
        let (sender, connection) = builder.handshake(TokioIo::new(socket)).await?;
        Ok(Self { sender, wire: Wire(Some(connection)) })
    }

    /// Sends a request and reads the reply.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        deadline: Instant,
        reading: Reading,
    ) -> Result<Response<Bytes>, Failure> {
        let (head, body) = self.reply(request, deadline).await?.into_parts();
        let body = match reading {
            Reading::Whole { max_bytes } => {
                let status = head.status;
                match timeout_at(deadline, self.wire.drive(read(body, status, max_bytes))).await {
                    Ok(read) => read?,
                    Err(_) => return Err(Failure::Lost { status: Some(status), cause: Lost::TimedOut }),
                }
            }
            Reading::Beginning { max_bytes, patience } => {
                let deadline = deadline.min(Instant::now() + patience);
                let mut gathered = Gathered::None;
                let reading = self.wire.drive(read_beginning(body, max_bytes, &mut gathered));
                if !matches!(timeout_at(deadline, reading).await, Ok(true)) {
                    // What is left of it would be taken for the next reply.
                    self.wire.0 = None;
                }
                gathered.into_bytes()
            }
        };
        Ok(Response::from_parts(head, body))
    }

    /// Sends a request and waits for the reply's head.
    async fn reply(&mut self, request: Request<Full<Bytes>>, deadline: Instant) -> Result<Response<Incoming>, Failure> {
        let lost = |cause| Failure::Lost { status: None, cause };
        let reply = self.wire.drive(self.sender.try_send_request(request));
        match timeout_at(deadline, reply).await {
            Ok(Ok(reply)) if reply.status() == StatusCode::SWITCHING_PROTOCOLS => Err(lost(Lost::UnaskedUpgrade)),
            // hyper would hand its bytes on as if they were the body.
            Ok(Ok(reply)) if !is_chunked_alone(reply.headers()) => Err(lost(Lost::TransferCoding)),
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(mut error)) => Err(match error.take_message() {
                Some(request) => Failure::Untaken(Box::new(request)),
                None => lost(Lost::from(error.into_error())),
            }),
            Err(_) => Err(lost(Lost::TimedOut)),
        }
    }

    /// Whether another request can go this way: looks, without waiting, if the peer has closed or has spoken unasked.
    pub(super) fn is_usable(&mut self) -> bool {
        self.wire.poll(&mut Context::from_waker(Waker::noop()));
        self.wire.0.is_some() && self.sender.is_ready()
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> Wire<I> {
    /// Runs `work`, which waits for what the connection brings, and the connection beneath it.
    async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        std::future::poll_fn(|cx| {
            self.poll(cx);
            work.as_mut().poll(cx)
        })
        .await
    }

    fn poll(&mut self, cx: &mut Context<'_>) {
        // How the connection ended is told to whoever has a request on it; without one nobody needs to know.
        if let Some(connection) = &mut self.0
            && let Poll::Ready(_ended) = Pin::new(connection).poll(cx)
        {
            self.0 = None;
        }
    }
}

async fn read(mut body: Incoming, status: StatusCode, max_bytes: u64) -> Result<Bytes, Failure> {
    let bounds = Bounds { expected: body.size_hint().exact(), max: max_bytes };
    let mut gathered = Gathered::None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Failure::Lost { status: Some(status), cause: Lost::from(error) })?;
        let piece = frame.into_data().unwrap_or_default(); // trailers carry nothing that we pass on
        if gathered.len_bytes() + piece.len() as u64 > max_bytes {
            return Err(Failure::TooLong { status });
        }
        gathered.push(piece, bounds);
    }
    Ok(gathered.into_bytes())
}

/// Gathers what comes, up to a length; `true` when that is all.
async fn read_beginning(mut body: Incoming, max_bytes: u64, gathered: &mut Gathered) -> bool {
    let bounds = Bounds { expected: body.size_hint().exact(), max: max_bytes };
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        let mut piece = frame.into_data().unwrap_or_default(); // trailers carry nothing that anybody wants
        let left = usize::try_from(max_bytes - gathered.len_bytes()).unwrap_or(usize::MAX);
        let is_too_long = piece.len() > left;
        piece.truncate(left);
        gathered.push(piece, bounds);
        if is_too_long {
            return false;
        }
    }
    true
}

impl From<hyper::Error> for Lost {
    fn from(error: hyper::Error) -> Self {
        if error.is_parse() {
            Self::Malformed(error)
        } else if error.is_incomplete_message() || is_short_body(&error) {
            Self::Truncated(error)
        } else {
            Self::Broken(error)
        }
    }
}

/// A body that ends early is an I/O error to hyper.
fn is_short_body(error: &hyper::Error) -> bool {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .is_some_and(|source| source.kind() == std::io::ErrorKind::UnexpectedEof)
}
