//! JSON pointers (RFC 6901) that are followed through the raw text.
//!
//! Two senders' events 9007199254740992 and 9007199254740993 are one number in any parser that reads numbers as floating
//! point. So nothing is parsed but the objects on the way: the walk skips every other value, and what the pointer leads
//! to is handed over as the text that stands there. It takes one pass, keeps no copy, and is bounded in depth by the
//! pointer's length, not by the body's nesting.

use super::Unreadable;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The longest pointer, in steps. Ids stand two or three levels deep; each step is a level of recursion.
pub const MAX_POINTER_STEPS: usize = 16;

/// U+FEFF in UTF-8. RFC 8259, section 8.1, forbids senders to write it and allows readers to skip it.
pub(super) const BYTE_ORDER_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];

/// A pointer of at least one step: the empty pointer names the whole document, and that is no id.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Pointer {
    text: String,
    steps: Vec<String>,
}

/// The text is not a pointer that an id can be found by.
#[derive(Debug, thiserror::Error)]
pub enum PointerError {
    /// Not RFC 6901.
    #[error("{0:?} is not a JSON pointer: it must begin with / and use ~ only as ~0 or ~1")]
    Syntax(String),
    /// Deeper than [`MAX_POINTER_STEPS`].
    #[error("{0:?} has more than {MAX_POINTER_STEPS} steps")]
    TooDeep(String),
}

/// What stands at a pointer's place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reached<'b> {
    /// A value, as its literal text without blanks around it.
    Text(&'b str),
    /// The way ends: a key is not there, or something on the way is no object.
    Absent,
    /// An object on the way has the key twice. Readers differ in which one they take, so the app may see another id
    /// than we would.
    Ambiguous,
    /// The document, as far as it had to be read, is not JSON.
    NotJson,
}

/// What a literal is. Whoever signs texts takes truth values for such, whoever looks for an id does not: so each says for
/// itself what it makes of which kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value<'b> {
    Null,
    /// `true` or `false`.
    Truth,
    /// As it stands, no digit rounded.
    Number,
    /// The characters of a string, with its escapes resolved.
    Text(Cow<'b, [u8]>),
    /// A string with half a surrogate pair, which is no text.
    HalfText,
    /// An array or an object.
    Nested,
}

impl<'b> Value<'b> {
    /// Reads a literal that [`Pointer::follow`] has found to be JSON.
    pub(super) fn read(literal: &'b str) -> Self {
        match literal.as_bytes() {
            [b'"', characters @ .., b'"'] if !characters.contains(&b'\\') => Self::Text(Cow::Borrowed(characters)),
            [b'"', ..] => match serde_json::from_str::<String>(literal) {
                Ok(text) => Self::Text(Cow::Owned(text.into_bytes())),
                Err(_) => Self::HalfText,
            },
            [b'[' | b'{', ..] => Self::Nested,
            [b'n', ..] => Self::Null,
            [b't' | b'f', ..] => Self::Truth,
            _ => Self::Number,
        }
    }
}

impl Pointer {
    /// Follows the pointer. One byte order mark before the document is skipped. Bytes that are not UTF-8 matter only on
    /// the way itself: keys of the objects passed through, and the value found.
    ///
    /// An array on the way ends it, even for a step such as `0`: the first element of a batch does not stand for the
    /// others.
    pub(super) fn follow<'b>(&self, document: &'b [u8]) -> Reached<'b> {
        let document = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(document);
        let mut reader = serde_json::Deserializer::from_slice(document);
        let place = Walk { steps: &self.steps }.deserialize(&mut reader);
        match place.and_then(|place| reader.end().map(|()| place)) {
            Ok(place) => place,
            // The reader met sound JSON of another type than an object.
            Err(error) if error.is_data() => Reached::Absent,
            Err(_) => Reached::NotJson,
        }
    }
}

impl Pointer {
    /// The text at the pointer's place: the characters of a string with its escapes resolved, or the literal of a number
    /// or of a truth value. `None` where nothing is, or `null`.
    pub(super) fn text<'b>(&self, document: &'b [u8]) -> Result<Option<Cow<'b, [u8]>>, Unreadable> {
        let literal = match self.follow(document) {
            Reached::Text(literal) => literal,
            Reached::Absent => return Ok(None),
            Reached::Ambiguous => return Err(Unreadable::Repeated),
            Reached::NotJson => return Err(Unreadable::NotJson),
        };
        match Value::read(literal) {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            Value::Truth | Value::Number => Ok(Some(Cow::Borrowed(literal.as_bytes()))),
            Value::HalfText | Value::Nested => Err(Unreadable::NotText),
        }
    }

    /// A pointer to one key of the outermost object.
    pub(super) fn to_key(key: &str) -> Result<Self, PointerError> {
        Self::try_from(format!("/{}", key.replace('~', "~0").replace('/', "~1")))
    }
}

/// The elements of a JSON array, each as its literal text, up to one more than `max`: so that too many can be told from
/// just enough. `None` where the text is no array.
pub(super) fn elements(array: &str, max: usize) -> Option<Vec<&str>> {
    let mut reader = serde_json::Deserializer::from_str(array);
    let elements = reader.deserialize_seq(Elements { max }).ok()?;
    reader.end().ok().map(|()| elements)
}

struct Elements {
    max: usize,
}

impl<'b> Visitor<'b> for Elements {
    type Value = Vec<&'b str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of at most {} elements", self.max)
    }

    fn visit_seq<A: SeqAccess<'b>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = array.next_element::<&'b RawValue>()? {
            elements.push(element.get());
            if elements.len() > self.max {
                // To the end, or the reader would take the rest for junk behind the array.
                while array.next_element::<IgnoredAny>()?.is_some() {}
                break;
            }
        }
        // The reader must stand behind the array.
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(elements)
    }
}

impl TryFrom<String> for Pointer {
    type Error = PointerError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let steps = text.strip_prefix('/').and_then(|rest| rest.split('/').map(unescape).collect::<Option<Vec<_>>>());
        match steps {
            None => Err(PointerError::Syntax(text)),
            Some(steps) if steps.len() > MAX_POINTER_STEPS => Err(PointerError::TooDeep(text)),
            Some(steps) => Ok(Self { text, steps }),
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `~1` is `/`, `~0` is `~`, in one pass, so that `~01` is `~1`.
fn unescape(step: &str) -> Option<String> {
    let mut pieces = step.split('~');
    let mut plain = pieces.next()?.to_owned();
    for piece in pieces {
        plain.push(match piece.as_bytes().first()? {
            b'0' => '~',
            b'1' => '/',
            _ => return None,
        });
        plain.push_str(&piece[1..]);
    }
    Some(plain)
}

/// The rest of the way.
struct Walk<'p> {
    steps: &'p [String],
}

impl<'b> DeserializeSeed<'b> for Walk<'_> {
    type Value = Reached<'b>;

    fn deserialize<D: Deserializer<'b>>(self, value: D) -> Result<Reached<'b>, D::Error> {
        match self.steps {
            [] => serde::Deserialize::deserialize(value).map(|raw: &'b RawValue| Reached::Text(raw.get())),
            [_, ..] => value.deserialize_map(self),
        }
    }
}

impl<'b> Visitor<'b> for Walk<'_> {
    type Value = Reached<'b>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut object: A) -> Result<Reached<'b>, A::Error> {
        let Some((step, steps)) = self.steps.split_first() else {
            return Ok(Reached::Absent);
        };
        let mut found = None;
        while let Some(wanted) = object.next_key_seed(IsKey(step))? {
            match (wanted, &found) {
                (true, None) => found = Some(object.next_value_seed(Walk { steps })?),
                (true, Some(_)) => {
                    object.next_value::<IgnoredAny>()?;
                    found = Some(Reached::Ambiguous);
                }
                (false, _) => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found.unwrap_or(Reached::Absent))
    }
}

/// Compares a key with its escapes resolved, without keeping it.
struct IsKey<'p>(&'p str);

impl<'b> DeserializeSeed<'b> for IsKey<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'b>>(self, key: D) -> Result<bool, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for IsKey<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}
