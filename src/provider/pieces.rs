//! The signed bytes of a request, piece by piece: a body of many megabytes is not copied to stand behind its prefix.

use super::form::sorted;
use super::header::{Sole, sole};
use super::signed_string::{Line, Part};
use super::{Header, Place, Pointer, Rejection, Request, SignedString};
use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Headers that a sender may list as signed: more than a request may have is no list.
const MAX_LISTED_HEADERS: usize = 128;

/// A piece of what is signed. Two of them are not of the request, and are filled in for each key and each spelling of our
/// URL that is tried.
pub(super) enum Piece<'r> {
    Bytes(Cow<'r, [u8]>),
    /// The URL that the sender knows us by, without the target.
    PublicUrl,
    Secret,
}

/// What the pieces are taken from.
pub(super) struct Source<'r> {
    pub(super) request: &'r Request<'r>,
    /// The element of a batch that pointers are relative to.
    pub(super) element: Option<&'r [u8]>,
    /// The timestamp as sent.
    pub(super) stamp: Cow<'r, [u8]>,
    /// Where the timestamp stands, if that is a header.
    pub(super) stamp_header: Option<&'r Header>,
    pub(super) parameters: &'r BTreeMap<String, String>,
}

impl<'r> Source<'r> {
    /// The pieces of a signed string, in order.
    pub(super) fn pieces(&'r self, signed: &'r SignedString) -> Result<Vec<Piece<'r>>, Rejection> {
        signed.parts().iter().map(|part| self.piece(part)).collect()
    }

    fn piece(&'r self, part: &'r Part) -> Result<Piece<'r>, Rejection> {
        let request = self.request;
        let bytes: Cow<'r, [u8]> = match part {
            Part::Literal(text) => text.as_bytes().into(),
            Part::Timestamp => self.stamp.as_ref().into(),
            Part::Header(header) => one(request.headers, header)?.into(),
            Part::Body => request.body.into(),
            Part::DecodedBody => request.decoded()?.into(),
            Part::Pointer { pointer, optional } => self.at(pointer, *optional)?.unwrap_or_default(),
            Part::Form(name) => text(request, &Place::Form(name.clone()))?,
            Part::Query(name) => text(request, &Place::Query(name.clone()))?,
            Part::Method => request.method().as_str().as_bytes().into(),
            Part::PublicUrl => return Ok(Piece::PublicUrl),
            Part::Target => request.target().as_bytes().into(),
            Part::FormSorted if request.is_form() => sorted(request.content()?)?.into(),
            Part::FormSorted => Cow::default(),
            Part::ListedHeaders(list) => self.listed(list)?.into(),
            Part::Lines(lines) => self.lines(lines)?.into(),
            Part::BodyCrc32 => crc32fast::hash(request.body).to_string().into_bytes().into(),
            Part::BodySha256 => hex::encode(Sha256::digest(request.body)).into_bytes().into(),
            Part::Parameter(name) => self.parameter(name)?.into(),
            Part::Secret => return Ok(Piece::Secret),
        };
        Ok(Piece::Bytes(bytes))
    }

    fn parameter(&self, name: &str) -> Result<&'r [u8], Rejection> {
        let set = self.parameters.get(name).map(String::as_bytes);
        set.ok_or_else(|| Rejection::MissingParameter(name.to_owned()))
    }

    fn at(&'r self, pointer: &Pointer, optional: bool) -> Result<Option<Cow<'r, [u8]>>, Rejection> {
        let place = || Place::Pointer(pointer.clone());
        match self.request.find_in(self.element, pointer) {
            Ok(None) if !optional => Err(Rejection::missing(&place())),
            Ok(found) => Ok(found),
            Err(unreadable) => Err(Rejection::unreadable(&place(), unreadable)),
        }
    }

    /// `Key\nValue\n` for each key.
    fn lines(&'r self, lines: &[Line]) -> Result<Vec<u8>, Rejection> {
        let mut text = Vec::new();
        for line in lines {
            if let Some(value) = self.at(&line.pointer, line.optional)? {
                text.extend([line.key.as_bytes(), b"\n", &value, b"\n"].concat());
            }
        }
        Ok(text)
    }

    /// `name:value` for each header that the sender lists, joined by `;`. The list must name itself, or it could be
    /// shortened, and the timestamp, or that could be renewed.
    fn listed(&self, list: &'r Header) -> Result<Vec<u8>, Rejection> {
        let names = one(self.request.headers, list)?.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let mut listed = Vec::new();
        for name in names {
            let name = std::str::from_utf8(name).map_err(|_| Rejection::MalformedHeaderList)?;
            listed.push(Header::try_from(name.to_owned()).map_err(|_| Rejection::MalformedHeaderList)?);
            if listed.len() > MAX_LISTED_HEADERS {
                return Err(Rejection::MalformedHeaderList);
            }
        }
        let unlisted = [Some(list), self.stamp_header].into_iter().flatten().find(|needed| !listed.contains(needed));
        if let Some(unlisted) = unlisted {
            return Err(Rejection::UnlistedHeader(unlisted.clone()));
        }
        let mut pairs = Vec::with_capacity(listed.len());
        for header in &listed {
            let value = one(self.request.headers, header).map_err(|_| Rejection::ListedHeader)?.trim_ascii();
            pairs.push([header.name().as_str().as_bytes(), b":", value].concat());
        }
        Ok(pairs.join(&b';'))
    }
}

/// A text that authentication needs.
pub(super) fn text<'r>(request: &'r Request<'r>, place: &Place) -> Result<Cow<'r, [u8]>, Rejection> {
    match request.find(place) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err(Rejection::missing(place)),
        Err(unreadable) => Err(Rejection::unreadable(place, unreadable)),
    }
}

/// The value of a header that authentication needs.
pub(super) fn one<'r>(headers: &'r HeaderMap, header: &Header) -> Result<&'r [u8], Rejection> {
    match sole(headers, header) {
        Sole::Once(value) => Ok(value),
        Sole::Absent => Err(Rejection::MissingHeader(header.clone())),
        Sole::Repeated => Err(Rejection::DuplicateHeader(header.clone())),
    }
}
