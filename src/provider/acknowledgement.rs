//! A fixed success answer: what a queued event or a handshake gets where the sender wants something particular.

use super::ProfileFault;
use http::{HeaderValue, StatusCode};
use serde::Deserialize;
use std::fmt;

/// `{ status = 200 }`, or with a body `{ status = 200, content_type = "text/plain", body = "[accepted]" }`. Reading one
/// does not check it; the profile that it stands in does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acknowledgement {
    /// A 2xx status.
    pub status: u16,
    /// The body's type; without one no body is sent.
    pub content_type: Option<String>,
    /// The body.
    #[serde(default)]
    pub body: String,
}

impl Acknowledgement {
    /// The status as a status.
    pub fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).expect("a profile with another status than 200 to 299 is refused")
    }

    /// What is wrong with it.
    pub(super) fn faults(&self) -> impl Iterator<Item = ProfileFault> {
        let status = (!(200..=299).contains(&self.status)).then_some(ProfileFault::AcknowledgementStatus(self.status));
        let readable = match &self.content_type {
            Some(content_type) => HeaderValue::from_str(content_type).is_ok(),
            None => self.body.is_empty(),
        };
        status.into_iter().chain((!readable).then_some(ProfileFault::AcknowledgementType))
    }
}

impl fmt::Display for Acknowledgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.content_type, self.body.is_empty()) {
            (Some(content_type), false) => write!(f, "{} {content_type} {:?}", self.status, self.body),
            (_, _) => write!(f, "{} without a body", self.status),
        }
    }
}
