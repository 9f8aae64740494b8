//! What every request for an app says in our name: an event, and with fewer words a handshake.

use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue};
use humantime::format_rfc3339_millis;

use crate::claim::Key;
use crate::event::EventId;

const ATTEMPT: HeaderName = HeaderName::from_static("onced-attempt");
const DEGRADED: HeaderName = HeaderName::from_static("onced-degraded");
const DELIVERY: HeaderName = HeaderName::from_static("onced-delivery");
const EVENT_ID: HeaderName = HeaderName::from_static("onced-event-id");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const RECEIVED_AT: HeaderName = HeaderName::from_static("onced-received-at");
const SEQUENCE: HeaderName = HeaderName::from_static("onced-sequence");
const VERIFIED: HeaderName = HeaderName::from_static("onced-verified");

/// Why an event without an identity is unguarded, for the app and for the metrics.
pub const NO_EVENT_ID: &str = "no_event_id";

/// What is said of a request that goes to an app.
#[derive(Debug, Clone)]
pub struct Marks<'m> {
    /// Our own name for it.
    pub delivery: EventId,
    /// When it arrived.
    pub received_at: SystemTime,
    /// The provider that it is shown to come from.
    pub verified_by: Option<&'m str>,
    /// What only an event has.
    pub event: Option<EventMarks<'m>>,
}

/// What is said of an event.
#[derive(Debug, Clone)]
pub struct EventMarks<'m> {
    /// The sender's id, where it has one.
    pub sender_id: Option<&'m [u8]>,
    /// The number of the commit that accepted it, where one did.
    pub sequence: Option<u64>,
    /// Which attempt at the event it is.
    pub attempt: u32,
    /// Its key; `None` for an event without an identity.
    pub key: Option<&'m Key>,
    /// Why nothing guards it against being handed over twice, where that is not for want of an identity.
    pub degraded: Option<&'m str>,
}

impl Marks<'_> {
    /// Adds them to the headers.
    pub(super) fn put(&self, headers: &mut HeaderMap) {
        say(headers, DELIVERY, self.delivery.to_string());
        // A wall clock that was never set stands at the epoch, and nothing before it can be written down.
        say(headers, RECEIVED_AT, format_rfc3339_millis(self.received_at.max(UNIX_EPOCH)).to_string());
        if let Some(provider) = self.verified_by {
            say(headers, VERIFIED, provider);
        }
        if let Some(event) = &self.event {
            event.put(headers);
        }
    }

    /// What our signature calls it: the name of its key, which is the same over all attempts; never what the sender calls
    /// it in a header that its own signature may not cover.
    pub(super) fn name(&self) -> HeaderValue {
        let of_key = self.event.as_ref().and_then(EventMarks::name);
        of_key.unwrap_or_else(|| HeaderValue::try_from(self.delivery.to_string()).expect("digits are visible ASCII"))
    }
}

impl EventMarks<'_> {
    fn put(&self, headers: &mut HeaderMap) {
        if let Some(id) = self.sender_id {
            say(headers, EVENT_ID, id);
        }
        if let Some(sequence) = self.sequence {
            headers.insert(SEQUENCE, sequence.into());
        }
        headers.insert(ATTEMPT, self.attempt.into());
        if let Some(reason) = self.degraded.or(self.key.is_none().then_some(NO_EVENT_ID)) {
            say(headers, DEGRADED, reason);
        }
        if let (Some(name), false) = (self.name(), headers.contains_key(IDEMPOTENCY_KEY)) {
            headers.insert(IDEMPOTENCY_KEY, name);
        }
    }

    fn name(&self) -> Option<HeaderValue> {
        let key = self.key?;
        HeaderValue::try_from(format!("{}:{}", key.namespace(), key.id()).into_bytes()).ok()
    }
}

/// Adds a header of ours; what cannot stand in one is left out.
fn say(headers: &mut HeaderMap, name: HeaderName, value: impl AsRef<[u8]>) {
    if let Ok(value) = HeaderValue::from_bytes(value.as_ref()) {
        headers.insert(name, value);
    }
}
