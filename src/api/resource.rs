//! The paths of the control API.

use super::wire::VerbName;

/// What a path stands for.
pub(super) enum Resource<'a> {
    Verb(VerbName),
    Batch,
    /// The namespace and the key as they stand in the path, percent-encoded.
    Claim(&'a str, &'a str),
    Claims,
    Events,
    /// The id as it stands in the path.
    Event(&'a str),
    EventBody(&'a str),
    Replay(&'a str),
    DeadLetters,
    Redrive,
    Audit,
    Reload,
    Live,
    Ready,
    Metrics,
    OpenApi,
}

impl<'a> Resource<'a> {
    /// `None` for a path that is nobody's.
    pub(super) fn of(path: &'a str) -> Option<Self> {
        Some(match path {
            "/v1/claim" => Self::Verb(VerbName::Claim),
            "/v1/confirm" => Self::Verb(VerbName::Confirm),
            "/v1/release" => Self::Verb(VerbName::Release),
            "/v1/extend" => Self::Verb(VerbName::Extend),
            "/v1/batch" => Self::Batch,
            "/v1/claims" => Self::Claims,
            "/v1/events" => Self::Events,
            "/v1/dead-letters" => Self::DeadLetters,
            "/v1/dead-letters/redrive" => Self::Redrive,
            "/v1/audit" => Self::Audit,
            "/v1/reload" => Self::Reload,
            "/healthz" => Self::Live,
            "/readyz" => Self::Ready,
            "/metrics" => Self::Metrics,
            "/openapi.json" => Self::OpenApi,
            other => return Self::of_one(other),
        })
    }

    /// The paths that name one thing of many.
    fn of_one(path: &'a str) -> Option<Self> {
        if let Some(event) = path.strip_prefix("/v1/events/") {
            return match event.split_once('/') {
                None => Some(Self::Event(event)),
                Some((id, "body")) => Some(Self::EventBody(id)),
                Some((id, "replay")) => Some(Self::Replay(id)),
                Some(_) => None,
            };
        }
        let (namespace, key) = path.strip_prefix("/v1/claims/")?.split_once('/')?;
        (!key.contains('/')).then_some(Self::Claim(namespace, key))
    }

    /// The methods that it takes.
    pub(super) fn allow(&self) -> &'static str {
        match self {
            Self::Verb(_) | Self::Batch | Self::Replay(_) | Self::Redrive | Self::Reload => "POST",
            Self::Claim(..) | Self::Event(_) => "GET, DELETE",
            Self::Claims
            | Self::Events
            | Self::EventBody(_)
            | Self::DeadLetters
            | Self::Audit
            | Self::Live
            | Self::Ready
            | Self::Metrics
            | Self::OpenApi => "GET",
        }
    }
}
