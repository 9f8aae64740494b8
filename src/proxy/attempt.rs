//! One attempt: hand over, then confirm or release. A task of its own from the claim on.
//!
//! The claim ends by what the app did: done where it answered 2xx, free where it answered anything else or was not
//! reached, and as the route says where nobody knows. What has to be kept of a failed event is kept before its claim
//! ends, so that whoever gets the claim next finds it. If the process dies on any of these lines, the next start deals
//! with the claim.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Uri};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Received;
use super::dead_letter::{Evidence, Tried, is_final};
use super::guard::Guarded;
use super::headers::towards_app;
use super::history::History;
use super::settings::RouteSettings;
use super::verdict::Verdict;
use crate::app::{self, Apps, EventMarks, Marks};
use crate::event::EventId as DeliveryId;
use crate::ledger::{Ledger, fresh_bits};
use crate::provider::EventId;
use crate::store::{Fault, Store};

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
    /// Where the event goes when all went well, on a route that records it.
    pub(super) history: Option<History>,
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
    pub(super) async fn run(self, apps: Apps, ledger: Arc<Ledger>, received: Received, mut course: Course) -> Verdict {
        let (store, delivery) = (ledger.store(), self.delivery());
        let history = course.history.take();
        let (request, evidence) = self.request(received, delivery, &ledger);
        let mut letter = Letter { evidence, since: Instant::now(), is_written: false };
        let verdict = match request {
            Some(request) => self.hand_over(&apps, request, &mut letter, store, course).await,
            None => Verdict::NeverReached,
        };
        if !verdict.is_success() {
            apps.note_failed(&self.route.name, delivery, self.number(), verdict.app_status());
        }
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
        if let (Some(history), Some(evidence), true) = (history, letter.evidence, verdict.is_success()) {
            evidence.pass(&verdict, self.tried(self.number(), letter.since), ledger.clock().now(), &history);
        }
        verdict
    }

    /// Waits for what the app makes of it. When the sender's patience is over before that, the event is kept first where
    /// its sender will not come again: for the sender it has failed now.
    async fn hand_over(
        &self,
        apps: &Apps,
        request: Request<Bytes>,
        letter: &mut Letter,
        store: &Store,
        course: Course,
    ) -> Verdict {
        let Course { patience, late, cut, history: _ } = course;
        let mut sending = pin!(apps.send(&self.route.name, request, self.route.max_duration));
        tokio::select! {
            outcome = &mut sending => return Verdict::of(&self.route, outcome),
            () = cut.cancelled() => return Verdict::Unknown { timed_out: true },
            () = sleep_until(patience) => letter.write(self, &Verdict::Late, store).await,
        }
        // Whoever waits to tell the sender waits no longer.
        drop(late);
        tokio::select! {
            outcome = sending => Verdict::of(&self.route, outcome),
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
        let received_at = received.on_the_wall(now);
        let Received { mut head, body, origin, at } = received;
        towards_app(&mut head.headers, &origin);
        let evidence = Evidence::gather(&self.route, delivery, (&head, &body), at, ledger.clock());
        let marks = Marks { delivery, received_at, verified_by: self.route.verified_by(), event: Some(self.marks()) };
        let signing = self.route.signing_key.as_ref().map(|key| (key, now));
        let request = self.uri.clone().map(|uri| app::request(head, body, uri, &marks, signing));
        (request, evidence)
    }

    fn marks(&self) -> EventMarks<'_> {
        let guarded = self.guarded.as_ref();
        EventMarks {
            sender_id: self.event_id.as_ref().map(|id| id.as_bytes()),
            sequence: None,
            attempt: self.number(),
            key: guarded.map(|guarded| &guarded.key),
            degraded: guarded.and_then(|guarded| guarded.degraded).map(Fault::as_str),
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
