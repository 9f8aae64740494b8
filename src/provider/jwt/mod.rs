//! The scheme of senders that put a signed token (JWT) into a header.
//!
//! The token is taken apart here and nowhere trusted: its `alg` must be the one of the profile, and every other field of
//! its header that would choose a key or a meaning is left alone.

mod jwk;
mod verifier;

pub(super) use self::verifier::JwtVerifier;

use super::{Header, SignatureFault, Timestamp, TimestampPlace};
use serde::Deserialize;

/// The parameters of the scheme, the table `[signature.jwt]` of a profile: a compact JWS (RFC 7515, section 7.1) in a header.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jwt {
    /// The header that carries the token.
    pub header: Header,
    /// What stands before it, such as `Bearer ` with its blank; compared byte for byte.
    #[serde(default)]
    pub prefix: String,
    /// The algorithm; a token that names another is refused.
    pub algorithm: JwtAlgorithm,
    /// The claim that holds the SHA-256 of the raw body in hexadecimal digits. Without it the token says nothing about the
    /// body.
    pub body_claim: Option<String>,
    /// The claim that is the timestamp.
    pub timestamp: Option<Timestamp>,
}

/// A signature algorithm of tokens (RFC 7518, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JwtAlgorithm {
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// HMAC with SHA-256.
    Hs256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
}

impl Jwt {
    pub(super) fn faults(&self) -> Vec<SignatureFault> {
        match &self.timestamp {
            Some(Timestamp { place: TimestampPlace::Text(_) | TimestampPlace::Field(_), .. }) => {
                vec![SignatureFault::TimestampUnsigned]
            }
            Some(Timestamp { place: TimestampPlace::Claim(_), .. }) | None => Vec::new(),
        }
    }
}
