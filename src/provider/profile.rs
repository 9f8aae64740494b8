//! One sender's facts: the schema of `profiles/*.toml` and of `[provider.…]` in the config.

use super::{
    Acknowledgement, EventIdSource, Handshake, HandshakeAnswer, HandshakeFault, Redelivery, Retry, Signature,
    SignatureFault, StatusRange,
};
use http::StatusCode;
use serde::{Deserialize, Deserializer, de};
use std::time::Duration;

/// No sender waits longer for an answer: what is above is a slip of the pen.
const MAX_TIMEOUT_SECONDS: u64 = 3_600;
/// Clocks that are further apart are no clocks; a sender that resends old stamps does not restamp.
const MAX_TOLERANCE_SECONDS: u64 = 86_400;
/// The longest automatic window: with the quarter that is added to it, it still fits into the 90 days for which a
/// finished key may be remembered at most.
const MAX_AUTOMATIC_WINDOW_SECONDS: u64 = 72 * 86_400;

/// A sender, as its documentation describes it. Reading one checks it: a value of this type is consistent in itself.
///
/// What is absent is unknown. Only the title, the signature and the retries must be given; for a sender without ids,
/// `event_id` is left out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Profile {
    /// The name for people.
    pub title: String,
    /// How a request proves its origin.
    pub signature: Signature,
    /// `false` says that the author knows: the signature leaves the body, or a part of it, open to change. It must be
    /// written exactly where that is so.
    pub signs_body: Option<bool>,
    /// Whether the body differs between attempts at one event, so that its hash cannot stand for the event.
    #[serde(default)]
    pub body_changes: bool,
    /// Where the id is and what to know about it.
    pub event_id: Option<EventIdFacts>,
    /// Whether and for how long an event comes again.
    pub retry: Retry,
    /// How long the sender waits for an answer.
    pub timeout_seconds: Option<u64>,
    /// The largest body that the sender delivers.
    pub max_body_bytes: Option<u64>,
    /// The answers that the sender takes as success, where that is not any 2xx.
    #[serde(default)]
    pub success: Vec<StatusRange>,
    /// The answer to a queued event, for senders that want a particular one.
    pub acknowledgement: Option<Acknowledgement>,
    /// Answers after which the sender gives up on the event or switches the hook off.
    #[serde(default)]
    pub stop_statuses: Vec<StatusRange>,
    /// What the sender asks before it delivers.
    #[serde(default)]
    pub handshake: Vec<Handshake>,
    /// What else an operator should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// How well founded the facts are.
    pub grounds: Option<Grounds>,
    /// Where they were read.
    #[serde(default)]
    pub sources: Vec<String>,
}

/// The id and its pitfalls.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventIdFacts {
    /// Where it stands.
    pub source: EventIdSource,
    /// Whether a retry carries the same one. A sender of which it is known that it does not has no id to go by.
    #[serde(default)]
    pub stable: Stability,
    /// Within what it is unique, in words.
    pub scope: Option<String>,
    /// What has gone wrong with it elsewhere.
    #[serde(default)]
    pub pitfalls: Vec<String>,
}

/// What is known of an id over the attempts at one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stability {
    /// It stays.
    Yes,
    /// Nobody says.
    #[default]
    Unknown,
}

impl Stability {
    /// In the words of the files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Unknown => "unknown",
        }
    }
}

/// For each group of facts, the best source that it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grounds {
    /// For [`Profile::event_id`].
    pub event_id: Confidence,
    /// For [`Profile::signature`].
    pub signature: Confidence,
    /// For [`Profile::retry`].
    pub retry: Confidence,
    /// For [`Profile::timeout_seconds`].
    pub timeout: Confidence,
}

/// A kind of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// The sender's documentation.
    Docs,
    /// The sender's own library or sample code.
    SdkSource,
    /// Third parties only.
    Secondary,
    /// Common knowledge, or contradictory.
    Unverified,
}

/// Two facts of a profile contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileFault {
    /// The signature contradicts itself.
    #[error(transparent)]
    Signature(#[from] SignatureFault),
    /// Beyond what could be remembered.
    #[error("retry.automatic is longer than 72 days, more than can be remembered")]
    WindowTooLong,
    /// The sender would not wait at all.
    #[error("timeout_seconds is 0")]
    NoTimeout,
    /// Longer than any sender waits.
    #[error("timeout_seconds is more than an hour")]
    TimeoutTooLong,
    /// No check at all, in the clothes of one.
    #[error("tolerance_seconds is more than a day")]
    ToleranceTooLong,
    /// A handshake that cannot be meant.
    #[error(transparent)]
    Handshake(#[from] HandshakeFault),
    /// A token of the caller's would be signed with something else than a keyed hash.
    #[error("handshake {0:?} signs with the secret of signature.hmac, which there is not")]
    SignWithoutHmac(String),
    /// Nobody said that the body is open to change.
    #[error("the signature does not cover the body: signs_body = false must say that this is known")]
    BodyUnsigned,
    /// It is said, and not so.
    #[error("signs_body is for signatures that do not cover the body, as false; this one covers it")]
    BodySigned,
    /// The queue's own acknowledgement would be taken for a failure.
    #[error("success leaves 202 out: an acknowledgement must say what a queued event gets")]
    AcknowledgementNeeded,
    /// The sender would take it for a failure.
    #[error("acknowledgement.status {0} is not among success")]
    AcknowledgementUnsuccessful(u16),
    /// An acknowledgement that acknowledges nothing.
    #[error("the status of a fixed answer, {0}, is not a success (200 to 299)")]
    AcknowledgementStatus(u16),
    /// A body that nobody could read, or a type that cannot be sent.
    #[error("a fixed answer needs a content_type that is a header value, or no body")]
    AcknowledgementType,
}

impl Profile {
    /// Whether the id, if there is one, is covered by the signature ([`Signature::covers`]).
    pub fn event_id_is_signed(&self) -> Option<bool> {
        self.event_id.as_ref().map(|facts| self.signature.covers(&facts.source))
    }

    /// Whether the sender tries again by itself, for long enough to be relied on ([`Retry::unreliable_because`]).
    pub fn retries_automatically(&self) -> bool {
        self.retry.unreliable_because().is_none()
    }

    /// Whether this answer makes the sender give up or switch the hook off.
    pub fn stops_at(&self, status: StatusCode) -> bool {
        self.stop_statuses.iter().any(|range| range.contains(status))
    }

    /// Whether the sender takes this answer for success.
    pub fn succeeds_with(&self, status: StatusCode) -> bool {
        match self.success.as_slice() {
            [] => status.is_success(),
            ranges => ranges.iter().any(|range| range.contains(status)),
        }
    }

    /// How long the sender waits for an answer.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_seconds.map(Duration::from_secs)
    }

    fn faults(&self) -> Vec<ProfileFault> {
        let mut faults: Vec<_> = self.signature.faults().into_iter().map(ProfileFault::from).collect();
        match self.retry.automatic {
            Redelivery::Unlimited => faults.push(ProfileFault::WindowTooLong),
            Redelivery::WithinSeconds(span) if span > MAX_AUTOMATIC_WINDOW_SECONDS => {
                faults.push(ProfileFault::WindowTooLong);
            }
            Redelivery::Never | Redelivery::Unpublished | Redelivery::WithinSeconds(_) => {}
        }
        match self.timeout_seconds {
            Some(0) => faults.push(ProfileFault::NoTimeout),
            Some(seconds) if seconds > MAX_TIMEOUT_SECONDS => faults.push(ProfileFault::TimeoutTooLong),
            Some(_) | None => {}
        }
        let tolerated = self.signature.timestamp().and_then(|timestamp| timestamp.tolerance_seconds);
        if tolerated.is_some_and(|seconds| seconds > MAX_TOLERANCE_SECONDS) {
            faults.push(ProfileFault::ToleranceTooLong);
        }
        faults.extend(self.body_fault());
        faults.extend(self.acknowledgement_faults());
        faults.extend(self.handshake.iter().flat_map(|handshake| self.handshake_faults(handshake)));
        faults
    }

    /// What is said about the body is held against what the signature does.
    fn body_fault(&self) -> Option<ProfileFault> {
        match (self.signature.covers_body(), self.signs_body) {
            (true, None) | (false, Some(false)) => None,
            (true, Some(_)) => Some(ProfileFault::BodySigned),
            (false, None | Some(true)) => Some(ProfileFault::BodyUnsigned),
        }
    }

    fn acknowledgement_faults(&self) -> Vec<ProfileFault> {
        let Some(acknowledgement) = &self.acknowledgement else {
            let lacking = !self.succeeds_with(StatusCode::ACCEPTED);
            return lacking.then_some(ProfileFault::AcknowledgementNeeded).into_iter().collect();
        };
        let mut faults: Vec<_> = acknowledgement.faults().collect();
        let status = acknowledgement.status;
        if faults.is_empty() && !self.succeeds_with(acknowledgement.status_code()) {
            faults.push(ProfileFault::AcknowledgementUnsuccessful(status));
        }
        faults
    }

    fn handshake_faults(&self, handshake: &Handshake) -> Vec<ProfileFault> {
        let mut faults: Vec<_> =
            handshake.faults(self.signature.place().as_ref()).into_iter().map(ProfileFault::from).collect();
        match &handshake.answer {
            HandshakeAnswer::Fixed(answer) => faults.extend(answer.faults()),
            HandshakeAnswer::Sign(_) if !matches!(self.signature, Signature::Hmac(_)) => {
                faults.push(ProfileFault::SignWithoutHmac(handshake.name.clone()));
            }
            HandshakeAnswer::Sign(_) | HandshakeAnswer::Text(_) | HandshakeAnswer::Pass => {}
        }
        faults
    }
}

/// The derived reader fills the fields, then the whole is checked; all contradictions are reported at once.
impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The name resolves to the inherent function that `remote = "Self"` derives, not to this one.
        let profile = Self::deserialize(deserializer)?;
        let faults: Vec<String> = profile.faults().iter().map(ToString::to_string).collect();
        match faults.is_empty() {
            true => Ok(profile),
            false => Err(de::Error::custom(faults.join("; "))),
        }
    }
}
