//! Where the signatures of a request stand, and how they are written there.

use super::format::Presented;
use super::pieces::one;
use super::{Encoding, Format, Header, HeaderNameError, Place, Rejection, Request};
use http::HeaderName;
use serde::Deserialize;
use std::borrow::Cow;
use std::fmt;

/// Lines that are looked at where every line, or every header of a family, is a candidate. DocuSign numbers its headers
/// from 1 to 100.
const MAX_SIGNATURE_LINES: usize = 100;

/// What carries the signature: the keys `header` (or `signature`), `repeatable`, `format` and `encoding` of a scheme's
/// table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub struct Carrier {
    /// Where it stands.
    pub place: SignaturePlace,
    /// How the text there is laid out.
    pub format: Format,
    /// How a digest or signature is written in it.
    pub encoding: Encoding,
}

/// Where a signature stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignaturePlace {
    /// In one place, which may come once only.
    Text(Place),
    /// In a header of which every line is a candidate: `repeatable = true`.
    Lines(Header),
    /// In every header whose name begins like this: `header = "X-DocuSign-Signature-*"`. Lower case, without the star.
    Family(String),
}

/// [`Carrier`] as it is written.
#[derive(Deserialize)]
struct Written {
    header: Option<String>,
    signature: Option<Place>,
    #[serde(default)]
    repeatable: bool,
    #[serde(default)]
    format: Format,
    encoding: Encoding,
}

/// The keys do not name one place.
#[derive(Debug, thiserror::Error)]
pub enum CarrierError {
    /// None, or two.
    #[error("a signature stands in `header` or in `signature`: exactly one of them is needed")]
    Place,
    /// Said of something that comes once by its nature, or that is several headers already.
    #[error("repeatable is said of a `header` with its full name")]
    Repeatable,
    /// A header name that is none, or nothing but a star.
    #[error(transparent)]
    Header(#[from] HeaderNameError),
}

impl TryFrom<Written> for Carrier {
    type Error = CarrierError;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let place = match (written.header, written.signature) {
            (Some(header), None) => in_header(header, written.repeatable)?,
            (None, Some(_)) if written.repeatable => return Err(CarrierError::Repeatable),
            (None, Some(place)) => SignaturePlace::Text(place),
            (Some(_), Some(_)) | (None, None) => return Err(CarrierError::Place),
        };
        Ok(Self { place, format: written.format, encoding: written.encoding })
    }
}

fn in_header(name: String, repeatable: bool) -> Result<SignaturePlace, CarrierError> {
    match name.strip_suffix('*') {
        Some(_) if repeatable => Err(CarrierError::Repeatable),
        Some(beginning) => {
            let beginning = Header::try_from(beginning.to_owned())?;
            Ok(SignaturePlace::Family(beginning.name().as_str().to_owned()))
        }
        None if repeatable => Ok(SignaturePlace::Lines(Header::try_from(name)?)),
        None => Ok(SignaturePlace::Text(Place::Header(Header::try_from(name)?))),
    }
}

impl Carrier {
    /// Reads what a request presents; `element` is the one of a batch that pointers are relative to. `stamp_field` names
    /// the entry of a list that is the timestamp.
    pub(super) fn read(
        &self,
        request: &Request<'_>,
        element: Option<&[u8]>,
        stamp_field: Option<&str>,
    ) -> Result<Presented, Rejection> {
        let read = |text: &[u8]| self.format.read(text, self.encoding, stamp_field);
        match &self.place {
            SignaturePlace::Text(place) => read(&text(request, element, place)?),
            SignaturePlace::Lines(header) => {
                let lines = request.headers.get_all(header.name()).iter();
                any(lines.map(|line| read(line.as_bytes())), || Rejection::MissingHeader(header.clone()))
            }
            SignaturePlace::Family(beginning) => {
                let names = request.headers.keys().filter(|name| name.as_str().starts_with(beginning));
                let repeated = |_| Rejection::DuplicateInFamily(beginning.clone());
                let line = |name: &HeaderName| one(request.headers, &Header::from(name.clone())).map_err(repeated);
                let lines = names.map(|name| read(line(name)?));
                any(lines, || Rejection::MissingFamily(beginning.clone()))
            }
        }
    }
}

fn text<'r>(request: &'r Request<'r>, element: Option<&'r [u8]>, place: &Place) -> Result<Cow<'r, [u8]>, Rejection> {
    let found = match (place, element) {
        (Place::Pointer(pointer), Some(_)) => request.find_in(element, pointer),
        (place, _) => request.find(place),
    };
    found.map_err(|unreadable| Rejection::unreadable(place, unreadable))?.ok_or_else(|| Rejection::missing(place))
}

/// What several lines present together. One that cannot be read is one that does not match; its neighbour may.
fn any(
    lines: impl Iterator<Item = Result<Presented, Rejection>>,
    missing: impl FnOnce() -> Rejection,
) -> Result<Presented, Rejection> {
    let (mut all, mut refused) = (Presented::default(), None);
    for (count, line) in lines.enumerate() {
        if count == MAX_SIGNATURE_LINES {
            return Err(Rejection::TooManySignatures);
        }
        match line {
            Ok(presented) => {
                all.digests.extend(presented.digests);
                if let Some(stamp) = presented.stamp
                    && all.stamp.replace(stamp).is_some()
                {
                    return Err(Rejection::RepeatedTimestamp);
                }
            }
            Err(error @ (Rejection::MalformedSignature | Rejection::NoSignatureOfScheme)) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    match (all.digests.is_empty(), refused) {
        (false, _) => Ok(all),
        (true, Some(refused)) => Err(refused),
        (true, None) => Err(missing()),
    }
}

impl fmt::Display for SignaturePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(place) => write!(f, "{place}"),
            Self::Lines(header) => write!(f, "every header {header}"),
            Self::Family(beginning) => write!(f, "every header {beginning}*"),
        }
    }
}
