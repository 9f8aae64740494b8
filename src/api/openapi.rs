//! The OpenAPI 3.1 document, generated from the wire types.
//!
//! The functions here carry the descriptions of the paths and do nothing: the handlers are elsewhere, and a test calls
//! every path that is described.
#![expect(dead_code, reason = "the functions only carry their attributes")]

use http::StatusCode;
use utoipa::OpenApi;

use super::answer;
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
    paths(claim, confirm, release, extend, batch, read, forget, list, reload, healthz, readyz, metrics, openapi)
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
