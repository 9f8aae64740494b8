//! The items of an array in a JSON body, as the texts that stand there.
//!
//! Nothing of an item is parsed here: it is skipped like any value, and what is handed over is its literal text, in which
//! pointers are followed as in a body. Bounded in number, since an array of a million empty items is a small body.

use super::pointer::{BYTE_ORDER_MARK, Reached, elements};
use super::{MissingId, Pointer, PointerError};
use serde::Deserialize;
use std::fmt;

/// The items of one request that are looked at. Senders put up to 1,000 into one, or some thousand small ones into 768 KB.
pub const MAX_BATCH_ITEMS: usize = 10_000;

/// A place where an array stands: a pointer, or `""` for the whole body.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct BatchArray(Option<Pointer>);

impl BatchArray {
    /// Whether it is the array at this pointer.
    pub(super) fn is_at(&self, pointer: &Pointer) -> bool {
        self.0.as_ref() == Some(pointer)
    }

    /// Reads the array's items.
    pub(super) fn items<'b>(&self, body: &'b [u8]) -> Result<Vec<&'b str>, MissingId> {
        let text = match &self.0 {
            None => {
                let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
                std::str::from_utf8(body).map_err(|_| MissingId::NotText)?
            }
            Some(pointer) => match pointer.follow(body) {
                Reached::Text(text) => text,
                Reached::Absent => return Err(MissingId::Absent),
                Reached::Ambiguous => return Err(MissingId::Ambiguous),
                Reached::NotJson => return Err(MissingId::NotJson),
            },
        };
        match elements(text, MAX_BATCH_ITEMS) {
            None => Err(MissingId::NotAnId),
            Some(items) if items.is_empty() => Err(MissingId::Empty),
            Some(items) if items.len() > MAX_BATCH_ITEMS => Err(MissingId::TooManyItems),
            Some(items) => Ok(items),
        }
    }
}

impl TryFrom<String> for BatchArray {
    type Error = PointerError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() { Ok(Self(None)) } else { Pointer::try_from(text).map(|pointer| Self(Some(pointer))) }
    }
}

impl fmt::Display for BatchArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("the body"),
            Some(pointer) => write!(f, "JSON {pointer}"),
        }
    }
}
