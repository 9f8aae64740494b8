//! Speaks HTTP on one connection, from the handshake to the last byte.
//!
//! hyper drops the handler's future as soon as it sees the peer gone, half-closed included unless the listener says
//! otherwise; what must outlive the sender is a task of its own, and not the transport's business. It sees that only
//! while nothing else waits in its buffer: a sender that pipelines a second request is not noticed leaving until the
//! first is answered.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use super::listener::Arrival;
use super::request::Peer;
use super::seat::{Phase, Seat, Seated};
use super::stream::Stream;
use super::{HalfClosed, Limits, Request, RequestBody, Response, Shutdown, framing};

/// How long a connection that we end goes on swallowing what its peer still sends. Closing at once would make the
/// kernel answer those bytes with a reset, which destroys the last answer (413, 431, 400) before the peer has read it.
/// nginx does the same under the name of `lingering_close`, for up to 30 s; two are several round trips, and the place
/// is wanted.
const LINGER: Duration = Duration::from_secs(2);

/// How long a connection that was told to go may take for what it still has to write or, at a stop, for the rest of a head
/// that has begun: several round trips. A head that is not here by then may never come, and nothing was promised for it.
const LEAVE: Duration = Duration::from_secs(1);

/// What the connections of one listener have in common.
pub(super) struct Protocol {
    builder: Builder,
    limits: Limits,
    shutdown: Shutdown,
}

impl Protocol {
    pub(super) fn new(limits: Limits, shutdown: Shutdown) -> Self {
        let mut builder = Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_timeout)
            .max_header_size(limits.max_head_bytes)
            .preserve_header_case(true)
            .keep_alive(true)
            .half_close(limits.half_closed == HalfClosed::Waiting)
            .pipeline_flush(false);
        Self { builder, limits, shutdown }
    }

    /// Serves one connection to its end. Nothing is returned: its failures are the peer's, and only the debug log
    /// wants them.
    pub(super) async fn converse<S, F>(&self, arrival: Arrival, seated: Seated, service: S)
    where
        S: Fn(Request) -> F,
        F: Future<Output = Response>,
    {
        let _counted = self.shutdown.count();
        let (peer, seat) = (arrival.peer(), &seated.seat);
        let opened = tokio::select! {
            opened = arrival.open(Arc::clone(seat), &self.limits) => opened,
            () = seat.leave.cancelled() => return,
        };
        match opened {
            Ok(stream) => self.exchange(stream, peer, service, seat).await,
            Err(error) => tracing::debug!(?peer, %error, "connection not opened"),
        }
    }

    async fn exchange<S, F>(&self, stream: Stream, peer: Peer, service: S, seat: &Arc<Seat>)
    where
        S: Fn(Request) -> F,
        F: Future<Output = Response>,
    {
        let service = service_fn(move |request| self.answer(&service, peer, seat, request));
        let mut connection = self.builder.serve_connection(TokioIo::new(stream), service);
        let by_itself = tokio::select! {
            biased; // the stop first, so that an answer which is ready with it already says `Connection: close`
            () = seat.leave.cancelled() => None,
            outcome = &mut connection => Some(outcome),
        };
        let outcome = match by_itself {
            Some(outcome) => outcome,
            None => {
                Pin::new(&mut connection).graceful_shutdown();
                tokio::select! {
                    biased;
                    outcome = &mut connection => outcome,
                    () = self.shutdown.cut.cancelled() => return,
                    () = nothing_more_comes(seat) => return,
                }
            }
        };
        if !is_answered(peer, outcome) {
            return;
        }
        seat.rests();
        tokio::select! {
            () = linger(connection.into_parts().io.into_inner()) => {}
            () = seat.leave.cancelled() => {}
        }
    }

    /// Hands a well-framed request to the service, without a task or an allocation of its own.
    fn answer<S, F>(
        &self,
        service: &S,
        peer: Peer,
        seat: &Arc<Seat>,
        request: hyper::Request<Incoming>,
    ) -> impl Future<Output = Result<Response, Infallible>> + use<S, F>
    where
        S: Fn(Request) -> F,
        F: Future<Output = Response>,
    {
        let (head, body) = request.into_parts();
        let body = RequestBody::new(body, &self.limits.bodies, seat);
        let answering = match framing::check(&head, seat.had_fragment()) {
            Ok(()) => Ok(service(Request { head, body, peer })),
            Err(refusal) => Err(refusal.answer(self.limits.stamp.as_ref())),
        };
        let seat = Arc::clone(seat);
        async move {
            let mut response = match answering {
                Ok(response) => response.await,
                Err(refusal) => refusal,
            };
            response.body_mut().goes_out_on(seat);
            Ok(response)
        }
    }
}

/// Whether the peer has an answer to read. hyper answers what it could not parse; any other error means that the time
/// is up or the peer has gone.
fn is_answered(peer: Peer, outcome: hyper::Result<()>) -> bool {
    let Err(error) = outcome else { return true };
    tracing::debug!(?peer, %error, "connection ended early");
    error.is_parse()
}

/// Ends when a connection that was told to go has no request in hand, and none will come in time; never, if it has one or
/// is still writing an answer: such a connection ends by itself.
async fn nothing_more_comes(seat: &Seat) {
    if seat.phase() == (Phase::Leaving { idle: false }) {
        return;
    }
    sleep(LEAVE).await;
    match seat.phase() {
        Phase::Head(_) | Phase::Leaving { .. } => {}
        Phase::Idle(_) | Phase::Body(..) | Phase::Busy => std::future::pending().await,
    }
}

/// Says that we are done, and swallows what still comes. A peer that has closed ends it at once.
async fn linger(mut stream: Stream) {
    let swallow = async {
        stream.shutdown().await?;
        let mut scrap = [0; 4096];
        while stream.read(&mut scrap).await? > 0 {}
        std::io::Result::Ok(())
    };
    match timeout(LINGER, swallow).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "connection broke while closing"),
        Err(_) => tracing::debug!("peer did not close"),
    }
}
