//! Public keys: the check itself.
//!
//! `ring` reads a key anew for every signature and does not say why one fails. So a key is taken apart here first, as far
//! as to know that it is of the right kind and size; that the point of a curve is on it shows only when no signature holds.

use super::RsaAlgorithm;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};

/// A key of which kind and size are known to be right.
#[derive(Debug, Clone)]
pub(in crate::provider) enum PublicKey {
    Ed25519 {
        bytes: Vec<u8>,
    },
    /// `fixed` is the form of signatures: two numbers of 32 bytes, or their ASN.1.
    EcdsaP256 {
        point: Vec<u8>,
        fixed: bool,
    },
    Rsa(RsaKey),
}

/// Modulus and exponent, big-endian, without leading zeros.
#[derive(Debug, Clone)]
pub(in crate::provider) struct RsaKey {
    pub(super) modulus: Vec<u8>,
    pub(super) exponent: Vec<u8>,
}

impl PublicKey {
    /// Whether the private half has signed the message. `hash` matters to RSA alone.
    pub(in crate::provider) fn verifies(&self, message: &[u8], signature: &[u8], hash: RsaAlgorithm) -> bool {
        let verified = match self {
            Self::Ed25519 { bytes } => UnparsedPublicKey::new(&signature::ED25519, bytes).verify(message, signature),
            Self::EcdsaP256 { point, fixed: false } => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_ASN1, point).verify(message, signature)
            }
            Self::EcdsaP256 { point, fixed: true } => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Self::Rsa(key) => key.verify(message, signature, hash),
        };
        verified.is_ok()
    }
}

impl RsaKey {
    fn verify(&self, message: &[u8], signature: &[u8], hash: RsaAlgorithm) -> Result<(), ring::error::Unspecified> {
        let parameters = match hash {
            RsaAlgorithm::Sha1 => &signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
            RsaAlgorithm::Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        };
        RsaPublicKeyComponents { n: &self.modulus, e: &self.exponent }.verify(parameters, message, signature)
    }
}
