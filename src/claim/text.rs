//! Small texts that a caller brings: token, fingerprint, owner, result. Each is parsed once into a type that cannot be
//! wrong, and each has a limit, so that a record stays far below the 4 KiB that the store allows for a value.

use std::fmt;
use std::sync::Arc;

use subtle::ConstantTimeEq as _;

/// The shortest token that a caller may bring: 22 characters of base64 are 132 bits.
pub const MIN_TOKEN_BYTES: usize = 22;
/// The longest token that a caller may bring.
pub const MAX_TOKEN_BYTES: usize = 128;
/// The longest fingerprint: a SHA-512 in hex.
pub const MAX_FINGERPRINT_BYTES: usize = 128;
/// The longest owner label.
pub const MAX_OWNER_BYTES: usize = 128;
/// The longest result that a caller brings, as JSON text.
pub const MAX_RESULT_BYTES: usize = 2048;
/// The longest result at all: an app's answer of 2 KiB in base64, with its media type. A record of it stays below 4 KiB.
const MAX_ANSWER_RESULT_BYTES: usize = 3072;

/// Why a text cannot be what it is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// A token outside its length or alphabet.
    #[error("must be {MIN_TOKEN_BYTES} to {MAX_TOKEN_BYTES} visible ASCII characters")]
    Token,
    /// A fingerprint or owner that is empty, too long, or has control characters.
    #[error("must be 1 to {max_bytes} bytes without control characters")]
    Label {
        /// The limit that was passed, or that holds for this field.
        max_bytes: usize,
    },
    /// A result above its limit.
    #[error("must be at most {MAX_RESULT_BYTES} bytes of JSON")]
    Result,
}

/// Proof of being the holder. Printed never, compared in constant time.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// A token that a caller brings.
    ///
    /// # Errors
    /// [`TextError::Token`].
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let fits = (MIN_TOKEN_BYTES..=MAX_TOKEN_BYTES).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.into()))
        } else {
            Err(TextError::Token)
        }
    }

    /// A token of 128 random bits, in hex.
    #[must_use]
    pub fn from_bits(bits: [u8; 16]) -> Self {
        Self(hex::encode(bits).into())
    }

    /// The text, for the holder and the store.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The caller's hash of the payload: the same key with another payload is a mismatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint(Arc<str>);

impl Fingerprint {
    /// Takes a caller's fingerprint.
    ///
    /// # Errors
    /// [`TextError::Label`].
    pub fn parse(text: &str) -> Result<Self, TextError> {
        label(text, MAX_FINGERPRINT_BYTES).map(Self)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A label that says to people who holds a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner(Arc<str>);

impl Owner {
    /// Takes a caller's label.
    ///
    /// # Errors
    /// [`TextError::Label`].
    pub fn parse(text: &str) -> Result<Self, TextError> {
        label(text, MAX_OWNER_BYTES).map(Self)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn label(text: &str, max_bytes: usize) -> Result<Arc<str>, TextError> {
    if text.is_empty() || text.len() > max_bytes || text.chars().any(char::is_control) {
        return Err(TextError::Label { max_bytes });
    }
    Ok(text.into())
}

/// What the holder leaves for those who come later: JSON text, kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkResult(Arc<str>);

impl WorkResult {
    /// Takes JSON text within the limit. That it is JSON is the caller's part: the wire form parsed it already.
    ///
    /// # Errors
    /// [`TextError::Result`].
    pub fn from_json(text: &str) -> Result<Self, TextError> {
        if text.len() > MAX_RESULT_BYTES { Err(TextError::Result) } else { Ok(Self(text.into())) }
    }

    /// Takes an app's answer, or what was kept of one: longer than what a caller may bring.
    ///
    /// # Errors
    /// [`TextError::Result`].
    pub fn of_answer(text: &str) -> Result<Self, TextError> {
        if text.len() > MAX_ANSWER_RESULT_BYTES { Err(TextError::Result) } else { Ok(Self(text.into())) }
    }

    /// The JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_its_limits() {
        let at = |length: usize| "x".repeat(length);
        for (length, good) in [(0, false), (21, false), (22, true), (128, true), (129, false)] {
            assert_eq!(Token::parse(&at(length)).is_ok(), good, "token of {length}");
        }
        for bad in [" ".repeat(22), "é".repeat(22), format!("{}\n", at(22))] {
            assert_eq!(Token::parse(&bad), Err(TextError::Token), "{bad:?}");
        }
        for (length, good) in [(0, false), (1, true), (128, true), (129, false)] {
            assert_eq!(Owner::parse(&at(length)).is_ok(), good, "owner of {length}");
            assert_eq!(Fingerprint::parse(&at(length)).is_ok(), good, "fingerprint of {length}");
        }
        assert!(Owner::parse("a\0").is_err() && Fingerprint::parse("\u{9b}").is_err());
        assert!(WorkResult::from_json(&at(2048)).is_ok() && WorkResult::from_json(&at(2049)).is_err());
    }

    #[test]
    fn a_token_is_never_printed() {
        let token = Token::from_bits([0xab; 16]);
        assert_eq!(token.as_str(), "ab".repeat(16));
        assert!(!format!("{token:?}").contains("ab"));
    }
}
