//! Where a text of a request stands.

use super::{Header, Pointer};
use serde::Deserialize;
use std::fmt;

/// A place in a request that holds one text: `{ header = "X-Token" }`, `{ pointer = "/signature/token" }` in a JSON body,
/// `{ form = "payload" }` in a form body, `{ query = "hub.challenge" }` in the query string, decoded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The value of a header.
    Header(Header),
    /// A place in a JSON body: the characters of a string, or the literal of a number or of a truth value.
    Pointer(Pointer),
    /// A field of a form body, by its decoded name.
    Form(String),
    /// A parameter of the query string, by its decoded name.
    Query(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(header) => write!(f, "header {header}"),
            Self::Pointer(pointer) => write!(f, "JSON {pointer}"),
            Self::Form(field) => write!(f, "form field {field}"),
            Self::Query(parameter) => write!(f, "query parameter {parameter}"),
        }
    }
}
