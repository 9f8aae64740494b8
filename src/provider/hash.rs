//! The scheme that hashes the secret together with the message, without a key: HubSpot's first two versions.

use super::{Algorithm, Carrier, Message};
use serde::Deserialize;

/// The parameters of the scheme, the table `[signature.hash]` of a profile. The signed string contains `{secret}`.
///
/// A plain hash over secret and message is weaker than an HMAC: with the secret in front, whoever knows one digest can
/// append to the message (length extension) if its sender's format lets him. It is here for senders that do it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hash {
    /// The hash function.
    pub algorithm: Algorithm,
    /// Where the digest stands.
    #[serde(flatten)]
    pub carrier: Carrier,
    /// What is hashed.
    #[serde(flatten)]
    pub message: Message,
}
