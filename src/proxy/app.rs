//! The app at the other end: where a request goes, and what a hand-over came to.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Uri};
use tokio::time::Instant;

use super::quiet::{Quiet, Topic};
use super::settings::{ForwardTo, RouteSettings};
use super::verdict::Verdict;
use crate::chain::Chain;
use crate::event::EventId;
use crate::metrics::{ByApp, Metrics};
use crate::server::{Lost, Pool, SendError, Target};

/// Reaches apps and counts how it went. Clones share their connections.
#[derive(Debug, Clone)]
pub(super) struct App {
    pool: Pool,
    metrics: Arc<Metrics>,
    quiet: Arc<Quiet>,
}

/// The request target for the app: its own path, what follows the route's prefix, and the query, byte by byte.
pub(super) fn uri(forward_to: &ForwardTo, suffix: &str, query: Option<&str>) -> Option<Uri> {
    let uri = forward_to.uri();
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let mut text = format!("{scheme}://{authority}{}{suffix}", forward_to.path());
    if let Some(query) = query {
        text.push('?');
        text.push_str(query);
    }
    text.parse().ok()
}

impl App {
    pub(super) fn new(pool: Pool, metrics: Arc<Metrics>, quiet: Arc<Quiet>) -> Self {
        Self { pool, metrics, quiet }
    }

    pub(super) async fn prepare_tls(&self) {
        if let Err(error) = self.pool.prepare_tls().await {
            tracing::error!(error = %Chain(&error), "apps behind https cannot be reached");
        }
    }

    /// Hands the request over, once, and says what it came to.
    pub(super) async fn send(&self, route: &RouteSettings, request: Request<Bytes>) -> Verdict {
        let Ok(target) = Target::from_uri(request.uri()) else {
            return Verdict::NeverReached;
        };
        let started = Instant::now();
        let sent = self.pool.send(&target, request, started + route.max_duration).await;
        let (verdict, outcome) = self.judge(route, sent);
        self.count(route, &target, outcome, started.elapsed());
        verdict
    }

    /// Says which event was not handled, as often as the log can bear. It is called by our name: the sender's is a header's
    /// value, or a part of a body.
    pub(super) fn note(&self, route: &RouteSettings, event: EventId, attempt: u32, verdict: &Verdict) {
        if verdict.is_success() {
            return;
        }
        if let Some(left_out) = self.quiet.permits(&route.name, Topic::Failed) {
            let status = verdict.app_status().map(|status| status.as_u16());
            let route = &route.name;
            tracing::warn!(%route, %event, attempt, status, left_out, "the app has not handled an event");
        }
    }

    fn judge(&self, route: &RouteSettings, sent: Result<http::Response<Bytes>, SendError>) -> (Verdict, &'static str) {
        let error = match sent {
            Ok(answer) => return judge_answer(route, answer),
            Err(error) => error,
        };
        if let Some(left_out) = self.quiet.permits(&route.name, Topic::Lost) {
            let error = Chain(&error);
            tracing::warn!(route = %route.name, %error, left_out, "a hand-over came to no whole answer");
        }
        match error {
            SendError::NeverReached(_) => (Verdict::NeverReached, "never_reached"),
            SendError::Unknown { source: Lost::TimedOut, .. } => (Verdict::Unknown { timed_out: true }, "timed_out"),
            SendError::Unknown { .. } => (Verdict::Unknown { timed_out: false }, "unknown"),
            // The app has said what it did, and it is we who read no further: its status goes on alone. To release a
            // success for its length would hand the event over again at every retry.
            SendError::ReplyTooLong { status, .. } => {
                let mut answer = http::Response::new(Bytes::new());
                *answer.status_mut() = status;
                judge_answer(route, answer)
            }
        }
    }

    fn count(&self, route: &RouteSettings, target: &Target, outcome: &'static str, took: Duration) {
        self.metrics.attempt_seconds.observe(took.as_secs_f64());
        let labels = ByApp { route: route.name.to_string(), app: target.to_string(), outcome };
        self.metrics.attempts.get_or_create(&labels).inc();
    }
}

fn judge_answer(route: &RouteSettings, answer: http::Response<Bytes>) -> (Verdict, &'static str) {
    let status = answer.status();
    match status.as_u16() {
        200..=299 => (Verdict::Answered(answer), "2xx"),
        300..=399 => (Verdict::Redirected(status), "3xx"),
        _ if route.dangerous_statuses.iter().any(|range| range.contains(status)) => {
            (Verdict::Dangerous(status), class(status))
        }
        _ => (Verdict::Answered(answer), class(status)),
    }
}

fn class(status: http::StatusCode) -> &'static str {
    if status.is_server_error() { "5xx" } else { "4xx" }
}
