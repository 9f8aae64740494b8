//! The scheme that hashes the secret together with the message, without a key: HubSpot's first two versions.

use super::{Algorithm, Carrier, Message};
use serde::Deserialize;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

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

/// The hash of all pieces.
pub(super) fn digest(algorithm: Algorithm, pieces: &[&[u8]]) -> Vec<u8> {
    match algorithm {
        Algorithm::Sha1 => of::<Sha1>(pieces),
        Algorithm::Sha256 => of::<Sha256>(pieces),
        Algorithm::Sha512 => of::<Sha512>(pieces),
    }
}

fn of<D: Digest>(pieces: &[&[u8]]) -> Vec<u8> {
    let mut hash = D::new();
    pieces.iter().for_each(|piece| hash.update(piece));
    hash.finalize().to_vec()
}
