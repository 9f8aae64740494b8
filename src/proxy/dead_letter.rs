//! What is kept of an event whose hand-over failed, and when.
//!
//! A sender that does not come again has one answer, and once it is a failure the event is nowhere but here. So before
//! that answer the event is in the store, synced: what was sent, byte for byte, and how it went. It does not matter
//! whether the sender is still there to hear it. Where the store cannot keep it the failure is answered all the same:
//! to say 503 instead would bring nothing back. What is lost that way is an error in the log, and counted.

use bytes::Bytes;
use http::request::Parts;
use tokio::time::Instant;

use super::headers::towards_app;
use super::history::History;
use super::settings::{KeepFailures, RouteSettings};
use super::verdict::Verdict;
use super::{Event, Received};
use crate::claim::{Key, Record, Timestamp};
use crate::clock::Clock;
use crate::event::{Attempt, AttemptOutcome, Cause, Content, EventId, Failure, HeaderLine, MAX_EXCERPT_BYTES, Passed};
use crate::ledger::{Ledger, fresh_bits};
use crate::server::spelled;
use crate::store::Store;

/// An event as it was sent, for the case that it has to be kept.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    id: EventId,
    head: Parts,
    body: Bytes,
    received_at: Timestamp,
}

/// What was tried with an event.
#[derive(Debug)]
pub(super) struct Tried<'a> {
    pub(super) route: &'a RouteSettings,
    pub(super) key: Option<Key>,
    pub(super) sender_id: Option<&'a [u8]>,
    /// Which attempt it was; 0 for none.
    pub(super) number: u32,
    /// When it began.
    pub(super) since: Instant,
}

/// Keeps an event that was turned away before any attempt, if its sender will not come again after that. It may be a
/// copy of one that is handled: then there is nothing to keep, and if it becomes so meanwhile, nothing to keep any
/// more.
pub(super) async fn keep_untried(event: Event, received: Received, verdict: &Verdict, ledger: &Ledger) {
    if !is_final(verdict, &event.route.keep_failures) {
        return;
    }
    let (route, store) = (&event.route, ledger.store());
    let Received { mut head, body, origin, at } = received;
    towards_app(&mut head.headers, &origin);
    let key = event.key.and_then(|(text, _)| Key::new(&route.namespace, &text).ok());
    let id = key.as_ref().map_or_else(|| EventId::without_key(fresh_bits()), EventId::of_key);
    let Some(evidence) = Evidence::gather(route, id, (&head, &body), at, ledger.clock()) else { return };
    if is_done(ledger, key.as_ref()).await {
        return;
    }
    let sender_id = event.event_id.as_ref().map(|id| id.as_bytes());
    let tried = Tried { route, key: key.clone(), sender_id, number: 0, since: Instant::now() };
    evidence.keep(verdict, tried, store).await;
    if is_done(ledger, key.as_ref()).await
        && let Err(fault) = store.settle_event(id).await
    {
        tracing::warn!(route = %route.name, %fault, "a dead letter that was handled is still kept");
    }
}

async fn is_done(ledger: &Ledger, key: Option<&Key>) -> bool {
    let Some(key) = key else { return false };
    let record = ledger.read(key.clone()).await.ok().and_then(|reading| reading.record);
    record.is_some_and(|record| matches!(record, Record::Done(_)) && !record.is_gone(ledger.clock().now()))
}

impl Evidence {
    /// Sets aside what was sent, without what belongs to one connection, where the route may have to keep it.
    pub(super) fn gather(
        route: &RouteSettings,
        id: EventId,
        (head, body): (&Parts, &Bytes),
        at: Instant,
        clock: &Clock,
    ) -> Option<Self> {
        match route.keep_failures {
            KeepFailures::Never if !route.keep_passed => return None,
            KeepFailures::Never | KeepFailures::Stopped(_) | KeepFailures::Always => {}
        }
        let received_at = clock.now().before(at.elapsed());
        Some(Self { id, head: head.clone(), body: body.clone(), received_at })
    }

    /// Keeps the event.
    pub(super) async fn keep(self, verdict: &Verdict, tried: Tried<'_>, store: &Store) {
        let (sender_id, verified_by) = (tried.sender_id.map(Into::into), tried.route.verified_by().map(Into::into));
        let failure = self.failure(verdict, tried, store.clock().now());
        // Why not has been told, and nothing else can be done about it.
        let _kept = store.keep_event(failure, async move || self.content(sender_id, verified_by).await).await;
    }

    /// Lets the history have the event, which its app has handled.
    pub(super) fn pass(self, verdict: &Verdict, tried: Tried<'_>, now: Timestamp, history: &History) {
        let (sender_id, verified_by) = (tried.sender_id.map(Into::into), tried.route.verified_by().map(Into::into));
        let at = now.before(tried.since.elapsed());
        let Failure {
            id,
            route,
            namespace,
            key,
            received_at,
            body_bytes,
            app,
            attempt,
            took_ms,
            outcome,
            status,
            excerpt,
            ..
        } = self.failure(verdict, tried, now);
        let attempt = Attempt { number: attempt, at, took_ms, outcome, status };
        let passed = Passed { id, route, namespace, key, received_at, body_bytes, app, attempt, at: now, excerpt };
        history.keep(passed, self.content(sender_id, verified_by));
    }

    fn failure(&self, verdict: &Verdict, tried: Tried<'_>, at: Timestamp) -> Failure {
        let route = tried.route;
        let status = verdict.app_status().map(|status| status.as_u16());
        let said = if let Verdict::Answered(answer) = verdict { &answer.body()[..] } else { &[] };
        Failure {
            id: self.id,
            route: route.name.clone(),
            namespace: route.namespace.clone(),
            key: tried.key,
            received_at: self.received_at,
            body_bytes: self.body.len() as u64,
            app: route.forward_to.app().into(),
            attempt: tried.number,
            at,
            took_ms: u32::try_from(tried.since.elapsed().as_millis()).unwrap_or(u32::MAX),
            outcome: outcome(verdict),
            status,
            cause: if status.is_some() { Cause::Rejected } else { Cause::Unreachable },
            excerpt: said[..said.len().min(MAX_EXCERPT_BYTES)].into(),
        }
    }

    async fn content(self, sender_id: Option<Box<[u8]>>, verified_by: Option<Box<str>>) -> Content {
        let headers = spelled(&self.head).await.into_iter().map(|(name, value)| HeaderLine { name, value }).collect();
        // An absolute target counts as its path.
        let target = self.head.uri.path_and_query().map_or("/", |target| target.as_str());
        Content { target: target.into(), sender_id, verified_by, headers, body: self.body }
    }
}

/// What became of the hand-over, as far as it is known by now.
fn outcome(verdict: &Verdict) -> AttemptOutcome {
    match verdict {
        verdict if verdict.is_success() => AttemptOutcome::Delivered,
        verdict if verdict.app_status().is_some() => AttemptOutcome::Answered,
        Verdict::Unknown { timed_out: true } => AttemptOutcome::TimedOut,
        Verdict::Unknown { timed_out: false } => AttemptOutcome::Lost,
        Verdict::Late | Verdict::Broken => AttemptOutcome::Unknown,
        _not_handed_over => AttemptOutcome::NeverReached,
    }
}

/// Whether the sender gives the event up once it is told this.
pub(super) fn is_final(verdict: &Verdict, keep: &KeepFailures) -> bool {
    match keep {
        KeepFailures::Never => false,
        KeepFailures::Always => !verdict.is_success(),
        // Statuses of our own are 5xx, after which senders that come again do so.
        KeepFailures::Stopped(statuses) => {
            let stops = |status| statuses.iter().any(|range| range.contains(status));
            matches!(verdict, Verdict::Answered(answer) if stops(answer.status()))
        }
    }
}
