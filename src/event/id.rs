//! Our own name for an event.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::claim::{EventRef, Key};

const BYTES: usize = 16;

/// The bit that tells the two kinds of ids apart.
const OF_KEY: u8 = 0x80;

/// The id of an event: 128 bits, written as 32 hexadecimal digits. Apps know it as `Onced-Delivery`.
///
/// That of a queued event begins with its sequence number, so that in the order of ids they stand in the order of arrival;
/// all others have the first bit set, and stand behind them.
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
        bytes[0] |= OF_KEY;
        Self(bytes)
    }

    /// An id of an event that was not queued and has no key, of random bits.
    #[must_use]
    pub const fn without_key(mut random: [u8; BYTES]) -> Self {
        random[0] |= OF_KEY;
        Self(random)
    }

    /// The id of the event that is accepted with this number.
    #[must_use]
    pub fn queued(sequence: u64, random: [u8; 8]) -> Self {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&sequence.to_be_bytes());
        bytes[0] &= !OF_KEY;
        bytes[8..].copy_from_slice(&random);
        Self(bytes)
    }

    /// The number that the id of a queued event begins with; `None` where it is not one.
    #[must_use]
    pub fn queued_sequence(&self) -> Option<u64> {
        let (sequence, _) = self.0.split_first_chunk()?;
        (self.0[0] & OF_KEY == 0).then_some(u64::from_be_bytes(*sequence))
    }

    /// The id that these bits are.
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

impl From<EventId> for EventRef {
    fn from(id: EventId) -> Self {
        Self::from_bytes(id.0)
    }
}

impl From<EventRef> for EventId {
    fn from(event: EventRef) -> Self {
        Self(*event.as_bytes())
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

    #[test]
    fn queued_events_stand_in_the_order_of_their_numbers_before_all_others() {
        let first = EventId::queued(7, [0xff; 8]);
        let second = EventId::queued(8, [0; 8]);
        let other = EventId::without_key([0; 16]);
        assert!(first < second && second < other);
        assert_eq!(
            (first.queued_sequence(), second.queued_sequence(), other.queued_sequence()),
            (Some(7), Some(8), None)
        );
        let key = Key::new(&Namespace::parse("a").expect("good"), "k").expect("good");
        assert_eq!(EventId::of_key(&key).queued_sequence(), None);
    }
}
