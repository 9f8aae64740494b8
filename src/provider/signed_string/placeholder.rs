//! The placeholders of a signed string: how they are spelled, and which pieces they become.

use super::{Line, Part, SignedStringError};
use crate::provider::{Header, Pointer};

/// The placeholders, for those who misspell one.
pub(super) const KNOWN: [&str; 18] = [
    "{body}",
    "{decoded-body}",
    "{body-sha256}",
    "{body-crc32}",
    "{timestamp}",
    "{method}",
    "{url}",
    "{target}",
    "{form-sorted}",
    "{secret}",
    "{header:NAME}",
    "{pointer:/a/b}",
    "{pointer:/a/b?}",
    "{form:NAME}",
    "{query:NAME}",
    "{listed-headers:NAME}",
    "{lines:KEY,KEY?,KEY=PARAMETER}",
    "{parameter:NAME}",
];

pub(super) fn parse(text: &str) -> Result<Vec<Part>, SignedStringError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(brace) = rest.find(['{', '}']) {
        let (literal, from_brace) = rest.split_at(brace);
        let (word, after) =
            from_brace.strip_prefix('{').and_then(|inside| inside.split_once('}')).ok_or(SignedStringError::Brace)?;
        push_literal(&mut parts, literal);
        match word {
            "url" => parts.extend([Part::PublicUrl, Part::Target]),
            word => parts.push(placeholder(word)?),
        }
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
    match word.split_once(':') {
        Some((kind, "")) => Err(SignedStringError::Nameless(kind.to_owned())),
        Some((kind, name)) => {
            named(kind, name).unwrap_or_else(|| Err(SignedStringError::Placeholder { word: word.to_owned() }))
        }
        None => plain(word).ok_or_else(|| SignedStringError::Placeholder { word: word.to_owned() }),
    }
}

fn plain(word: &str) -> Option<Part> {
    Some(match word {
        "body" => Part::Body,
        "decoded-body" => Part::DecodedBody,
        "body-sha256" => Part::BodySha256,
        "body-crc32" => Part::BodyCrc32,
        "timestamp" => Part::Timestamp,
        "method" => Part::Method,
        "target" => Part::Target,
        "form-sorted" => Part::FormSorted,
        "secret" => Part::Secret,
        _ => return None,
    })
}

fn named(kind: &str, name: &str) -> Option<Result<Part, SignedStringError>> {
    let header = || Header::try_from(name.to_owned()).map_err(SignedStringError::from);
    Some(match kind {
        "header" => header().map(Part::Header),
        "listed-headers" => header().map(Part::ListedHeaders),
        "form" => Ok(Part::Form(name.to_owned())),
        "query" => Ok(Part::Query(name.to_owned())),
        "parameter" => Ok(Part::Parameter(name.to_owned())),
        "pointer" => {
            let (pointer, optional) = optional(name);
            Pointer::try_from(pointer.to_owned())
                .map(|pointer| Part::Pointer { pointer, optional })
                .map_err(SignedStringError::from)
        }
        "lines" => name.split(',').map(line).collect::<Result<_, _>>().map(Part::Lines),
        _ => return None,
    })
}

/// Takes off the `?` of what may be absent.
fn optional(name: &str) -> (&str, bool) {
    match name.strip_suffix('?') {
        Some(name) => (name, true),
        None => (name, false),
    }
}

fn line(word: &str) -> Result<Line, SignedStringError> {
    let (word, parameter) = match word.trim().split_once('=') {
        Some((word, name)) => (word, Some(name.to_owned())),
        None => (word.trim(), None),
    };
    let (key, optional) = optional(word);
    if key.is_empty() || parameter.as_ref().is_some_and(String::is_empty) {
        return Err(SignedStringError::Nameless("lines".to_owned()));
    }
    let pointer = Pointer::to_key(key)?;
    Ok(Line { key: key.to_owned(), pointer, optional, parameter })
}
