//! From what is kept of an event to its wire form.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::answer::rfc3339;
use super::event_wire::{AttemptBody, DeliveryBody, EventRow, HeaderBody};
use crate::clock::Clock;
use crate::event::{Attempt, Cause, Event, HeaderLine, State};

/// The word for an event that waits for its route to be configured again.
pub(super) const PARKED: &str = "parked";

/// The word for where an event stands.
pub(super) fn state_of(event: &Event, has_route: bool) -> &'static str {
    match event.state {
        State::Queued(_) if !has_route => PARKED,
        state => state.name().as_str(),
    }
}

/// An event in a list. `has_route` says whether its route is configured now.
pub(super) fn row(event: &Event, has_route: bool, clock: &Clock) -> EventRow {
    let state = state_of(event, has_route);
    EventRow {
        id: event.id.to_string(),
        namespace: event.namespace.to_string(),
        key: event.key.as_ref().map(|key| key.id().to_owned()),
        route: event.route.to_string(),
        state,
        received_at: rfc3339(clock, event.received_at),
        sequence: event.sequence,
        body_bytes: event.body_bytes,
        deliveries: vec![delivery(event, state, clock)],
    }
}

fn delivery(event: &Event, state: &'static str, clock: &Clock) -> DeliveryBody {
    let (delivery, time) = (&event.delivery, |at| rfc3339(clock, at));
    // One that is under way, or for which there is nobody, has no next.
    let next = match event.state {
        State::Queued(due) if state != PARKED => Some(due.at),
        State::Queued(_)
        | State::Delivering(_)
        | State::Delivered { .. }
        | State::Dead { .. }
        | State::Passed { .. } => None,
    };
    DeliveryBody {
        app: delivery.app.to_string(),
        state,
        attempts: delivery.attempts,
        first_attempt_at: delivery.first_at.map(time),
        last_attempt_at: delivery.last_at.map(time),
        next_attempt_at: next.map(time),
        last_status: delivery.last_status,
        cause: delivery.cause.map(Cause::as_str),
        excerpt: String::from_utf8_lossy(&delivery.excerpt).into_owned(),
    }
}

pub(super) fn attempt(attempt: &Attempt, clock: &Clock) -> AttemptBody {
    AttemptBody {
        number: attempt.number,
        at: rfc3339(clock, attempt.at),
        took_ms: attempt.took_ms,
        outcome: attempt.outcome.as_str(),
        status: attempt.status,
    }
}

pub(super) fn header(line: &HeaderLine) -> HeaderBody {
    let value = std::str::from_utf8(&line.value).ok().map(ToOwned::to_owned);
    HeaderBody {
        name: String::from_utf8_lossy(&line.name).into_owned(),
        value_base64: value.is_none().then(|| BASE64_STANDARD.encode(&line.value)),
        value,
    }
}
