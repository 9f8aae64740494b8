//! What a sender sent, and how a text is found in it.

use super::form::{Field, field};
use super::gzip::{self, Coding, Undecodable};
use super::header::{Sole, sole};
use super::{Place, Pointer};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};
use std::borrow::Cow;
use std::cell::OnceCell;

/// What a body may decode to, unless a route says otherwise.
const DEFAULT_DECODED_BYTES: usize = 1 << 20;

/// What a sender sent, as it arrived: the part of a request that schemes, ids and handshakes look at.
#[derive(Debug)]
pub struct Request<'r> {
    /// Header lines with their values as bytes; they need not be UTF-8.
    pub headers: &'r HeaderMap,
    /// The body as it came over the wire. Most signatures are over exactly these bytes.
    pub body: &'r [u8],
    method: &'r Method,
    target: &'r str,
    max_decoded_bytes: usize,
    /// What the body decodes to: worked out when somebody asks, and once.
    decoded: OnceCell<Result<Vec<u8>, Undecodable>>,
}

/// There is something in a place, and no text can be made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is there twice. Readers differ in which one they take, so that the app may see another than we would.
    #[error("is there more than once")]
    Repeated,
    /// An array, an object, or half a surrogate pair.
    #[error("is no text")]
    NotText,
    /// The body cannot be read as JSON up to there.
    #[error("cannot be looked for, since the body is not JSON")]
    NotJson,
    /// The body cannot be decoded.
    #[error("cannot be looked for: {0}")]
    Undecodable(#[from] Undecodable),
}

impl<'r> Request<'r> {
    /// A request with POST for `/`.
    pub fn new(headers: &'r HeaderMap, body: &'r [u8]) -> Self {
        Self {
            headers,
            body,
            method: &Method::POST,
            target: "/",
            max_decoded_bytes: DEFAULT_DECODED_BYTES,
            decoded: OnceCell::new(),
        }
    }

    /// The same with its own method and target; the target is path and query as received, letter by letter.
    #[must_use]
    pub fn at(self, method: &'r Method, target: &'r str) -> Self {
        Self { method, target, ..self }
    }

    /// The same with a limit on what the body may decode to.
    #[must_use]
    pub fn decoded_up_to(self, max_decoded_bytes: usize) -> Self {
        Self { max_decoded_bytes, ..self }
    }

    /// The method.
    pub fn method(&self) -> &'r Method {
        self.method
    }

    /// Path and query as received.
    pub fn target(&self) -> &'r str {
        self.target
    }

    /// The body for those who read what is in it: decoded where it says that it is gzip, as it came otherwise.
    pub fn content(&self) -> Result<&[u8], Undecodable> {
        match gzip::coding(self.headers) {
            Coding::Gzip => self.gunzipped(),
            Coding::Identity | Coding::Other => Ok(self.body),
        }
    }

    /// The body without its content coding; an error where that cannot be undone.
    pub(super) fn decoded(&self) -> Result<&[u8], Undecodable> {
        match gzip::coding(self.headers) {
            Coding::Identity => Ok(self.body),
            Coding::Gzip => self.gunzipped(),
            Coding::Other => Err(Undecodable::OtherCoding),
        }
    }

    fn gunzipped(&self) -> Result<&[u8], Undecodable> {
        let decoded = self.decoded.get_or_init(|| gzip::decode(self.body, self.max_decoded_bytes));
        decoded.as_deref().map_err(|undecodable| *undecodable)
    }

    /// The text in a place; `None` where there is none, of which JSON's `null` is a kind.
    pub fn find(&self, place: &Place) -> Result<Option<Cow<'_, [u8]>>, Unreadable> {
        match place {
            Place::Header(header) => match sole(self.headers, header) {
                Sole::Absent => Ok(None),
                Sole::Once(value) => Ok(Some(Cow::Borrowed(value))),
                Sole::Repeated => Err(Unreadable::Repeated),
            },
            Place::Pointer(pointer) => pointer.text(self.content()?),
            Place::Form(name) => once(field(self.content()?, name)),
            Place::Query(name) => once(field(self.query(), name)),
        }
    }

    /// The text at a pointer: of an element of a batch where one is given, else of the body.
    pub(super) fn find_in<'s>(
        &'s self,
        element: Option<&'s [u8]>,
        pointer: &Pointer,
    ) -> Result<Option<Cow<'s, [u8]>>, Unreadable> {
        match element {
            Some(element) => pointer.text(element),
            None => pointer.text(self.content()?),
        }
    }

    /// What follows the first `?` of the target.
    fn query(&self) -> &'r [u8] {
        self.target.split_once('?').map_or(&[], |(_, query)| query.as_bytes())
    }

    /// Whether the body says that it is a form. One that says several things is none: an app may go by another of them.
    pub(super) fn is_form(&self) -> bool {
        let mut types = self.headers.get_all(CONTENT_TYPE).iter();
        let essence = |value: &'r http::HeaderValue| value.as_bytes().split(|byte| *byte == b';').next();
        match (types.next().and_then(essence), types.next()) {
            (Some(essence), None) => essence.trim_ascii().eq_ignore_ascii_case(b"application/x-www-form-urlencoded"),
            (None, _) | (Some(_), Some(_)) => false,
        }
    }
}

fn once(field: Field<'_>) -> Result<Option<Cow<'_, [u8]>>, Unreadable> {
    match field {
        Field::Absent => Ok(None),
        Field::Once(value) => Ok(Some(value)),
        Field::Repeated => Err(Unreadable::Repeated),
    }
}
