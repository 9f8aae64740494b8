//! Events that are kept: reading them back, one or many, and discarding one.
//!
//! They hold what customers have sent, so all of it needs the scope `operate`. A caller that is confined to namespaces
//! sees the events of those alone; of another it is told what it is told of one that does not exist.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use super::Api;
use super::access::Caller;
use super::answer::{self, condition, rfc3339};
use super::event_wire::{DeliveryBody, DiscardBody, EventBody, EventListBody, EventRow, HeaderBody};
use super::problem::Problem;
use super::query::{DEFAULT_LIMIT, decoded, fields, limit};
use crate::clock::Clock;
use crate::event::{Content, Delivery, Event, EventId, HeaderLine};
use crate::server::{Response, ResponseBody};
use crate::store::EventSelection;

/// The one state that events of this version have.
const DEAD: &str = "dead";

/// Reads a page of dead letters.
pub(super) async fn dead_letters(
    api: &Arc<Api>,
    caller: &Caller<'_>,
    query: Option<&str>,
) -> Result<Response, Problem> {
    caller.needs_operate()?;
    let mut selection = selection(query.unwrap_or_default())?;
    selection.namespaces = caller.namespaces().map(<[_]>::to_vec);
    let (store, clock) = (api.ledger.store(), api.ledger.clock());
    let page = store.events(selection).await?;
    let body = EventListBody {
        items: page.events.iter().map(|event| row(event, clock)).collect(),
        // It may be the id of an event that the caller does not see: it says nothing about it.
        next: page.next.map(|id| id.to_string()),
        condition: condition(store.fault()),
    };
    Ok(answer::respond(StatusCode::OK, &body))
}

/// Reads one event, but for its body.
pub(super) async fn read(api: &Arc<Api>, caller: &Caller<'_>, id: &str) -> Result<Response, Problem> {
    let (event, content) = find(api, caller, id).await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let body = EventBody {
        row: row(&event, api.ledger.clock()),
        target: content.target.into(),
        sender_id: content.sender_id.as_deref().map(text),
        headers: content.headers.iter().map(header).collect(),
        condition: condition(api.ledger.store().fault()),
    };
    Ok(answer::respond(StatusCode::OK, &body))
}

/// Reads the body of an event, byte for byte.
pub(super) async fn body(api: &Arc<Api>, caller: &Caller<'_>, id: &str) -> Result<Response, Problem> {
    let (_, content) = find(api, caller, id).await?;
    let mut response = Response::new(ResponseBody::from(content.body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    Ok(response)
}

/// Discards an event.
pub(super) async fn discard(api: &Arc<Api>, caller: &Caller<'_>, id: &str) -> Result<Response, Problem> {
    caller.needs_operate()?;
    let store = api.ledger.store();
    let id = EventId::parse(id).ok_or(Problem::NoEvent)?;
    let theirs = match caller.namespaces() {
        Some(_) => store.event(id).await?.is_some_and(|event| !sees(caller, &event)),
        None => false,
    };
    let existed = !theirs && store.discard_event(id).await?;
    if existed {
        tracing::info!(event = %id, "an event was discarded");
    }
    Ok(answer::respond(StatusCode::OK, &DiscardBody { outcome: "discarded", existed }))
}

async fn find(api: &Arc<Api>, caller: &Caller<'_>, id: &str) -> Result<(Event, Content), Problem> {
    caller.needs_operate()?;
    let id = EventId::parse(id).ok_or(Problem::NoEvent)?;
    let found = api.ledger.store().event_content(id).await?;
    found.filter(|(event, _)| sees(caller, event)).ok_or(Problem::NoEvent)
}

fn sees(caller: &Caller<'_>, event: &Event) -> bool {
    caller.needs_namespace(event.namespace.as_str()).is_ok()
}

fn selection(query: &str) -> Result<EventSelection, Problem> {
    let mut selection = EventSelection { limit: DEFAULT_LIMIT, ..EventSelection::default() };
    for (name, value) in fields(query)? {
        match name {
            "route" => selection.route = Some(decoded("route", value)?.into()),
            "after" => {
                let after = EventId::parse(value);
                selection.after =
                    Some(after.ok_or_else(|| Problem::field("after", "must be the next of an earlier page"))?);
            }
            "limit" => selection.limit = limit(value)?,
            other => return Err(Problem::field(other.to_owned(), "is not known here")),
        }
    }
    Ok(selection)
}

fn row(event: &Event, clock: &Clock) -> EventRow {
    EventRow {
        id: event.id.to_string(),
        namespace: event.namespace.to_string(),
        key: event.key.as_ref().map(|key| key.id().to_owned()),
        route: event.route.to_string(),
        state: DEAD,
        received_at: rfc3339(clock, event.received_at),
        sequence: event.sequence,
        body_bytes: event.body_bytes,
        deliveries: vec![delivery(&event.delivery, clock)],
    }
}

fn delivery(delivery: &Delivery, clock: &Clock) -> DeliveryBody {
    DeliveryBody {
        app: delivery.app.to_string(),
        state: DEAD,
        attempts: delivery.attempts,
        first_attempt_at: rfc3339(clock, delivery.first_at),
        last_attempt_at: rfc3339(clock, delivery.last_at),
        next_attempt_at: None,
        last_status: delivery.last_status,
        cause: delivery.cause.as_str(),
        excerpt: String::from_utf8_lossy(&delivery.excerpt).into_owned(),
    }
}

fn header(line: &HeaderLine) -> HeaderBody {
    let value = std::str::from_utf8(&line.value).ok().map(ToOwned::to_owned);
    HeaderBody {
        name: String::from_utf8_lossy(&line.name).into_owned(),
        value_base64: value.is_none().then(|| BASE64_STANDARD.encode(&line.value)),
        value,
    }
}
