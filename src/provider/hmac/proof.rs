//! The check itself: which of our keys made one of the presented digests.

use super::{Algorithm, Hmac};
use crate::provider::header::{Sole, sole};
use crate::provider::signed_string::Part;
use crate::provider::{
    Header, Place, Rejection, Request, Secret, SecretFault, SignaturePlace, Timestamp, TimestampPlace, UnixSeconds,
};
use hmac::KeyInit as _;
use sha2::{Sha256, Sha512};
use std::fmt;
use subtle::{Choice, ConstantTimeEq as _};

/// The scheme's parameters with the keys that are in use.
#[derive(Debug, Clone)]
pub(in crate::provider) struct HmacVerifier {
    recipe: Hmac,
    keys: Vec<Key>,
}

/// A key that has been absorbed by its hash, so that no request pays for it and no copy of the secret is kept.
#[derive(Clone)]
struct Key {
    label: String,
    start: Start,
}

#[derive(Clone)]
enum Start {
    Sha256(hmac::Hmac<Sha256>),
    Sha512(hmac::Hmac<Sha512>),
}

/// A signature that holds. Whether its timestamp is fresh is another question.
pub(in crate::provider) struct Proof<'v> {
    pub(in crate::provider) secret: &'v str,
    pub(in crate::provider) stamp: Option<UnixSeconds>,
}

impl HmacVerifier {
    pub(in crate::provider) fn new(recipe: Hmac) -> Self {
        Self { recipe, keys: Vec::new() }
    }

    /// Adds a secret to those that are accepted.
    pub(in crate::provider) fn accept(&mut self, secret: &Secret) -> Result<(), SecretFault> {
        let start = Start::new(self.recipe.algorithm, &self.recipe.key.decode(secret)?);
        self.keys.push(Key { label: secret.label().to_owned(), start });
        Ok(())
    }

    /// Checks a request. The cheap questions come first; only a request whose header could be right costs a hash of the
    /// body, one per key.
    pub(in crate::provider) fn prove(&self, request: &Request<'_>) -> Result<Proof<'_>, Rejection> {
        let carrier = &self.recipe.carrier;
        let SignaturePlace::Text(Place::Header(header)) = &carrier.place else {
            return Err(Rejection::MalformedSignature);
        };
        let field = self.recipe.message.timestamp.as_ref().and_then(Timestamp::field);
        let presented = carrier.format.read(one(request, header)?, carrier.encoding, field)?;
        let (stamp_text, stamp) = self.stamp(request, presented.stamp)?;
        let signed = self.signed_pieces(request, stamp_text)?;
        let matching = self.keys.iter().find(|key| matches_any(&key.start.digest(&signed), &presented.digests));
        match matching {
            Some(key) => Ok(Proof { secret: &key.label, stamp }),
            None => Err(Rejection::NoMatch),
        }
    }

    /// The timestamp as sent and as a number; nothing for senders that have none.
    fn stamp<'r>(
        &self,
        request: &Request<'r>,
        in_header: Option<&'r [u8]>,
    ) -> Result<(&'r [u8], Option<UnixSeconds>), Rejection> {
        let Some(timestamp) = &self.recipe.message.timestamp else {
            return Ok((&[], None));
        };
        let text = match &timestamp.place {
            TimestampPlace::Text(Place::Header(header)) => one(request, header)?,
            _ => in_header.ok_or(Rejection::MissingTimestamp)?,
        };
        let stamp = timestamp.read(text).ok_or(Rejection::MalformedTimestamp)?;
        Ok((text, Some(stamp)))
    }

    /// The signed bytes, piece by piece: a body of many megabytes is not copied to stand behind its prefix.
    fn signed_pieces<'r>(&'r self, request: &Request<'r>, stamp: &'r [u8]) -> Result<Vec<&'r [u8]>, Rejection> {
        let piece = |part: &'r Part| match part {
            Part::Literal(text) => Ok(text.as_bytes()),
            Part::Timestamp => Ok(stamp),
            Part::Header(header) => one(request, header),
            Part::Body => Ok(request.body),
            _ => Err(Rejection::NoMatch),
        };
        self.recipe.message.signed_string.parts().iter().map(piece).collect()
    }
}

/// The value of a header that authentication needs.
fn one<'r>(request: &Request<'r>, header: &Header) -> Result<&'r [u8], Rejection> {
    match sole(request.headers, header) {
        Sole::Once(value) => Ok(value),
        Sole::Absent => Err(Rejection::MissingHeader(header.clone())),
        Sole::Repeated => Err(Rejection::DuplicateHeader(header.clone())),
    }
}

/// Whether one of the presented digests is the expected one. Every digest is compared to its end, and no comparison ends
/// the round: how long it takes tells nothing of how close a guess was. A digest of another length never matches.
fn matches_any(expected: &[u8], presented: &[Vec<u8>]) -> bool {
    let none = Choice::from(0);
    presented.iter().fold(none, |found, digest| found | expected.ct_eq(digest.as_slice())).into()
}

impl Start {
    fn new(algorithm: Algorithm, key: &[u8]) -> Self {
        const ANY_LENGTH: &str = "HMAC takes a key of any length (RFC 2104, section 2)";
        match algorithm {
            Algorithm::Sha1 | Algorithm::Sha256 => Self::Sha256(hmac::Hmac::new_from_slice(key).expect(ANY_LENGTH)),
            Algorithm::Sha512 => Self::Sha512(hmac::Hmac::new_from_slice(key).expect(ANY_LENGTH)),
        }
    }

    fn digest(&self, pieces: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Sha256(start) => finish(start.clone(), pieces),
            Self::Sha512(start) => finish(start.clone(), pieces),
        }
    }
}

fn finish<M: hmac::Mac>(mut mac: M, pieces: &[&[u8]]) -> Vec<u8> {
    pieces.iter().for_each(|piece| mac.update(piece));
    mac.finalize().into_bytes().to_vec()
}

/// The label alone: the state of a keyed hash is as good as the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("label", &self.label).finish_non_exhaustive()
    }
}
