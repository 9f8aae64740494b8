//! Hands a request over to its app, once, and says what came of it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use tokio::time::Instant;

use crate::chain::Chain;
use crate::event::EventId;
use crate::metrics::{ByApp, Metrics};
use crate::quiet::Quiet;
use crate::server::{Beginning, Lost, Pool, PoolSettings, SendError, Target};

/// The largest reply of an app that is relayed. Senders read a few hundred bytes.
const MAX_RELAYED_BYTES: u64 = 4 << 20;

/// What is read of a reply that is not relayed. Its head decides; the rest is worth a connection that can be used again,
/// and a few words for whoever looks into why the app refuses an event.
const BEGINNING: Beginning = Beginning { max_bytes: 64 * 1024, patience: Duration::from_secs(1) };

/// Reaches apps and counts how it went. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Apps {
    pool: Pool,
    metrics: Arc<Metrics>,
    quiet: Arc<Quiet<Topic>>,
}

/// What an app that is down can cause to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Topic {
    /// A hand-over without a whole answer.
    Lost,
    /// An event that the app has not handled.
    Failed,
}

/// What a hand-over came to.
#[derive(Debug)]
pub enum Outcome {
    /// The app has answered. Of an answer that is too long there is the status alone.
    Answered(Response<Bytes>),
    /// The app was not reached: it has not seen a byte.
    NeverReached,
    /// The app may have taken it, and did not answer in time.
    TimedOut,
    /// The app may have taken it; its answer broke off, or is none.
    Lost,
}

/// The word in metrics for whatever the app may have taken.
const UNKNOWN: &str = "unknown";

/// A hand-over that is counted when it ends; one that a stop cuts, as unknown.
struct Counted<'a> {
    apps: &'a Apps,
    route: &'a str,
    target: &'a Target,
    started: Instant,
    outcome: &'static str,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.apps.count(self.route, self.target, self.outcome, self.started.elapsed());
    }
}

impl Outcome {
    /// The word in metrics.
    fn as_str(&self) -> &'static str {
        match self {
            Self::Answered(answer) => class(answer.status()),
            Self::NeverReached => "never_reached",
            Self::TimedOut => "timed_out",
            Self::Lost => UNKNOWN,
        }
    }
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        200..=299 => "2xx",
        300..=399 => "3xx",
        500..=599 => "5xx",
        _ => "4xx",
    }
}

impl Apps {
    /// Apps that nobody has connected to yet.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Self {
        let pool = Pool::new(PoolSettings { max_reply_bytes: MAX_RELAYED_BYTES, ..PoolSettings::default() });
        Self { pool, metrics, quiet: Arc::default() }
    }

    /// Reads what TLS towards apps needs. What fails is told and tried again when a request comes: the other apps can be
    /// reached all the same.
    pub async fn prepare_tls(&self) {
        if let Err(error) = self.pool.prepare_tls().await {
            tracing::error!(error = %Chain(&error), "apps behind https cannot be reached");
        }
    }

    /// Hands the request over, once, for somebody who wants the answer; the app may take so long for all of it.
    pub async fn send(&self, route: &str, request: Request<Bytes>, max_duration: Duration) -> Outcome {
        self.counted(route, request, async |target, request, started| {
            self.pool.send(target, request, started + max_duration).await
        })
        .await
    }

    /// Hands the request over, once, for somebody to whom the status says enough; the app may take so long to come to it.
    pub async fn send_for_status(&self, route: &str, request: Request<Bytes>, max_duration: Duration) -> Outcome {
        self.counted(route, request, async |target, request, started| {
            self.pool.send_for_head(target, request, started + max_duration, BEGINNING).await
        })
        .await
    }

    async fn counted(
        &self,
        route: &str,
        request: Request<Bytes>,
        send: impl AsyncFnOnce(&Target, Request<Bytes>, Instant) -> Result<Response<Bytes>, SendError>,
    ) -> Outcome {
        let Ok(target) = Target::from_uri(request.uri()) else {
            return Outcome::NeverReached;
        };
        let started = Instant::now();
        let mut counted = Counted { apps: self, route, target: &target, started, outcome: UNKNOWN };
        let sent = send(&target, request, started).await;
        let outcome = self.judge(route, sent);
        counted.outcome = outcome.as_str();
        outcome
    }

    /// Says which event was not handled, as often as the log can bear. It is called by our name: the sender's is a header's
    /// value, or a part of a body.
    pub fn note_failed(&self, route: &str, event: EventId, attempt: u32, status: Option<StatusCode>) {
        if let Some(left_out) = self.quiet.permits(route, Topic::Failed) {
            let status = status.map(|status| status.as_u16());
            tracing::warn!(%route, %event, attempt, status, left_out, "the app has not handled an event");
        }
    }

    fn judge(&self, route: &str, sent: Result<Response<Bytes>, SendError>) -> Outcome {
        let error = match sent {
            Ok(answer) => return Outcome::Answered(answer),
            Err(error) => error,
        };
        if let Some(left_out) = self.quiet.permits(route, Topic::Lost) {
            tracing::warn!(%route, error = %Chain(&error), left_out, "a hand-over came to no whole answer");
        }
        match error {
            SendError::NeverReached(_) => Outcome::NeverReached,
            SendError::Unknown { source: Lost::TimedOut, .. } => Outcome::TimedOut,
            SendError::Unknown { .. } => Outcome::Lost,
            // The app has said what it did, and it is we who read no further: its status goes on alone. To take a success
            // for a failure, for its length, would hand the event over again at every retry.
            SendError::ReplyTooLong { status, .. } => {
                let mut answer = Response::new(Bytes::new());
                *answer.status_mut() = status;
                Outcome::Answered(answer)
            }
        }
    }

    fn count(&self, route: &str, target: &Target, outcome: &'static str, took: Duration) {
        self.metrics.attempt_seconds.observe(took.as_secs_f64());
        let labels = ByApp { route: route.to_owned(), app: target.to_string(), outcome };
        self.metrics.attempts.get_or_create(&labels).inc();
    }
}
