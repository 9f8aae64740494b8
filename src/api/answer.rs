//! Which status, headers and JSON an outcome is answered with: the one file that knows.

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use humantime::format_rfc3339_millis;
use serde::Serialize;
use serde_json::value::RawValue;

use super::wire::{ClaimBody, Condition, OutcomeBody, PreviousName};
use crate::claim::{Claimed, Done, Key, Outcome, Previous, Record, Standing, Timestamp, WorkResult};
use crate::clock::Clock;
use crate::event::EventId;
use crate::server::{Response, ResponseBody};
use crate::store::{Answer, Fault, StateName};

/// A status, a body, and how long to wait before asking again.
pub(super) struct Told {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
    retry_after_ms: Option<u64>,
}

impl Told {
    /// The answer to a command.
    pub(super) fn of(answer: &Answer, is_claim: bool, clock: &Clock) -> Self {
        let now = clock.now();
        let (status, body) = outcome(answer, is_claim, now, clock);
        let retry_after_ms = match &body {
            OutcomeBody::InProgress { retry_after_ms, .. } => Some(*retry_after_ms),
            _ => None,
        };
        Self { status, body: json(&body), retry_after_ms }
    }

    /// The whole response; `body` goes in as it is made.
    pub(super) fn response(self, body: impl FnOnce(Vec<u8>) -> ResponseBody) -> Response {
        let mut response = Response::new(body(self.body));
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(millis) = self.retry_after_ms {
            // Whole seconds, never too early, never zero.
            response.headers_mut().insert(RETRY_AFTER, millis.div_ceil(1_000).max(1).into());
        }
        response
    }
}

fn outcome<'a>(answer: &'a Answer, is_claim: bool, now: Timestamp, clock: &Clock) -> (StatusCode, OutcomeBody<'a>) {
    let condition = condition(answer.degraded);
    let time = |point| rfc3339(clock, point);
    match &answer.outcome {
        Outcome::Claimed(claimed) => (StatusCode::CREATED, claimed_body(claimed, condition, now, clock)),
        Outcome::InProgress { expires_at, attempt } => {
            let (attempt, left) = (*attempt, millis_between(now, *expires_at));
            let (expires_at, expires_in_ms, retry_after_ms) = (time(*expires_at), left, left);
            let first_delivery = false;
            let body = OutcomeBody::InProgress {
                first_delivery,
                attempt,
                expires_at,
                expires_in_ms,
                retry_after_ms,
                condition,
            };
            (StatusCode::CONFLICT, body)
        }
        Outcome::Done(done) => {
            let status = if is_claim { StatusCode::OK } else { StatusCode::CONFLICT };
            (status, done_body(done, condition, clock))
        }
        Outcome::Mismatch => (StatusCode::UNPROCESSABLE_ENTITY, OutcomeBody::Mismatch { condition }),
        Outcome::Confirmed { overrun, attempt, expires_at } => {
            let (overrun, attempt, expires_at) = (*overrun, *attempt, time(*expires_at));
            (StatusCode::OK, OutcomeBody::Confirmed { overrun, attempt, expires_at, condition })
        }
        Outcome::Released { attempt } => (StatusCode::OK, OutcomeBody::Released { attempt: *attempt, condition }),
        Outcome::Extended { attempt, expires_at } => {
            let expires_in_ms = millis_between(now, *expires_at);
            let (attempt, expires_at) = (*attempt, time(*expires_at));
            (StatusCode::OK, OutcomeBody::Extended { attempt, expires_at, expires_in_ms, condition })
        }
        Outcome::NotHolder => (StatusCode::CONFLICT, OutcomeBody::NotHolder { condition }),
        Outcome::Forgotten { existed } => (StatusCode::OK, OutcomeBody::Forgotten { existed: *existed, condition }),
    }
}

fn claimed_body<'a>(claimed: &'a Claimed, condition: Condition, now: Timestamp, clock: &Clock) -> OutcomeBody<'a> {
    OutcomeBody::Claimed {
        first_delivery: true,
        token: claimed.token.as_str(),
        attempt: claimed.attempt,
        fence: claimed.fence,
        previous: previous_name(claimed.previous),
        repeated: claimed.repeated,
        expires_at: rfc3339(clock, claimed.expires_at),
        expires_in_ms: millis_between(now, claimed.expires_at),
        condition,
    }
}

fn done_body<'a>(done: &'a Done, condition: Condition, clock: &Clock) -> OutcomeBody<'a> {
    OutcomeBody::Done {
        first_delivery: false,
        attempt: done.attempt,
        confirmed_at: rfc3339(clock, done.confirmed_at),
        expires_at: rfc3339(clock, done.expires_at),
        result: done.result.as_ref().and_then(raw),
        condition,
    }
}

/// A record as it is read back; `None` when it counts as absent.
pub(super) fn claim_body(key: &Key, record: &Record, degraded: Option<Fault>, clock: &Clock) -> Option<ClaimBody> {
    let time = |point| rfc3339(clock, point);
    let mut body = ClaimBody {
        namespace: key.namespace().to_owned(),
        key: key.id().to_owned(),
        state: StateName::Free.as_str(),
        attempt: 0,
        claimed_at: None,
        confirmed_at: None,
        expires_at: String::new(),
        owner: None,
        result: None,
        event: None,
        condition: condition(degraded),
    };
    match record.standing(clock.now()) {
        Standing::Absent => return None,
        Standing::Free { attempt, expires_at, .. } => {
            (body.attempt, body.expires_at) = (attempt, time(expires_at));
        }
        Standing::Held(held) => {
            (body.state, body.attempt, body.expires_at) =
                (StateName::Held.as_str(), held.attempt, time(held.expires_at));
            body.claimed_at = Some(time(held.claimed_at));
            body.owner = held.owner.as_ref().map(|owner| owner.as_str().to_owned());
        }
        Standing::Done(done) => {
            (body.state, body.attempt, body.expires_at) =
                (StateName::Done.as_str(), done.attempt, time(done.expires_at));
            body.confirmed_at = Some(time(done.confirmed_at));
            body.owner = done.owner.as_ref().map(|owner| owner.as_str().to_owned());
            body.result = done.result.as_ref().and_then(raw).map(ToOwned::to_owned);
            body.event = done.event.map(|event| EventId::from(event).to_string());
        }
    }
    Some(body)
}

/// The result is JSON text: it was parsed when it came in, and its checksum held when it was read.
fn raw(result: &WorkResult) -> Option<&RawValue> {
    serde_json::from_str(result.as_json()).ok()
}

pub(super) fn condition(degraded: Option<Fault>) -> Condition {
    Condition { degraded: degraded.is_some(), reason: degraded.map(Fault::as_str) }
}

/// A JSON answer.
pub(super) fn respond(status: StatusCode, body: &impl Serialize) -> Response {
    Told { status, body: json(body), retry_after_ms: None }.response(ResponseBody::from)
}

fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("wire forms hold texts, numbers and checked JSON")
}

pub(super) fn rfc3339(clock: &Clock, point: Timestamp) -> String {
    format_rfc3339_millis(clock.wall(point)).to_string()
}

fn millis_between(now: Timestamp, point: Timestamp) -> u64 {
    u64::try_from(point.since(now).as_millis()).unwrap_or(u64::MAX)
}

fn previous_name(previous: Previous) -> PreviousName {
    match previous {
        Previous::None => PreviousName::None,
        Previous::Released => PreviousName::Released,
        Previous::Expired => PreviousName::Expired,
    }
}
