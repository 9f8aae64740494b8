//! Lists of events: all of them in the order of their ids, or dead letters alone.
//!
//! What the store can choose by it chooses. Whether a queued event is parked it cannot know, since that hangs on the config;
//! of pages that are asked for by these states, what is of the other one is left out here.

use std::sync::Arc;

use http::StatusCode;

use super::Api;
use super::access::Caller;
use super::answer::{self, condition};
use super::event_rows::{PARKED, row, state_of};
use super::event_wire::EventListBody;
use super::filter;
use super::problem::Problem;
use super::query::{DEFAULT_LIMIT, decoded, fields, limit};
use crate::event::{Event, EventId, StateName};
use crate::server::Response;
use crate::store::{EventPage, EventSelection};

/// Pages of the store that are looked through for one of ours before what was found is answered.
const MAX_STEPS: usize = 8;
/// Events of such a page.
const STEP_EVENTS: usize = 1_000;

/// Which events a query asks for.
struct Sought {
    selection: EventSelection,
    /// Whether they are to be parked, where that matters.
    parked: Option<bool>,
}

/// Reads a page of events, whatever their state.
pub(super) async fn events(api: &Arc<Api>, caller: &Caller<'_>, query: Option<&str>) -> Result<Response, Problem> {
    list(api, caller, query.unwrap_or_default(), None).await
}

/// Reads a page of dead letters.
pub(super) async fn dead_letters(
    api: &Arc<Api>,
    caller: &Caller<'_>,
    query: Option<&str>,
) -> Result<Response, Problem> {
    list(api, caller, query.unwrap_or_default(), Some(StateName::Dead)).await
}

async fn list(api: &Arc<Api>, caller: &Caller<'_>, query: &str, state: Option<StateName>) -> Result<Response, Problem> {
    caller.needs_operate()?;
    let mut sought = sought(api, query, state)?;
    sought.selection.namespaces = caller.namespaces().map(<[_]>::to_vec);
    let (store, clock) = (api.ledger.store(), api.ledger.clock());
    let page = sought.page(api).await?;
    let body = EventListBody {
        items: page.events.iter().map(|event| row(event, api.has_route(&event.route), clock)).collect(),
        // It may be the id of an event that the caller does not see: it says nothing about it.
        next: page.next.map(|id| id.to_string()),
        condition: condition(store.fault()),
    };
    Ok(answer::respond(StatusCode::OK, &body))
}

impl Sought {
    async fn page(self, api: &Api) -> Result<EventPage, Problem> {
        let (store, Self { selection, parked }) = (api.ledger.store(), self);
        let Some(parked) = parked else {
            return Ok(store.events(selection).await?);
        };
        let wants = |event: &Event| (state_of(event, api.has_route(&event.route)) == PARKED) == parked;
        let mut page = EventPage { events: Vec::new(), next: selection.after };
        for _ in 0..MAX_STEPS {
            let step = EventSelection { after: page.next, limit: STEP_EVENTS, ..selection.clone() };
            let found = store.events(step).await?;
            page.next = found.next;
            page.events.extend(found.events.into_iter().filter(wants));
            if page.events.len() > selection.limit {
                page.events.truncate(selection.limit);
                page.next = page.events.last().map(|event| event.id);
            }
            if page.next.is_none() || page.events.len() == selection.limit {
                break;
            }
        }
        Ok(page)
    }
}

/// Where `state` is given, the query has no say in it.
fn sought(api: &Api, query: &str, state: Option<StateName>) -> Result<Sought, Problem> {
    let selection = EventSelection { limit: DEFAULT_LIMIT, state, ..EventSelection::default() };
    let mut sought = Sought { selection, parked: None };
    let selection = &mut sought.selection;
    for (name, value) in fields(query)? {
        match name {
            "route" => selection.route = Some(decoded("route", value)?.into()),
            "state" if state.is_none() => (selection.state, sought.parked) = state_named(&decoded("state", value)?)?,
            "cause" => selection.cause = Some(filter::cause(&decoded("cause", value)?)?),
            "before" => selection.before = Some(filter::before(&decoded("before", value)?, api.ledger.clock())?),
            "after" => {
                let after = EventId::parse(&decoded("after", value)?);
                selection.after =
                    Some(after.ok_or_else(|| Problem::field("after", "must be the next of an earlier page"))?);
            }
            "limit" => selection.limit = limit(&decoded("limit", value)?)?,
            other => return Err(Problem::field(other.to_owned(), "is not known here")),
        }
    }
    Ok(sought)
}

/// The state that the store knows, and whether the event is to be parked.
fn state_named(value: &str) -> Result<(Option<StateName>, Option<bool>), Problem> {
    if value == PARKED {
        return Ok((Some(StateName::Queued), Some(true)));
    }
    let state = StateName::ALL.into_iter().find(|state| state.as_str() == value);
    let state = state
        .ok_or_else(|| Problem::field("state", "must be queued, delivering, delivered, dead, parked or passed"))?;
    Ok((Some(state), (state == StateName::Queued).then_some(false)))
}
