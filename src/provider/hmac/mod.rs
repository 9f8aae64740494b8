//! The HMAC scheme: a keyed hash over a described string, compared with what the request carries.
//!
//! Most senders differ only in the parameters gathered here: which header, which bytes, how the digest is written, how
//! the secret becomes a key.

mod digest;
mod key;

pub(super) use self::digest::Mac;
pub use self::key::{Base64Key, KeyForm};

use super::{Carrier, Message, Place, Pointer, SignatureFault, SignaturePlace};
use serde::Deserialize;

/// The parameters of the scheme, the table `[signature.hmac]` of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hmac {
    /// The hash function.
    pub algorithm: Algorithm,
    /// How a secret becomes a key.
    pub key: KeyForm,
    /// The array of a batch whose elements are signed one by one: the pointers of the signature and of the signed string
    /// are then relative to each of them, and every one must be right.
    pub items: Option<Pointer>,
    /// Where the digest stands.
    #[serde(flatten)]
    pub carrier: Carrier,
    /// What is signed.
    #[serde(flatten)]
    pub message: Message,
}

/// A hash function. Named by the profile alone, whatever the request says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// SHA-1, 20 bytes. Broken for signatures of documents and not under HMAC, where no collision helps a forger.
    Sha1,
    /// SHA-256, 32 bytes.
    Sha256,
    /// SHA-512, 64 bytes.
    Sha512,
}

impl Hmac {
    /// What `items` asks of the rest: it is of use for what stands in the elements alone.
    pub(super) fn faults(&self) -> Vec<SignatureFault> {
        let in_element = matches!(self.carrier.place, SignaturePlace::Text(Place::Pointer(_)));
        let timeless = self.message.timestamp.is_none();
        match self.items.is_none() || (in_element && timeless) {
            true => Vec::new(),
            false => vec![SignatureFault::ItemsElsewhere],
        }
    }
}
