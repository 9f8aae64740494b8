//! What senders ask before they deliver: an echo, a proof that we hold the secret, or just an answer.
//!
//! A profile describes how such a request is told from an event and what it gets; what comes of it ([`reply`]) is a
//! [`HandshakeReply`], and no state. A handshake is never an event: it is not claimed, and asked again it is answered again.
//!
//! Two of them are dangerous by their nature. One that echoes a text would let anybody have any page served from our
//! address, so the text is bounded, and its answer is never anything but plain text. One that signs a text of the caller's
//! choice could be made to sign an event; so it is answered after verification only, and signs nothing but what looks like
//! a token ([`MAX_TOKEN_BYTES`]).

mod reply;

pub use self::reply::{
    HandshakeReply, MAX_ECHO_BYTES, MAX_TOKEN_BYTES, MAX_UNVERIFIED_BODY_BYTES, reply_unsigned, reply_unverified,
    reply_verified,
};

use super::{Acknowledgement, Place};
use serde::Deserialize;
use std::fmt;

/// One kind of question, a `[[handshake]]` of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handshake {
    /// What the sender calls it.
    pub name: String,
    /// How it comes.
    pub method: HandshakeMethod,
    /// What tells it from others; all must hold.
    #[serde(default)]
    pub when: Vec<HandshakeCondition>,
    /// Whether a POST is checked after verification. A GET or HEAD never carries a signature.
    #[serde(default = "yes")]
    pub verified: bool,
    /// Where a text stands that must be the route's `verify_token`. The app is asked where the route has none.
    pub token: Option<Place>,
    /// What it gets.
    pub answer: HandshakeAnswer,
}

fn yes() -> bool {
    true
}

/// The methods in which senders ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HandshakeMethod {
    /// Like an event.
    Post,
    /// With its question in the query.
    Get,
    /// Without a question.
    Head,
}

/// `{ place = { pointer = "/type" }, equals = "ping" }`, `{ place = … }` for "there is a text", or `{ place = …,
/// absent = true }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandshakeCondition {
    /// What is looked at.
    pub place: Place,
    /// The text that must stand there, byte for byte.
    pub equals: Option<String>,
    /// Whether nothing at all may stand there.
    #[serde(default)]
    pub absent: bool,
}

/// What a handshake gets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandshakeAnswer {
    /// 200 and the text that stands there.
    Text(Place),
    /// Always the same.
    Fixed(Acknowledgement),
    /// A text and its HMAC under the secret that verified the request.
    Sign(SignedToken),
    /// What the app says. The request goes there as it is, and its answer comes back.
    Pass,
}

/// 200 and a JSON object of a text and its HMAC as hex, made with the hash function of the profile's signature.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedToken {
    /// Where the text stands.
    pub text: Place,
    /// The key that it gets.
    pub text_key: String,
    /// The key that its HMAC gets.
    pub mac_key: String,
}

/// A handshake cannot be meant like this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeFault {
    /// Every event would be one.
    #[error("handshake {0:?} needs a condition: every event would be one")]
    Unconditional(String),
    /// There is no body to look into.
    #[error("handshake {0:?} looks into the body of a GET or HEAD")]
    NoBody(String),
    /// Nothing may stand there and be this.
    #[error("handshake {0:?} has a condition with both equals and absent")]
    EqualsAbsent(String),
    /// A POST is known by its signature.
    #[error("handshake {0:?}: a token is for GET; a POST is verified")]
    TokenOfPost(String),
    /// A GET has no signature to speak of.
    #[error("handshake {0:?}: verified is for POST")]
    UnverifiedGet(String),
    /// Whoever leaves the signature out would get more than the app's or a fixed answer.
    #[error(
        "handshake {0:?}: an unverified POST needs the condition that the signature is absent, and can be passed or get a \
         fixed answer"
    )]
    UnverifiedPost(String),
    /// There is no secret to sign with before verification.
    #[error("handshake {0:?}: sign is for a verified POST")]
    SignUnverified(String),
    /// A HEAD has no body.
    #[error("handshake {0:?}: a HEAD gets a fixed answer without a body, or is passed")]
    BodyOfHead(String),
}

impl Handshake {
    /// What cannot be meant. `signature` is the place that a signature stands in, if that is one place.
    pub(super) fn faults(&self, signature: Option<&Place>) -> Vec<HandshakeFault> {
        use HandshakeFault as Fault;
        let name = || self.name.clone();
        let mut faults = Vec::new();
        let mut refuse = |wrong: bool, fault: fn(String) -> Fault| wrong.then(|| faults.push(fault(name())));
        let is_post = self.method == HandshakeMethod::Post;
        let signs = matches!(self.answer, HandshakeAnswer::Sign(_));
        let echoes = matches!(self.answer, HandshakeAnswer::Text(_));
        let sends_body = matches!(&self.answer, HandshakeAnswer::Fixed(answer) if !answer.body.is_empty());
        let absent = |place: &Place| self.when.iter().any(|condition| condition.absent && condition.place == *place);
        let without_signature = signature.is_some_and(absent);
        refuse(is_post && self.when.is_empty(), Fault::Unconditional);
        refuse(!is_post && self.places().any(is_in_body), Fault::NoBody);
        refuse(self.when.iter().any(|condition| condition.absent && condition.equals.is_some()), Fault::EqualsAbsent);
        refuse(is_post && self.token.is_some(), Fault::TokenOfPost);
        refuse(!is_post && !self.verified, Fault::UnverifiedGet);
        refuse(is_post && !self.verified && (!without_signature || echoes), Fault::UnverifiedPost);
        refuse(signs && (!is_post || !self.verified), Fault::SignUnverified);
        refuse(self.method == HandshakeMethod::Head && (echoes || sends_body), Fault::BodyOfHead);
        faults
    }

    /// Every place that is looked at.
    fn places(&self) -> impl Iterator<Item = &Place> {
        let answered = match &self.answer {
            HandshakeAnswer::Text(place) | HandshakeAnswer::Sign(SignedToken { text: place, .. }) => Some(place),
            HandshakeAnswer::Fixed(_) | HandshakeAnswer::Pass => None,
        };
        self.when.iter().map(|condition| &condition.place).chain(&self.token).chain(answered)
    }
}

fn is_in_body(place: &Place) -> bool {
    match place {
        Place::Pointer(_) | Place::Form(_) => true,
        Place::Header(_) | Place::Query(_) => false,
    }
}

impl fmt::Display for HandshakeMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Post => "POST",
            Self::Get => "GET",
            Self::Head => "HEAD",
        })
    }
}

impl fmt::Display for HandshakeCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.equals, self.absent) {
            (_, true) => write!(f, "no {}", self.place),
            (Some(text), false) => write!(f, "{} is {text:?}", self.place),
            (None, false) => write!(f, "there is {}", self.place),
        }
    }
}

impl fmt::Display for HandshakeAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(place) => write!(f, "answered with the text of {place}"),
            Self::Fixed(answer) => write!(f, "answered with {answer}"),
            Self::Sign(sign) => write!(f, "answered with the text of {} and its HMAC", sign.text),
            Self::Pass => f.write_str("passed on to the app, unclaimed"),
        }
    }
}
