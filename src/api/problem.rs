//! What is told to a caller whose request could not be served: RFC 9457, with a stable `code`.
//!
//! The text names the field and the limit, never a path, a secret or a token.

use std::borrow::Cow;

use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use crate::server::{BodyError, Response, ResponseBody, close};
use crate::store::Fault;

/// Seconds after which a failed store is worth another try. It tries to come back after a quarter of a second, and then at
/// pauses that grow to two seconds, or four where it keeps failing.
const STORE_RETRY_SECONDS: u16 = 1;

/// Seconds after which bodies that took all the room have come or gone.
const CROWD_RETRY_SECONDS: u16 = 5;

/// Characters of a field's name that are repeated: more than any of ours has.
const MAX_NAME_CHARS: usize = 64;

/// A request that was not served, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The path is nobody's.
    NotFound,
    /// The key has no record.
    Absent,
    /// No event has this id.
    NoEvent,
    /// The event is being handed over.
    Delivering,
    /// The event is no dead letter.
    NotDead,
    /// The route of the event is not configured.
    NoRoute,
    /// The path takes other methods.
    Method { allow: &'static str },
    /// The body is not JSON, or not one request.
    Json { detail: String },
    /// A field is missing, of the wrong type, or out of its limits.
    Field { field: Cow<'static, str>, detail: String },
    /// The content type is not JSON.
    ContentType,
    /// The body could not be read.
    Body { status: StatusCode, code: &'static str, detail: String },
    /// Who calls is not known.
    Unauthorized,
    /// Who calls may not.
    Forbidden { detail: &'static str },
    /// The namespace belongs to the proxy.
    ReservedNamespace,
    /// The request comes from a browser's page of somebody else.
    Browser { code: &'static str, detail: &'static str },
    /// The config that was to be loaded cannot hold.
    ReloadRefused { faults: Vec<String> },
    /// The store cannot be asked.
    Store(Fault),
    /// Something here is broken.
    Internal,
}

/// The body of a problem, as RFC 9457 has it; `type` is left out, which means `about:blank`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ProblemBody<'a> {
    /// The status in words.
    pub(super) title: &'a str,
    /// The status.
    pub(super) status: u16,
    /// A stable word for programs.
    pub(super) code: &'a str,
    /// What is wrong, for people.
    pub(super) detail: &'a str,
    /// The field that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) field: Option<&'a str>,
    /// What is wrong with a config, a line each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) faults: Option<&'a [String]>,
    /// Set when the store is down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) degraded: Option<bool>,
    /// Why the store is down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'a str>,
}

impl Problem {
    pub(super) fn field(field: impl Into<Cow<'static, str>>, detail: impl ToString) -> Self {
        let mut field = field.into();
        // The name of an unknown field is the caller's, and as long as it likes.
        if let Some((end, _)) = field.char_indices().nth(MAX_NAME_CHARS) {
            field = format!("{}…", &field[..end]).into();
        }
        Self::Field { field, detail: detail.to_string() }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::NotFound | Self::Absent | Self::NoEvent => StatusCode::NOT_FOUND,
            Self::Delivering | Self::NotDead | Self::NoRoute => StatusCode::CONFLICT,
            Self::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::Json { .. } | Self::Field { .. } => StatusCode::BAD_REQUEST,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Body { status, .. } => *status,
            Self::ReloadRefused { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden { .. } | Self::ReservedNamespace | Self::Browser { .. } => StatusCode::FORBIDDEN,
            Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Absent | Self::NoEvent => "absent",
            Self::Delivering => "in_progress",
            Self::NotDead => "not_dead",
            Self::NoRoute => "route_not_configured",
            Self::Method { .. } => "method_not_allowed",
            Self::Json { .. } => "invalid_json",
            Self::Field { .. } => "invalid_field",
            Self::ContentType => "unsupported_media_type",
            Self::Body { code, .. } | Self::Browser { code, .. } => code,
            Self::Unauthorized => "unauthorized",
            Self::Forbidden { .. } => "forbidden",
            Self::ReservedNamespace => "reserved_namespace",
            Self::ReloadRefused { .. } => "reload_refused",
            Self::Store(_) => "store_unavailable",
            Self::Internal => "internal",
        }
    }

    fn detail(&self) -> Cow<'_, str> {
        match self {
            Self::NotFound => "there is nothing at this path".into(),
            Self::Absent => "nothing is remembered of this key".into(),
            Self::NoEvent => "no event of this id is kept".into(),
            Self::Delivering => "the event is being handed over; try again when that has ended".into(),
            Self::NotDead => "the event is no dead letter".into(),
            Self::NoRoute => "the route of the event is not configured, so nobody knows its app".into(),
            Self::Method { allow } => format!("this path takes {allow}").into(),
            Self::Json { detail } | Self::Body { detail, .. } => detail.as_str().into(),
            Self::Field { field, detail } => format!("{field} {detail}").into(),
            Self::ContentType => "the content type must be application/json".into(),
            Self::Unauthorized => "a bearer token of this daemon is needed".into(),
            Self::Forbidden { detail } | Self::Browser { detail, .. } => (*detail).into(),
            Self::ReservedNamespace => "namespaces that begin with route: belong to the proxy's routes".into(),
            Self::ReloadRefused { .. } => "the config stays as it was".into(),
            Self::Store(_) => "the store is down; try again".into(),
            Self::Internal => "something broke here; the log knows more".into(),
        }
    }

    /// The JSON text.
    pub(super) fn body(&self) -> Vec<u8> {
        let status = self.status();
        let (field, fault) = match self {
            Self::Field { field, .. } => (Some(field.as_ref()), None),
            Self::Store(fault) => (None, Some(fault.as_str())),
            _ => (None, None),
        };
        let body = ProblemBody {
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            code: self.code(),
            detail: &self.detail(),
            field,
            faults: match self {
                Self::ReloadRefused { faults } => Some(faults),
                _ => None,
            },
            degraded: fault.map(|_| true),
            reason: fault,
        };
        serde_json::to_vec(&body).expect("texts and numbers always serialise")
    }

    /// The answer.
    pub(super) fn response(&self) -> Response {
        let mut response = Response::new(ResponseBody::from(self.body()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match self {
            Self::Method { allow } => drop(headers.insert(ALLOW, HeaderValue::from_static(allow))),
            Self::Unauthorized => drop(headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Self::Store(_) => drop(headers.insert(RETRY_AFTER, STORE_RETRY_SECONDS.into())),
            // What is left of the body must not be taken for the next request.
            Self::Body { status, .. } => {
                close(&mut response);
                if *status == StatusCode::SERVICE_UNAVAILABLE {
                    response.headers_mut().insert(RETRY_AFTER, CROWD_RETRY_SECONDS.into());
                }
            }
            _ => {}
        }
        response
    }
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        let code = match &error {
            BodyError::TooLarge { .. } => "body_too_large",
            BodyError::TimedOut { .. } => "body_timeout",
            BodyError::Crowded => "body_crowded",
            _ => "body_incomplete",
        };
        Self::Body { status: error.status(), code, detail: error.to_string() }
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::Store(fault)
    }
}
