//! Our own name for an event.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::claim::Key;

const BYTES: usize = 16;

/// The id of an event: 128 bits, written as 32 hexadecimal digits. Apps know it as `Onced-Delivery`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId([u8; BYTES]);

impl EventId {
    /// The id of the event that has this key: always the same one, so that attempts at it can be recognised, and none
    /// that gives the sender's id away.
    #[must_use]
    pub fn of_key(key: &Key) -> Self {
        let digest = Sha256::digest(key.as_bytes());
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&digest[..BYTES]);
        Self(bytes)
    }

    /// The id that these bits are: random ones for an event without a key, or those of an id from before.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    /// Reads what [`fmt::Display`] has written; `None` when it is no id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let mut bytes = [0; BYTES];
        (lower && hex::decode_to_slice(text, &mut bytes).is_ok()).then_some(Self(bytes))
    }

    /// The bits.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Namespace;

    #[test]
    fn an_id_is_read_back_from_its_text_and_from_nothing_else() {
        let key = Key::new(&Namespace::parse_any("route:github").expect("good"), "e-1").expect("good");
        let id = EventId::of_key(&key);
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        assert_eq!(EventId::from_bytes(*id.as_bytes()), id);
        let upper = id.to_string().to_uppercase();
        for text in ["", "00", &upper, "zz", &format!("{id}00"), "../../../../../../etc/passwd/////"] {
            assert_eq!(EventId::parse(text), None, "{text:?}");
        }
    }
}
