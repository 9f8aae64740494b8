//! The identity of a claim: a namespace and an id, never joined with a delimiter.
//!
//! A [`Key`] is one text, `<length of namespace as one char><namespace><id>`. It is hashed, compared and stored as it
//! stands, so `a:b` + `c` and `a` + `b:c` are two keys, and the keys of a namespace stand together in the store.

use std::fmt;
use std::sync::Arc;

/// The longest namespace that a caller may name, in bytes.
pub const MAX_NAMESPACE_BYTES: usize = 64;
/// The longest id, in bytes: what the field's providers send is under 256, and it fits a store page many times.
pub const MAX_ID_BYTES: usize = 512;
/// The namespaces of the proxy's routes begin with this; `:` is no character of a caller's namespace.
pub const ROUTE_PREFIX: &str = "route:";

/// Why a namespace or an id cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The namespace is empty, too long, or has a character outside `[a-z0-9._-]`.
    #[error("must be 1 to {MAX_NAMESPACE_BYTES} of a-z, 0-9, '.', '_' and '-', and begin with a letter or digit")]
    Namespace,
    /// The id has no byte.
    #[error("must not be empty")]
    EmptyId,
    /// The id is longer than [`MAX_ID_BYTES`].
    #[error("is longer than {MAX_ID_BYTES} bytes")]
    LongId,
    /// The id has a control character: C0, DEL or C1.
    #[error("must not contain control characters")]
    ControlCharacter,
}

/// A namespace: a caller's (`stripe`) or a route's (`route:stripe`).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(Arc<str>);

impl Namespace {
    /// A namespace as callers of the verbs name it.
    ///
    /// # Errors
    /// [`KeyError::Namespace`].
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if is_namespace(text) { Ok(Self(text.into())) } else { Err(KeyError::Namespace) }
    }

    /// A caller's namespace or a route's, for reading and forgetting.
    ///
    /// # Errors
    /// [`KeyError::Namespace`].
    pub fn parse_any(text: &str) -> Result<Self, KeyError> {
        let name = text.strip_prefix(ROUTE_PREFIX).unwrap_or(text);
        if is_namespace(name) { Ok(Self(text.into())) } else { Err(KeyError::Namespace) }
    }

    /// The namespace of a route's claims.
    ///
    /// # Errors
    /// [`KeyError::Namespace`] when the name is no namespace.
    pub fn of_route(name: &str) -> Result<Self, KeyError> {
        if is_namespace(name) { Ok(Self(format!("{ROUTE_PREFIX}{name}").into())) } else { Err(KeyError::Namespace) }
    }

    /// Whether it belongs to the proxy, so that the verbs must refuse it.
    #[must_use]
    pub fn is_route(&self) -> bool {
        self.0.starts_with(ROUTE_PREFIX)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Namespace {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

fn is_namespace(text: &str) -> bool {
    let bytes = text.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    matches!(bytes.first(), Some(first) if plain(first))
        && bytes.len() <= MAX_NAMESPACE_BYTES
        && bytes.iter().all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'-'))
}

/// One key: namespace + id. Compared byte for byte: no folding, trimming or normalisation.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

impl Key {
    /// Builds the key of an id in a namespace.
    ///
    /// # Errors
    /// When the id is empty, too long, or has control characters.
    pub fn new(namespace: &Namespace, id: &str) -> Result<Self, KeyError> {
        if id.is_empty() {
            return Err(KeyError::EmptyId);
        }
        if id.len() > MAX_ID_BYTES {
            return Err(KeyError::LongId);
        }
        if id.chars().any(char::is_control) {
            return Err(KeyError::ControlCharacter);
        }
        let mut text = Self::prefix(namespace);
        text.push_str(id);
        Ok(Self(text.into()))
    }

    /// What every key of a namespace begins with, and no other key.
    #[must_use]
    pub fn prefix(namespace: &Namespace) -> String {
        let name = namespace.as_str();
        let length = u8::try_from(name.len()).expect("a namespace is at most 70 bytes");
        let mut text = String::with_capacity(1 + name.len() + MAX_ID_BYTES.min(64));
        text.push(char::from(length));
        text.push_str(name);
        text
    }

    /// What the keys of the proxy's namespaces begin with, and no other keys: one prefix for each length of a namespace.
    pub fn route_prefixes() -> impl Iterator<Item = Vec<u8>> {
        let lengths = ROUTE_PREFIX.len() + 1..=ROUTE_PREFIX.len() + MAX_NAMESPACE_BYTES;
        lengths.filter_map(|length| Some([&[u8::try_from(length).ok()?], ROUTE_PREFIX.as_bytes()].concat()))
    }

    /// Reads a key back from the bytes that [`Key::as_bytes`] gave; `None` when they are not a key's.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let name_bytes = usize::from(*bytes.first()?);
        let name = text.get(1..=name_bytes)?;
        let namespace = Namespace::parse_any(name).ok()?;
        Self::new(&namespace, text.get(1 + name_bytes..)?).ok()
    }

    /// The bytes that stand for the key in the store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The namespace's text.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.0[1..self.id_start()]
    }

    /// The id's text.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0[self.id_start()..]
    }

    fn id_start(&self) -> usize {
        1 + usize::from(self.0.as_bytes()[0])
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace(), self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_lower_case_and_short() {
        let long = "a".repeat(65);
        for (text, good) in [
            ("stripe", true),
            ("0.a_b-c", true),
            (&long[..64], true),
            (&long[..], false),
            ("", false),
            (".a", false),
            ("-a", false),
            ("A", false),
            ("a b", false),
            ("a:b", false),
            ("route:a", false),
            ("a\0", false),
            ("é", false),
        ] {
            assert_eq!(Namespace::parse(text).is_ok(), good, "{text:?}");
        }
        assert!(Namespace::parse_any("route:stripe").is_ok_and(|namespace| namespace.is_route()));
        assert_eq!(Namespace::of_route("stripe"), Namespace::parse_any("route:stripe"));
        assert!(Namespace::parse_any("route:route:a").is_err());
    }

    #[test]
    fn an_id_is_limited_in_bytes_and_every_spelling_is_its_own_key() {
        let namespace = Namespace::parse("a").expect("good");
        let emoji = "\u{1F600}".repeat(128);
        let spellings =
            ["a/b", "a%2Fb", "..", "a b", "K", "k", "\u{e9}", "e\u{301}", "a", "a ", " a", &emoji, "\u{2028}"];
        let mut seen = std::collections::HashSet::new();
        for id in spellings {
            let key = Key::new(&namespace, id).expect(id);
            assert_eq!((key.namespace(), key.id()), ("a", id));
            assert_eq!(Key::from_bytes(key.as_bytes()), Some(key.clone()));
            assert!(seen.insert(key), "{id:?} collides");
        }
        for (id, error) in [
            (String::new(), KeyError::EmptyId),
            ("x".repeat(513), KeyError::LongId),
            (format!("{emoji}x"), KeyError::LongId),
            ("a\n".into(), KeyError::ControlCharacter),
            ("\0".into(), KeyError::ControlCharacter),
            ("\x7f".into(), KeyError::ControlCharacter),
            ("\u{85}".into(), KeyError::ControlCharacter),
        ] {
            assert_eq!(Key::new(&namespace, &id), Err(error), "{id:?}");
        }
    }

    #[test]
    fn a_namespace_and_an_id_never_run_together() {
        let key = |namespace: &str, id: &str| Key::new(&Namespace::parse_any(namespace).expect("good"), id);
        assert_ne!(key("ab", "c"), key("a", "bc"));
        assert_ne!(key("route:a", "b"), key("a", "b"));
    }

    #[test]
    fn the_prefixes_of_routes_are_those_of_all_their_keys_and_of_no_others() {
        let begins = |namespace: &str| {
            let key = Key::new(&Namespace::parse_any(namespace).expect("good"), "route:a").expect("good");
            Key::route_prefixes().filter(|prefix| key.as_bytes().starts_with(prefix)).count()
        };
        assert_eq!(Key::route_prefixes().count(), MAX_NAMESPACE_BYTES);
        for (name, expected) in [("a", 0), ("route", 0), ("route.a", 0), ("route:a", 1), ("route:route", 1)] {
            assert_eq!(begins(name), expected, "{name}");
        }
        assert_eq!(begins(&format!("route:{}", "a".repeat(MAX_NAMESPACE_BYTES))), 1);
    }

    #[test]
    fn bytes_that_are_no_key_are_told_apart() {
        for bytes in [&b""[..], b"\x05a", b"\x01", b"\x01a", b"\x01A1", b"\x01a\xff", b"\x01a\n", b"\xff"] {
            assert_eq!(Key::from_bytes(bytes), None, "{bytes:?}");
        }
    }
}
