//! A profile in words: what `onced providers NAME` prints.
//!
//! What can be derived is derived, here as on a route: whether an id is signed, what a route needs besides the profile,
//! which lifetimes follow. So the words cannot say other than what the code does.

use super::{
    Algorithm, Carrier, Confidence, Ed25519, EventIdSource, Format, Hmac, Jwt, JwtAlgorithm, KeyForm, Lifetimes,
    Message, Profile, RsaAlgorithm, RsaHash, Signature, Stability, Timestamp, TimestampPlace, TimestampUnit,
};
use std::time::Duration;

/// What an app may take where its route does not say, for the lifetimes that are printed.
const USUAL_MAX_DURATION: Duration = Duration::from_secs(30);

impl Profile {
    /// The lifetimes of a route that sets none.
    pub fn lifetimes(&self) -> Lifetimes {
        Lifetimes::derive(self, USUAL_MAX_DURATION)
    }

    /// What should be known of the id beside where it is; whoever wrote the profile says more.
    pub fn event_id_remarks(&self) -> Vec<&'static str> {
        let Some(facts) = &self.event_id else {
            return vec![match self.body_changes {
                true => {
                    "There is none, and the body changes between attempts: every request is handed over, unguarded."
                }
                false => {
                    "There is none: every request is handed over, unguarded, unless the route says on_missing_id = \
                     \"hash\", or event_id."
                }
            }];
        };
        let mut remarks = Vec::new();
        match (&self.signature, self.event_id_is_signed()) {
            (_, Some(true) | None) => remarks.push("It is signed."),
            (Signature::Token(_) | Signature::Basic(_) | Signature::None, Some(false)) => {
                remarks.push("Nothing is signed: whoever can send a request at all chooses its id.");
            }
            (_, Some(false)) => {
                remarks.push("It is not signed: a captured request can be replayed under a new id.");
            }
        }
        remarks.push(match facts.stable {
            Stability::Yes => "A retry carries the same one.",
            Stability::Unknown => "Whether a retry carries the same one is not documented.",
        });
        remarks
    }

    /// What becomes of failed events where the route does not say, and why.
    pub fn failures(&self) -> String {
        match self.retry.unreliable_because() {
            Some(reason) => format!("failures are kept as dead letters: {reason}"),
            None => "failures are left to the sender's retries, and not kept; a queue route keeps them".to_owned(),
        }
    }

    /// What a route of this sender needs beside `provider`, `path` and `forward_to`.
    pub fn needs(&self) -> Vec<String> {
        let mut needs = Vec::new();
        needs.extend(self.signature.secret().map(|secret| format!("secrets: {secret}")));
        if self.signature == Signature::None {
            needs.push("verify = \"none\", since nothing proves the origin".to_owned());
        }
        if self.signature.needs_public_url() {
            needs.push("[hooks] public_url, as the sender was given it".to_owned());
        }
        needs.extend(self.signature.parameters().map(|name| format!("parameters = {{ {name} = \"…\" }}")));
        if self.handshake.iter().any(|handshake| handshake.token.is_some()) {
            needs.push("verify_token, for handshakes that are to be answered without the app".to_owned());
        }
        needs
    }
}

impl Signature {
    /// The scheme in two or three words.
    pub fn scheme(&self) -> &'static str {
        match self {
            Self::Hmac(Hmac { algorithm: Algorithm::Sha1, .. }) => "HMAC-SHA1",
            Self::Hmac(Hmac { algorithm: Algorithm::Sha256, .. }) => "HMAC-SHA256",
            Self::Hmac(Hmac { algorithm: Algorithm::Sha512, .. }) => "HMAC-SHA512",
            Self::Hash(_) => "hash with the secret",
            Self::Ed25519(_) => "Ed25519",
            Self::EcdsaP256(_) => "ECDSA P-256",
            Self::Rsa(rsa) => match &rsa.hash {
                RsaHash::Fixed(RsaAlgorithm::Sha1) => "RSA with SHA-1",
                RsaHash::Fixed(RsaAlgorithm::Sha256) => "RSA with SHA-256",
                RsaHash::Chosen(_) => "RSA, hash by version",
            },
            Self::Jwt(jwt) => match jwt.algorithm {
                JwtAlgorithm::Es256 => "JWT, ES256",
                JwtAlgorithm::Hs256 => "JWT, HS256",
                JwtAlgorithm::Rs256 => "JWT, RS256",
            },
            Self::Token(_) => "token",
            Self::Basic(_) => "HTTP Basic",
            Self::None => "none",
        }
    }

    /// What is signed and where the signature stands, a sentence each.
    pub fn details(&self) -> Vec<String> {
        let mut details = match self {
            Self::Hmac(_) | Self::Hash(_) | Self::Ed25519(_) | Self::EcdsaP256(_) | Self::Rsa(_) => {
                self.described().map_or_else(Vec::new, |(carrier, message)| layout(carrier, message))
            }
            Self::Jwt(jwt) => vec![match &jwt.body_claim {
                Some(claim) => format!("in header {}, with the body's SHA-256 as the claim {claim}", jwt.header),
                None => format!("in header {}", jwt.header),
            }],
            Self::Token(token) => vec![format!("in header {}", token.header)],
            Self::Basic(_) => vec!["in header authorization".to_owned()],
            Self::None => vec!["Nothing proves the origin of a request.".to_owned()],
        };
        if let Some(items) = self.items() {
            details.push(format!("once for every item of JSON {items}; each must be right"));
        }
        details.extend(self.timestamp().map(Timestamp::details));
        details.extend(self.gap().map(str::to_owned));
        details
    }

    /// What the signature leaves open.
    fn gap(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Token(_) | Self::Basic(_) => Some("It proves who sends, and nothing about what is sent."),
            Self::Hmac(_) | Self::Hash(_) | Self::Ed25519(_) | Self::EcdsaP256(_) | Self::Rsa(_) | Self::Jwt(_) => {
                (!self.covers_body()).then_some("It does not cover the whole body: what it leaves out can be changed.")
            }
        }
    }

    /// What the secrets of a route are; `None` where there are none.
    fn secret(&self) -> Option<&'static str> {
        Some(match self {
            Self::Hmac(Hmac { key: KeyForm::Text, .. }) | Self::Hash(_) => "the signing secret, used as it is shown",
            Self::Hmac(Hmac { key: KeyForm::Hex, .. }) => "the signing key in hexadecimal digits",
            Self::Hmac(Hmac { key: KeyForm::Base64(_), .. }) => {
                "the signing secret, base64, with its prefix or without"
            }
            Self::Ed25519(Ed25519 { .. }) => "the sender's public key: hex, base64 or PEM",
            Self::EcdsaP256(_) => "the sender's public key: base64 or PEM",
            Self::Rsa(_) => "the sender's certificate or public key as PEM; nothing is fetched",
            Self::Jwt(Jwt { algorithm: JwtAlgorithm::Hs256, .. }) => "the shared secret of the tokens",
            Self::Jwt(_) => "the sender's public key as JWK or PEM; nothing is fetched",
            Self::Token(_) => "the token",
            Self::Basic(_) => "user:password",
            Self::None => return None,
        })
    }
}

fn layout(carrier: &Carrier, message: &Message) -> Vec<String> {
    let place = match &carrier.format {
        Format::Plain(plain) if plain.prefix.is_empty() => format!("in {}", carrier.place),
        Format::Plain(plain) => format!("in {}, behind {:?}", carrier.place, plain.prefix),
        Format::List(list) => format!("in {}, any entry {} of its list", carrier.place, list.name),
    };
    vec![format!("over {:?}", message.signed_string.to_string()), place]
}

impl Timestamp {
    fn details(&self) -> String {
        let place = match &self.place {
            TimestampPlace::Text(place) => place.to_string(),
            TimestampPlace::Field(name) => format!("entry {name} of the signature"),
            TimestampPlace::Claim(name) => format!("claim {name}"),
        };
        let unit = match self.unit {
            TimestampUnit::Seconds => "seconds",
            TimestampUnit::Milliseconds => "milliseconds",
            TimestampUnit::Rfc3339 => "RFC 3339",
        };
        let published = self.tolerance_seconds.map_or(String::new(), |seconds| format!(", published {seconds}s"));
        format!("timestamp in {place}, {unit}; tolerance {}{published}", self.default_tolerance())
    }
}

impl EventIdSource {
    /// Where the id is in two or three words.
    pub fn summary(&self) -> String {
        match self {
            Self::One(part) => part.to_string(),
            Self::Parts(parts) => format!("{} parts", parts.len()),
            Self::Batch { .. } => "every item's".to_owned(),
        }
    }
}

impl Confidence {
    /// In the words of the files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Docs => "docs",
            Self::SdkSource => "sdk-source",
            Self::Secondary => "secondary",
            Self::Unverified => "unverified",
        }
    }

    /// In words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Docs => "the sender's documentation",
            Self::SdkSource => "the sender's own code",
            Self::Secondary => "third parties only",
            Self::Unverified => "common knowledge, or contradictory",
        }
    }
}
