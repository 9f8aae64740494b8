//! One attempt: hand over, then confirm or release. A task of its own from the claim on.
//!
//! The claim ends by what the app did: done where it answered 2xx, free where it answered anything else or was not
//! reached, and as the route says where nobody knows. What has to be kept of a failed event is kept before its claim ends,
//! so that whoever gets the claim next finds it. If the process dies on any of these lines, the next start deals with the
//! claim.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, Version};
use humantime::format_rfc3339_millis;

use super::Received;
use super::app::App;
use super::dead_letter::{Evidence, Tried};
use super::headers::towards_app;
use super::kept::KeptAnswer;
use super::settings::{DuplicateResponse, OnUnknownOutcome, RouteSettings};
use super::verdict::Verdict;
use crate::claim::{ConfirmedTtl, Key, Token};
use crate::event::EventId as DeliveryId;
use crate::ledger::{Ask, Ledger, fresh_bits};
use crate::provider::EventId;
use crate::store::Fault;

const ATTEMPT: HeaderName = HeaderName::from_static("onced-attempt");
const DEGRADED: HeaderName = HeaderName::from_static("onced-degraded");
const DELIVERY: HeaderName = HeaderName::from_static("onced-delivery");
const EVENT_ID: HeaderName = HeaderName::from_static("onced-event-id");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(super) const RECEIVED_AT: HeaderName = HeaderName::from_static("onced-received-at");
pub(super) const VERIFIED: HeaderName = HeaderName::from_static("onced-verified");

/// Why an event without an identity goes on unguarded, for the app and for the metrics.
pub(super) const NO_EVENT_ID: &str = "no_event_id";

/// An event on its way to the app.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) route: Arc<RouteSettings>,
    /// `None` for an event without an identity, which is forwarded as it comes.
    pub(super) guarded: Option<Guarded>,
    pub(super) event_id: Option<EventId>,
    pub(super) uri: Option<Uri>,
}

/// The claim that guards an attempt.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) key: Key,
    pub(super) token: Token,
    pub(super) attempt: u32,
    pub(super) confirmed_ttl: ConfirmedTtl,
    /// Set when the claim is in memory only.
    pub(super) degraded: Option<Fault>,
}

impl Attempt {
    /// Hands the event over, keeps what has to be kept, and settles its claim.
    pub(super) async fn run(self, app: App, ledger: Arc<Ledger>, received: Received) -> Verdict {
        let (request, evidence) = self.request(received, &ledger);
        let verdict = match request {
            Some(request) => app.send(&self.route, request).await,
            None => Verdict::NeverReached,
        };
        let store = ledger.store();
        if let Some(evidence) = evidence {
            evidence.keep_after(&verdict, self.tried(), store).await;
        }
        if let Some(guarded) = &self.guarded {
            let handled = verdict.is_success() && store.has_events();
            // Both are in the queue before either is waited for, and so in one commit.
            let unkeep =
                async { if handled { store.settle_event(DeliveryId::of_key(&guarded.key)).await } else { Ok(()) } };
            let ((), unkept) = tokio::join!(guarded.settle(&ledger, &self.route, &verdict), unkeep);
            if let Err(fault) = unkept {
                tracing::warn!(route = %self.route.name, %fault, "a dead letter that was handled is still kept");
            }
        }
        verdict
    }

    /// The request for the app, if it can be made; and what may have to be kept of it.
    fn request(&self, received: Received, ledger: &Ledger) -> (Option<Request<Bytes>>, Option<Evidence>) {
        let (now, id) = (ledger.clock().wall_now(), self.delivery());
        let Received { mut head, body, origin, at } = received;
        towards_app(&mut head.headers, &origin);
        let evidence = Evidence::gather(&self.route, id, (&head, &body), at, ledger.clock());
        // A wall clock that was never set stands at the epoch, and nothing before it can be written down.
        let received_at = now.checked_sub(at.elapsed()).map_or(now, |at| at.max(UNIX_EPOCH));
        self.mark(&mut head.headers, id, received_at);
        (self.sealed(head, body, now), evidence)
    }

    /// Signed where the app asks for it, and addressed.
    fn sealed(&self, mut head: Parts, body: Bytes, now: SystemTime) -> Option<Request<Bytes>> {
        if let Some(key) = &self.route.signing_key {
            let id = webhook_id(&head.headers)?;
            key.sign(&mut head.headers, id, now, &body);
        }
        head.uri = self.uri.clone()?;
        head.version = Version::HTTP_11;
        Some(Request::from_parts(head, body))
    }

    /// Adds what only we can say.
    fn mark(&self, headers: &mut HeaderMap, id: DeliveryId, received_at: SystemTime) {
        let mut say = |name: HeaderName, value: &[u8]| {
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.insert(name, value);
            }
        };
        if let Some(id) = &self.event_id {
            say(EVENT_ID, id.as_bytes());
        }
        say(ATTEMPT, self.number().to_string().as_bytes());
        say(DELIVERY, id.to_string().as_bytes());
        say(RECEIVED_AT, format_rfc3339_millis(received_at).to_string().as_bytes());
        if let (Some(provider), Some(_)) = (&self.route.sender.provider, &self.route.sender.verifier) {
            say(VERIFIED, provider.as_bytes());
        }
        let Some(guarded) = &self.guarded else {
            return say(DEGRADED, NO_EVENT_ID.as_bytes());
        };
        if let Some(fault) = guarded.degraded {
            say(DEGRADED, fault.as_str().as_bytes());
        }
        let key = format!("{}:{}", guarded.key.namespace(), guarded.key.id());
        if let (Ok(key), false) = (HeaderValue::from_bytes(key.as_bytes()), headers.contains_key(IDEMPOTENCY_KEY)) {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
    }

    fn tried(&self) -> Tried<'_> {
        Tried {
            route: &self.route,
            key: self.guarded.as_ref().map(|guarded| guarded.key.clone()),
            sender_id: self.event_id.as_ref().map(|id| id.as_bytes()),
            number: self.number(),
        }
    }

    /// Which attempt at the event it is; each of an event without an identity is the first.
    fn number(&self) -> u32 {
        self.guarded.as_ref().map_or(1, |guarded| guarded.attempt)
    }

    /// Our own name for the event, the same over all attempts at it.
    fn delivery(&self) -> DeliveryId {
        match &self.guarded {
            Some(guarded) => DeliveryId::of_key(&guarded.key),
            None => DeliveryId::from_bytes(fresh_bits()),
        }
    }
}

/// What our signature calls the event: as its idempotency key does, also where the sender has set that one.
fn webhook_id(marked: &HeaderMap) -> Option<HeaderValue> {
    marked.get(IDEMPOTENCY_KEY).or_else(|| marked.get(DELIVERY)).cloned()
}

impl Guarded {
    /// Ends the claim by what the app did.
    async fn settle(&self, ledger: &Arc<Ledger>, route: &RouteSettings, verdict: &Verdict) {
        let ask = match verdict {
            Verdict::Answered(answer) if verdict.is_success() => {
                let (token, confirmed_ttl) = (Some(self.token.clone()), Some(self.confirmed_ttl));
                let result = match route.duplicate_response {
                    DuplicateResponse::Plain => None,
                    DuplicateResponse::Replay => KeptAnswer::of(answer),
                };
                Ask::Confirm { token, confirmed_ttl, result }
            }
            Verdict::Unknown { .. } if route.on_unknown_outcome == OnUnknownOutcome::Hold => return,
            _ => Ask::Release { token: self.token.clone() },
        };
        if let Err(fault) = ledger.ask(self.key.clone(), ask).await {
            // The store has it in memory and writes it back; the sender is told what the app said all the same.
            tracing::warn!(route = %route.name, %fault, "a claim could not be settled on disk yet");
        }
    }
}
