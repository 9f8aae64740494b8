//! One sender's facts: the schema of `profiles/*.toml` and of `[provider.…]` in the config.

use super::{EventIdSource, Redelivery, Retry, Signature, SignatureFault, StatusRange};
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Deserializer, de};
use std::time::Duration;

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
    /// Where the id is and what to know about it.
    pub event_id: Option<EventIdFacts>,
    /// Whether and for how long an event comes again.
    pub retry: Retry,
    /// How long the sender waits for an answer.
    pub timeout_seconds: Option<u64>,
    /// The largest body that the sender delivers.
    pub max_body_bytes: Option<u64>,
    /// The answer to a queued event, for senders that want a particular one.
    pub acknowledgement: Option<Acknowledgement>,
    /// Answers after which the sender gives up on the event or switches the hook off.
    #[serde(default)]
    pub stop_statuses: Vec<StatusRange>,
    /// What the sender asks before it delivers.
    #[serde(default)]
    pub handshake: Handshake,
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
    /// Within what it is unique, in words.
    pub scope: Option<String>,
    /// What has gone wrong with it elsewhere.
    #[serde(default)]
    pub pitfalls: Vec<String>,
}

/// A success answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acknowledgement {
    /// A 2xx status.
    pub status: u16,
    /// The body's type; without one no body is sent.
    pub content_type: Option<String>,
    /// The body.
    #[serde(default)]
    pub body: String,
}

/// What a sender asks of an endpoint before it delivers. Kinds are added with the code that answers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handshake {
    /// Nothing; test events look like any other.
    #[default]
    None,
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
    /// An acknowledgement that acknowledges nothing.
    #[error("acknowledgement.status {0} is not a success (200 to 299)")]
    AcknowledgementStatus(u16),
    /// A body that nobody could read, or a type that cannot be sent.
    #[error("acknowledgement needs a content_type that is a header value, or no body")]
    AcknowledgementType,
}

impl Profile {
    /// Whether the id, if there is one, is covered by the signature ([`Signature::covers`]).
    pub fn event_id_is_signed(&self) -> Option<bool> {
        self.event_id.as_ref().map(|facts| self.signature.covers(&facts.source))
    }

    /// Whether the sender tries again by itself. Where it never does, a failed event must be kept here or it is lost; a
    /// sender that does not say is taken for one that does not promise.
    pub fn retries_automatically(&self) -> bool {
        match self.retry.automatic {
            Redelivery::Never | Redelivery::Unpublished | Redelivery::WithinSeconds(0) => false,
            Redelivery::Unlimited | Redelivery::WithinSeconds(_) => true,
        }
    }

    /// Whether this answer makes the sender give up or switch the hook off.
    pub fn stops_at(&self, status: StatusCode) -> bool {
        self.stop_statuses.iter().any(|range| range.contains(status))
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
        if self.timeout_seconds == Some(0) {
            faults.push(ProfileFault::NoTimeout);
        }
        if let Some(acknowledgement) = &self.acknowledgement {
            faults.extend(acknowledgement.faults());
        }
        faults
    }
}

impl Acknowledgement {
    fn faults(&self) -> impl Iterator<Item = ProfileFault> {
        let status = (!(200..=299).contains(&self.status)).then_some(ProfileFault::AcknowledgementStatus(self.status));
        let readable = match &self.content_type {
            Some(content_type) => HeaderValue::from_str(content_type).is_ok(),
            None => self.body.is_empty(),
        };
        status.into_iter().chain((!readable).then_some(ProfileFault::AcknowledgementType))
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
