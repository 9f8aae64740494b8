//! Ranges of HTTP statuses, as senders describe the answers that make them stop: one (`410`), or a span (`400-428`).

use http::StatusCode;
use serde::Deserialize;
use std::{fmt, ops::RangeInclusive};

/// A span of status codes, both ends included. "Any 4xx but 429" is two of them, `400-428` and `430-499`, which needs no
/// notation for exceptions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct StatusRange(RangeInclusive<u16>);

/// The text is not a range of statuses.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is neither a status from 100 to 599 nor a span of them such as \"400-428\"")]
pub struct StatusRangeError(String);

impl StatusRange {
    /// Whether the status lies inside.
    pub fn contains(&self, status: StatusCode) -> bool {
        self.0.contains(&status.as_u16())
    }
}

impl TryFrom<String> for StatusRange {
    type Error = StatusRangeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (first, last) = text.split_once('-').unwrap_or((&text, &text));
        match (status(first), status(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self(first..=last)),
            _ => Err(StatusRangeError(text)),
        }
    }
}

fn status(text: &str) -> Option<u16> {
    let code = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())??;
    (100..=599).contains(&code).then_some(code)
}

impl fmt::Display for StatusRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.0.start(), self.0.end());
        match first == last {
            true => write!(f, "{first}"),
            false => write!(f, "{first}-{last}"),
        }
    }
}
