//! `POST /v1/events/{id}/replay`: hands an event over again, as often as asked, one after the other.
//!
//! Each hand-over is the delivery's own task: a caller that hangs up is not told what became of it, and ends the row.

use std::sync::Arc;

use http::StatusCode;

use super::Api;
use super::access::{Caller, needs_json};
use super::answer;
use super::event_wire::{ReplayBody, ReplayRequest, ReplaysBody};
use super::events::visible;
use super::parse::from_json;
use super::problem::Problem;
use super::verbs::{MAX_BODY_BYTES, limits};
use crate::delivery::Replayed;
use crate::event::{AttemptOutcome, EventId};
use crate::server::{Request, Response};
use crate::store::{Action, Deed};

/// Hand-overs by one request. Each may take as long as a route lets its app.
const MAX_TIMES: u32 = 100;

const FORWARDED: &str = "forwarded";
const DUPLICATE: &str = "duplicate";
const IN_PROGRESS: &str = "in_progress";
const FAILED: &str = "failed";

pub(super) async fn replay(
    api: &Arc<Api>,
    caller: &Caller<'_>,
    id: &str,
    request: Request,
) -> Result<Response, Problem> {
    // Before the body is looked at: whoever may not operate learns nothing.
    caller.needs_operate()?;
    needs_json(&request.head.headers)?;
    let body = request.body.read(&limits(MAX_BODY_BYTES)).await?;
    let ReplayRequest { times, force } = from_json(&body)?;
    let times = times.unwrap_or(1);
    if !(1..=MAX_TIMES).contains(&times) {
        return Err(Problem::field("times", format_args!("must be 1 to {MAX_TIMES}")));
    }
    let (event, force) = (visible(api, caller, id).await?, force.unwrap_or(false));
    if !api.has_route(&event.route) {
        return Err(Problem::NoRoute);
    }
    let action = if force { Action::Force } else { Action::Replay };
    api.ledger.store().note_deed(Deed::on(&caller.actor(), action, &event)).await?;
    let results = row(api, event.id, force, times).await?;
    let count = |outcome: &str| results.iter().filter(|result| result.outcome == outcome).count();
    let (forwarded, duplicates) = (count(FORWARDED), count(DUPLICATE));
    Ok(answer::respond(StatusCode::OK, &ReplaysBody { results, forwarded, duplicates }))
}

/// One hand-over after the other; where it cannot go on, what was done so far.
async fn row(api: &Arc<Api>, id: EventId, force: bool, times: u32) -> Result<Vec<ReplayBody>, Problem> {
    let mut results: Vec<ReplayBody> = Vec::new();
    for _ in 0..times {
        let was_handled = results.iter().any(|result| matches!(result.outcome, FORWARDED | DUPLICATE));
        let replayed = api.delivery.replay(id, force).await.map_err(Problem::from);
        match replayed.and_then(|replayed| result(replayed, was_handled)) {
            Ok(result) => results.push(result),
            Err(problem) if results.is_empty() => return Err(problem),
            Err(_) => break,
        }
        // A stop is not held up by what has not begun.
        if api.stopping.is_cancelled() {
            break;
        }
    }
    Ok(results)
}

fn result(replayed: Replayed, was_handled: bool) -> Result<ReplayBody, Problem> {
    let untried = |outcome| ReplayBody { outcome, attempt: None, status: None };
    Ok(match replayed {
        Replayed::Forwarded { attempt, outcome, status } => {
            let outcome = if outcome == AttemptOutcome::Delivered { FORWARDED } else { FAILED };
            ReplayBody { outcome, attempt: Some(attempt), status }
        }
        Replayed::Duplicate => untried(DUPLICATE),
        // Where nothing is recorded of them, events go when they are handled.
        Replayed::Gone if was_handled => untried(DUPLICATE),
        Replayed::InProgress => untried(IN_PROGRESS),
        Replayed::Parked => return Err(Problem::NoRoute),
        Replayed::Gone => return Err(Problem::NoEvent),
    })
}
