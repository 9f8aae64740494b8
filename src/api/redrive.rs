//! `POST /v1/dead-letters/redrive`: queues many dead letters anew.
//!
//! It is a job that outlives the request, and a crash too. The caller waits for it as long as a person would.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::Api;
use super::access::{Caller, needs_json};
use super::answer;
use super::event_wire::{RedriveBody, RedriveRequest};
use super::filter;
use super::parse::from_json;
use super::problem::Problem;
use super::verbs::{MAX_BODY_BYTES, limits};
use crate::server::{Request, Response};
use crate::store::Filter;

const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn redrive(api: &Arc<Api>, caller: &Caller<'_>, request: Request) -> Result<Response, Problem> {
    caller.needs_operate()?;
    needs_json(&request.head.headers)?;
    let body = request.body.read(&limits(MAX_BODY_BYTES)).await?;
    let RedriveRequest { route, cause, before } = from_json(&body)?;
    let clock = api.ledger.clock();
    let filter = Filter {
        route: route.as_deref().map(filter::route).transpose()?,
        cause: cause.as_deref().map(filter::cause).transpose()?,
        before: before.as_deref().map(|before| filter::before(before, clock)).transpose()?,
        namespaces: caller.namespaces().map(<[_]>::to_vec),
    };
    let id = api.delivery.redrive(filter, caller.actor()).await?;
    let progress = api.delivery.redriven(id, PATIENCE).await;
    let body = RedriveBody { job: id.number(), redriven: progress.requeued, finished: progress.is_done };
    Ok(answer::respond(StatusCode::OK, &body))
}
