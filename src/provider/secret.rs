//! Secrets as they come out of files, credentials and variables, judged where a person is still looking.
//!
//! A newline from an editor, a byte order mark from another, a zero-width space from a web page: each makes every
//! signature fail, with a message that speaks of the body. The trailing newline of a file is everybody's habit and is
//! taken off, and PEM and JSON keys may have lines; all else that nobody means is refused, since to repair it silently
//! would make a secret whose text is not the one in the file.

use std::fmt;

/// The longest secret. Senders hand out 10 to 100 characters, and certificates with the chain of their issuers; 16 KiB is
/// room for any of them and not for a file that was named by mistake.
pub const MAX_SECRET_BYTES: usize = 16 << 10;

/// A sender's secret: text that can be shown to nobody, with a label that can.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    label: String,
    text: String,
}

/// A secret is refused.
#[derive(Debug, thiserror::Error)]
#[error("{label} cannot be used")]
pub struct SecretError {
    /// Which one, in the words of whoever named it.
    pub label: String,
    /// Why.
    #[source]
    pub fault: SecretFault,
}

/// What is wrong with a secret: kind and place, never a part of it. Characters are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretFault {
    /// Nothing is left after the final newline.
    #[error("it is empty")]
    Empty,
    /// Longer than [`MAX_SECRET_BYTES`].
    #[error("it has {bytes} bytes; the limit is {MAX_SECRET_BYTES}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Not text.
    #[error("it is not UTF-8 from byte {byte} on")]
    NotText {
        /// The first byte that does not belong, counted from 1.
        byte: usize,
    },
    /// A blank at one end.
    #[error("it has a blank at its {end}, character {position}")]
    Blank {
        /// `beginning` or `end`.
        end: &'static str,
        /// Where.
        position: usize,
    },
    /// Quotation marks around it, which a configuration file would have taken off and a secret file does not.
    #[error("it stands in quotation marks, characters 1 and {last}")]
    Quoted {
        /// Where the second one is.
        last: usize,
    },
    /// A character that cannot be seen.
    #[error("character {position} is invisible: U+{code:04X}, {name}")]
    Invisible {
        /// Where.
        position: usize,
        /// Which.
        code: u32,
        /// In words.
        name: &'static str,
    },
    /// The profile says base64, and it is not.
    #[error("it is not base64 (standard alphabet), which this provider's secrets are")]
    NotBase64,
    /// The profile says hexadecimal, and it is not.
    #[error("it is not an even number of hexadecimal digits, which this provider's secrets are")]
    NotHex,
    /// The profile says a public key, and it is none of that kind.
    #[error("it is not {wanted}")]
    NotPublicKey {
        /// What was expected, and in which forms.
        wanted: &'static str,
    },
    /// The private half of a key pair, which belongs to the sender alone.
    #[error("it is a private key; only the public one is needed here, and the private one must stay with the sender")]
    PrivateKey,
    /// An RSA key that signatures cannot be verified with.
    #[error("it is an RSA key of {bits} bits; from 2048 to 8192 are taken")]
    RsaSize {
        /// Its size.
        bits: usize,
    },
    /// The profile says HTTP Basic, and there is no user.
    #[error("it is not user:password, which this provider's secrets are")]
    NoUser,
}

impl Secret {
    /// Takes a secret from bytes as read. `label` is for people: it goes into logs and says which of several secrets
    /// matched.
    pub fn from_bytes(label: impl Into<String>, bytes: &[u8]) -> Result<Self, SecretError> {
        let label = label.into();
        match judge(bytes) {
            Ok(text) => Ok(Self { label, text: text.to_owned() }),
            Err(fault) => Err(SecretError { label, fault }),
        }
    }

    /// The name for logs.
    pub fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// The label alone.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("label", &self.label).finish_non_exhaustive()
    }
}

fn judge(bytes: &[u8]) -> Result<&str, SecretFault> {
    let bytes = without_final_newline(bytes);
    if bytes.len() > MAX_SECRET_BYTES {
        return Err(SecretFault::TooLong { bytes: bytes.len() });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| SecretFault::NotText { byte: error.valid_up_to() + 1 })?;
    judge_ends(text)?;
    // The line ends of a key file are part of its form.
    let is_line_end = |character: char| matches!(character, '\n' | '\r') && has_lines(text);
    let found = (text.chars().zip(1..).filter(|(character, _)| !is_line_end(*character)))
        .find_map(|(character, position)| Some((character, position, invisible(character)?)));
    match found {
        Some((character, position, name)) => Err(SecretFault::Invisible { position, code: character.into(), name }),
        None => Ok(text),
    }
}

fn judge_ends(text: &str) -> Result<(), SecretFault> {
    let length = text.chars().count();
    match (text.chars().next(), text.chars().next_back()) {
        (Some(first), _) if first.is_whitespace() => Err(SecretFault::Blank { end: "beginning", position: 1 }),
        (_, Some(last)) if last.is_whitespace() => Err(SecretFault::Blank { end: "end", position: length }),
        (Some(first), Some(last)) if length > 1 && is_quotation(first, last) => {
            Err(SecretFault::Quoted { last: length })
        }
        (Some(_), Some(_)) => Ok(()),
        (None, _) | (_, None) => Err(SecretFault::Empty),
    }
}

/// One `\n` or `\r\n`, not more: a second one is no editor's habit.
fn without_final_newline(bytes: &[u8]) -> &[u8] {
    let without = bytes.strip_suffix(b"\n").map(|rest| rest.strip_suffix(b"\r").unwrap_or(rest));
    without.unwrap_or(bytes)
}

/// Whether the text is of several lines by its nature: PEM, or a key as JSON.
fn has_lines(text: &str) -> bool {
    text.starts_with("-----BEGIN ") || text.starts_with('{')
}

/// Only marks on both sides count: a generated secret may well begin with one.
fn is_quotation(first: char, last: char) -> bool {
    matches!((first, last), ('"', '"') | ('\'', '\'') | ('`', '`') | ('“', '”') | ('‘', '’'))
}

fn invisible(character: char) -> Option<&'static str> {
    match character {
        '\u{FEFF}' => Some("byte order mark"),
        '\u{200B}'..='\u{200D}' | '\u{2060}' => Some("zero-width character"),
        '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Some("direction mark"),
        '\u{00AD}' => Some("soft hyphen"),
        '\u{00A0}' => Some("no-break space"),
        control if control.is_control() => Some("control character"),
        _ => None,
    }
}
