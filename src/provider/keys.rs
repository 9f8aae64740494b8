//! The secrets of a route in the form that its scheme checks with.

use super::hmac::Mac;
use super::pieces::SignedBytes;
use super::public_key::PublicKey;
use super::{Algorithm, RsaAlgorithm, Secret, SecretError, SecretFault, hash};
use std::fmt;
use subtle::{Choice, ConstantTimeEq as _};

/// Signatures that are tried on a public key. Every one costs a hash of the whole body for each key, which a stranger may
/// order by listing nonsense; a rotation has two.
const MAX_PUBLIC_KEY_CANDIDATES: usize = 2;

/// A secret, ready for use.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) label: String,
    pub(super) check: Check,
}

/// How a signature is checked with it.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "the large one is the common one, and there are a few keys per route")]
pub(super) enum Check {
    /// An HMAC of the message is compared.
    Mac(Mac),
    /// A hash of the message, of which the secret is a part, is compared.
    Hash { algorithm: Algorithm, secret: String },
    /// The signature is verified with a public key.
    Public(PublicKey),
}

impl Key {
    /// Every secret in its form.
    pub(super) fn all(
        secrets: &[Secret],
        check: impl Fn(&Secret) -> Result<Check, SecretFault>,
    ) -> Result<Vec<Self>, SecretError> {
        let key = |secret: &Secret| match check(secret) {
            Ok(check) => Ok(Self { label: secret.label().to_owned(), check }),
            Err(fault) => Err(SecretError { label: secret.label().to_owned(), fault }),
        };
        secrets.iter().map(key).collect()
    }

    /// Whether one of the candidates is the signature of the message. `rsa` is the hash function of an RSA signature.
    pub(super) fn made_any(&self, message: &SignedBytes<'_>, candidates: &[Vec<u8>], rsa: RsaAlgorithm) -> bool {
        match &self.check {
            Check::Mac(mac) => equals_any(&mac.digest(&message.pieces(&[])), candidates),
            Check::Hash { algorithm, secret } => {
                equals_any(&hash::digest(*algorithm, &message.pieces(secret.as_bytes())), candidates)
            }
            Check::Public(key) => {
                let message = message.whole();
                candidates.iter().take(MAX_PUBLIC_KEY_CANDIDATES).any(|one| key.verifies(message, one, rsa))
            }
        }
    }

    /// Whether so many candidates are more than are tried.
    pub(super) fn is_too_many(&self, candidates: usize) -> bool {
        match self.check {
            Check::Mac(_) | Check::Hash { .. } => false,
            Check::Public(_) => candidates > MAX_PUBLIC_KEY_CANDIDATES,
        }
    }
}

/// Whether one of the presented digests is the expected one. Every digest is compared to its end, and no comparison ends
/// the round: how long it takes tells nothing of how close a guess was. A digest of another length never matches.
pub(super) fn equals_any(expected: &[u8], presented: &[Vec<u8>]) -> bool {
    let none = Choice::from(0);
    presented.iter().fold(none, |found, digest| found | expected.ct_eq(digest.as_slice())).into()
}

/// The label alone.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("label", &self.label).finish_non_exhaustive()
    }
}
