//! `GET /v1/audit`: who did what to events, the newest first.

use std::sync::Arc;

use http::StatusCode;

use super::Api;
use super::access::Caller;
use super::answer::{self, condition, rfc3339};
use super::event_wire::{AuditBody, AuditRow};
use super::problem::Problem;
use super::query::{DEFAULT_LIMIT, fields, limit};
use crate::server::Response;
use crate::store::AuditEntry;

/// Reads a page of the audit list; a caller that is confined to namespaces sees what concerns those alone.
pub(super) async fn audit(api: &Arc<Api>, caller: &Caller<'_>, query: Option<&str>) -> Result<Response, Problem> {
    caller.needs_operate()?;
    let (mut after, mut rows) = (None, DEFAULT_LIMIT);
    for (name, value) in fields(query.unwrap_or_default())? {
        match name {
            "after" => {
                let number = value.parse().ok();
                after = Some(number.ok_or_else(|| Problem::field("after", "must be the next of an earlier page"))?);
            }
            "limit" => rows = limit(value)?,
            other => return Err(Problem::field(other.to_owned(), "is not known here")),
        }
    }
    let (store, clock) = (api.ledger.store(), api.ledger.clock());
    let namespaces = caller.namespaces().map(<[_]>::to_vec);
    let page = store.audit(after, namespaces, rows).await?;
    let row = |AuditEntry { at, deed, .. }: &AuditEntry| AuditRow {
        at: rfc3339(clock, *at),
        actor: deed.actor.as_str().to_owned(),
        action: deed.action.as_str(),
        target: deed.target.to_string(),
    };
    let body = AuditBody {
        items: page.entries.iter().map(row).collect(),
        next: page.next.map(|number| number.to_string()),
        condition: condition(store.fault()),
    };
    Ok(answer::respond(StatusCode::OK, &body))
}
