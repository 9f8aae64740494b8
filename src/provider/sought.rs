//! Reading one text of a request where a profile says that it stands: an id, a part of one, what tells a handshake.
//!
//! A text is read or it is not: a header that came twice, a key that stands twice, text that cannot be decoded are each a
//! reason of their own and never a value, because two readers of one request would otherwise see two. Where a *signature*
//! needs a text, the same faults are rejections, and stand with the signature's code.

use super::form::{Field, field};
use super::pointer::{Reached, Value};
use super::{Header, Place, Pointer, Request};
use std::borrow::Cow;

/// What stands in a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sought<'r> {
    /// This text, neither empty nor blank.
    Text(Cow<'r, [u8]>),
    /// Nothing that could be used.
    Missing(MissingId),
    /// The header came more than once.
    DuplicateHeader(Header),
}

/// Why there is no id, or no other text where one was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MissingId {
    /// No such header, field or key; or the way to it leads through something that is no object.
    #[error("the event id is absent")]
    Absent,
    /// There, but empty or blank; or a batch without items.
    #[error("the event id is empty")]
    Empty,
    /// There, but null, true, false, an array or an object; or no array, where a batch should be.
    #[error("the event id is neither text nor a number")]
    NotAnId,
    /// A JSON key, form field or parameter on the way occurs twice.
    #[error("the event id is ambiguous: its key occurs twice")]
    Ambiguous,
    /// The body cannot be read as JSON up to the id.
    #[error("the body is not JSON")]
    NotJson,
    /// A JSON string with half a surrogate pair, which is no text.
    #[error("the event id is not valid text")]
    NotText,
    /// More items in a batch than are looked at.
    #[error("the batch has too many items")]
    TooManyItems,
    /// The body is said to be gzip and cannot be unpacked, or not within the bound.
    #[error("the body cannot be unpacked")]
    NotUnpacked,
}

impl<'r> Sought<'r> {
    /// Reads a place. `body` is the request's, unpacked where it came packed, or an item of it.
    ///
    /// Of a JSON string the text is its characters with escapes resolved; of a number, its digits as they stand, so that
    /// none is rounded and 1000, 1e3 and 1000.0 are three texts.
    pub(super) fn at(place: &Place, request: &'r Request<'_>, body: &'r [u8]) -> Self {
        match place {
            Place::Pointer(pointer) => Self::in_json(body, pointer),
            Place::Form(name) => Self::in_form(body, name),
            Place::Header(header) => match request.find(place) {
                Ok(None) => Self::Missing(MissingId::Absent),
                Ok(Some(text)) => Self::text(text),
                Err(_) => Self::DuplicateHeader(header.clone()),
            },
            Place::Query(_) => match request.find(place) {
                Ok(None) => Self::Missing(MissingId::Absent),
                Ok(Some(text)) => Self::text(text),
                Err(_) => Self::Missing(MissingId::Ambiguous),
            },
        }
    }

    /// Reads a field of a form.
    pub(super) fn in_form(form: &'r [u8], name: &str) -> Self {
        match field(form, name) {
            Field::Absent => Self::Missing(MissingId::Absent),
            Field::Repeated => Self::Missing(MissingId::Ambiguous),
            Field::Once(value) => Self::text(value),
        }
    }

    /// Reads a place in a JSON document.
    pub(super) fn in_json(document: &'r [u8], pointer: &Pointer) -> Self {
        let literal = match pointer.follow(document) {
            Reached::Text(literal) => literal,
            Reached::Absent => return Self::Missing(MissingId::Absent),
            Reached::Ambiguous => return Self::Missing(MissingId::Ambiguous),
            Reached::NotJson => return Self::Missing(MissingId::NotJson),
        };
        match Value::read(literal) {
            Value::Text(text) => Self::text(text),
            Value::Number => Self::text(Cow::Borrowed(literal.as_bytes())),
            Value::HalfText => Self::Missing(MissingId::NotText),
            Value::Null | Value::Truth | Value::Nested => Self::Missing(MissingId::NotAnId),
        }
    }

    fn text(text: Cow<'r, [u8]>) -> Self {
        match text.trim_ascii().is_empty() {
            true => Self::Missing(MissingId::Empty),
            false => Self::Text(text),
        }
    }

    /// The same, without a hold on what it was read from.
    pub(super) fn into_owned<'o>(self) -> Sought<'o> {
        match self {
            Self::Text(text) => Sought::Text(Cow::Owned(text.into_owned())),
            Self::Missing(reason) => Sought::Missing(reason),
            Self::DuplicateHeader(header) => Sought::DuplicateHeader(header),
        }
    }
}
