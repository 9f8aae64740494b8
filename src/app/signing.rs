//! Our own signature to the app, by the rules of Standard Webhooks.
//!
//! The sender's signature goes on to the app untouched; but its timestamp is of the sender's making, and an app that
//! holds it against its own clock refuses what was delayed on the way. Ours is made anew for each attempt, so that any
//! library for Standard Webhooks, as it comes, can check both origin and freshness.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;

/// Taken off before decoding, where it is there.
const PREFIX: &str = "whsec_";
/// The bounds of the specification, in bytes of the decoded key. We are the sender here, so they are ours to keep.
const MIN_KEY_BYTES: usize = 24;
const MAX_KEY_BYTES: usize = 64;

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Why a text is no key to sign with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SigningKeyError {
    /// Not base64.
    #[error("must be base64, with or without {PREFIX} before it")]
    NotBase64,
    /// Too short or too long.
    #[error("must be {MIN_KEY_BYTES} to {MAX_KEY_BYTES} bytes once decoded")]
    Length,
}

/// The key of one route's signatures.
#[derive(Clone)]
pub struct SigningKey(Hmac<Sha256>);

impl SigningKey {
    /// Reads `whsec_…`, or the same without its prefix.
    ///
    /// # Errors
    /// When it is no base64, or a key of another length than the specification asks for.
    pub fn parse(text: &str) -> Result<Self, SigningKeyError> {
        let digits = text.strip_prefix(PREFIX).unwrap_or(text);
        let key = STANDARD.decode(digits).map_err(|_| SigningKeyError::NotBase64)?;
        if !(MIN_KEY_BYTES..=MAX_KEY_BYTES).contains(&key.len()) {
            return Err(SigningKeyError::Length);
        }
        Ok(Self(Hmac::new_from_slice(&key).expect("HMAC takes a key of any length")))
    }

    /// Puts our three headers into the place of the sender's.
    pub(super) fn sign(&self, headers: &mut HeaderMap, id: HeaderValue, now: SystemTime, body: &Bytes) {
        let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut mac = self.0.clone();
        for piece in [id.as_bytes(), b".", seconds.to_string().as_bytes(), b".", body] {
            mac.update(piece);
        }
        let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        let signature = HeaderValue::try_from(signature).expect("base64 is visible ASCII");
        headers.insert(WEBHOOK_ID, id);
        headers.insert(WEBHOOK_TIMESTAMP, HeaderValue::from(seconds));
        headers.insert(WEBHOOK_SIGNATURE, signature);
    }
}

/// The state of a keyed hash is as good as the key.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The vector that the specification's own libraries are tested with.
    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        let key = SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a key");
        let mut headers = HeaderMap::new();
        headers.append(WEBHOOK_ID, HeaderValue::from_static("the sender's"));
        headers.append(WEBHOOK_SIGNATURE, HeaderValue::from_static("the sender's"));
        let now = UNIX_EPOCH + Duration::from_secs(1_614_265_330);
        let body = Bytes::from_static(b"{\"test\": 2432232314}");
        key.sign(&mut headers, HeaderValue::from_static("msg_p5jXN8AQM9LWM0D4loKWxJek"), now, &body);
        let lines = [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ];
        assert_eq!(headers.len(), lines.len());
        for (name, value) in lines {
            assert_eq!(headers[name], value, "{name}");
        }
    }

    #[test]
    fn a_key_has_the_length_that_the_specification_asks_for() {
        let of = |bytes: usize| STANDARD.encode(vec![7; bytes]);
        for (text, expected) in [
            (of(23), Err(SigningKeyError::Length)),
            (of(24), Ok(())),
            (format!("whsec_{}", of(64)), Ok(())),
            (of(65), Err(SigningKeyError::Length)),
            ("whsec_%%".to_owned(), Err(SigningKeyError::NotBase64)),
            (String::new(), Err(SigningKeyError::Length)),
        ] {
            assert_eq!(SigningKey::parse(&text).map(|_| ()), expected, "{text}");
        }
    }
}
