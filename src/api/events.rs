//! One event that is kept: reading it back, and discarding it.
//!
//! They hold what customers have sent, so all of it needs the scope `operate`. A caller that is confined to namespaces
//! sees the events of those alone; of another it is told what it is told of one that does not exist, before anything of its
//! content is read.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Api;
use super::access::Caller;
use super::answer::{self, condition};
use super::event_rows::{attempt, header, row};
use super::event_wire::{DiscardBody, EventBody};
use super::problem::Problem;
use super::query::fields;
use crate::event::{Event, EventId};
use crate::server::{Response, ResponseBody};
use crate::store::Discarded;

/// Bodies that are read back at once; each lies in memory as a whole until its reader has taken it, and may be as large as
/// a route lets it be. Whoever comes then waits. Two, so that one who reads slowly does not keep all others out.
pub(super) const BODIES_AT_ONCE: usize = 2;

/// Reads one event, but for its body.
pub(super) async fn read(api: &Arc<Api>, caller: &Caller<'_>, id: &str) -> Result<Response, Problem> {
    let id = visible(api, caller, id).await?.id;
    let (event, content) = api.ledger.store().event_head(id).await?.ok_or(Problem::NoEvent)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let clock = api.ledger.clock();
    let body = EventBody {
        row: row(&event, api.has_route(&event.route), clock),
        target: content.target.into(),
        sender_id: content.sender_id.as_deref().map(text),
        headers: content.headers.iter().map(header).collect(),
        body: format!("/v1/events/{id}/body"),
        attempts: event.delivery.log.iter().map(|one| attempt(one, clock)).collect(),
        condition: condition(api.ledger.store().fault()),
    };
    Ok(answer::respond(StatusCode::OK, &body))
}

/// Reads the body of an event, byte for byte.
pub(super) async fn body(api: &Arc<Api>, caller: &Caller<'_>, id: &str) -> Result<Response, Problem> {
    let id = visible(api, caller, id).await?.id;
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
pub(super) async fn discard(
    api: &Arc<Api>,
    caller: &Caller<'_>,
    id: &str,
    query: Option<&str>,
) -> Result<Response, Problem> {
    caller.needs_operate()?;
    let only_dead = only_dead(query.unwrap_or_default())?;
    let store = api.ledger.store();
    let id = EventId::parse(id).ok_or(Problem::NoEvent)?;
    let theirs = match caller.namespaces() {
        Some(_) => store.event(id).await?.is_some_and(|event| !sees(caller, &event)),
        None => false,
    };
    let discarded = match only_dead {
        _ if theirs => Discarded::Gone,
        true => store.discard_dead_letter(id, caller.actor()).await?,
        false => store.discard(id, caller.actor()).await?,
    };
    let existed = match discarded {
        Discarded::Discarded => true,
        Discarded::Gone => false,
        Discarded::Delivering => return Err(Problem::Delivering),
        Discarded::NotDead => return Err(Problem::NotDead),
    };
    if existed {
        tracing::info!(event = %id, "an event was discarded");
    }
    Ok(answer::respond(StatusCode::OK, &DiscardBody { outcome: "discarded", existed }))
}

/// Whether the event is to go only if it is a dead letter.
fn only_dead(query: &str) -> Result<bool, Problem> {
    let mut only_dead = false;
    for (name, value) in fields(query)? {
        match (name, value) {
            ("state", "dead") => only_dead = true,
            ("state", _) => return Err(Problem::field("state", "must be dead, or left out")),
            (other, _) => return Err(Problem::field(other.to_owned(), "is not known here")),
        }
    }
    Ok(only_dead)
}

/// An event that is there and that the caller may see.
pub(super) async fn visible(api: &Arc<Api>, caller: &Caller<'_>, id: &str) -> Result<Event, Problem> {
    caller.needs_operate()?;
    let id = EventId::parse(id).ok_or(Problem::NoEvent)?;
    let event = api.ledger.store().event(id).await?;
    event.filter(|event| sees(caller, event)).ok_or(Problem::NoEvent)
}

fn sees(caller: &Caller<'_>, event: &Event) -> bool {
    caller.needs_namespace(event.namespace.as_str()).is_ok()
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
