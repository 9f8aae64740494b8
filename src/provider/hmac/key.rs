//! From a secret as people copy it to the bytes that key the hash.

use crate::provider::{Encoding, Secret, SecretFault};
use serde::Deserialize;

/// How a secret becomes a key: `"text"`, `"hex"`, or `{ base64 = { optional_prefix = "whsec_" } }`.
///
/// Said by the profile and never guessed from the secret: Stripe's `whsec_…` looks like that of Standard Webhooks and is
/// used as text, PagerDuty's looks like base64 and is not.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyForm {
    /// The secret's own bytes, any prefix included.
    Text,
    /// The secret is hexadecimal digits, in either case.
    Hex,
    /// The secret is base64, padded or not.
    Base64(Base64Key),
}

/// The details of a base64 secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base64Key {
    /// Taken off before decoding, where it is there.
    pub optional_prefix: Option<String>,
}

impl KeyForm {
    /// The key's bytes, never none.
    ///
    /// Standard Webhooks asks for 24 to 64 bytes. Only "not empty" is enforced: the length is the sender's choice, and
    /// senders do hand out shorter and longer ones. To refuse such a secret would stop genuine events and leave the
    /// sender's key as weak as it is. The upper bound is that of [`Secret`] itself.
    pub(in crate::provider) fn decode(&self, secret: &Secret) -> Result<Vec<u8>, SecretFault> {
        let text = secret.text();
        match self {
            Self::Text => Ok(text.as_bytes().to_vec()),
            Self::Hex => Encoding::Hex.decode(text.as_bytes()).ok_or(SecretFault::NotHex),
            Self::Base64(form) => {
                let prefix = form.optional_prefix.as_deref().unwrap_or("");
                let digits = text.strip_prefix(prefix).unwrap_or(text);
                Encoding::Base64.decode(digits.as_bytes()).ok_or(SecretFault::NotBase64)
            }
        }
    }
}
