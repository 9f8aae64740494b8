//! The text that an id is, or one of the texts that it is made of.

use super::sought::Sought;
use super::{Header, HeaderNameError, Place, Pointer, PointerError, Request};
use serde::Deserialize;
use std::fmt;

/// A [`Place`], or `{ form = "payload", pointer = "/trigger_id" }`: JSON inside a form field.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "IdPartKeys")]
pub enum IdPart {
    /// The text of a place.
    Text(Place),
    /// A place in the JSON that a form field holds.
    InForm {
        /// The field's name, decoded.
        field: String,
        /// The place in it.
        pointer: Pointer,
    },
}

/// [`IdPart`] as it is written.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdPartKeys {
    /// A header's name.
    pub header: Option<String>,
    /// A JSON pointer.
    pub pointer: Option<String>,
    /// A form field's name.
    pub form: Option<String>,
    /// A query parameter's name.
    pub query: Option<String>,
}

/// The keys do not name one place.
#[derive(Debug, thiserror::Error)]
pub enum IdPartError {
    /// None, or a combination that means nothing.
    #[error("an event id needs header, pointer, form, form with pointer, or query")]
    Combination,
    /// A header name that is none.
    #[error(transparent)]
    Header(#[from] HeaderNameError),
    /// A pointer that is none.
    #[error(transparent)]
    Pointer(#[from] PointerError),
}

impl IdPart {
    /// Reads the text; `body` is the request's, unpacked where it came packed.
    pub(super) fn read<'r>(&self, request: &'r Request<'_>, body: &'r [u8]) -> Sought<'r> {
        match self {
            Self::Text(place) => Sought::at(place, request, body),
            Self::InForm { field, pointer } => match Sought::in_form(body, field) {
                Sought::Text(json) => Sought::in_json(&json, pointer).into_owned(),
                none @ (Sought::Missing(_) | Sought::DuplicateHeader(_)) => none,
            },
        }
    }

    /// What of the request it is read from, as far as signatures tell places apart.
    pub(super) fn place(&self) -> Place {
        match self {
            Self::Text(place) => place.clone(),
            Self::InForm { field, .. } => Place::Form(field.clone()),
        }
    }

    pub(super) fn is_in_body(&self) -> bool {
        match self {
            Self::Text(Place::Header(_) | Place::Query(_)) => false,
            Self::Text(Place::Pointer(_) | Place::Form(_)) | Self::InForm { .. } => true,
        }
    }
}

impl TryFrom<IdPartKeys> for IdPart {
    type Error = IdPartError;

    fn try_from(keys: IdPartKeys) -> Result<Self, Self::Error> {
        let pointer = keys.pointer.map(Pointer::try_from).transpose()?;
        match (keys.header, keys.form, keys.query, pointer) {
            (Some(header), None, None, None) => Ok(Self::Text(Place::Header(Header::try_from(header)?))),
            (None, Some(field), None, Some(pointer)) => Ok(Self::InForm { field, pointer }),
            (None, Some(field), None, None) => Ok(Self::Text(Place::Form(field))),
            (None, None, Some(query), None) => Ok(Self::Text(Place::Query(query))),
            (None, None, None, Some(pointer)) => Ok(Self::Text(Place::Pointer(pointer))),
            _ => Err(IdPartError::Combination),
        }
    }
}

impl fmt::Display for IdPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(place) => place.fmt(f),
            Self::InForm { field, pointer } => write!(f, "JSON {pointer} in form field {field}"),
        }
    }
}
