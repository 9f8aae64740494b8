//! The HTTP/1.1 transport: it carries requests in, answers out, and our own requests to the apps.
//!
//! It knows no claims, routes or JSON, and it never decides what an answer means. It alone mentions hyper: everybody
//! else speaks the vocabulary of the `http` and `bytes` crates and the types below.
//!
//! In reading order:
//!
//! - `listener`, `unix` and `tls` open a door; `stream` is one connection's bytes, with a bound on stalls;
//!   `carried` lets it and `socket` be of several kinds.
//! - `serve` accepts and never ends on an error; `seat` is a connection's place, and who gives it up when there are none
//!   left; `connection` speaks HTTP on one connection; `framing` refuses what two parsers could read as two different
//!   requests; `limits` says how much of everything, and why.
//! - `request`, `body` and `response` are what a handler sees; `gathered` joins a body's pieces, within the `budget` of
//!   all bodies.
//! - `spelling` tells how header names were written.
//! - `shutdown` stops all of it by a deadline.
//! - `link` is one connection to somebody else, over a `socket`, with TLS by what `trust` believes; `pool` keeps them by
//!   `target` for the proxy, `call` opens one for the command line.
//!
//! What holds: every wait, buffer and queue that a stranger can fill has a named limit; a request whose end is
//! ambiguous is answered and its connection closed; no request is ever sent twice by this layer. A failure leaves
//! nothing behind but a closed connection (and, after a kill, a socket file that the next start replaces).

mod body;
mod budget;
mod call;
mod carried;
mod connection;
mod framing;
mod gathered;
mod limits;
mod link;
mod listener;
mod pool;
mod request;
mod response;
mod seat;
mod serve;
mod shutdown;
mod socket;
mod spelling;
mod stream;
mod target;
mod tls;
mod trust;
mod unix;

pub use body::{BodyError, BodyLimits, RequestBody};
pub use budget::BodyBudget;
pub use call::{CallError, Endpoint, call};
pub use limits::{HalfClosed, Limits};
pub use link::Lost;
pub use listener::{ListenError, Listener};
pub use pool::{Beginning, Pool, PoolSettings, SendError, Unreached};
pub use request::{Peer, Request};
pub use response::{Response, ResponseBody, close};
pub use serve::serve;
pub use shutdown::{Drained, Shutdown, ShutdownSettings};
pub use spelling::{Spelled, spelled};
pub use target::{Scheme, Target, TargetError};
pub use tls::{Tls, TlsError, TlsFiles, keep_fresh};
pub use trust::TrustError;
