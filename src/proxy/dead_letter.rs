//! What is kept of an event whose hand-over failed, and when.
//!
//! A sender that does not come again has one answer, and once it is a failure the event is nowhere but here. So before that
//! answer the event is in the store, synced: what was sent, byte for byte, and how it went. It does not matter whether the
//! sender is still there to hear it. Where the store cannot keep it the failure is answered all the same: to say 503
//! instead would bring nothing back. What is lost that way is an error in the log, and counted.

use bytes::Bytes;
use http::request::Parts;
use tokio::time::Instant;

use super::attempt::Attempt;
use super::settings::{KeepFailures, RouteSettings};
use super::verdict::Verdict;
use crate::claim::Timestamp;
use crate::clock::Clock;
use crate::event::{Cause, Content, EventId, Failure, HeaderLine, MAX_EXCERPT_BYTES};
use crate::server::{Target, spelled};
use crate::store::Store;

/// An event as it was sent, for the case that it has to be kept.
#[derive(Debug)]
pub(super) struct Evidence {
    id: EventId,
    head: Parts,
    body: Bytes,
    received_at: Timestamp,
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
            KeepFailures::Never => return None,
            KeepFailures::Stopped(_) | KeepFailures::Always => {}
        }
        let waited_ms = u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let received_at = Timestamp::from_millis(clock.now().as_millis().saturating_sub(waited_ms));
        Some(Self { id, head: head.clone(), body: body.clone(), received_at })
    }

    /// Keeps the event if its sender will not come again after this.
    pub(super) async fn keep_after(self, verdict: &Verdict, attempt: &Attempt, store: &Store) {
        if !is_final(verdict, &attempt.route.keep_failures) {
            return;
        }
        let failure = self.failure(verdict, attempt, store.clock().now());
        let sender_id = attempt.event_id.as_ref().map(|id| id.as_bytes().into());
        // Why not has been told, and nothing else can be done about it.
        let _kept = store.keep_event(failure, async move || self.content(sender_id).await).await;
    }

    fn failure(&self, verdict: &Verdict, attempt: &Attempt, at: Timestamp) -> Failure {
        let route = &attempt.route;
        let status = verdict.app_status().map(|status| status.as_u16());
        let said = if let Verdict::Answered(answer) = verdict { &answer.body()[..] } else { &[] };
        let app = Target::from_uri(route.forward_to.uri()).map(|target| target.to_string()).unwrap_or_default();
        Failure {
            id: self.id,
            route: route.name.clone(),
            namespace: route.namespace.clone(),
            key: attempt.guarded.as_ref().map(|guarded| guarded.key.clone()),
            received_at: self.received_at,
            body_bytes: self.body.len() as u64,
            app: app.into(),
            attempt: attempt.number(),
            at,
            status,
            cause: if status.is_some() { Cause::Rejected } else { Cause::Unreachable },
            excerpt: said[..said.len().min(MAX_EXCERPT_BYTES)].into(),
        }
    }

    async fn content(self, sender_id: Option<Box<[u8]>>) -> Content {
        let headers = spelled(&self.head).await.into_iter().map(|(name, value)| HeaderLine { name, value }).collect();
        // An absolute target counts as its path.
        let target = self.head.uri.path_and_query().map_or("/", |target| target.as_str());
        Content { target: target.into(), sender_id, headers, body: self.body }
    }
}

/// Whether the sender gives the event up once it is told this.
fn is_final(verdict: &Verdict, keep: &KeepFailures) -> bool {
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
