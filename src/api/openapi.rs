//! The OpenAPI 3.1 document, generated from the wire types.
//!
//! The functions here carry the descriptions of the paths and do nothing: the handlers are elsewhere, and a test calls
//! every path that is described.
#![expect(dead_code, reason = "the functions only carry their attributes")]

use http::StatusCode;
use utoipa::OpenApi;

use super::answer;
use super::event_wire::{
    AuditBody, DiscardBody, EventBody, EventListBody, RedriveBody, RedriveRequest, ReplayRequest, ReplaysBody,
};
use super::problem::ProblemBody;
use super::reload::ReloadedBody;
use super::wire::{
    BatchBody, BatchRequest, ClaimBody, ClaimRequest, ConfirmRequest, ExtendRequest, ListBody, OutcomeBody, ReadyBody,
    ReleaseRequest,
};
use crate::server::Response;

#[derive(OpenApi)]
#[openapi(
    info(title = "onced", description = "Claims on keys, so that an event takes effect once."),
    paths(
        claim,
        confirm,
        release,
        extend,
        batch,
        read,
        forget,
        list,
        events,
        event,
        event_body,
        replay,
        discard,
        dead_letters,
        redrive,
        audit,
        reload,
        healthz,
        readyz,
        metrics,
        openapi
    )
)]
struct Document;

/// The document.
pub(super) fn response() -> Response {
    answer::respond(StatusCode::OK, &Document::openapi())
}

/// Claim a key.
#[utoipa::path(post, path = "/v1/claim", request_body = ClaimRequest, responses(
    (status = 201, description = "claimed", body = OutcomeBody<'static>),
    (status = 200, description = "done", body = OutcomeBody<'static>),
    (status = 409, description = "in_progress, with Retry-After", body = OutcomeBody<'static>),
    (status = 422, description = "mismatch", body = OutcomeBody<'static>),
    (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
    (status = 503, description = "the store is down and the namespace closed", content_type = "application/problem+json", body = ProblemBody<'static>),
))]
fn claim() {}

/// Say that the work is done.
#[utoipa::path(post, path = "/v1/confirm", request_body = ConfirmRequest, responses(
    (status = 200, description = "confirmed", body = OutcomeBody<'static>),
    (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
    (status = 503, description = "the store is down and the namespace closed", content_type = "application/problem+json", body = ProblemBody<'static>),
))]
fn confirm() {}

/// Give the key back.
#[utoipa::path(post, path = "/v1/release", request_body = ReleaseRequest, responses(
    (status = 200, description = "released", body = OutcomeBody<'static>),
    (status = 409, description = "not_holder or done", body = OutcomeBody<'static>),
    (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
    (status = 503, description = "the store is down and the namespace closed", content_type = "application/problem+json", body = ProblemBody<'static>),
))]
fn release() {}

/// Ask for more time.
#[utoipa::path(post, path = "/v1/extend", request_body = ExtendRequest, responses(
    (status = 200, description = "extended", body = OutcomeBody<'static>),
    (status = 409, description = "not_holder or done", body = OutcomeBody<'static>),
    (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
    (status = 503, description = "the store is down and the namespace closed", content_type = "application/problem+json", body = ProblemBody<'static>),
))]
fn extend() {}

/// Several commands in one commit.
#[utoipa::path(post, path = "/v1/batch", request_body = BatchRequest<'static>, responses(
    (status = 200, description = "an answer for every command", body = BatchBody<'static>),
    (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
))]
fn batch() {}

/// Read a claim back.
#[utoipa::path(get, path = "/v1/claims/{namespace}/{key}",
    params(("namespace" = String, Path), ("key" = String, Path, description = "percent-encoded")),
    responses(
        (status = 200, description = "the claim", body = ClaimBody),
        (status = "4XX", description = "absent (404), or a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = 503, description = "the store is down", content_type = "application/problem+json", body = ProblemBody<'static>),
    ))]
fn read() {}

/// Forget a claim.
#[utoipa::path(delete, path = "/v1/claims/{namespace}/{key}",
    params(("namespace" = String, Path), ("key" = String, Path, description = "percent-encoded")),
    responses(
        (status = 200, description = "forgotten, also when nothing was there", body = OutcomeBody<'static>),
        (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = 503, description = "the store is down and the namespace closed", content_type = "application/problem+json", body = ProblemBody<'static>),
    ))]
fn forget() {}

/// Read many claims.
#[utoipa::path(get, path = "/v1/claims",
    params(
        ("namespace" = Option<String>, Query),
        ("state" = Option<String>, Query, description = "held, free or done"),
        ("after" = Option<String>, Query, description = "the next of an earlier page"),
        ("limit" = Option<u32>, Query, description = "100 by default", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "a page; it may hold fewer claims than asked for and not be the last", body = ListBody),
        (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = 503, description = "the store is down", content_type = "application/problem+json", body = ProblemBody<'static>),
    ))]
fn list() {}

/// Read events, in whatever state.
#[utoipa::path(get, path = "/v1/events",
    params(
        ("route" = Option<String>, Query),
        ("state" = Option<String>, Query, description = "queued, delivering, delivered, dead, parked or passed"),
        ("cause" = Option<String>, Query, description = "rejected, attempts_exhausted, too_old or unreachable"),
        ("before" = Option<String>, Query, description = "given up on before then, or else received: RFC 3339, in UTC"),
        ("after" = Option<String>, Query, description = "the next of an earlier page"),
        ("limit" = Option<u32>, Query, description = "100 by default", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "a page; it may hold fewer events than asked for and not be the last", body = EventListBody),
        (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = 503, description = "the store is down", content_type = "application/problem+json", body = ProblemBody<'static>),
    ))]
fn events() {}

/// Read dead letters: events given up on.
#[utoipa::path(get, path = "/v1/dead-letters",
    params(
        ("route" = Option<String>, Query),
        ("cause" = Option<String>, Query, description = "rejected, attempts_exhausted, too_old or unreachable"),
        ("before" = Option<String>, Query, description = "given up on before then: RFC 3339, in UTC"),
        ("after" = Option<String>, Query, description = "the next of an earlier page"),
        ("limit" = Option<u32>, Query, description = "100 by default", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "a page; it may hold fewer events than asked for and not be the last", body = EventListBody),
        (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = 503, description = "the store is down", content_type = "application/problem+json", body = ProblemBody<'static>),
    ))]
fn dead_letters() {}

/// Read an event back, but for its body.
#[utoipa::path(get, path = "/v1/events/{id}",
    params(("id" = String, Path, description = "32 hexadecimal digits")),
    responses(
        (status = 200, description = "the event", body = EventBody),
        (status = "4XX", description = "no such event, or a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = 503, description = "the store is down", content_type = "application/problem+json", body = ProblemBody<'static>),
    ))]
fn event() {}

/// Read the body of an event, byte for byte.
#[utoipa::path(get, path = "/v1/events/{id}/body",
    params(("id" = String, Path, description = "32 hexadecimal digits")),
    responses(
        (status = 200, description = "the bytes", content_type = "application/octet-stream", body = Vec<u8>),
        (status = "4XX", description = "no such event, or a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = 503, description = "the store is down", content_type = "application/problem+json", body = ProblemBody<'static>),
    ))]
fn event_body() {}

/// Hand an event over again, through the guard or past it.
#[utoipa::path(post, path = "/v1/events/{id}/replay", request_body = ReplayRequest,
    params(("id" = String, Path, description = "32 hexadecimal digits")),
    responses(
        (status = 200, description = "what came of it", body = ReplaysBody),
        (status = 409, description = "the route of the event is not configured", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = "4XX", description = "no such event, or a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = 503, description = "the store is down", content_type = "application/problem+json", body = ProblemBody<'static>),
    ))]
fn replay() {}

/// Queue dead letters anew: those that match, or all. It goes on when the answer is given.
#[utoipa::path(post, path = "/v1/dead-letters/redrive", request_body = RedriveRequest, responses(
    (status = 200, description = "how far it has come", body = RedriveBody),
    (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
    (status = 503, description = "the store is down", content_type = "application/problem+json", body = ProblemBody<'static>),
))]
fn redrive() {}

/// Read who replayed, redrove and discarded what, the newest first.
#[utoipa::path(get, path = "/v1/audit",
    params(
        ("after" = Option<String>, Query, description = "the next of an earlier page"),
        ("limit" = Option<u32>, Query, description = "100 by default", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "a page", body = AuditBody),
        (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = 503, description = "the store is down", content_type = "application/problem+json", body = ProblemBody<'static>),
    ))]
fn audit() {}

/// Discard an event, for good.
#[utoipa::path(delete, path = "/v1/events/{id}",
    params(
        ("id" = String, Path, description = "32 hexadecimal digits"),
        ("state" = Option<String>, Query, description = "dead: only if it is a dead letter"),
    ),
    responses(
        (status = 200, description = "discarded, also when there was none", body = DiscardBody),
        (status = 409, description = "it is being handed over, or is no dead letter and was to be one", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
        (status = 503, description = "the store is down", content_type = "application/problem+json", body = ProblemBody<'static>),
    ))]
fn discard() {}

/// Load the config anew: routes, namespaces, providers, secrets and tokens, all or nothing.
#[utoipa::path(post, path = "/v1/reload", responses(
    (status = 200, description = "it holds from now on", body = ReloadedBody),
    (status = 422, description = "it cannot hold, and nothing has changed", content_type = "application/problem+json", body = ProblemBody<'static>),
    (status = "4XX", description = "a request that cannot be served", content_type = "application/problem+json", body = ProblemBody<'static>),
))]
fn reload() {}

/// Whether the process lives.
#[utoipa::path(get, path = "/healthz", responses((status = 200, description = "it does")))]
fn healthz() {}

/// Whether the daemon serves as it should.
#[utoipa::path(get, path = "/readyz", responses(
    (status = 200, description = "it does", body = ReadyBody),
    (status = 503, description = "it does not, and why", body = ReadyBody),
))]
fn readyz() {}

/// Counters and gauges for Prometheus.
#[utoipa::path(get, path = "/metrics", responses((status = 200, description = "OpenMetrics text", content_type = "application/openmetrics-text", body = String)))]
fn metrics() {}

/// This document.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, description = "OpenAPI 3.1")))]
fn openapi() {}
