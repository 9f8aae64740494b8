//! Which event a request is about, and what key its claim gets.

use super::form::{Field, field};
use super::header::{Sole, sole};
use super::pointer::Reached;
use super::{Header, HeaderNameError, Pointer, PointerError, Request};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The longest key of a claim, in bytes. Claims are not known here, so the number is; where a route is put together, it is
/// held against theirs.
pub const MAX_KEY_BYTES: usize = 512;

/// Keys that begin like this are made here. A sender's id that begins so is treated as one that cannot stand for itself;
/// hence no sender can spell the key of another id.
const MADE_HERE: &str = "onced:";

/// Where a sender keeps the id: `{ header = "…" }`, `{ pointer = "/id" }`, `{ form = "…" }`, or
/// `{ form = "payload", pointer = "/trigger_id" }` for JSON inside a form field.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Keys")]
pub enum EventIdSource {
    /// The value of a header.
    Header(Header),
    /// A place in a JSON body.
    Pointer(Pointer),
    /// A field of a form, or a place in the JSON that the field holds.
    Form {
        /// The field's name, decoded.
        field: String,
        /// The place in it.
        pointer: Option<Pointer>,
    },
}

/// The keys do not name one place.
#[derive(Debug, thiserror::Error)]
pub enum EventIdSourceError {
    /// None, or a combination that means nothing.
    #[error("an event id needs header, pointer, form, or form with pointer")]
    Combination,
    /// A header name that is none.
    #[error(transparent)]
    Header(#[from] HeaderNameError),
    /// A pointer that is none.
    #[error(transparent)]
    Pointer(#[from] PointerError),
}

/// [`EventIdSource`] as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    header: Option<String>,
    pointer: Option<String>,
    form: Option<String>,
}

/// What was found where the id should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// The event has this id.
    Known(EventId),
    /// The event has no id. Never an identity of its own: two events without one are not each other's repeats.
    Missing(MissingId),
    /// The id header came more than once: as suspicious as a signature that did, and answered alike.
    DuplicateHeader(Header),
}

/// Why there is no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MissingId {
    /// No such header, field or key; or the way to it leads through something that is no object.
    #[error("the event id is absent")]
    Absent,
    /// There, but empty or blank.
    #[error("the event id is empty")]
    Empty,
    /// There, but null, true, false, an array or an object.
    #[error("the event id is neither text nor a number")]
    NotAnId,
    /// A JSON key or form field on the way occurs twice.
    #[error("the event id is ambiguous: its key occurs twice")]
    Ambiguous,
    /// The body cannot be read as JSON up to the id.
    #[error("the body is not JSON")]
    NotJson,
    /// A JSON string with half a surrogate pair, which is no text.
    #[error("the event id is not valid text")]
    NotText,
}

/// A sender's id as bytes, never empty and never blank.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EventId(Vec<u8>);

impl EventIdSource {
    /// Finds the id of a request.
    ///
    /// Of a JSON string the id is its characters with escapes resolved; of a number, its digits as they stand, so that
    /// none is rounded and 1000, 1e3 and 1000.0 are three ids. The string "1000" and the number 1000 are one id: within
    /// one field, senders change between them to spare JavaScript its rounding, and mean the same event.
    pub fn find(&self, request: &Request<'_>) -> Identity {
        match self {
            Self::Header(header) => match sole(request.headers, header) {
                Sole::Absent => Identity::Missing(MissingId::Absent),
                Sole::Once(value) => EventId::known(value),
                Sole::Repeated => Identity::DuplicateHeader(header.clone()),
            },
            Self::Pointer(pointer) => in_json(request.body, pointer),
            Self::Form { field: name, pointer } => match (field(request.body, name), pointer) {
                (Field::Absent, _) => Identity::Missing(MissingId::Absent),
                (Field::Repeated, _) => Identity::Missing(MissingId::Ambiguous),
                (Field::Once(value), None) => EventId::known(&value),
                (Field::Once(value), Some(pointer)) => in_json(&value, pointer),
            },
        }
    }
}

fn in_json(document: &[u8], pointer: &Pointer) -> Identity {
    let literal = match pointer.follow(document) {
        Reached::Text(literal) => literal,
        Reached::Absent => return Identity::Missing(MissingId::Absent),
        Reached::Ambiguous => return Identity::Missing(MissingId::Ambiguous),
        Reached::NotJson => return Identity::Missing(MissingId::NotJson),
    };
    match literal.as_bytes().first() {
        Some(b'"') => match serde_json::from_str::<String>(literal) {
            Ok(text) => EventId::known(text.as_bytes()),
            Err(_) => Identity::Missing(MissingId::NotText),
        },
        Some(b'-' | b'0'..=b'9') => EventId::known(literal.as_bytes()),
        _ => Identity::Missing(MissingId::NotAnId),
    }
}

impl EventId {
    fn known(bytes: &[u8]) -> Identity {
        match bytes.trim_ascii().is_empty() {
            true => Identity::Missing(MissingId::Empty),
            false => Identity::Known(Self(bytes.to_vec())),
        }
    }

    /// The id as the sender spelled it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The id as the key of a claim. Different ids have different keys.
    ///
    /// An id that can be a key is its own: UTF-8, at most [`MAX_KEY_BYTES`], no control characters (C0, DEL, C1). Any
    /// other becomes `onced:id-sha256:` and the hex digest of its bytes, and so does one that begins with `onced:`. The
    /// two kinds cannot meet, and within the second, two ids with one key would be a collision of SHA-256. A
    /// percent-style escape would have stayed readable, but an id of 512 control bytes does not fit into 512 once
    /// escaped: the digest would have been needed anyway, as a second rule.
    pub fn key_text(&self) -> String {
        match std::str::from_utf8(&self.0) {
            Ok(text) if is_own_key(text) => text.to_owned(),
            Ok(_) | Err(_) => digest_key("id", &self.0),
        }
    }
}

/// The key for an event that has no id, on routes that are told to go by the body. It is no [`EventId`]'s key.
pub fn body_key_text(body: &[u8]) -> String {
    digest_key("body", body)
}

fn is_own_key(text: &str) -> bool {
    text.len() <= MAX_KEY_BYTES && !text.starts_with(MADE_HERE) && !text.chars().any(char::is_control)
}

fn digest_key(of: &str, bytes: &[u8]) -> String {
    format!("{MADE_HERE}{of}-sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// Text where it is text; an id is no secret, but it may hold control bytes that a terminal would obey.
impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventId(\"{}\")", self.0.escape_ascii())
    }
}

impl TryFrom<Keys> for EventIdSource {
    type Error = EventIdSourceError;

    fn try_from(keys: Keys) -> Result<Self, Self::Error> {
        let pointer = keys.pointer.map(Pointer::try_from).transpose()?;
        match (keys.header, keys.form, pointer) {
            (Some(header), None, None) => Ok(Self::Header(Header::try_from(header)?)),
            (None, Some(field), pointer) => Ok(Self::Form { field, pointer }),
            (None, None, Some(pointer)) => Ok(Self::Pointer(pointer)),
            _ => Err(EventIdSourceError::Combination),
        }
    }
}

impl fmt::Display for EventIdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(header) => write!(f, "header {header}"),
            Self::Pointer(pointer) => write!(f, "JSON {pointer}"),
            Self::Form { field, pointer: None } => write!(f, "form field {field}"),
            Self::Form { field, pointer: Some(pointer) } => write!(f, "JSON {pointer} in form field {field}"),
        }
    }
}
