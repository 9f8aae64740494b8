//! Reading claims back, one or many, and forgetting one.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::StatusCode;

use super::Api;
use super::access::Caller;
use super::answer::{self, Told, claim_body, condition};
use super::parse::{any_namespace, key_in};
use super::problem::Problem;
use super::query::{DEFAULT_LIMIT, decoded, fields, limit};
use super::wire::ListBody;
use crate::claim::{Key, Namespace};
use crate::ledger::Ask;
use crate::server::{Response, ResponseBody};
use crate::store::{Page, Selection, StateName};

/// Reads one claim.
pub(super) async fn read(api: &Arc<Api>, caller: &Caller<'_>, namespace: &str, key: &str) -> Result<Response, Problem> {
    let key = key_of(caller, namespace, key)?;
    let reading = api.ledger.read(key.clone()).await?;
    let clock = api.ledger.clock();
    let body = reading.record.and_then(|record| claim_body(&key, &record, reading.degraded, clock));
    Ok(answer::respond(StatusCode::OK, &body.ok_or(Problem::Absent)?))
}

/// Forgets one claim, whatever it is.
pub(super) async fn forget(
    api: &Arc<Api>,
    caller: &Caller<'_>,
    namespace: &str,
    key: &str,
) -> Result<Response, Problem> {
    caller.needs_operate()?;
    let key = key_of(caller, namespace, key)?;
    let answer = api.ledger.ask(key, Ask::Forget).await?;
    Ok(Told::of(&answer, false, api.ledger.clock()).response(ResponseBody::from))
}

/// Reads a page of claims.
pub(super) async fn list(api: &Arc<Api>, caller: &Caller<'_>, query: Option<&str>) -> Result<Response, Problem> {
    caller.needs_operate()?;
    let selection = selection(query.unwrap_or_default())?;
    if let Some(namespace) = &selection.namespace {
        caller.needs_namespace(namespace.as_str())?;
    }
    let page = match caller.namespaces() {
        Some(own) if selection.namespace.is_none() => confined(api, own, &selection).await?,
        Some(_) | None => api.ledger.list(within_namespace(selection)).await?,
    };
    let (clock, degraded) = (api.ledger.clock(), api.ledger.store().fault());
    let body = ListBody {
        claims: page.records.iter().filter_map(|(key, record)| claim_body(key, record, degraded, clock)).collect(),
        next: page.next.map(|key| BASE64_URL_SAFE_NO_PAD.encode(key.as_bytes())),
        condition: condition(degraded),
    };
    Ok(answer::respond(StatusCode::OK, &body))
}

/// A page of some namespaces alone, one after the other in the order of the store. Reading all and leaving out the rest
/// was not taken: the cursor would name a key of somebody else's.
async fn confined(api: &Arc<Api>, namespaces: &[Namespace], selection: &Selection) -> Result<Page, Problem> {
    let mut namespaces: Vec<_> = namespaces.iter().collect();
    namespaces.sort_by_cached_key(|namespace| Key::prefix(namespace));
    namespaces.dedup();
    let mut page = Page::default();
    for namespace in namespaces {
        let part = Selection {
            namespace: Some(namespace.clone()),
            limit: selection.limit - page.records.len(),
            ..selection.clone()
        };
        let part = api.ledger.list(within_namespace(part)).await?;
        page.records.extend(part.records);
        page.next = part.next;
        if page.next.is_some() {
            break;
        }
    }
    Ok(page)
}

/// The store begins right after the cursor: one that stands before the namespace must not keep it from getting there.
fn within_namespace(mut selection: Selection) -> Selection {
    let begin = selection.namespace.as_ref().map(Key::prefix).unwrap_or_default();
    selection.after = selection.after.filter(|after| after.as_bytes() > begin.as_bytes());
    selection
}

fn key_of(caller: &Caller<'_>, namespace: &str, key: &str) -> Result<Key, Problem> {
    let namespace = any_namespace(&decoded("namespace", namespace)?)?;
    caller.needs_namespace(namespace.as_str())?;
    key_in(&namespace, &decoded("key", key)?)
}

fn selection(query: &str) -> Result<Selection, Problem> {
    let mut selection = Selection { limit: DEFAULT_LIMIT, ..Selection::default() };
    for (name, value) in fields(query)? {
        match name {
            "namespace" => selection.namespace = Some(any_namespace(&decoded("namespace", value)?)?),
            "state" => selection.state = Some(state(value)?),
            "after" => selection.after = Some(after(value)?),
            "limit" => selection.limit = limit(value)?,
            other => return Err(Problem::field(other.to_owned(), "is not known here")),
        }
    }
    Ok(selection)
}

fn state(value: &str) -> Result<StateName, Problem> {
    let state = StateName::ALL.into_iter().find(|state| state.as_str() == value);
    state.ok_or_else(|| Problem::field("state", "must be held, free or done"))
}

fn after(value: &str) -> Result<Key, Problem> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(value).ok();
    let key = bytes.as_deref().and_then(Key::from_bytes);
    key.ok_or_else(|| Problem::field("after", "must be the next of an earlier page"))
}
