//! The signature header's layout: one digest behind a prefix, or a list of named entries.
//!
//! Stripe's `t=…,v1=…`, Paddle's `ts=…;h1=…`, PagerDuty's `v1=…,v1=…` and the `v1,<base64> v1,<base64>` of Standard
//! Webhooks are one grammar with different separators, and so one piece of code with one limit.

use crate::provider::Rejection;
use base64::{Engine as _, alphabet, engine};
use serde::Deserialize;
use std::fmt;

/// Entries that are looked at in one header. Senders list a signature per active secret: two during a rotation, plus a
/// timestamp and perhaps a legacy scheme. Without a limit, a stranger could have 64 KiB of them decoded and compared for
/// every request. A longer list is refused whole: to read its beginning only would let whoever pads it decide what we
/// see.
pub const MAX_LIST_ENTRIES: usize = 32;

/// How the value of the signature header is laid out: `{ plain = { prefix = "sha256=" } }`, or
/// `{ list = { between = ",", after_name = "=", name = "v1" } }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// One digest.
    Plain(Plain),
    /// Named entries, of which any may match.
    List(List),
}

/// One digest and what must stand before it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plain {
    /// Compared byte for byte; may be empty. It names the algorithm to people, never to us.
    #[serde(default)]
    pub prefix: String,
}

/// Entries of the form name, separator, value. Entries with other names are other schemes and are passed over, as are
/// entries without a name: senders add schemes without asking.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// What stands between two entries.
    pub between: Separator,
    /// What stands between a name and its value; the first one counts, since base64 may end in `=`.
    pub after_name: Separator,
    /// The name of the entries that carry the digest described by the profile.
    pub name: String,
}

/// One ASCII character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "char")]
pub struct Separator(u8);

/// A separator that is not ASCII; header values are bytes, and there it would be several.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not an ASCII character")]
pub struct SeparatorError(char);

/// How a digest is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// Hexadecimal digits in either case. Senders write lower case; but both spell the same digest, and refusing one
    /// would cost a genuine event without keeping anybody out.
    Hex,
    /// The standard alphabet of RFC 4648, section 4, padded or not, with no stray bits in the last character.
    Base64,
}

/// Base64 in which padding may be absent: part of the senders' libraries write it without.
const LENIENT_BASE64: engine::GeneralPurpose = engine::GeneralPurpose::new(
    &alphabet::STANDARD,
    engine::GeneralPurposeConfig::new().with_decode_padding_mode(engine::DecodePaddingMode::Indifferent),
);

/// What a signature header carries.
#[derive(Default)]
pub(super) struct Presented {
    /// The digests or signatures that could be read; at least one.
    pub(super) digests: Vec<Vec<u8>>,
    /// The timestamp's text, if it stands among them.
    pub(super) stamp: Option<Vec<u8>>,
}

/// One digest and nothing before it.
impl Default for Format {
    fn default() -> Self {
        Self::Plain(Plain { prefix: String::new() })
    }
}

impl Format {
    /// Reads the header's value. `stamp_field` names the entry that is the timestamp.
    pub(super) fn read(
        &self,
        value: &[u8],
        encoding: Encoding,
        stamp_field: Option<&str>,
    ) -> Result<Presented, Rejection> {
        match self {
            Self::Plain(plain) => plain.read(value, encoding),
            Self::List(list) => list.read(value, encoding, stamp_field),
        }
    }
}

impl Plain {
    fn read(&self, value: &[u8], encoding: Encoding) -> Result<Presented, Rejection> {
        let digest = value.strip_prefix(self.prefix.as_bytes()).ok_or(Rejection::MalformedSignature)?;
        let digest = encoding.decode(digest).ok_or(Rejection::MalformedSignature)?;
        Ok(Presented { digests: vec![digest], stamp: None })
    }
}

impl List {
    fn read(&self, value: &[u8], encoding: Encoding, stamp_field: Option<&str>) -> Result<Presented, Rejection> {
        let mut presented = Presented::default();
        let mut named = false;
        for (position, entry) in value.split(|byte| *byte == self.between.0).enumerate() {
            if position == MAX_LIST_ENTRIES {
                return Err(Rejection::TooManySignatures);
            }
            let Some((name, value)) = self.entry(entry) else {
                continue;
            };
            if name == self.name.as_bytes() {
                named = true;
                // One that cannot be read is one that does not match; its neighbour may.
                presented.digests.extend(encoding.decode(value));
            } else if stamp_field.is_some_and(|field| field.as_bytes() == name)
                && presented.stamp.replace(value.to_vec()).is_some()
            {
                return Err(Rejection::RepeatedTimestamp);
            }
        }
        match (named, presented.digests.is_empty()) {
            (false, _) => Err(Rejection::NoSignatureOfScheme),
            (true, true) => Err(Rejection::MalformedSignature),
            (true, false) => Ok(presented),
        }
    }

    /// Splits an entry. Blanks before the name go, since lists are often written `a, b`; the value stays as it is.
    fn entry<'h>(&self, entry: &'h [u8]) -> Option<(&'h [u8], &'h [u8])> {
        let entry = entry.trim_ascii_start();
        let end = entry.iter().position(|byte| *byte == self.after_name.0)?;
        Some((&entry[..end], &entry[end + 1..]))
    }
}

impl Encoding {
    /// The bytes behind the text. `None` for empty text as well: it spells no digest.
    pub(super) fn decode(self, text: &[u8]) -> Option<Vec<u8>> {
        let bytes = match self {
            Self::Hex => hex::decode(text).ok()?,
            Self::Base64 => LENIENT_BASE64.decode(text).ok()?,
        };
        (!bytes.is_empty()).then_some(bytes)
    }
}

impl TryFrom<char> for Separator {
    type Error = SeparatorError;

    fn try_from(character: char) -> Result<Self, Self::Error> {
        match u8::try_from(character) {
            Ok(byte) if byte.is_ascii() => Ok(Self(byte)),
            Ok(_) | Err(_) => Err(SeparatorError(character)),
        }
    }
}

impl fmt::Display for Separator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", char::from(self.0))
    }
}
