//! One attempt at an event: counted on disk, sent once, judged, and written down.
//!
//! What was sent is read first, and a large body waits for its room before that, with no slot in hand: whatever stands in the
//! way up to there is our own trouble, and no attempt. Then the attempt is counted and synced, before the app sees a byte. If the process dies in between, the next start hands the
//! event over again, under the next number, and what became of this one is written down as unknown. What the app said is
//! written down as soon as it has said it; while the store is down that is tried again and again, and holds up a place, but
//! no slot: the app is free for the next event.

use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use tokio::sync::OwnedSemaphorePermit;

use super::breaker::BreakerSettings;
use super::breakers::Pass;
use super::in_flight::Flight;
use super::lane::LaneDoor;
use super::retry_after::retry_after;
use super::settings::LaneSettings;
use super::slots::Slot;
use super::works::{Topic, Works};
use crate::app::{self, EventMarks, Marks, Outcome};
use crate::claim::Timestamp;
use crate::event::{Attempt, AttemptOutcome, Cause, Content, Event, EventId, How, MAX_EXCERPT_BYTES, Next};
use crate::store::{BeginAsk, Begun, Fault, Finish};

/// How long whatever the store could not do is left alone before it is tried again. The store sees for itself whether its
/// disk is back.
const PAUSE: Duration = Duration::from_secs(1);

/// What a hand-over needs.
pub(super) struct HandOver<'w> {
    pub(super) works: &'w Works,
    pub(super) settings: &'w LaneSettings,
    pub(super) door: &'w LaneDoor,
    pub(super) pass: Pass,
    pub(super) slot: Slot,
}

/// Leave to hand over an event of which the length is known.
struct Leave {
    pass: Pass,
    slot: Slot,
    _room: Option<OwnedSemaphorePermit>,
}

/// What a hand-over came to.
#[derive(Debug)]
pub(super) enum Done {
    /// The event was handed over.
    Attempted(Attempt),
    /// There is no such event, or it is no longer where it was found.
    Gone,
    /// The app has handled it.
    Duplicate,
    /// Its sender's own attempt at it is under way.
    InProgress,
    /// The breaker has opened while the event waited for its room: it waits in the queue again.
    PutOff,
}

/// What the app made of it.
struct Verdict {
    outcome: AttemptOutcome,
    status: Option<u16>,
    excerpt: Box<[u8]>,
    retry_after: Option<Duration>,
}

impl HandOver<'_> {
    /// Hands the event over that nobody else is at.
    ///
    /// # Errors
    /// The fault of the store, where the attempt could not be counted: then the app has seen nothing.
    pub(super) async fn run(self, flight: &Flight, how: How) -> Result<Done, Fault> {
        let Self { works, settings, door, pass, slot } = self;
        let (store, clock, id) = (works.store(), works.clock(), flight.id());
        let (leave, content) = match store.content_with(id, async move |bytes| door.room(bytes, pass, slot).await).await
        {
            Ok(Some((Some(leave), content))) => (leave, content),
            Ok(Some((None, _))) => return Ok(Done::PutOff),
            Ok(None) => return works.leave(settings, id, how).await,
            Err(Fault::Damaged) => return works.give_up(settings, id, how).await,
            Err(fault) => return Err(fault),
        };
        let at = clock.now();
        let event = match store.begin(begin_ask(settings, id, how, at)).await? {
            Begun::Go(event) => event,
            Begun::Gone => return Ok(Done::Gone),
            Begun::Duplicate => return Ok(Done::Duplicate),
            Begun::InProgress => return Ok(Done::InProgress),
        };
        let request = works.request(settings, &event, content);
        let is_asked = request.is_some();
        let verdict = match request {
            Some(request) => works.send(settings, request).await,
            None => Verdict::without_status(AttemptOutcome::NeverReached),
        };
        let Verdict { outcome, status, excerpt, retry_after } = verdict;
        let now = clock.now();
        let took_ms = u32::try_from(now.since(at).as_millis()).unwrap_or(u32::MAX);
        let attempt = Attempt { number: event.delivery.attempts, at, took_ms, outcome, status };
        let Leave { pass, slot, _room: room } = leave;
        if is_asked {
            pass.note(&attempt, BreakerSettings::of(settings));
        }
        // The app is free for the next event, if its breaker says so.
        drop((room, slot));
        let next = settings.policy.next(&event, &attempt, retry_after, now, jitter());
        works.note(settings, &event, &attempt, next);
        let finish = Finish { id, attempt: attempt.clone(), excerpt, next, keep: settings.keep_delivered };
        works.finish(finish).await;
        Ok(Done::Attempted(attempt))
    }
}

impl Works {
    /// Hands a request over to the app, and waits for its status for as long as it may take.
    async fn send(&self, settings: &LaneSettings, request: Request<Bytes>) -> Verdict {
        tokio::select! {
            outcome = self.apps.send_for_status(&settings.route, request, settings.max_duration) => self.judge(outcome),
            () = self.cut.cancelled() => Verdict::without_status(AttemptOutcome::Unknown),
        }
    }

    fn judge(&self, outcome: Outcome) -> Verdict {
        match outcome {
            Outcome::Answered(answer) => {
                let status = answer.status();
                let said = &answer.body()[..answer.body().len().min(MAX_EXCERPT_BYTES)];
                Verdict {
                    outcome: if status.is_success() { AttemptOutcome::Delivered } else { AttemptOutcome::Answered },
                    status: Some(status.as_u16()),
                    excerpt: said.into(),
                    retry_after: retry_after(answer.headers(), self.clock().wall_now()),
                }
            }
            Outcome::NeverReached => Verdict::without_status(AttemptOutcome::NeverReached),
            Outcome::TimedOut => Verdict::without_status(AttemptOutcome::TimedOut),
            Outcome::Lost => Verdict::without_status(AttemptOutcome::Lost),
        }
    }

    /// The request for the app. What stands in its way is told of; the event is then as one whose app is not reached, until
    /// it is given up on.
    fn request(&self, settings: &LaneSettings, event: &Event, content: Content) -> Option<Request<Bytes>> {
        let request = self.addressed(settings, event, content);
        if request.is_none() {
            self.note_not_asked(event, "the path of its route does not lead to it any more");
        }
        request
    }

    /// There is no such event any more: its place in the schedule, if that is left, goes too.
    async fn leave(&self, settings: &LaneSettings, id: EventId, how: How) -> Result<Done, Fault> {
        match self.store().begin(begin_ask(settings, id, how, self.clock().now())).await? {
            // It was there after all, and is found as cut off.
            Begun::Go(_) => Err(Fault::Damaged),
            Begun::Gone | Begun::Duplicate | Begun::InProgress => Ok(Done::Gone),
        }
    }

    /// What was sent is not what was written: no later attempt is any better, and somebody must look. Of the causes that
    /// there are, "rejected" is the one that blames the event and not its app.
    async fn give_up(&self, settings: &LaneSettings, id: EventId, how: How) -> Result<Done, Fault> {
        if let How::Replay | How::Force = how {
            return Err(Fault::Damaged);
        }
        let at = self.clock().now();
        let Begun::Go(event) = self.store().begin(begin_ask(settings, id, how, at)).await? else {
            return Ok(Done::Gone);
        };
        self.note_not_asked(
            &event,
            "what was sent is damaged; it is a dead letter at once, as if its app had rejected it",
        );
        let (number, outcome) = (event.delivery.attempts, AttemptOutcome::NeverReached);
        let attempt = Attempt { number, at, took_ms: 0, outcome, status: None };
        let next = Next::Dead(Cause::Rejected);
        let keep = settings.keep_delivered;
        self.finish(Finish { id, attempt: attempt.clone(), excerpt: Box::default(), next, keep }).await;
        Ok(Done::Attempted(attempt))
    }

    fn note_not_asked(&self, event: &Event, why: &'static str) {
        if let Some(left_out) = self.quiet.permits(&event.route, Topic::NotAsked) {
            tracing::error!(route = %event.route, event = %event.id, why, left_out, "an event cannot be handed over");
        }
    }

    fn addressed(&self, settings: &LaneSettings, event: &Event, content: Content) -> Option<Request<Bytes>> {
        let Content { target, sender_id, headers, body } = content;
        let target: Uri = target.parse().ok()?;
        let uri = settings.forward_to.extended(settings.path.suffix(target.path())?, target.query())?;
        let mut head = head();
        for line in headers {
            // They have come over HTTP, so that there is none that could not go.
            let (name, value) = (HeaderName::from_bytes(&line.name), HeaderValue::from_bytes(&line.value));
            if let (Ok(name), Ok(value)) = (name, value) {
                head.headers.append(name, value);
            }
        }
        let marks = Marks {
            delivery: event.id,
            received_at: self.clock().wall(event.received_at),
            verified_by: settings.provider.as_deref(),
            event: Some(EventMarks {
                sender_id: sender_id.as_deref(),
                sequence: Some(event.sequence),
                attempt: event.delivery.attempts,
                key: event.key.as_ref(),
                degraded: None,
            }),
        };
        let signing = settings.signing_key.as_ref().map(|key| (key, self.clock().wall_now()));
        Some(app::request(head, body, uri, &marks, signing))
    }

    /// Writes down how an attempt went, sooner or later.
    async fn finish(&self, finish: Finish) {
        loop {
            let fault = match self.store().finish(finish.clone()).await {
                Ok(()) => return,
                Err(fault) => fault,
            };
            let event: EventId = finish.id;
            if fault == Fault::Closed || self.cut.is_cancelled() {
                tracing::warn!(%event, %fault, "what became of an attempt is not written down; it will count as unknown");
                return;
            }
            tokio::select! {
                () = self.clock().sleep_until(self.clock().now().after(PAUSE)) => {}
                () = self.cut.cancelled() => {}
            }
        }
    }

    fn note(&self, settings: &LaneSettings, event: &Event, attempt: &Attempt, next: Next) {
        let (route, id) = (&settings.route, event.id);
        if attempt.outcome != AttemptOutcome::Delivered {
            let status = attempt.status.and_then(|status| http::StatusCode::from_u16(status).ok());
            self.apps.note_failed(route, id, attempt.number, status);
        }
        if let Next::Dead(cause) = next {
            self.note_buried(route, id, cause);
        }
    }
}

impl LaneDoor {
    /// Room for a body. What has to wait for it waits with nothing in hand that another event, of this app or of this route,
    /// could use; `None` where the app is not to be asked any more by then.
    async fn room(&self, body_bytes: u64, pass: Pass, slot: Slot) -> Option<Leave> {
        if let Some(room) = self.bodies.room_now(body_bytes) {
            return Some(Leave { pass, slot, _room: room });
        }
        drop(slot);
        let later = pass.lay_down();
        let room = self.bodies.room(body_bytes).await;
        let slot = self.slots.take().await;
        Some(Leave { pass: later.take_up()?, slot, _room: room })
    }
}

fn begin_ask(settings: &LaneSettings, id: EventId, how: How, at: Timestamp) -> BeginAsk {
    let (route, app) = (settings.route.clone(), settings.forward_to.app().into());
    BeginAsk { id, how, route, app, confirmed_ttl: settings.confirmed_ttl, at }
}

impl Verdict {
    fn without_status(outcome: AttemptOutcome) -> Self {
        Self { outcome, status: None, excerpt: Box::default(), retry_after: None }
    }
}

/// That of a request with nothing in it.
fn head() -> Parts {
    let mut request = Request::new(());
    *request.method_mut() = Method::POST;
    request.into_parts().0
}

/// A random number from 0 to 1, good enough to spread retries.
fn jitter() -> f64 {
    let [first, second, ..] = crate::ledger::fresh_bits();
    f64::from(u16::from_be_bytes([first, second])) / f64::from(u16::MAX)
}
