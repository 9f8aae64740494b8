//! One attempt: hand over, then confirm or release. A task of its own from the claim on.
//!
//! The claim ends by what the app did: done where it answered 2xx, free where it answered anything else or was not
//! reached, and as the route says where nobody knows. What has to be kept of a failed event is kept before its claim
//! ends, so that whoever gets the claim next finds it. If the process dies on any of these lines, the next start deals
//! with the claim.

use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Request, Uri, Version};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Received;
use super::app::App;
use super::dead_letter::{Evidence, Tried, is_final};
use super::guard::Guarded;
use super::headers::towards_app;
use super::marks::{DELIVERY, Marks, say};
use super::settings::RouteSettings;
use super::verdict::Verdict;
use crate::event::EventId as DeliveryId;
use crate::ledger::{Ledger, fresh_bits};
use crate::provider::EventId;
use crate::store::Store;

const ATTEMPT: HeaderName = HeaderName::from_static("onced-attempt");
const DEGRADED: HeaderName = HeaderName::from_static("onced-degraded");
const EVENT_ID: HeaderName = HeaderName::from_static("onced-event-id");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

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

/// What bounds an attempt from outside.
#[derive(Debug)]
pub(super) struct Course {
    /// Until when the sender waits.
    pub(super) patience: Instant,
    /// Dropped when a sender that does not come again may be told that its patience is over.
    pub(super) late: oneshot::Sender<()>,
    /// A stop that waits no longer: what the app does is not known then.
    pub(super) cut: CancellationToken,
}

/// What is kept of the attempt's event, if anything.
struct Letter {
    evidence: Option<Evidence>,
    /// When the attempt began.
    since: Instant,
    is_written: bool,
}

impl Letter {
    /// Keeps the event if its sender will not come again after this, and changes what is said of it if it is kept already.
    async fn write(&mut self, attempt: &Attempt, verdict: &Verdict, store: &Store) {
        let Some(evidence) = &self.evidence else { return };
        if !is_final(verdict, &attempt.route.keep_failures) {
            return;
        }
        // Of one attempt, told twice, the second word is no second attempt.
        let number = if self.is_written { 0 } else { attempt.number() };
        // Apart: what is rarely done should not make the room for every attempt three times as large.
        Box::pin(evidence.clone().keep(verdict, attempt.tried(number, self.since), store)).await;
        self.is_written = true;
    }
}

impl Attempt {
    /// Hands the event over, keeps what has to be kept, and settles its claim.
    pub(super) async fn run(self, app: App, ledger: Arc<Ledger>, received: Received, course: Course) -> Verdict {
        let (store, delivery) = (ledger.store(), self.delivery());
        let (request, evidence) = self.request(received, delivery, &ledger);
        let mut letter = Letter { evidence, since: Instant::now(), is_written: false };
        let verdict = match request {
            Some(request) => self.hand_over(&app, request, &mut letter, store, course).await,
            None => Verdict::NeverReached,
        };
        app.note(&self.route, delivery, self.number(), &verdict);
        letter.write(&self, &verdict, store).await;
        let handled = verdict.is_success() && (letter.is_written || (self.guarded.is_some() && store.has_events()));
        // Both are in the queue before either is waited for, and so in one commit.
        let unkeep = async { if handled { store.settle_event(delivery).await } else { Ok(()) } };
        let settle = async {
            if let Some(guarded) = &self.guarded {
                guarded.settle(&ledger, &self.route, &verdict).await;
            }
        };
        let ((), unkept) = tokio::join!(settle, unkeep);
        if let Err(fault) = unkept {
            tracing::warn!(route = %self.route.name, %fault, "a dead letter that was handled is still kept");
        }
        verdict
    }

    /// Waits for what the app makes of it. When the sender's patience is over before that, the event is kept first where
    /// its sender will not come again: for the sender it has failed now.
    async fn hand_over(
        &self,
        app: &App,
        request: Request<Bytes>,
        letter: &mut Letter,
        store: &Store,
        course: Course,
    ) -> Verdict {
        let Course { patience, late, cut } = course;
        let mut sending = pin!(app.send(&self.route, request));
        tokio::select! {
            verdict = &mut sending => return verdict,
            () = cut.cancelled() => return Verdict::Unknown { timed_out: true },
            () = sleep_until(patience) => letter.write(self, &Verdict::Late, store).await,
        }
        // Whoever waits to tell the sender waits no longer.
        drop(late);
        tokio::select! {
            verdict = sending => verdict,
            () = cut.cancelled() => Verdict::Unknown { timed_out: true },
        }
    }

    /// The request for the app, if it can be made; and what may have to be kept of it.
    fn request(
        &self,
        received: Received,
        delivery: DeliveryId,
        ledger: &Ledger,
    ) -> (Option<Request<Bytes>>, Option<Evidence>) {
        let now = ledger.clock().wall_now();
        let Received { mut head, body, origin, at } = received;
        towards_app(&mut head.headers, &origin);
        let evidence = Evidence::gather(&self.route, delivery, (&head, &body), at, ledger.clock());
        // Whatever has come as far as here has been verified, where anything verifies its route.
        let verified = self.route.sender.verifier.is_some();
        Marks { delivery, arrived: at, now, verified }.put(&mut head.headers, &self.route);
        self.mark(&mut head.headers);
        (self.sealed(head, body, now), evidence)
    }

    /// Signed where the app asks for it, and addressed.
    fn sealed(&self, mut head: Parts, body: Bytes, now: SystemTime) -> Option<Request<Bytes>> {
        if let Some(key) = &self.route.signing_key {
            // Never what the sender calls it in a header that its signature may not cover.
            let id = self.guarded.as_ref().and_then(Guarded::name);
            let id = id.or_else(|| head.headers.get(DELIVERY).cloned())?;
            key.sign(&mut head.headers, id, now, &body);
        }
        head.uri = self.uri.clone()?;
        head.version = Version::HTTP_11;
        Some(Request::from_parts(head, body))
    }

    /// Adds what only an event has.
    fn mark(&self, headers: &mut HeaderMap) {
        if let Some(id) = &self.event_id {
            say(headers, EVENT_ID, id.as_bytes());
        }
        say(headers, ATTEMPT, self.number().to_string());
        let Some(guarded) = &self.guarded else {
            return say(headers, DEGRADED, NO_EVENT_ID);
        };
        if let Some(fault) = guarded.degraded {
            say(headers, DEGRADED, fault.as_str());
        }
        if let (Some(name), false) = (guarded.name(), headers.contains_key(IDEMPOTENCY_KEY)) {
            headers.insert(IDEMPOTENCY_KEY, name);
        }
    }

    fn tried(&self, number: u32, since: Instant) -> Tried<'_> {
        Tried {
            route: &self.route,
            key: self.guarded.as_ref().map(|guarded| guarded.key.clone()),
            sender_id: self.event_id.as_ref().map(|id| id.as_bytes()),
            number,
            since,
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
            None => DeliveryId::without_key(fresh_bits()),
        }
    }
}
