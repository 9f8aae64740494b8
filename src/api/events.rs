//! Events that are kept: reading them back, one or many, and discarding one.
//!
//! They hold what customers have sent, so all of it needs the scope `operate`. A caller that is confined to namespaces
//! sees the events of those alone; of another it is told what it is told of one that does not exist, before anything of its
//! content is read.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Api;
use super::access::Caller;
use super::answer::{self, condition, rfc3339};
use super::event_wire::{DeliveryBody, DiscardBody, EventBody, EventListBody, EventRow, HeaderBody};
use super::problem::Problem;
use super::query::{DEFAULT_LIMIT, decoded, fields, limit};
use crate::clock::Clock;
use crate::event::{Cause, Event, EventId, HeaderLine, StateName};
use crate::server::{Response, ResponseBody};
use crate::store::{Discarded, EventSelection};

/// Bodies that are read back at once; each lies in memory as a whole until its reader has taken it, and may be as large as
/// a route lets it be. Whoever comes then waits. Two, so that one who reads slowly does not keep all others out.
pub(super) const BODIES_AT_ONCE: usize = 2;

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
    let id = visible(api, caller, id).await?;
    let (event, content) = api.ledger.store().event_head(id).await?.ok_or(Problem::NoEvent)?;
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
    let id = visible(api, caller, id).await?;
    let store = api.ledger.store();
    let read = async || Ok(store.event_content(id).await?.ok_or(Problem::NoEvent)?.1.body);
    let bytes = placed(&api.body_places, read).await?;
    let mut response = Response::new(ResponseBody::from(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    Ok(response)
}

/// Reads a body once there is a place for it.
async fn placed(places: &Arc<Semaphore>, read: impl AsyncFnOnce() -> Result<Bytes, Problem>) -> Result<Bytes, Problem> {
    let place = Arc::clone(places).acquire_owned().await.map_err(|_| Problem::Internal)?;
    Ok(Bytes::from_owner(Placed { bytes: read().await?, _place: place }))
}

/// A body with its place, which is free again when the connection has taken it.
struct Placed {
    bytes: Bytes,
    _place: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Placed {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
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
    let discarded = if theirs { Discarded::Gone } else { store.discard(id, caller.actor()).await? };
    let existed = match discarded {
        Discarded::Discarded => true,
        Discarded::Gone => false,
        Discarded::Delivering => return Err(Problem::Delivering),
    };
    if existed {
        tracing::info!(event = %id, "an event was discarded");
    }
    Ok(answer::respond(StatusCode::OK, &DiscardBody { outcome: "discarded", existed }))
}

/// The id of an event that is there and that the caller may see.
async fn visible(api: &Arc<Api>, caller: &Caller<'_>, id: &str) -> Result<EventId, Problem> {
    caller.needs_operate()?;
    let id = EventId::parse(id).ok_or(Problem::NoEvent)?;
    let event = api.ledger.store().event(id).await?;
    event.filter(|event| sees(caller, event)).map(|_| id).ok_or(Problem::NoEvent)
}

fn sees(caller: &Caller<'_>, event: &Event) -> bool {
    caller.needs_namespace(event.namespace.as_str()).is_ok()
}

fn selection(query: &str) -> Result<EventSelection, Problem> {
    let mut selection =
        EventSelection { state: Some(StateName::Dead), limit: DEFAULT_LIMIT, ..EventSelection::default() };
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
        state: event.state.name().as_str(),
        received_at: rfc3339(clock, event.received_at),
        sequence: event.sequence,
        body_bytes: event.body_bytes,
        deliveries: vec![delivery(event, clock)],
    }
}

fn delivery(event: &Event, clock: &Clock) -> DeliveryBody {
    let (delivery, time) = (&event.delivery, |at| rfc3339(clock, at));
    DeliveryBody {
        app: delivery.app.to_string(),
        state: event.state.name().as_str(),
        attempts: delivery.attempts,
        first_attempt_at: delivery.first_at.map(time),
        last_attempt_at: delivery.last_at.map(time),
        next_attempt_at: event.state.due().map(|due| time(due.at)),
        last_status: delivery.last_status,
        cause: delivery.cause.map(Cause::as_str),
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

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// As many bodies of a gigabyte lay in memory as somebody cared to ask for.
    #[tokio::test]
    async fn a_body_waits_for_its_place_until_another_has_gone_out() {
        let places = Arc::new(Semaphore::new(1));
        let first = placed(&places, async || Ok(Bytes::from_static(b"first"))).await.expect("read");
        let copy = first.clone();
        let mut second = Box::pin(placed(&places, async || Ok(Bytes::from_static(b"second"))));
        drop(first);
        assert!(matches!(second.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
        drop(copy);
        assert_eq!(second.await.expect("read"), "second");
        let failed = placed(&places, async || Err(Problem::NoEvent)).await;
        assert!(failed.is_err() && places.available_permits() == 1, "one that fails keeps no place");
    }
}
