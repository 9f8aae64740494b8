//! How much of everything one listener gives away, with the reason for each number.

use std::time::Duration;

use http::{HeaderName, HeaderValue};

use super::BodyBudget;

/// The bounds of one listener. The number of headers is not among them: hyper takes 100 and keeps room for exactly
/// those on the stack, and a larger room would be allocated anew for every request.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections open at once; for one more, an idle one is closed (or one that keeps us waiting), and when all are at
    /// work it waits in the kernel's backlog, where it costs us nothing. Each one takes a descriptor and some 16 KiB
    /// while idle. The process needs a descriptor limit above this (systemd's soft default is
    /// 1,024): without it accepting pauses whenever descriptors run out, which is survived but slow.
    pub max_connections: usize,
    /// From the end of one answer (or the start of the connection) to the end of the next request's head: idle time
    /// counts, since hyper runs one timer for both. 75 s is what senders know from nginx's `keepalive_timeout`, so
    /// their pools are tuned to give up first.
    pub head_timeout: Duration,
    /// Request line and headers together; a larger head is 431, a longer target 414. 64 KiB is eight times what most
    /// servers take: signature and trace headers grow, and a refused head is a lost event.
    pub max_head_bytes: usize,
    /// How long the TLS handshake may take. Ten seconds are several round trips on a bad mobile network.
    pub handshake_timeout: Duration,
    /// What a peer that has closed its sending side counts as.
    pub half_closed: HalfClosed,
    /// How long a write may stand still because the peer does not read. Answers are small and fit the socket buffer,
    /// so a peer that has read nothing for 30 s has gone.
    pub write_stall: Duration,
    /// The memory for bodies, shared by whoever has a clone of it.
    pub bodies: BodyBudget,
    /// A header of the answers that the transport gives by itself where it can: those to requests that it understands and
    /// does not hand on. What cannot be parsed is answered below us, without it.
    pub stamp: Option<(HeaderName, HeaderValue)>,
}

/// What a peer that has closed its sending side counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HalfClosed {
    /// Gone: its handler is dropped at once, so that nobody waits for an answer that nobody reads.
    Gone,
    /// Waiting for its answer: what it has sent is read to the end. Its leaving is noticed only when the answer is written.
    Waiting,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 4_000,
            head_timeout: Duration::from_secs(75),
            max_head_bytes: 64 * 1024,
            half_closed: HalfClosed::Gone,
            handshake_timeout: Duration::from_secs(10),
            write_stall: Duration::from_secs(30),
            bodies: BodyBudget::default(),
            stamp: None,
        }
    }
}
