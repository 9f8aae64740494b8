//! The items of an array in a JSON body, as the texts that stand there.
//!
//! Nothing of an item is parsed here: it is skipped like any value, and what is handed over is its literal text, in which
//! pointers are followed as in a body. Bounded in number, since an array of a million empty items is a small body.

use super::pointer::Reached;
use super::{MissingId, Pointer, PointerError};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fmt;

/// The items of one request that are looked at. Senders put up to 1,000 into one, or some thousand small ones into 768 KB.
pub const MAX_BATCH_ITEMS: usize = 10_000;

/// A place where an array stands: a pointer, or `""` for the whole body.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Array(Option<Pointer>);

/// What stands there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Items<'b> {
    /// These items, as their literal texts.
    Found(Vec<&'b str>),
    /// No array, or one that cannot be read.
    Missing(MissingId),
}

impl Array {
    /// Whether it is the array at this pointer.
    pub(super) fn is_at(&self, pointer: &Pointer) -> bool {
        self.0.as_ref() == Some(pointer)
    }

    /// Reads the array's items.
    pub(super) fn items<'b>(&self, body: &'b [u8]) -> Items<'b> {
        let text = match &self.0 {
            None => body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body),
            Some(pointer) => match pointer.follow(body) {
                Reached::Text(text) => text.as_bytes(),
                Reached::Absent => return Items::Missing(MissingId::Absent),
                Reached::Ambiguous => return Items::Missing(MissingId::Ambiguous),
                Reached::NotJson => return Items::Missing(MissingId::NotJson),
            },
        };
        match serde_json::from_slice::<Bounded<'b>>(text) {
            Ok(Bounded(Some(items))) => Items::Found(items),
            Ok(Bounded(None)) => Items::Missing(MissingId::TooManyItems),
            Err(error) if error.is_data() => Items::Missing(MissingId::NotAnId),
            Err(_) => Items::Missing(MissingId::NotJson),
        }
    }
}

/// An array's items; `None` where there are more than [`MAX_BATCH_ITEMS`].
struct Bounded<'b>(Option<Vec<&'b str>>);

impl<'de: 'b, 'b> Deserialize<'de> for Bounded<'b> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;

        impl<'de> serde::de::Visitor<'de> for Each {
            type Value = Bounded<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = array.next_element::<&'de RawValue>()? {
                    if items.len() == MAX_BATCH_ITEMS {
                        // The rest is read and let go, so that the reader stands behind the array.
                        while array.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                        return Ok(Bounded(None));
                    }
                    items.push(item.get());
                }
                Ok(Bounded(Some(items)))
            }
        }

        deserializer.deserialize_seq(Each)
    }
}

impl TryFrom<String> for Array {
    type Error = PointerError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() { Ok(Self(None)) } else { Pointer::try_from(text).map(|pointer| Self(Some(pointer))) }
    }
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("the body"),
            Some(pointer) => write!(f, "JSON {pointer}"),
        }
    }
}
