//! The check of every scheme over a described string: which of our keys made one of the presented signatures.

use super::keys::Key;
use super::pieces::{SignedBytes, Source, text};
use super::pointer::{Reached, elements};
use super::timestamp::Stamped;
use super::{
    Carrier, Encoding, Message, Place, Pointer, Rejection, Request, RsaAlgorithm, RsaHash, Terms, Timestamp,
    TimestampPlace, UnixSeconds,
};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Elements of a batch that are verified one by one. Adyen sends one, and promises no more than a few.
pub const MAX_SIGNED_ITEMS: usize = 256;

/// The description with the keys that are in use.
#[derive(Debug, Clone)]
pub(super) struct DescribedVerifier {
    pub(super) carrier: Carrier,
    pub(super) message: Message,
    pub(super) items: Option<Pointer>,
    pub(super) rsa: RsaHash,
    pub(super) keys: Vec<Key>,
    /// The spellings of our URL, at least one; empty text where it is not signed.
    pub(super) public_urls: Vec<String>,
    pub(super) parameters: BTreeMap<String, String>,
}

/// A signature that holds. Whether its timestamp is fresh is another question.
pub(super) struct Proof<'v> {
    /// The label of the secret that made it.
    pub(super) secret: &'v str,
    /// Which of the secrets that is.
    pub(super) index: usize,
    pub(super) stamp: Option<UnixSeconds>,
    /// For how long it counts.
    pub(super) validity: Validity,
}

/// The moments between which a proof counts, for senders that name them.
#[derive(Default)]
pub(super) struct Validity {
    pub(super) begins: Option<UnixSeconds>,
    pub(super) ends: Option<UnixSeconds>,
}

impl Validity {
    /// How far `now` is outside, beyond the leeway: positive behind the end, negative before the beginning.
    pub(super) fn outside(&self, now: UnixSeconds, leeway_seconds: u64) -> Option<i64> {
        let beyond = |skew: &i64| skew.unsigned_abs() > leeway_seconds;
        let over = self.ends.map(|ends| now.skew_seconds(ends)).filter(|skew| *skew > 0 && beyond(skew));
        let early = self.begins.map(|begins| now.skew_seconds(begins)).filter(|skew| *skew < 0 && beyond(skew));
        over.or(early)
    }
}

impl DescribedVerifier {
    pub(super) fn new(carrier: &Carrier, message: &Message, keys: Vec<Key>, terms: &Terms<'_>) -> Self {
        Self {
            carrier: carrier.clone(),
            message: message.clone(),
            items: None,
            rsa: RsaHash::Fixed(RsaAlgorithm::Sha256),
            keys,
            public_urls: message.url_ports.spellings(terms.public_url.unwrap_or_default()),
            parameters: terms.parameters.clone(),
        }
    }

    /// Checks a request. The cheap questions come first; only a request whose signature could be right costs a hash of the
    /// body, one per key and spelling of the URL.
    pub(super) fn prove(&self, request: &Request<'_>) -> Result<Proof<'_>, Rejection> {
        match &self.items {
            None => self.prove_one(request, None),
            Some(items) => self.prove_each(request, items),
        }
    }

    /// Every element must be right: one forged among genuine ones is handed over with them.
    fn prove_each(&self, request: &Request<'_>, items: &Pointer) -> Result<Proof<'_>, Rejection> {
        let Reached::Text(array) = items.follow(request.content()?) else {
            return Err(Rejection::NoItems);
        };
        let elements = elements(array, MAX_SIGNED_ITEMS).ok_or(Rejection::NoItems)?;
        if elements.len() > MAX_SIGNED_ITEMS {
            return Err(Rejection::TooManyItems);
        }
        let mut proof = None;
        for element in elements {
            proof = Some(self.prove_one(request, Some(element.as_bytes()))?);
        }
        proof.ok_or(Rejection::NoItems)
    }

    fn prove_one(&self, request: &Request<'_>, element: Option<&[u8]>) -> Result<Proof<'_>, Rejection> {
        let field = self.message.timestamp.as_ref().and_then(Timestamp::field);
        let presented = self.carrier.read(request, element, field)?;
        if self.keys.iter().any(|key| key.is_too_many(presented.digests.len())) {
            return Err(Rejection::TooManyCandidates);
        }
        let Stamped { text: stamp, at } = self.stamp(request, presented.stamp)?;
        let stamp_header = match self.message.timestamp.as_ref().map(|timestamp| &timestamp.place) {
            Some(TimestampPlace::Text(Place::Header(header))) => Some(header),
            Some(_) | None => None,
        };
        let rsa = self.rsa.of(request)?;
        self.check_body_hash(request)?;
        let source = Source { request, element, stamp, stamp_header, parameters: &self.parameters };
        let pieces = source.pieces(&self.message.signed_string)?;
        let messages: Vec<_> = self.public_urls.iter().map(|url| SignedBytes::new(&pieces, url)).collect();
        let made = |key: &Key| messages.iter().any(|message| key.made_any(message, &presented.digests, rsa));
        let found = self.keys.iter().enumerate().find(|(_, key)| made(key));
        let (index, key) = found.ok_or(Rejection::NoMatch)?;
        Ok(Proof { secret: &key.label, index, stamp: at, validity: Validity::default() })
    }

    /// The timestamp as sent and as a number; nothing for senders that have none.
    fn stamp<'r>(&self, request: &'r Request<'r>, in_list: Option<Vec<u8>>) -> Result<Stamped<'r>, Rejection> {
        let Some(timestamp) = &self.message.timestamp else {
            return Ok(Stamped::default());
        };
        let text: Cow<'r, [u8]> = match &timestamp.place {
            TimestampPlace::Text(place) => text(request, place)?,
            TimestampPlace::Field(_) => in_list.ok_or(Rejection::MissingTimestamp)?.into(),
            // Refused when the profile was read: there is no token.
            TimestampPlace::Claim(_) => return Err(Rejection::MissingTimestamp),
        };
        let at = Some(timestamp.read(&text).ok_or(Rejection::MalformedTimestamp)?);
        Ok(Stamped { text, at })
    }

    /// The hash of the body in the query. Where it is, it must be right, whatever the body is: else the signature of one
    /// URL would be good for any form without fields.
    fn check_body_hash(&self, request: &Request<'_>) -> Result<(), Rejection> {
        let Some(described) = &self.message.body_hash else {
            return Ok(());
        };
        let place = Place::Query(described.query.clone());
        let hash = request.find(&place).map_err(|unreadable| Rejection::unreadable(&place, unreadable))?;
        let Some(hash) = hash else {
            let covered = described.required_unless_form && (request.is_form() || request.body.is_empty());
            return if covered { Ok(()) } else { Err(Rejection::MissingBodyHash) };
        };
        match Encoding::Hex.decode(&hash) {
            Some(hash) if hash == Sha256::digest(request.body).as_slice() => Ok(()),
            Some(_) | None => Err(Rejection::OtherBody),
        }
    }
}
