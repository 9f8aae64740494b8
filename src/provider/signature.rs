//! The building blocks that a profile's signature can be made of.

use super::{
    Basic, Carrier, EcdsaP256, Ed25519, EventIdSource, Format, Hash, Hmac, IdPart, Jwt, Message, Place, Pointer, Rsa,
    SignaturePlace, Timestamp, Token,
};
use http::header::AUTHORIZATION;
use serde::Deserialize;

/// How a sender proves that a request is its own. In TOML the variant is the table's name: `[signature.hmac]`; and
/// `signature = "none"` for senders that prove nothing.
///
/// Which scheme applies is fixed by the profile. Nothing in a request can choose it, and so no attacker can choose the
/// weaker of two.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signature {
    /// A keyed hash over a described string.
    Hmac(Hmac),
    /// A plain hash over a described string that contains the secret.
    Hash(Hash),
    /// An Ed25519 signature over a described string.
    Ed25519(Ed25519),
    /// An ECDSA signature over a described string.
    EcdsaP256(EcdsaP256),
    /// An RSA signature over a described string.
    Rsa(Rsa),
    /// A signed token in a header.
    Jwt(Jwt),
    /// The secret itself in a header.
    Token(Token),
    /// User and password.
    Basic(Basic),
    /// Nothing: a route of such a sender needs `verify = "none"`.
    None,
}

/// The parts of a signature contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureFault {
    /// `{timestamp}` is signed and no timestamp is described.
    #[error("signed_string has {{timestamp}}, but no timestamp is described")]
    TimestampUndefined,
    /// A timestamp outside the signature says nothing about freshness.
    #[error("a timestamp is described, but signed_string leaves {{timestamp}} out: anybody could renew it")]
    TimestampUnsigned,
    /// The timestamp is looked for in a list that is not there.
    #[error("the timestamp is a field of the signature header, but its format is not a list")]
    FieldWithoutList,
    /// One name for two things.
    #[error("the timestamp's field has the name of the signature's")]
    FieldIsSignature,
    /// Entries could not be told from their names.
    #[error("the list has the same separator between entries and after names")]
    SameSeparator,
    /// Only tokens have claims.
    #[error("the timestamp is a claim, but the signature is no jwt")]
    ClaimOutsideToken,
    /// A hash that anybody could make.
    #[error("a plain hash needs {{secret}} in its signed_string")]
    NoSecret,
    /// The other schemes have a key for it.
    #[error("{{secret}} belongs into the signed_string of a plain hash alone")]
    SecretElsewhere,
    /// Ports of a URL that is not signed.
    #[error("url_ports is set, but {{url}} is not in signed_string")]
    PortsWithoutUrl,
    /// Anybody could write another hash beside another body.
    #[error("body_hash is in the query, but neither {{url}} nor {{target}} is in signed_string")]
    BodyHashUnsigned,
    /// The elements of a batch carry their signatures, and no timestamp.
    #[error("items needs signature = {{ pointer = … }} inside each element, and no timestamp")]
    ItemsElsewhere,
}

impl Signature {
    /// The sender's timestamp, if the scheme has one.
    pub fn timestamp(&self) -> Option<&Timestamp> {
        if let Self::Jwt(jwt) = self {
            return jwt.timestamp.as_ref();
        }
        self.described()?.1.timestamp.as_ref()
    }

    /// Where the signature stands and what it is over, for the schemes over a described string.
    pub fn described(&self) -> Option<(&Carrier, &Message)> {
        match self {
            Self::Hmac(Hmac { carrier, message, .. })
            | Self::Hash(Hash { carrier, message, .. })
            | Self::Ed25519(Ed25519 { carrier, message })
            | Self::EcdsaP256(EcdsaP256 { carrier, message, .. })
            | Self::Rsa(Rsa { carrier, message, .. }) => Some((carrier, message)),
            Self::Jwt(_) | Self::Token(_) | Self::Basic(_) | Self::None => None,
        }
    }

    /// The place that a signature stands in; `None` where there is none, or several.
    pub(super) fn place(&self) -> Option<Place> {
        match self {
            Self::Jwt(Jwt { header, .. }) | Self::Token(Token { header, .. }) => Some(Place::Header(header.clone())),
            Self::Basic(_) => Some(Place::Header(AUTHORIZATION.into())),
            Self::None => None,
            Self::Hmac(_) | Self::Hash(_) | Self::Ed25519(_) | Self::EcdsaP256(_) | Self::Rsa(_) => {
                match &self.described()?.0.place {
                    SignaturePlace::Text(place) => Some(place.clone()),
                    SignaturePlace::Lines(header) => Some(Place::Header(header.clone())),
                    SignaturePlace::Family(_) => None,
                }
            }
        }
    }

    /// Whether a change of any byte of the body is noticed.
    pub fn covers_body(&self) -> bool {
        if let Self::Jwt(jwt) = self {
            return jwt.body_claim.is_some();
        }
        self.items().is_none() && self.described().is_some_and(|(_, message)| message.covers_body())
    }

    /// Whether the text in a place is covered. Under [`Signature::items`], pointers are relative to an element.
    pub fn covers_place(&self, place: &Place) -> bool {
        if let Some((_, message)) = self.described() {
            return message.covers_place(place);
        }
        match place {
            Place::Pointer(_) | Place::Form(_) => self.covers_body(),
            Place::Header(_) | Place::Query(_) => false,
        }
    }

    /// The array of a batch whose elements are signed one by one.
    pub fn items(&self) -> Option<&Pointer> {
        match self {
            Self::Hmac(hmac) => hmac.items.as_ref(),
            Self::Hash(_)
            | Self::Ed25519(_)
            | Self::EcdsaP256(_)
            | Self::Rsa(_)
            | Self::Jwt(_)
            | Self::Token(_)
            | Self::Basic(_)
            | Self::None => None,
        }
    }

    /// Whether the URL that the sender knows us by is needed (`public_url`).
    pub fn needs_public_url(&self) -> bool {
        self.described().is_some_and(|(_, message)| message.signed_string.needs_public_url())
    }

    /// The names of the texts that a route must give (`parameters`).
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.described().into_iter().flat_map(|(_, message)| message.signed_string.parameters())
    }

    /// Whether an id read from there is covered by the signature. One that is not can be replayed: whoever holds one
    /// genuine request may send it again under an id of his own. Derived rather than written in the profile, since a
    /// claim of safety that the signed string contradicts would be worse than none.
    pub fn covers(&self, id: &EventIdSource) -> bool {
        let all = |parts: &[IdPart]| parts.iter().all(|part| self.covers_place(&part.place()));
        match (id, self.items()) {
            (EventIdSource::One(part), None) => self.covers_place(&part.place()),
            (EventIdSource::Parts(parts), None) => all(parts),
            // Pointers of an item's id are relative to the item; what the signed string points at is not.
            (EventIdSource::Batch { .. }, None) => self.covers_body(),
            (EventIdSource::Batch { array, item }, Some(items)) => array.is_at(items) && all(item),
            (EventIdSource::One(_) | EventIdSource::Parts(_), Some(_)) => false,
        }
    }

    /// What the parts say about each other. Each part has judged itself when it was read.
    pub(super) fn faults(&self) -> Vec<SignatureFault> {
        let mut faults = match self {
            Self::Hmac(hmac) => hmac.faults(),
            Self::Jwt(jwt) => jwt.faults(),
            Self::Hash(_)
            | Self::Ed25519(_)
            | Self::EcdsaP256(_)
            | Self::Rsa(_)
            | Self::Token(_)
            | Self::Basic(_)
            | Self::None => Vec::new(),
        };
        if let Some((carrier, message)) = self.described() {
            faults.extend(message.faults());
            faults.extend(list_fault(carrier, message));
            match (matches!(self, Self::Hash(_)), message.signed_string.has_secret()) {
                (true, false) => faults.push(SignatureFault::NoSecret),
                (false, true) => faults.push(SignatureFault::SecretElsewhere),
                (true, true) | (false, false) => {}
            }
        }
        faults
    }
}

/// What the layout of the signature and the timestamp inside it say about each other.
fn list_fault(carrier: &Carrier, message: &Message) -> Option<SignatureFault> {
    let field = message.timestamp.as_ref().and_then(Timestamp::field);
    match &carrier.format {
        Format::Plain(_) if field.is_some() => Some(SignatureFault::FieldWithoutList),
        Format::List(list) if field == Some(list.name.as_str()) => Some(SignatureFault::FieldIsSignature),
        Format::List(list) if list.between == list.after_name => Some(SignatureFault::SameSeparator),
        Format::Plain(_) | Format::List(_) => None,
    }
}
