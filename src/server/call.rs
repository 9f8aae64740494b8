//! One request on a connection of its own: what the command line needs to ask the daemon.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST};
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout};

use super::link::{Failure, Link, Lost, Reading};

/// For connecting: the daemon is on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// For the answer. A claim may wait for its holder, and a list is as slow as its disk, so this only ends what would never
/// end.
const PATIENCE: Duration = Duration::from_secs(600);

/// The longest answer taken: a page of a thousand claims with their results is a few MiB.
const MAX_REPLY_BYTES: u64 = 64 * 1024 * 1024;

/// Where the daemon listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Its socket file.
    Unix(PathBuf),
    /// `host:port`, without TLS.
    Tcp(String),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => f.write_str(address),
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Nobody there, or not for us.
    #[error("{endpoint} cannot be reached")]
    Connect {
        /// Where we tried.
        endpoint: Endpoint,
        /// What the kernel says.
        source: io::Error,
    },
    /// The connection was closed before a byte of the request was taken.
    #[error("the connection was closed before the request")]
    Closed,
    /// The daemon may have done what was asked.
    #[error("the request was sent, but its answer is missing")]
    Lost(#[source] Lost),
    /// The answer is longer than any of ours.
    #[error("the answer is longer than {MAX_REPLY_BYTES} bytes")]
    TooLong,
}

/// Sends one request, whose URI is a path, and reads the answer. `Host` is added if missing.
pub async fn call(endpoint: &Endpoint, request: Request<Bytes>) -> Result<Response<Bytes>, CallError> {
    match endpoint {
        Endpoint::Unix(path) => {
            let socket = connected(endpoint, UnixStream::connect(path)).await?;
            exchange(socket, in_wire_form(request, "localhost")).await
        }
        Endpoint::Tcp(address) => {
            let socket = connected(endpoint, TcpStream::connect(address)).await?;
            exchange(socket, in_wire_form(request, address)).await
        }
    }
}

async fn connected<T>(endpoint: &Endpoint, socket: impl Future<Output = io::Result<T>>) -> Result<T, CallError> {
    let connected = timeout(CONNECT_TIMEOUT, socket).await.unwrap_or_else(|elapsed| Err(elapsed.into()));
    connected.map_err(|source| CallError::Connect { endpoint: endpoint.clone(), source })
}

async fn exchange<I>(socket: I, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, CallError>
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    let mut link = Link::open(socket).await.map_err(|_| CallError::Closed)?;
    let answer = link.exchange(request, Instant::now() + PATIENCE, Reading::Whole { max_bytes: MAX_REPLY_BYTES }).await;
    answer.map_err(|failure| match failure {
        Failure::Untaken(_) => CallError::Closed,
        Failure::Lost { cause, .. } => CallError::Lost(cause),
        Failure::TooLong { .. } => CallError::TooLong,
    })
}

fn in_wire_form(mut request: Request<Bytes>, host: &str) -> Request<Full<Bytes>> {
    let length = HeaderValue::from(request.body().len());
    let headers = request.headers_mut();
    headers.insert(CONTENT_LENGTH, length);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if let (None, Ok(host)) = (headers.get(HOST), HeaderValue::from_str(host)) {
        headers.insert(HOST, host);
    }
    request.map(Full::new)
}
