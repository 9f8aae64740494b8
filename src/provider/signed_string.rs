//! The description of the bytes that a sender signs: `{timestamp}.{body}`, `{header:webhook-id}.{timestamp}.{body}`.
//!
//! Placeholders name where the bytes come from, so that a profile can be read beside the sender's documentation. They
//! stand for the bytes as sent: a timestamp enters the MAC as the text that arrived, not as a number written out again.

use super::{Header, HeaderNameError};
use serde::Deserialize;
use std::fmt;

/// A parsed description. It contains the body exactly once: a signature that leaves the body out proves nothing about
/// the event, and a profile should not come to that by a slip of the pen.
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
    Timestamp,
    Header(Header),
    Body,
}

/// The description cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SignedStringError {
    /// A brace without its partner.
    #[error("a brace is not closed, or closes nothing")]
    Brace,
    /// `{…}` with an unknown word.
    #[error("{{{0}}} is unknown; there are {{body}}, {{timestamp}} and {{header:NAME}}")]
    Placeholder(String),
    /// `{header:…}` with something that is no header name.
    #[error("the header of a placeholder cannot be used")]
    Header(#[from] HeaderNameError),
    /// No body, or several.
    #[error("{{body}} must occur exactly once")]
    Body,
}

impl SignedString {
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether the timestamp is among the signed bytes. One that is not can be rewritten by whoever replays a request.
    pub(super) fn covers_timestamp(&self) -> bool {
        self.parts.contains(&Part::Timestamp)
    }

    /// Whether this header's value is among the signed bytes.
    pub(super) fn covers_header(&self, header: &Header) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Header(covered) if covered == header))
    }
}

impl TryFrom<String> for SignedString {
    type Error = SignedStringError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let parts = parse(&text)?;
        match parts.iter().filter(|part| **part == Part::Body).count() {
            1 => Ok(Self { text, parts }),
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

fn parse(text: &str) -> Result<Vec<Part>, SignedStringError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(brace) = rest.find(['{', '}']) {
        let (literal, from_brace) = rest.split_at(brace);
        let (word, after) =
            from_brace.strip_prefix('{').and_then(|inside| inside.split_once('}')).ok_or(SignedStringError::Brace)?;
        push_literal(&mut parts, literal);
        parts.push(placeholder(word)?);
        rest = after;
    }
    push_literal(&mut parts, rest);
    Ok(parts)
}

fn push_literal(parts: &mut Vec<Part>, literal: &str) {
    if !literal.is_empty() {
        parts.push(Part::Literal(literal.to_owned()));
    }
}

fn placeholder(word: &str) -> Result<Part, SignedStringError> {
    match (word, word.strip_prefix("header:")) {
        ("body", _) => Ok(Part::Body),
        ("timestamp", _) => Ok(Part::Timestamp),
        (_, Some(name)) => Ok(Part::Header(Header::try_from(name.to_owned())?)),
        (_, None) => Err(SignedStringError::Placeholder(word.to_owned())),
    }
}
