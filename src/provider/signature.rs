//! The building blocks that a profile's signature can be made of.

use super::{EventIdSource, Hmac, Timestamp};
use serde::Deserialize;

/// How a sender proves that a request is its own. In TOML the variant is the table's name: `[signature.hmac]`.
///
/// Which scheme applies is fixed by the profile. Nothing in a request can choose it, and so no attacker can choose the
/// weaker of two.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signature {
    /// A keyed hash over a described string, in one header.
    Hmac(Hmac),
}

impl Signature {
    /// The sender's timestamp, if the scheme has one.
    pub fn timestamp(&self) -> Option<&Timestamp> {
        match self {
            Self::Hmac(hmac) => hmac.timestamp.as_ref(),
        }
    }

    /// Whether an id read from there is covered by the signature. One that is not can be replayed: whoever holds one
    /// genuine request may send it again under an id of his own. Derived rather than written in the profile, since a
    /// claim of safety that the signed string contradicts would be worse than none.
    pub fn covers(&self, id: &EventIdSource) -> bool {
        match (self, id) {
            (Self::Hmac(hmac), EventIdSource::Header(header)) => hmac.signed_string.covers_header(header),
            // A signed string always contains the whole body.
            (Self::Hmac(_), EventIdSource::Pointer(_) | EventIdSource::Form { .. }) => true,
        }
    }
}
