//! A sender's secret, as text that nobody gets to see.

use std::fmt;

/// The longest secret, in bytes. Providers hand out 10 to 200 characters.
const MAX_SECRET_BYTES: usize = 4096;

/// Why a text is refused as a secret. Each would make every signature fail, with a message that speaks of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretTextError {
    /// Nothing there.
    #[error("is empty")]
    Empty,
    /// Probably another file than was meant.
    #[error("is longer than {MAX_SECRET_BYTES} bytes")]
    TooLong,
    /// An editor or a web page left something that cannot be seen.
    #[error("has a blank at one end, a control character or an invisible character")]
    OddCharacter,
}

/// A secret and the name under which it may be spoken of.
#[derive(Clone)]
pub struct SecretText {
    label: Box<str>,
    text: Box<str>,
}

impl SecretText {
    /// Takes a secret. `label` says where it came from.
    ///
    /// # Errors
    /// When it is empty, too long, or has characters that nobody means.
    pub fn new(label: &str, text: &str) -> Result<Self, SecretTextError> {
        if text.is_empty() {
            return Err(SecretTextError::Empty);
        }
        if text.len() > MAX_SECRET_BYTES {
            return Err(SecretTextError::TooLong);
        }
        if text.trim().len() < text.len() || text.chars().any(is_odd) {
            return Err(SecretTextError::OddCharacter);
        }
        Ok(Self {
            label: label.into(),
            text: text.into(),
        })
    }

    /// Where it came from.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The secret itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The label alone.
impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretText({})", self.label)
    }
}

/// Control characters, the byte order mark, and the marks without width that come along when text is copied.
fn is_odd(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{fffd}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_text_without_surprises() {
        for (text, error) in [
            ("whsec_abc", None),
            ("It's a Secret to Everybody", None),
            ("", Some(SecretTextError::Empty)),
            (" a", Some(SecretTextError::OddCharacter)),
            ("a\n", Some(SecretTextError::OddCharacter)),
            ("a\nb", Some(SecretTextError::OddCharacter)),
            ("a\0b", Some(SecretTextError::OddCharacter)),
            ("\u{feff}a", Some(SecretTextError::OddCharacter)),
            ("a\u{200b}", Some(SecretTextError::OddCharacter)),
        ] {
            assert_eq!(SecretText::new("a file", text).err(), error, "{text:?}");
        }
        let long = "x".repeat(MAX_SECRET_BYTES + 1);
        assert_eq!(SecretText::new("a file", &long).err(), Some(SecretTextError::TooLong));
    }

    #[test]
    fn only_the_label_is_printed() {
        let secret = SecretText::new("file /etc/x", "whsec_abc").expect("a good secret");
        assert_eq!(format!("{secret:?}"), "SecretText(file /etc/x)");
    }
}
