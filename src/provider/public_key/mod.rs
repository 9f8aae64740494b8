//! The schemes with a key pair: the sender keeps the private half, and what we are given as the secret is the public one.
//!
//! Which of them applies, and with which hash function, is the profile's to say; a key of another kind refuses the start.
//! Certificates are read for the key inside and nothing else: who issued one, and until when it holds, is for the operator
//! who names the file to know, since nothing is fetched here.

mod key;
mod read;

pub(super) use self::key::{PublicKey, RsaKey};
pub(super) use self::read::{Kind, P256_COORDINATE_BYTES};

use super::pieces::text;
use super::{Carrier, Message, Place, Rejection, Request};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The parameters of the scheme, the table `[signature.ed25519]` of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ed25519 {
    /// Where the signature stands.
    #[serde(flatten)]
    pub carrier: Carrier,
    /// What is signed.
    #[serde(flatten)]
    pub message: Message,
}

/// The parameters of the scheme, the table `[signature.ecdsa-p256]` of a profile: ECDSA over P-256 with SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EcdsaP256 {
    /// Whether a signature is the two numbers in 32 bytes each, instead of their ASN.1 form.
    #[serde(default)]
    pub fixed: bool,
    /// Where the signature stands.
    #[serde(flatten)]
    pub carrier: Carrier,
    /// What is signed.
    #[serde(flatten)]
    pub message: Message,
}

/// The parameters of the scheme, the table `[signature.rsa]` of a profile: RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rsa {
    /// The hash function.
    pub hash: RsaHash,
    /// Where the signature stands.
    #[serde(flatten)]
    pub carrier: Carrier,
    /// What is signed.
    #[serde(flatten)]
    pub message: Message,
}

/// The hash function under the signature: `"sha256"`, or `{ chosen_by = { pointer = "/SignatureVersion" }, "1" = "sha1",
/// "2" = "sha256" }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a hash function, or a table of those that a place in the request chooses from")]
pub enum RsaHash {
    /// Always this one.
    Fixed(RsaAlgorithm),
    /// The request says which. Whoever can forge the weaker one chooses it: this spelling is the profile's own statement
    /// that its sender leaves no other way.
    Chosen(ChosenHash),
}

/// A choice that the request makes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ChosenHash {
    /// Where it says so.
    pub chosen_by: Place,
    /// The hash function for each text that may stand there.
    #[serde(flatten)]
    pub table: BTreeMap<String, RsaAlgorithm>,
}

impl RsaHash {
    /// The hash function for this request.
    pub(super) fn of(&self, request: &Request<'_>) -> Result<RsaAlgorithm, Rejection> {
        match self {
            Self::Fixed(algorithm) => Ok(*algorithm),
            Self::Chosen(ChosenHash { chosen_by, table }) => {
                let choice = text(request, chosen_by)?;
                let choice = std::str::from_utf8(&choice).ok().and_then(|choice| table.get(choice));
                choice.copied().ok_or(Rejection::UnknownHash)
            }
        }
    }
}

/// A hash function that RSA signatures are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RsaAlgorithm {
    /// SHA-1, which Amazon SNS still signs with.
    Sha1,
    /// SHA-256.
    Sha256,
}
