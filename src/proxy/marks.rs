//! What every request for an app says in our name, an event's as well as a handshake's: when it came, what we call it,
//! and whether it is its sender's.

use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue};
use humantime::format_rfc3339_millis;
use tokio::time::Instant;

use super::settings::RouteSettings;
use crate::event::EventId as DeliveryId;

pub(super) const DELIVERY: HeaderName = HeaderName::from_static("onced-delivery");
const RECEIVED_AT: HeaderName = HeaderName::from_static("onced-received-at");
const VERIFIED: HeaderName = HeaderName::from_static("onced-verified");

/// What is known of a request that goes to an app.
#[derive(Debug)]
pub(super) struct Marks {
    /// Our own name for it.
    pub(super) delivery: DeliveryId,
    /// When it arrived.
    pub(super) arrived: Instant,
    /// The wall clock, now.
    pub(super) now: SystemTime,
    /// Whether it is shown to be its sender's.
    pub(super) verified: bool,
}

impl Marks {
    /// Adds them to the headers.
    pub(super) fn put(&self, headers: &mut HeaderMap, route: &RouteSettings) {
        // A wall clock that was never set stands at the epoch, and nothing before it can be written down.
        let arrived = self.now.checked_sub(self.arrived.elapsed()).map_or(self.now, |at| at.max(UNIX_EPOCH));
        say(headers, DELIVERY, self.delivery.to_string());
        say(headers, RECEIVED_AT, format_rfc3339_millis(arrived).to_string());
        if let Some(provider) = route.sender.provider.as_deref().filter(|_| self.verified) {
            say(headers, VERIFIED, provider);
        }
    }
}

/// Adds a header of ours; what cannot stand in one is left out.
pub(super) fn say(headers: &mut HeaderMap, name: HeaderName, value: impl AsRef<[u8]>) {
    if let Ok(value) = HeaderValue::from_bytes(value.as_ref()) {
        headers.insert(name, value);
    }
}
