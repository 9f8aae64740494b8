//! Where the signatures of a request stand, and how they are written there.

use super::{Encoding, Format, Header, HeaderNameError, Place};
use serde::Deserialize;
use std::fmt;

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

impl fmt::Display for SignaturePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(place) => write!(f, "{place}"),
            Self::Lines(header) => write!(f, "every header {header}"),
            Self::Family(beginning) => write!(f, "every header {beginning}*"),
        }
    }
}
