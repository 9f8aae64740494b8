//! What a sender is told: the one file that knows the proxy's statuses and headers.
//!
//! A 2xx says that the app has answered 2xx, now or before, or that the event is safe in its queue. 401 says that the signature is wrong and nothing else; our
//! own trouble is 503, because a 4xx makes some senders give up; 502 and 504 speak of the app. Texts are fixed: nothing
//! of a request or a secret is ever in them.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue, Method, StatusCode, Version};

use super::handshake::Greeting;
use super::headers::strip_hop_by_hop;
use super::verdict::Verdict;
use crate::provider::Acknowledgement;
use crate::server::{BodyError, Response, ResponseBody, close};

pub(super) const OUTCOME: HeaderName = HeaderName::from_static("onced-outcome");
/// What the transport's own refusals carry on the listener for senders.
pub const STAMP: (HeaderName, HeaderValue) = (OUTCOME, HeaderValue::from_static("failed"));
const APP_STATUS: HeaderName = HeaderName::from_static("onced-app-status");

/// Seconds until a retry is likely to find us or the app in another state.
const RETRY_SECONDS: u64 = 10;
/// The longest that a sender is told to wait: a claim may live for a day, and senders take the header at its word.
const MAX_RETRY_SECONDS: u64 = 300;

pub(super) fn response(verdict: Verdict) -> Response {
    let outcome = HeaderValue::from_static(verdict.outcome());
    let mut response = match verdict {
        Verdict::Answered(answer) | Verdict::Accepted(answer) => relayed(answer),
        Verdict::Unrouted => text(StatusCode::NOT_FOUND, "no route has this path\n"),
        Verdict::Method { taken } => method(&taken),
        Verdict::Climbing => last(text(StatusCode::BAD_REQUEST, "the path leaves its route\n")),
        Verdict::Body(BodyError::Crowded) => last(retry(RETRY_SECONDS, "there is no room for the body now\n")),
        Verdict::Body(error) => last(text(error.status(), "the body could not be read\n")),
        Verdict::Unverified => last(text(StatusCode::UNAUTHORIZED, "the signature could not be verified\n")),
        Verdict::Stale => last(retry(RETRY_SECONDS, "the timestamp is out of tolerance\n")),
        Verdict::NoId => text(StatusCode::UNPROCESSABLE_ENTITY, "the event has no id\n"),
        Verdict::Handshake(greeting) => greet(greeting),
        Verdict::Duplicate { replay: Some(answer) } => relayed(answer),
        Verdict::Duplicate { replay: None } => text(StatusCode::OK, "handled before\n"),
        Verdict::InProgress { expires_in } => {
            let seconds = expires_in.as_secs().clamp(1, MAX_RETRY_SECONDS).min(RETRY_SECONDS);
            retry(seconds, "an attempt at this event is under way\n")
        }
        Verdict::Late => retry(RETRY_SECONDS, "the app is still at this event\n"),
        Verdict::NoRoom => retry(RETRY_SECONDS, "there is no room for events now\n"),
        Verdict::StoreDown => retry(RETRY_SECONDS, "try again later\n"),
        Verdict::Crowded => retry(RETRY_SECONDS, "too many events are under way\n"),
        Verdict::Broken => retry(RETRY_SECONDS, "try again later\n"),
        Verdict::Dangerous(status) => {
            let mut response = retry(RETRY_SECONDS, "the app refused this event\n");
            response.headers_mut().insert(APP_STATUS, HeaderValue::from(status.as_u16()));
            response
        }
        Verdict::Redirected(_) => text(StatusCode::BAD_GATEWAY, "the app answered with a redirect\n"),
        Verdict::NeverReached => text(StatusCode::BAD_GATEWAY, "the app could not be reached\n"),
        Verdict::Unknown { timed_out: true } => text(StatusCode::GATEWAY_TIMEOUT, "the app did not answer in time\n"),
        Verdict::Unknown { timed_out: false } => text(StatusCode::BAD_GATEWAY, "the app's answer is missing\n"),
    };
    response.headers_mut().insert(OUTCOME, outcome);
    response
}

fn relayed(answer: http::Response<Bytes>) -> Response {
    let mut response = answer.map(ResponseBody::from);
    // The version is the connection's, not the message's (RFC 9110, section 6.2).
    *response.version_mut() = Version::HTTP_11;
    strip_hop_by_hop(response.headers_mut());
    response
}

/// What a sender wants to see before it delivers. A text of its own choice is nothing but text, whatever a browser
/// would make of it.
fn greet(greeting: Greeting) -> Response {
    let (content_type, body) = match greeting {
        Greeting::Relayed(answer) => return relayed(answer),
        Greeting::Fixed(answer) => return relayed(acknowledgement(&answer)),
        Greeting::Text(text) => ("text/plain", text),
        Greeting::Json(json) => ("application/json", json.into_bytes()),
    };
    let mut response = Response::new(ResponseBody::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// An answer that a profile describes.
pub(super) fn acknowledgement(answer: &Acknowledgement) -> http::Response<Bytes> {
    let mut response = http::Response::new(Bytes::from(answer.body.clone()));
    *response.status_mut() = answer.status_code();
    if let Some(Ok(content_type)) = answer.content_type.as_deref().map(HeaderValue::try_from) {
        response.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    response
}

fn text(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(ResponseBody::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

/// Our own trouble.
fn retry(seconds: u64, body: &'static str) -> Response {
    let mut response = text(StatusCode::SERVICE_UNAVAILABLE, body);
    response.headers_mut().insert(RETRY_AFTER, seconds.into());
    response
}

/// Ends the connection: what a stranger has sent beyond its request (or what its Content-Length did not cover) is never
/// taken for another one.
fn last(mut response: Response) -> Response {
    close(&mut response);
    response
}

fn method(taken: &[Method]) -> Response {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "this path takes no such request\n");
    let taken = taken.iter().map(Method::as_str).collect::<Vec<_>>().join(", ");
    response.headers_mut().insert(ALLOW, HeaderValue::try_from(taken).expect("names of methods are visible ASCII"));
    response
}
