//! Which event a request is about, and what key its claim gets.

use super::batch::BatchArray;
use super::id_part::IdPartKeys;
use super::sought::Sought;
use super::{Header, IdPart, IdPartError, MissingId, Place, PointerError, Request};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The longest key of a claim, in bytes. Claims are not known here, so the number is; where a route is put together, it is
/// held against theirs.
pub const MAX_KEY_BYTES: usize = 512;

/// The parts that an id may be made of. Senders need five; each is another walk through the body.
pub const MAX_ID_PARTS: usize = 16;

/// Keys that begin like this are made here. A sender's id that begins so is treated as one that cannot stand for itself;
/// hence no sender can spell the key of another id.
const MADE_HERE: &str = "onced:";

/// Where a sender keeps the id: one [`IdPart`], several (`{ parts = [ … ] }`), or the items of an array in the body
/// (`{ batch = "/items", item = [ … ] }`, where `batch = ""` is the whole body and places are relative to an item).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Keys")]
pub enum EventIdSource {
    /// The id is the text of one place.
    One(IdPart),
    /// The id is made of several texts; each must be there.
    Parts(Vec<IdPart>),
    /// The request holds several events, and its id is made of all of theirs, in order. One alone would stand for the
    /// others, which may come again in another company.
    Batch {
        /// The array.
        array: BatchArray,
        /// What an item's id is made of.
        item: Vec<IdPart>,
    },
}

/// The keys do not say where an id is.
#[derive(Debug, thiserror::Error)]
pub enum EventIdSourceError {
    /// None, or a combination that means nothing.
    #[error("an event id needs header, pointer, form, form with pointer, query, parts, or batch with item")]
    Combination,
    /// No part, or more than [`MAX_ID_PARTS`].
    #[error("an event id has 1 to {MAX_ID_PARTS} parts")]
    Parts,
    /// An item has no headers of its own.
    #[error("what identifies an item must be a pointer, relative to the item")]
    ItemPlace,
    /// A part that is none.
    #[error(transparent)]
    Part(#[from] IdPartError),
    /// The pointer to the array is none.
    #[error(transparent)]
    Batch(#[from] PointerError),
}

/// [`EventIdSource`] as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    header: Option<String>,
    pointer: Option<String>,
    form: Option<String>,
    query: Option<String>,
    parts: Option<Vec<IdPart>>,
    batch: Option<String>,
    item: Option<Vec<IdPart>>,
}

/// What was found where the id should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// The event has this id.
    Known(EventId),
    /// The event has no id. Never an identity of its own: two events without one are not each other's repeats.
    Missing(MissingId),
    /// The id header came more than once: as suspicious as a signature that did, and answered alike.
    DuplicateHeader(Header),
}

/// A sender's id as bytes, never empty and never blank.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EventId(Vec<u8>);

impl EventIdSource {
    /// An id that is made of several texts.
    ///
    /// # Errors
    /// Without parts, or with too many.
    pub fn of_parts(parts: Vec<IdPart>) -> Result<Self, EventIdSourceError> {
        Ok(Self::Parts(bounded(parts)?))
    }

    /// An id that is made of those of all items of an array.
    ///
    /// # Errors
    /// When the array cannot be pointed at like this, or an item's places are none, too many, or outside of it.
    pub fn of_batch(array: String, item: Vec<IdPart>) -> Result<Self, EventIdSourceError> {
        if !item.iter().all(|part| matches!(part, IdPart::Text(Place::Pointer(_)))) {
            return Err(EventIdSourceError::ItemPlace);
        }
        Ok(Self::Batch { array: BatchArray::try_from(array)?, item: bounded(item)? })
    }

    /// Finds the id of a request.
    ///
    /// The string "1000" and the number 1000 are one id: within one field, senders change between them to spare
    /// JavaScript its rounding, and mean the same event.
    pub fn find(&self, request: &Request<'_>) -> Identity {
        let body = match self.parts().iter().any(IdPart::is_in_body) {
            true => request.content(),
            false => Ok(request.body),
        };
        let Ok(body) = body else {
            return Identity::Missing(MissingId::NotUnpacked);
        };
        match self {
            Self::One(part) => match part.read(request, body) {
                Sought::Text(text) => Identity::Known(EventId(text.into_owned())),
                Sought::Missing(reason) => Identity::Missing(reason),
                Sought::DuplicateHeader(header) => Identity::DuplicateHeader(header),
            },
            Self::Parts(parts) => joined(request, body, parts).map_or_else(|none| none, EventId::of_list),
            Self::Batch { array, item } => {
                of_items(request, body, array, item).map_or_else(|none| none, EventId::of_list)
            }
        }
    }

    /// The texts that are read, those relative to an item included.
    pub fn parts(&self) -> &[IdPart] {
        match self {
            Self::One(part) => std::slice::from_ref(part),
            Self::Parts(parts) | Self::Batch { item: parts, .. } => parts,
        }
    }

    /// Whether a request holds several events.
    pub fn is_batch(&self) -> bool {
        match self {
            Self::Batch { .. } => true,
            Self::One(_) | Self::Parts(_) => false,
        }
    }
}

fn bounded(parts: Vec<IdPart>) -> Result<Vec<IdPart>, EventIdSourceError> {
    if (1..=MAX_ID_PARTS).contains(&parts.len()) { Ok(parts) } else { Err(EventIdSourceError::Parts) }
}

/// Several texts as one: a list of strings, written like JSON, so that two different lists never look alike, whatever their
/// texts hold. Bytes that are no text stay as they are.
fn joined(request: &Request<'_>, body: &[u8], parts: &[IdPart]) -> Result<Vec<u8>, Identity> {
    let mut list = List::new();
    for part in parts {
        match part.read(request, body) {
            Sought::Text(text) => list.text(&text),
            Sought::Missing(reason) => return Err(Identity::Missing(reason)),
            Sought::DuplicateHeader(header) => return Err(Identity::DuplicateHeader(header)),
        }
    }
    Ok(list.close())
}

/// The ids of all items as one. Where one has none, the request has none: its other items would stand for it.
fn of_items(request: &Request<'_>, body: &[u8], array: &BatchArray, item: &[IdPart]) -> Result<Vec<u8>, Identity> {
    let elements = array.items(body).map_err(Identity::Missing)?;
    let mut list = List::new();
    for element in elements {
        list.element(&joined(request, element.as_bytes(), item)?);
    }
    Ok(list.close())
}

/// A list in the making.
struct List(Vec<u8>);

impl List {
    fn new() -> Self {
        Self(vec![b'['])
    }

    fn element(&mut self, bytes: &[u8]) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &[u8]) {
        let mut quoted = vec![b'"'];
        for byte in text {
            match byte {
                b'"' | b'\\' => quoted.extend_from_slice(&[b'\\', *byte]),
                0..=0x1f | 0x7f => quoted.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => quoted.push(*byte),
            }
        }
        quoted.push(b'"');
        self.element(&quoted);
    }

    fn close(mut self) -> Vec<u8> {
        self.0.push(b']');
        self.0
    }
}

impl EventId {
    /// The id that a list is. One that is longer than a key becomes the digest of itself, so that the app is not sent the
    /// ids of a thousand items in a header; no list is spelled like that.
    fn of_list(list: Vec<u8>) -> Identity {
        Identity::Known(Self(match list.len() {
            0..=MAX_KEY_BYTES => list,
            _ => format!("sha256:{}", hex::encode(Sha256::digest(&list))).into_bytes(),
        }))
    }

    /// The id as the sender spelled it, or as its parts were put together.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The id as the key of a claim. Different ids have different keys.
    ///
    /// An id that can be a key is its own: UTF-8, at most [`MAX_KEY_BYTES`], no control characters (C0, DEL, C1). Any
    /// other becomes `onced:id-sha256:` and the hex digest of its bytes, and so does one that begins with `onced:`. The
    /// two kinds cannot meet, and within the second, two ids with one key would be a collision of SHA-256. A
    /// percent-style escape would have stayed readable, but an id of 512 control bytes does not fit into 512 once
    /// escaped: the digest would have been needed anyway, as a second rule.
    pub fn key_text(&self) -> String {
        match std::str::from_utf8(&self.0) {
            Ok(text) if is_own_key(text) => text.to_owned(),
            Ok(_) | Err(_) => digest_key("id", &self.0),
        }
    }
}

/// The key for an event that has no id, on routes that are told to go by the body. It is no [`EventId`]'s key.
pub fn body_key_text(body: &[u8]) -> String {
    digest_key("body", body)
}

fn is_own_key(text: &str) -> bool {
    text.len() <= MAX_KEY_BYTES && !text.starts_with(MADE_HERE) && !text.chars().any(char::is_control)
}

fn digest_key(of: &str, bytes: &[u8]) -> String {
    format!("{MADE_HERE}{of}-sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// Text where it is text; an id is no secret, but it may hold control bytes that a terminal would obey.
impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventId(\"{}\")", self.0.escape_ascii())
    }
}

impl TryFrom<Keys> for EventIdSource {
    type Error = EventIdSourceError;

    fn try_from(keys: Keys) -> Result<Self, Self::Error> {
        let Keys { header, pointer, form, query, parts, batch, item } = keys;
        let one = IdPartKeys { header, pointer, form, query };
        match (one == IdPartKeys::default(), parts, batch, item) {
            (false, None, None, None) => Ok(Self::One(IdPart::try_from(one)?)),
            (true, Some(parts), None, None) => Self::of_parts(parts),
            (true, None, Some(array), Some(item)) => Self::of_batch(array, item),
            _ => Err(EventIdSourceError::Combination),
        }
    }
}

impl fmt::Display for EventIdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |parts: &[IdPart]| parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + ");
        match self {
            Self::One(part) => part.fmt(f),
            Self::Parts(parts) => f.write_str(&list(parts)),
            Self::Batch { array, item } => write!(f, "{} of every item of {array}", list(item)),
        }
    }
}
