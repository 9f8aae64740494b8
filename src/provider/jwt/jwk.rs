//! Public keys as JSON (RFC 7517), which is how senders of tokens hand them out; PEM is taken as well.

use super::JwtAlgorithm;
use crate::provider::public_key::{Kind, P256_COORDINATE_BYTES, PublicKey, RsaKey};
use crate::provider::{Secret, SecretFault};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The members that make a key of the two kinds in use. Others (`kid`, `use`, `alg`, `created_at`) say nothing about the
/// key itself.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
    /// The private number of both kinds.
    d: Option<Box<RawValue>>,
}

pub(super) fn read(secret: &Secret, algorithm: JwtAlgorithm) -> Result<PublicKey, SecretFault> {
    let kind = match algorithm {
        JwtAlgorithm::Rs256 => Kind::Rsa,
        JwtAlgorithm::Es256 | JwtAlgorithm::Hs256 => Kind::EcdsaP256 { fixed: true },
    };
    if !secret.text().starts_with('{') {
        return PublicKey::read(secret, kind);
    }
    let fault = SecretFault::NotPublicKey { wanted: "a public key as JSON (JWK) of the kind that the algorithm needs" };
    let Ok(jwk) = serde_json::from_str::<Jwk>(secret.text()) else {
        return Err(fault);
    };
    if jwk.d.is_some() {
        return Err(SecretFault::PrivateKey);
    }
    match (jwk.kty.as_str(), kind) {
        ("EC", Kind::EcdsaP256 { fixed }) if jwk.crv.as_deref() == Some("P-256") => {
            PublicKey::on_p256(jwk.point().ok_or(fault)?, fixed)
        }
        ("RSA", Kind::Rsa) => {
            let (Some(modulus), Some(exponent)) = (number(jwk.n), number(jwk.e)) else {
                return Err(fault);
            };
            RsaKey::new(modulus, exponent).map(PublicKey::Rsa)
        }
        _ => Err(fault),
    }
}

impl Jwk {
    /// The point in its uncompressed form. Coordinates have their full length (RFC 7518, section 6.2.1.2).
    fn point(self) -> Option<Vec<u8>> {
        let coordinate = |text: Option<String>| {
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(text?).ok()?;
            (bytes.len() == P256_COORDINATE_BYTES).then_some(bytes)
        };
        Some([vec![4], coordinate(self.x)?, coordinate(self.y)?].concat())
    }
}

/// A number without the leading zeros that some write.
fn number(text: Option<String>) -> Option<Vec<u8>> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text?).ok()?;
    let first = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[first..].to_vec())
}
