//! Sends requests to apps over connections that are kept for the next one.
//!
//! The promise that everything else builds on: a request is never sent twice. [`SendError::NeverReached`] means that
//! the app has not seen a byte of it, [`SendError::Unknown`] that it may have seen all of it. The one case in which
//! another connection is tried is a kept one that was closed before it was handed a byte.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version};
use http_body_util::Full;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{InvalidDnsNameError, ServerName};

use super::link::{Failure, Link, Lost, Reading};
use super::socket::Socket;
use super::target::{Scheme, Target};
use super::trust::{self, TrustError};

/// What `localhost` means to an app that listens on it.
const LOOPBACKS: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// How connections are made and kept.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// For finding the address and connecting, the TLS handshake included. The apps are near: 5 s are one lost SYN and its
    /// two repeats.
    pub connect_timeout: Duration,
    /// How long an unused connection is kept. Node.js closes after 5 s, the shortest of the common servers; keeping
    /// for less makes it rare that a request meets a connection about to close.
    pub idle_timeout: Duration,
    /// Unused connections kept for each target; more are closed after use.
    pub max_idle_per_target: usize,
    /// The longest reply body taken.
    pub max_reply_bytes: u64,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(4),
            max_idle_per_target: 64,
            max_reply_bytes: 64 * 1024 * 1024,
        }
    }
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// Not a byte of the request was taken.
    #[error("the app was not reached")]
    NeverReached(#[source] Unreached),
    /// The request, or a part of it, may have been taken.
    #[error("what became of the request is unknown")]
    Unknown {
        /// The reply's status, if its head had come. It is for the log: a reply that breaks off has no outcome, since an
        /// app that fails in mid-answer has announced a success before.
        status: Option<StatusCode>,
        /// What went wrong.
        source: Lost,
    },
    /// A reply came whose body is longer than the limit; it was not read further. Unlike one that breaks off, the app has
    /// said what it did, and goes on saying it.
    #[error("the reply is longer than {limit_bytes} bytes")]
    ReplyTooLong {
        /// The reply's status.
        status: StatusCode,
        /// The limit that was passed.
        limit_bytes: u64,
    },
}

/// Why a request never left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreached {
    /// The target wants TLS, and there is nothing to check its certificate against.
    #[error("no certificate of an app can be checked")]
    Trust(#[from] TrustError),
    /// The target wants TLS, and its host is neither a name nor an address that a certificate could have.
    #[error("the host cannot stand in a certificate")]
    Name(#[source] InvalidDnsNameError),
    /// The TLS handshake failed, mostly over the certificate: from an authority that this machine does not know, for
    /// another name, or out of date.
    #[error("the TLS handshake failed")]
    Tls(#[source] io::Error),
    /// Neither refused nor accepted in time.
    #[error("connecting took too long")]
    TimedOut,
    /// Refused, no route, no such name, or no descriptor left for it.
    #[error("connecting failed")]
    Connect(#[source] io::Error),
    /// Accepted and closed at once.
    #[error("the connection was closed before the request")]
    Closed,
}

type Idle = HashMap<Target, Vec<(Link<Socket>, Instant)>>;

/// Of a reply whose head decides: how much of its body is read, and for how long. More of it is dropped with its
/// connection.
#[derive(Debug, Clone, Copy)]
pub struct Beginning {
    /// The most of the body.
    pub max_bytes: u64,
    /// How long it may take once the head is there.
    pub patience: Duration,
}

/// Connections by target; see the module. Clones share them.
#[derive(Clone)]
pub struct Pool {
    settings: PoolSettings,
    /// Each with the time at which it was last used, the latest last.
    idle: Arc<Mutex<Idle>>,
    /// There from the first target that wants TLS on.
    tls: Arc<OnceCell<TlsConnector>>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Pool {
    /// An empty pool.
    pub fn new(settings: PoolSettings) -> Self {
        Self { settings, idle: Arc::default(), tls: Arc::default() }
    }

    /// Reads the machine's root certificates, so that the first request to a target with TLS need not; a failure is tried
    /// again by each.
    pub async fn prepare_tls(&self) -> Result<(), TrustError> {
        self.tls.get_or_try_init(trust::connector).await.map(|_| ())
    }

    /// Sends one request and reads the whole reply, both by `deadline`. The request's target is cut to path and query;
    /// `Host` is added if missing, `Content-Length` is always set, and no other header is touched: what hop-by-hop
    /// headers there are is the caller's business.
    pub async fn send(
        &self,
        target: &Target,
        request: Request<Bytes>,
        deadline: Instant,
    ) -> Result<Response<Bytes>, SendError> {
        let reading = Reading::Whole { max_bytes: self.settings.max_reply_bytes };
        self.send_once(target, request, deadline, reading).await
    }

    /// Sends one request like [`send`](Self::send), of which the reply's head is all that counts: there is a reply as soon
    /// as its head has come by `deadline`, with as much of its body as came, whatever becomes of the rest.
    pub async fn send_for_head(
        &self,
        target: &Target,
        request: Request<Bytes>,
        deadline: Instant,
        Beginning { max_bytes, patience }: Beginning,
    ) -> Result<Response<Bytes>, SendError> {
        self.send_once(target, request, deadline, Reading::Beginning { max_bytes, patience }).await
    }

    async fn send_once(
        &self,
        target: &Target,
        request: Request<Bytes>,
        deadline: Instant,
        reading: Reading,
    ) -> Result<Response<Bytes>, SendError> {
        let mut request = in_wire_form(target, request);
        while let Some(link) = self.take(target) {
            match self.exchange(link, target, request, deadline, reading).await {
                Err(Failure::Untaken(returned)) => request = *returned,
                outcome => return outcome.map_err(|failure| self.told(failure)),
            }
        }
        let link = self.connect(target, deadline).await.map_err(SendError::NeverReached)?;
        self.exchange(link, target, request, deadline, reading).await.map_err(|failure| self.told(failure))
    }

    /// One exchange; the connection is kept only if the exchange left nothing behind on it.
    async fn exchange(
        &self,
        mut link: Link<Socket>,
        target: &Target,
        request: Request<Full<Bytes>>,
        deadline: Instant,
        reading: Reading,
    ) -> Result<Response<Bytes>, Failure> {
        let reply = link.exchange(request, deadline, reading).await?;
        if link.is_usable() {
            self.keep(target, link);
        }
        Ok(reply)
    }

    async fn connect(&self, target: &Target, deadline: Instant) -> Result<Link<Socket>, Unreached> {
        let patience = deadline.min(Instant::now() + self.settings.connect_timeout);
        let opened = timeout_at(patience, self.open(target)).await;
        Link::open(opened.map_err(|_| Unreached::TimedOut)??).await.map_err(|_| Unreached::Closed)
    }

    async fn open(&self, target: &Target) -> Result<Socket, Unreached> {
        let socket = match target.address() {
            // Some machines know it as one of the two, and apps listen on either: both are this machine.
            ("localhost", port) => {
                TcpStream::connect(&LOOPBACKS.map(|loopback| SocketAddr::new(loopback, port))[..]).await
            }
            address => TcpStream::connect(address).await,
        };
        let socket = socket.map_err(Unreached::Connect)?;
        socket.set_nodelay(true).map_err(Unreached::Connect)?;
        match target.scheme() {
            Scheme::Http => Ok(Socket::Plain(socket)),
            Scheme::Https => {
                let (host, _) = target.address();
                let name = ServerName::try_from(host.to_owned()).map_err(Unreached::Name)?;
                let connector = self.tls.get_or_try_init(trust::connector).await?;
                let session = connector.connect(name, socket).await.map_err(Unreached::Tls)?;
                Ok(Socket::Tls(Box::new(session)))
            }
        }
    }

    fn told(&self, failure: Failure) -> SendError {
        match failure {
            Failure::Untaken(_) => SendError::NeverReached(Unreached::Closed),
            Failure::Lost { status, cause } => SendError::Unknown { status, source: cause },
            Failure::TooLong { status } => {
                SendError::ReplyTooLong { status, limit_bytes: self.settings.max_reply_bytes }
            }
        }
    }

    /// The kept connection used last, since it is the likeliest to be open still.
    fn take(&self, target: &Target) -> Option<Link<Socket>> {
        let mut idle = lock(&self.idle);
        let kept = idle.get_mut(target)?;
        while let Some((mut link, used)) = kept.pop() {
            if used.elapsed() < self.settings.idle_timeout && link.is_usable() {
                return Some(link);
            }
        }
        None
    }

    fn keep(&self, target: &Target, link: Link<Socket>) {
        let mut idle = lock(&self.idle);
        if idle.is_empty() {
            tokio::spawn(reap(Arc::downgrade(&self.idle), self.settings.idle_timeout));
        }
        let kept = idle.entry(target.clone()).or_default();
        if kept.len() < self.settings.max_idle_per_target {
            kept.push((link, Instant::now()));
        }
    }
}

/// Closes what has not been used for `idle_timeout`, and ends when nothing is kept: connections nobody wants would
/// otherwise stay until the next request, and hold up an app that waits for its connections to close.
async fn reap(idle: Weak<Mutex<Idle>>, idle_timeout: Duration) {
    loop {
        sleep(idle_timeout).await;
        let Some(idle) = idle.upgrade() else { return };
        let mut idle = lock(&idle);
        for kept in idle.values_mut() {
            kept.retain(|(_, used)| used.elapsed() < idle_timeout);
        }
        idle.retain(|_, kept| !kept.is_empty());
        if idle.is_empty() {
            return;
        }
    }
}

/// A panic elsewhere leaves the map whole: nothing is awaited and nothing half-done under the lock.
fn lock(idle: &Mutex<Idle>) -> MutexGuard<'_, Idle> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

fn in_wire_form(target: &Target, request: Request<Bytes>) -> Request<Full<Bytes>> {
    let mut request = request;
    *request.version_mut() = Version::HTTP_11;
    *request.uri_mut() = request.uri().path_and_query().cloned().map_or_else(|| Uri::from_static("/"), Uri::from);
    let length = HeaderValue::from(request.body().len());
    let headers = request.headers_mut();
    headers.remove(TRANSFER_ENCODING);
    headers.insert(CONTENT_LENGTH, length);
    if !headers.contains_key(HOST) {
        let host =
            HeaderValue::try_from(target.to_string()).expect("a host that was parsed from a URI is visible ASCII");
        headers.insert(HOST, host);
    }
    request.map(Full::new)
}
