//! Keyed hashes.

use crate::provider::Algorithm;
use hmac::KeyInit as _;
use sha1::Sha1;
use sha2::{Sha256, Sha512};

/// A key that has been absorbed by its hash, so that no request pays for it and no copy of the secret is kept. It has no
/// `Debug`: the state of a keyed hash is as good as the key.
#[derive(Clone)]
pub(in crate::provider) enum Mac {
    Sha1(hmac::Hmac<Sha1>),
    Sha256(hmac::Hmac<Sha256>),
    Sha512(hmac::Hmac<Sha512>),
}

impl Mac {
    pub(in crate::provider) fn new(algorithm: Algorithm, key: &[u8]) -> Self {
        const ANY_LENGTH: &str = "HMAC takes a key of any length (RFC 2104, section 2)";
        match algorithm {
            Algorithm::Sha1 => Self::Sha1(hmac::Hmac::new_from_slice(key).expect(ANY_LENGTH)),
            Algorithm::Sha256 => Self::Sha256(hmac::Hmac::new_from_slice(key).expect(ANY_LENGTH)),
            Algorithm::Sha512 => Self::Sha512(hmac::Hmac::new_from_slice(key).expect(ANY_LENGTH)),
        }
    }

    pub(in crate::provider) fn digest(&self, pieces: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Sha1(start) => finish(start.clone(), pieces),
            Self::Sha256(start) => finish(start.clone(), pieces),
            Self::Sha512(start) => finish(start.clone(), pieces),
        }
    }
}

fn finish<M: hmac::Mac>(mut mac: M, pieces: &[&[u8]]) -> Vec<u8> {
    pieces.iter().for_each(|piece| mac.update(piece));
    mac.finalize().into_bytes().to_vec()
}
