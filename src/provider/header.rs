//! Header names in profiles, and the one rule for reading a header that authentication depends on.

use http::{HeaderMap, HeaderName};
use serde::Deserialize;
use std::fmt;

/// A header name from a profile or the config. It is valid by construction and matches without regard to case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Header(HeaderName);

/// The text is not a header name.
#[derive(Debug, thiserror::Error)]
#[error("{name:?} is not a header name (RFC 9110, section 5.1)")]
pub struct HeaderNameError {
    name: String,
    #[source]
    source: http::header::InvalidHeaderName,
}

impl Header {
    /// The name in the lower case that HTTP libraries compare in.
    pub fn name(&self) -> &HeaderName {
        &self.0
    }
}

impl From<HeaderName> for Header {
    fn from(name: HeaderName) -> Self {
        Self(name)
    }
}

impl TryFrom<String> for Header {
    type Error = HeaderNameError;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        match name.parse() {
            Ok(parsed) => Ok(Self(parsed)),
            Err(source) => Err(HeaderNameError { name, source }),
        }
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// How often a header came.
pub(super) enum Sole<'h> {
    Absent,
    /// Once, with these bytes.
    Once(&'h [u8]),
    /// More than once. A reader that took the first line and an app that takes the last would authenticate one value
    /// and act on another, so neither is used.
    Repeated,
}

/// Reads a header that may come once only. A comma inside one line is part of its value, never a second value.
pub(super) fn sole<'h>(headers: &'h HeaderMap, header: &Header) -> Sole<'h> {
    let mut values = headers.get_all(&header.0).iter();
    match (values.next(), values.next()) {
        (None, _) => Sole::Absent,
        (Some(value), None) => Sole::Once(value.as_bytes()),
        (Some(_), Some(_)) => Sole::Repeated,
    }
}
