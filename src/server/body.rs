//! Reads a request's body, bounded in bytes and in time.
//!
//! The time is a sequence of windows. The first is long and lets any speed pass; a body that outlasts it goes on only
//! while each window brings its share at the minimum rate. A single limit on the whole body was not taken: it must be
//! either too short for a large body on a slow line or too long for a sender that has gone.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use super::budget::BodyBudget;
use super::gathered::{Bounds, Gathered};
use super::seat::Seat;

/// The length of every window but the first: long enough that a lost packet's retransmission does not decide.
const WINDOW: Duration = Duration::from_secs(10);

/// How large a body may be and how slowly it may come.
#[derive(Debug, Clone)]
pub struct BodyLimits {
    /// The largest body taken.
    pub max_bytes: u64,
    /// Within this, any speed will do.
    pub whole: Duration,
    /// Bytes a second, on average over the first `whole` and then over each ten seconds, that a body which takes
    /// longer must bring.
    pub min_rate: u64,
}

impl BodyLimits {
    /// The usual times for bodies up to `max_bytes`: 60 s as senders know from nginx, then 1 KiB/s, far below any
    /// line in use and far above a sender that feeds single bytes to hold a connection.
    pub fn up_to(max_bytes: u64) -> Self {
        Self { max_bytes, whole: Duration::from_secs(60), min_rate: 1024 }
    }
}

/// Why a body could not be read. The connection is of no more use: whoever answers must [`close`](super::close) it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// It is longer than allowed; known from its Content-Length before a byte was read, or found while reading.
    #[error("the body is longer than {limit_bytes} bytes")]
    TooLarge {
        /// The limit that was passed.
        limit_bytes: u64,
    },
    /// It came too slowly.
    #[error("the body came too slowly: {got} bytes so far")]
    TimedOut {
        /// The announced length, if there was one.
        expected: Option<u64>,
        /// Bytes received.
        got: u64,
    },
    /// The sender closed before the end. Usually nobody is left to read the answer.
    #[error("the sender closed after {got} bytes of the body")]
    Incomplete {
        /// The announced length, if there was one.
        expected: Option<u64>,
        /// Bytes received.
        got: u64,
    },
    /// Its chunks cannot be parsed.
    #[error("the body's chunks are malformed")]
    Malformed(#[source] hyper::Error),
    /// All bodies together take what memory there is for them, or its connection was wanted for somebody quicker. It is
    /// our own trouble: the sender should come again.
    #[error("there is no room for the body now")]
    Crowded,
}

impl BodyError {
    /// The status that says so to the sender.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TimedOut { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::Incomplete { .. } | Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Crowded => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// A body still on the wire.
#[derive(Debug)]
pub struct RequestBody {
    incoming: Incoming,
    budget: BodyBudget,
    seat: Arc<Seat>,
}

impl RequestBody {
    pub(super) fn new(incoming: Incoming, budget: &BodyBudget, seat: &Arc<Seat>) -> Self {
        if incoming.is_end_stream() {
            seat.works();
        } else {
            seat.begins_body();
        }
        Self { incoming, budget: budget.clone(), seat: Arc::clone(seat) }
    }

    /// Reads all of it. If the sender waits for `100 Continue`, this is what sends it; a body refused for its
    /// announced length is therefore never sent by such a sender. The bytes hold their share of the memory for bodies
    /// until their last copy is dropped.
    pub async fn read(mut self, limits: &BodyLimits) -> Result<Bytes, BodyError> {
        let expected = self.incoming.size_hint().exact();
        let too_large = BodyError::TooLarge { limit_bytes: limits.max_bytes };
        if expected.is_some_and(|bytes| bytes > limits.max_bytes) {
            return Err(too_large);
        }
        let bounds = Bounds { expected, max: limits.max_bytes };
        let mut gathered = Gathered::None;
        let mut share = self.budget.share();
        let mut pace = Pace::start(limits);
        while !self.incoming.is_end_stream() {
            let Some(piece) = self.next(&mut pace, expected, gathered.len_bytes()).await? else {
                break;
            };
            if gathered.len_bytes() + piece.len() as u64 > limits.max_bytes {
                return Err(too_large);
            }
            self.seat.has_of_body(gathered.len_bytes() + piece.len() as u64);
            let asked_at = Instant::now();
            share.grow(gathered.room_with(&piece, bounds), &self.seat).await.map_err(|_| BodyError::Crowded)?;
            pace.leaves_out(asked_at.elapsed());
            gathered.push(piece, bounds);
            if !self.incoming.is_end_stream() {
                share.goes_on(&self.seat);
            }
        }
        Ok(share.hold(gathered.into_bytes()))
    }

    /// The next piece of data; trailers count as an empty one. None at the end.
    async fn next(&mut self, pace: &mut Pace, expected: Option<u64>, got: u64) -> Result<Option<Bytes>, BodyError> {
        loop {
            // Polls the body first and registers neither a timer nor a waiter when a piece is there.
            let piece = tokio::select! {
                biased;
                piece = timeout_at(pace.window_end, self.incoming.frame()) => piece,
                () = self.seat.told_to_give_up() => return Err(BodyError::Crowded),
            };
            match piece {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(frame))) => return Ok(Some(frame.into_data().unwrap_or_default())),
                Ok(Some(Err(error))) => return Err(broken(error, expected, got)),
                Err(_) if pace.kept(got) => {}
                Err(_) => return Err(BodyError::TimedOut { expected, got }),
            }
        }
    }
}

/// From here on the peer is not waited for, whether the body was read or not.
impl Drop for RequestBody {
    fn drop(&mut self) {
        self.seat.works();
    }
}

/// hyper gives one kind of error for everything; what lies below tells the sender's syntax from the sender's absence.
fn broken(error: hyper::Error, expected: Option<u64>, got: u64) -> BodyError {
    let cause = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
    match cause.map(io::Error::kind) {
        Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => BodyError::Malformed(error),
        _ => BodyError::Incomplete { expected, got },
    }
}

/// The window that is running, and what had been received when it began.
struct Pace {
    window: Duration,
    window_end: Instant,
    min_rate: u64,
    got_before: u64,
}

impl Pace {
    fn start(limits: &BodyLimits) -> Self {
        let window = limits.whole;
        Self { window, window_end: Instant::now() + window, min_rate: limits.min_rate, got_before: 0 }
    }

    /// The body was not read for so long, which is no fault of its sender's.
    fn leaves_out(&mut self, waited: Duration) {
        self.window_end += waited;
    }

    /// Whether the window that has just ended brought its share; if so the next one begins.
    fn kept(&mut self, got: u64) -> bool {
        if got - self.got_before < self.min_rate.saturating_mul(self.window.as_secs()) {
            return false;
        }
        self.got_before = got;
        self.window = WINDOW;
        self.window_end += WINDOW;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that was not read for want of memory was then too slow for the window that had gone by.
    #[tokio::test(start_paused = true)]
    async fn a_window_ends_later_by_what_the_body_has_waited() {
        let mut pace = Pace::start(&BodyLimits { whole: WINDOW, ..BodyLimits::up_to(1_000_000) });
        for windows in 1..3 {
            pace.leaves_out(WINDOW);
            assert_eq!(pace.window_end - Instant::now(), 2 * windows * WINDOW, "window {windows}");
            assert!(pace.kept(u64::from(windows) * 1024 * WINDOW.as_secs()));
        }
    }
}
