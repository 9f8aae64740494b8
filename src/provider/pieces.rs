//! The signed bytes of a request, piece by piece: a body of many megabytes is not copied to stand behind its prefix.

use super::form::sorted;
use super::header::{Sole, sole};
use super::signed_string::{Line, Part};
use super::{Header, Place, Pointer, Rejection, Request, SignedString};
use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Headers that a sender may list as signed: more than a request may have is no list.
const MAX_LISTED_HEADERS: usize = 128;

/// A piece of what is signed. Two of them are not of the request, and are filled in where [`SignedBytes`] are made of them
/// and where a key is tried.
pub(super) enum Piece<'r> {
    Bytes(Cow<'r, [u8]>),
    /// The URL that the sender knows us by, without the target.
    PublicUrl,
    Secret,
}

/// The signed bytes under one spelling of our URL. Only the secret is left open, for the one scheme where it is a piece.
pub(super) struct SignedBytes<'m> {
    /// `None` is the secret.
    pieces: Vec<Option<&'m [u8]>>,
    /// Made when a key asks for it, and once for all keys: it is a copy of the body.
    whole: OnceCell<Cow<'m, [u8]>>,
}

impl<'m> SignedBytes<'m> {
    pub(super) fn new(pieces: &'m [Piece<'_>], public_url: &'m str) -> Self {
        let bytes = |piece: &'m Piece<'_>| match piece {
            Piece::Bytes(bytes) => Some(bytes.as_ref()),
            Piece::PublicUrl => Some(public_url.as_bytes()),
            Piece::Secret => None,
        };
        Self { pieces: pieces.iter().map(bytes).collect(), whole: OnceCell::new() }
    }

    /// Bytes that stand in one piece already.
    pub(super) fn of(bytes: &'m [u8]) -> Self {
        Self { pieces: vec![Some(bytes)], whole: OnceCell::new() }
    }

    /// The pieces with the secret, which is none where the scheme has it not among them.
    pub(super) fn pieces<'p>(&'p self, secret: &'p [u8]) -> Vec<&'p [u8]> {
        self.pieces.iter().map(|piece| piece.unwrap_or(secret)).collect()
    }

    /// All in one piece, as public-key schemes want it; the secret is never among them.
    pub(super) fn whole(&self) -> &[u8] {
        self.whole.get_or_init(|| match self.pieces.as_slice() {
            [Some(only)] => Cow::Borrowed(only),
            pieces => Cow::Owned(pieces.iter().flatten().copied().collect::<Vec<_>>().concat()),
        })
    }
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

    /// `Key\nValue\n` for each key. Only the first value may have lines of its own, else the same bytes could be divided in
    /// two ways: a stranger's message that ends in made-up lines would pass for another message with those keys, and the
    /// keys that were signed behind it for a part of the last value.
    fn lines(&'r self, lines: &[Line]) -> Result<Vec<u8>, Rejection> {
        let mut text = Vec::new();
        for (nth, line) in lines.iter().enumerate() {
            let Some(value) = self.at(&line.pointer, line.optional)? else { continue };
            if nth > 0 && value.contains(&b'\n') {
                return Err(Rejection::SeveralLines(Place::Pointer(line.pointer.clone())));
            }
            if let Some(name) = &line.parameter
                && *value != *self.parameter(name)?
            {
                return Err(Rejection::OtherThanParameter(Place::Pointer(line.pointer.clone()), name.clone()));
            }
            text.extend([line.key.as_bytes(), b"\n", &value, b"\n"].concat());
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
