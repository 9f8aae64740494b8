//! The description of the bytes that a sender signs: `{timestamp}.{body}`, `{header:webhook-id}.{timestamp}.{body}`.
//!
//! Placeholders name where the bytes come from, so that a profile can be read beside the sender's documentation. They
//! stand for the bytes as sent: a timestamp enters the MAC as the text that arrived, not as a number written out again.
//! What the bytes of a request are stands in [`pieces`](super::pieces).

mod placeholder;

use self::placeholder::{KNOWN, parse};
use super::{Header, HeaderNameError, Pointer, PointerError};
use serde::Deserialize;
use std::fmt;

/// A parsed description. At least one piece of it comes from the request: the signature of a constant could be replayed
/// with anything.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct SignedString {
    text: String,
    parts: Vec<Part>,
}

/// One piece of the signed bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Literal(String),
    /// The timestamp as sent.
    Timestamp,
    Header(Header),
    /// The body as it came over the wire.
    Body,
    /// The body without its Content-Encoding.
    DecodedBody,
    /// The text of a JSON value; an absent one is empty if it is `optional`.
    Pointer {
        pointer: Pointer,
        optional: bool,
    },
    Form(String),
    Query(String),
    Method,
    /// The URL that the sender knows us by, without the target: `{url}` is this and [`Part::Target`].
    PublicUrl,
    /// Path and query as received.
    Target,
    /// All fields of a form, sorted: Twilio's way.
    FormSorted,
    /// The headers that a header lists: Contentful's way.
    ListedHeaders(Header),
    /// Keys and values of a JSON object, a line each: the way of Amazon SNS.
    Lines(Vec<Line>),
    BodyCrc32,
    BodySha256,
    /// A text of the route.
    Parameter(String),
    /// The secret itself, in schemes that hash it with the rest.
    Secret,
}

/// A key of `{lines:…}`: `KEY`, `KEY?` where it may be absent, `KEY=NAME` where its text must be the route's parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) key: String,
    pub(super) pointer: Pointer,
    pub(super) optional: bool,
    /// The parameter that the text must be equal to. For senders whose one key signs for all their customers: whose event
    /// it is, only such a text says.
    pub(super) parameter: Option<String>,
}

/// The description cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SignedStringError {
    /// A brace without its partner.
    #[error("a brace is not closed, or closes nothing")]
    Brace,
    /// `{…}` with an unknown word.
    #[error("{{{word}}} is unknown; there are {}", KNOWN.join(", "))]
    Placeholder {
        /// The word.
        word: String,
    },
    /// A placeholder that lacks the name of what it stands for.
    #[error("{{{0}:}} needs a name")]
    Nameless(String),
    /// `{header:…}` with something that is no header name.
    #[error("the header of a placeholder cannot be used")]
    Header(#[from] HeaderNameError),
    /// `{pointer:…}` with something that is no pointer.
    #[error(transparent)]
    Pointer(#[from] PointerError),
    /// Nothing of the request is in it.
    #[error("nothing of the request is signed; at least one placeholder must stand for a part of it")]
    Constant,
    /// One body, or its hash, is enough.
    #[error("the body must not occur twice")]
    Body,
}

impl SignedString {
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn has(&self, is: impl Fn(&Part) -> bool) -> bool {
        self.parts.iter().any(is)
    }

    /// Whether the timestamp is among the signed bytes. One that is not can be rewritten by whoever replays a request.
    pub(super) fn covers_timestamp(&self) -> bool {
        self.parts.contains(&Part::Timestamp)
    }

    /// Whether this header's value is among the signed bytes. Of a list that the sender writes nobody can tell
    /// beforehand, save that it must name itself and the timestamp.
    pub(super) fn covers_header(&self, header: &Header) -> bool {
        self.has(|part| matches!(part, Part::Header(covered) | Part::ListedHeaders(covered) if covered == header))
    }

    /// The header that lists the signed headers.
    pub(super) fn lists_headers(&self) -> bool {
        self.has(|part| matches!(part, Part::ListedHeaders(_)))
    }

    /// Whether the whole body is among the signed bytes, or a hash of it that nobody can meet with another body. A CRC is
    /// no such hash.
    pub(super) fn covers_body(&self) -> bool {
        self.has(|part| matches!(part, Part::Body | Part::DecodedBody | Part::BodySha256))
    }

    /// Whether all fields of a form are.
    pub(super) fn covers_form(&self) -> bool {
        self.parts.contains(&Part::FormSorted)
    }

    /// Whether the value at this pointer is, by itself.
    pub(super) fn covers_pointer(&self, wanted: &Pointer) -> bool {
        let in_lines = |lines: &[Line]| lines.iter().any(|line| line.pointer == *wanted);
        self.has(|part| matches!(part, Part::Pointer { pointer, .. } if pointer == wanted))
            || self.has(|part| matches!(part, Part::Lines(lines) if in_lines(lines)))
    }

    /// Whether this field of a form is, by itself.
    pub(super) fn covers_field(&self, wanted: &str) -> bool {
        self.has(|part| matches!(part, Part::Form(field) if field == wanted)) || self.covers_form()
    }

    /// Whether the query string is.
    pub(super) fn covers_query(&self) -> bool {
        self.parts.contains(&Part::Target)
    }

    /// Whether this parameter of the query string is.
    pub(super) fn covers_parameter(&self, wanted: &str) -> bool {
        self.has(|part| matches!(part, Part::Query(parameter) if parameter == wanted)) || self.covers_query()
    }

    /// Whether the URL that the sender knows us by is needed.
    pub(super) fn needs_public_url(&self) -> bool {
        self.parts.contains(&Part::PublicUrl)
    }

    /// Whether the secret is one of the pieces.
    pub(super) fn has_secret(&self) -> bool {
        self.parts.contains(&Part::Secret)
    }

    /// The texts that a route must give.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        let pieces = self.parts.iter().filter_map(|part| {
            let Part::Parameter(name) = part else { return None };
            Some(name.as_str())
        });
        let lines = self.parts.iter().filter_map(|part| {
            let Part::Lines(lines) = part else { return None };
            Some(lines)
        });
        pieces.chain(lines.flatten().filter_map(|line| line.parameter.as_deref()))
    }
}

impl Part {
    /// Whether it is some of what the sender sent.
    fn is_of_request(&self) -> bool {
        match self {
            Self::Literal(_) | Self::Parameter(_) | Self::Secret | Self::Method | Self::PublicUrl => false,
            Self::Timestamp
            | Self::Header(_)
            | Self::Body
            | Self::DecodedBody
            | Self::Pointer { .. }
            | Self::Form(_)
            | Self::Query(_)
            | Self::Target
            | Self::FormSorted
            | Self::ListedHeaders(_)
            | Self::Lines(_)
            | Self::BodyCrc32
            | Self::BodySha256 => true,
        }
    }
}

impl TryFrom<String> for SignedString {
    type Error = SignedStringError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let parts = parse(&text)?;
        if !parts.iter().any(Part::is_of_request) {
            return Err(SignedStringError::Constant);
        }
        let bodies = |part: &&Part| matches!(part, Part::Body | Part::DecodedBody | Part::BodySha256 | Part::BodyCrc32);
        match parts.iter().filter(bodies).count() {
            0 | 1 => Ok(Self { text, parts }),
            _ => Err(SignedStringError::Body),
        }
    }
}

/// The text as it was written.
impl fmt::Display for SignedString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
