//! The check of a signed token, of the body whose hash it carries, and of the dates that it sets itself.

use super::{Jwt, JwtAlgorithm, jwk};
use crate::provider::described::{Proof, Validity};
use crate::provider::hmac::Mac;
use crate::provider::keys::{Check, Key};
use crate::provider::pieces::{SignedBytes, one};
use crate::provider::{
    Algorithm, Encoding, Pointer, Rejection, Request, RsaAlgorithm, Secret, SecretFault, Timestamp, TimestampPlace,
    UnixSeconds,
};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;

/// The scheme with the keys that are in use.
#[derive(Debug, Clone)]
pub(in crate::provider) struct JwtVerifier {
    pub(in crate::provider) jwt: Jwt,
    pub(in crate::provider) keys: Vec<Key>,
}

/// A token taken apart (RFC 7515, section 7.1).
struct Token<'t> {
    /// The first two parts with the point between them: what is signed.
    signed: &'t [u8],
    header: Vec<u8>,
    claims: Vec<u8>,
    signature: Vec<u8>,
}

impl JwtAlgorithm {
    /// Its name in tokens.
    fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Hs256 => "HS256",
            Self::Rs256 => "RS256",
        }
    }

    /// A secret in the form that the algorithm checks with.
    pub(in crate::provider) fn key(self, secret: &Secret) -> Result<Check, SecretFault> {
        match self {
            Self::Es256 | Self::Rs256 => jwk::read(secret, self).map(Check::Public),
            Self::Hs256 => Ok(Check::Mac(Mac::new(Algorithm::Sha256, secret.text().as_bytes()))),
        }
    }
}

impl JwtVerifier {
    pub(in crate::provider) fn prove(&self, request: &Request<'_>) -> Result<Proof<'_>, Rejection> {
        let text = one(request.headers, &self.jwt.header)?;
        let text = text.strip_prefix(self.jwt.prefix.as_bytes()).ok_or(Rejection::MalformedToken)?;
        let token = Token::parse(text).ok_or(Rejection::MalformedToken)?;
        token.check_header(self.jwt.algorithm)?;
        let candidates = [token.signature.clone()];
        let signed = SignedBytes::of(token.signed);
        let made = |key: &Key| key.made_any(&signed, &candidates, RsaAlgorithm::Sha256);
        let found = self.keys.iter().enumerate().find(|(_, key)| made(key));
        let (index, key) = found.ok_or(Rejection::NoMatch)?;
        self.check_body(&token, request.body)?;
        let stamp = self.stamp(&token)?;
        let validity = Validity { begins: token.date("nbf")?, ends: token.date("exp")? };
        Ok(Proof { secret: &key.label, index, stamp, validity })
    }

    /// Only after the signature: what an unsigned token claims is nobody's business.
    fn check_body(&self, token: &Token<'_>, body: &[u8]) -> Result<(), Rejection> {
        let Some(claim) = &self.jwt.body_claim else {
            return Ok(());
        };
        let hash = token.claim(claim)?.ok_or_else(|| Rejection::MissingClaim(claim.clone()))?;
        match Encoding::Hex.decode(&hash) {
            Some(hash) if hash == Sha256::digest(body).as_slice() => Ok(()),
            Some(_) | None => Err(Rejection::OtherBody),
        }
    }

    fn stamp(&self, token: &Token<'_>) -> Result<Option<UnixSeconds>, Rejection> {
        let Some(timestamp @ Timestamp { place: TimestampPlace::Claim(claim), .. }) = &self.jwt.timestamp else {
            return Ok(None);
        };
        let text = token.claim(claim)?.ok_or_else(|| Rejection::MissingClaim(claim.clone()))?;
        timestamp.read(&text).ok_or(Rejection::MalformedTimestamp).map(Some)
    }
}

impl<'t> Token<'t> {
    fn parse(text: &'t [u8]) -> Option<Self> {
        let mut parts = text.split(|byte| *byte == b'.');
        let (header, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let decode = |part: &[u8]| BASE64_URL_SAFE_NO_PAD.decode(part).ok();
        Some(Self {
            signed: &text[..header.len() + 1 + claims.len()],
            header: decode(header)?,
            claims: decode(claims)?,
            signature: decode(signature)?,
        })
    }

    /// The algorithm is compared and never obeyed; an extension that must be understood is not.
    fn check_header(&self, algorithm: JwtAlgorithm) -> Result<(), Rejection> {
        match text(&self.header, "alg")? {
            Some(name) if *name == *algorithm.name().as_bytes() => {}
            Some(_) | None => return Err(Rejection::OtherAlgorithm),
        }
        // An array is no text, and one that is there.
        match text(&self.header, "crit") {
            Ok(None) => Ok(()),
            Ok(Some(_)) | Err(_) => Err(Rejection::CriticalExtension),
        }
    }

    /// A claim that is a date, wherever it is there: a token ends by its own word, whether or not the profile speaks of time.
    fn date(&self, name: &str) -> Result<Option<UnixSeconds>, Rejection> {
        let date = self.claim(name)?.map(|text| whole_seconds(&text).ok_or(Rejection::MalformedTimestamp));
        date.transpose()
    }

    fn claim(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>, Rejection> {
        text(&self.claims, name)
    }
}

fn text<'d>(document: &'d [u8], key: &str) -> Result<Option<Cow<'d, [u8]>>, Rejection> {
    let pointer = Pointer::to_key(key).map_err(|_| Rejection::MalformedToken)?;
    pointer.text(document).map_err(|_| Rejection::MalformedToken)
}

/// A NumericDate (RFC 7519, section 2), which may have a fraction.
fn whole_seconds(text: &[u8]) -> Option<UnixSeconds> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(whole) && digits(fraction)).then(|| whole.parse().ok().map(UnixSeconds))?
}
