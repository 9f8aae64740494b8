//! One attempt: hand over, then confirm or release. A task of its own from the claim on.
//!
//! The claim ends by what the app did: done where it answered 2xx, free where it answered anything else or was not
//! reached, and as the route says where nobody knows. If the process dies on any of these lines, the claim expires.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, Version};
use humantime::format_rfc3339_millis;
use sha2::{Digest as _, Sha256};

use super::Received;
use super::app::App;
use super::headers::towards_app;
use super::kept::KeptAnswer;
use super::settings::{DuplicateResponse, OnUnknownOutcome, RouteSettings};
use super::verdict::Verdict;
use crate::claim::{ConfirmedTtl, Key, Token};
use crate::ledger::{Ask, Ledger, fresh_token};
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
    /// Hands the event over and settles its claim.
    pub(super) async fn run(self, app: App, ledger: Arc<Ledger>, received: Received) -> Verdict {
        let verdict = match self.request(received, ledger.clock().wall_now()) {
            Some(request) => app.send(&self.route, request).await,
            None => Verdict::NeverReached,
        };
        if let Some(guarded) = self.guarded {
            guarded.settle(&ledger, &self.route, &verdict).await;
        }
        verdict
    }

    fn request(&self, received: Received, now: SystemTime) -> Option<Request<Bytes>> {
        let Received { mut head, body, origin, at } = received;
        towards_app(&mut head.headers, &origin);
        // A wall clock that was never set stands at the epoch, and nothing before it can be written down.
        let received_at = now.checked_sub(at.elapsed()).map_or(now, |at| at.max(UNIX_EPOCH));
        self.mark(&mut head.headers, received_at);
        if let Some(key) = &self.route.signing_key {
            let id = webhook_id(&head.headers)?;
            key.sign(&mut head.headers, id, now, &body);
        }
        head.uri = self.uri.clone()?;
        head.version = Version::HTTP_11;
        Some(Request::from_parts(head, body))
    }

    /// Adds what only we can say.
    fn mark(&self, headers: &mut HeaderMap, received_at: SystemTime) {
        let mut say = |name: HeaderName, value: &[u8]| {
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.insert(name, value);
            }
        };
        if let Some(id) = &self.event_id {
            say(EVENT_ID, id.as_bytes());
        }
        let attempt = self.guarded.as_ref().map_or(1, |guarded| guarded.attempt);
        say(ATTEMPT, attempt.to_string().as_bytes());
        say(DELIVERY, self.delivery().as_bytes());
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

    /// Our own name for the delivery, the same over all attempts at an event.
    fn delivery(&self) -> String {
        match &self.guarded {
            Some(guarded) => hex::encode(&Sha256::digest(guarded.key.as_bytes())[..16]),
            None => fresh_token().as_str().to_owned(),
        }
    }
}

/// What our signature calls the event: as its idempotency key does, also where the sender has set that one.
fn webhook_id(marked: &HeaderMap) -> Option<HeaderValue> {
    marked.get(IDEMPOTENCY_KEY).or_else(|| marked.get(DELIVERY)).cloned()
}

impl Guarded {
    /// Ends the claim by what the app did.
    async fn settle(self, ledger: &Arc<Ledger>, route: &RouteSettings, verdict: &Verdict) {
        let ask = match verdict {
            Verdict::Answered(answer) if answer.status().is_success() => {
                let (token, confirmed_ttl) = (Some(self.token), Some(self.confirmed_ttl));
                let result = match route.duplicate_response {
                    DuplicateResponse::Plain => None,
                    DuplicateResponse::Replay => KeptAnswer::of(answer),
                };
                Ask::Confirm { token, confirmed_ttl, result }
            }
            Verdict::Unknown { .. } if route.on_unknown_outcome == OnUnknownOutcome::Hold => return,
            _ => Ask::Release { token: self.token },
        };
        if let Err(fault) = ledger.ask(self.key, ask).await {
            // The store has it in memory and writes it back; the sender is told what the app said all the same.
            tracing::warn!(route = %route.name, %fault, "a claim could not be settled on disk yet");
        }
    }
}
