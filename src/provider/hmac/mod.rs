//! The HMAC scheme: a keyed hash over a described string, compared with what one header carries.
//!
//! Most senders differ only in the parameters gathered here: which header, which bytes, how the digest is written, how
//! the secret becomes a key. What differs in kind (public keys, form parameters, the URL) is a scheme of its own.

mod format;
mod key;
mod proof;

pub use self::format::{Encoding, Format, List, MAX_LIST_ENTRIES, Plain, Separator, SeparatorError};
pub use self::key::{Base64Key, KeyForm};
pub(super) use self::proof::{HmacVerifier, Proof};

use super::{Header, ProfileFault, SignedString, Timestamp, TimestampPlace};
use serde::Deserialize;

/// The parameters of the scheme, the table `[signature.hmac]` of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hmac {
    /// The hash function.
    pub algorithm: Algorithm,
    /// The header that carries the signature.
    pub header: Header,
    /// The bytes that are signed.
    pub signed_string: SignedString,
    /// How the header's value is laid out.
    pub format: Format,
    /// How a digest is written.
    pub encoding: Encoding,
    /// How a secret becomes a key.
    pub key: KeyForm,
    /// The timestamp, for senders that have one.
    pub timestamp: Option<Timestamp>,
}

/// The hash function under the HMAC. Named by the profile alone, whatever the request says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// HMAC-SHA256, 32 bytes.
    Sha256,
    /// HMAC-SHA512, 64 bytes.
    Sha512,
}

impl Hmac {
    /// What the parts say about each other. Each part has judged itself when it was read.
    pub(super) fn faults(&self) -> Vec<ProfileFault> {
        let covered = self.signed_string.covers_timestamp();
        let field = self.timestamp_field();
        let mut faults = Vec::new();
        if covered && self.timestamp.is_none() {
            faults.push(ProfileFault::TimestampUndefined);
        }
        if !covered && self.timestamp.is_some() {
            faults.push(ProfileFault::TimestampUnsigned);
        }
        match &self.format {
            Format::Plain(_) if field.is_some() => faults.push(ProfileFault::FieldWithoutList),
            Format::List(list) if field == Some(list.name.as_str()) => faults.push(ProfileFault::FieldIsSignature),
            Format::List(list) if list.between == list.after_name => faults.push(ProfileFault::SameSeparator),
            Format::Plain(_) | Format::List(_) => {}
        }
        faults
    }

    /// The name of the timestamp's entry, where it stands inside the signature header.
    fn timestamp_field(&self) -> Option<&str> {
        match &self.timestamp.as_ref()?.place {
            TimestampPlace::Field(name) => Some(name),
            TimestampPlace::Header(_) => None,
        }
    }
}
