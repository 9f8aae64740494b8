//! What a signature is over: the signed bytes, and what is checked beside them.

use super::{Place, SignatureFault, SignedString, Timestamp, TimestampPlace, UrlPorts};
use serde::Deserialize;

/// The keys of a scheme's table that describe what is signed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Message {
    /// The bytes that are signed.
    pub signed_string: SignedString,
    /// The timestamp, for senders that have one.
    pub timestamp: Option<Timestamp>,
    /// A hash of the body inside the signed URL.
    pub body_hash: Option<BodyHash>,
    /// Which spellings of our URL the sender may have signed.
    #[serde(default)]
    pub url_ports: UrlPorts,
}

/// `{ query = "bodySHA256", required_unless_form = true }`: a parameter of the query string that holds the SHA-256 of the
/// body in hexadecimal digits of either case. Where it is present, it must be right.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyHash {
    /// The parameter's name, decoded.
    pub query: String,
    /// Whether it may be absent where the signature covers the body by itself: from a form, and from a request without a
    /// body.
    #[serde(default)]
    pub required_unless_form: bool,
}

impl Message {
    /// What the parts say about each other.
    pub(super) fn faults(&self) -> Vec<SignatureFault> {
        let mut faults = Vec::new();
        match &self.timestamp {
            None if self.signed_string.covers_timestamp() => faults.push(SignatureFault::TimestampUndefined),
            Some(timestamp) if !self.covers_stamp(timestamp) => faults.push(SignatureFault::TimestampUnsigned),
            Some(_) | None => {}
        }
        if self.timestamp.as_ref().is_some_and(|timestamp| matches!(timestamp.place, TimestampPlace::Claim(_))) {
            faults.push(SignatureFault::ClaimOutsideToken);
        }
        if self.url_ports != UrlPorts::Exact && !self.signed_string.needs_public_url() {
            faults.push(SignatureFault::PortsWithoutUrl);
        }
        if self.body_hash.is_some() && !self.signed_string.covers_query() {
            faults.push(SignatureFault::BodyHashUnsigned);
        }
        faults
    }

    fn covers_stamp(&self, timestamp: &Timestamp) -> bool {
        let in_place = match &timestamp.place {
            // A list of signed headers that left the timestamp's out would be refused.
            TimestampPlace::Text(Place::Header(_)) if self.signed_string.lists_headers() => true,
            TimestampPlace::Text(place) => self.covers_place(place),
            TimestampPlace::Field(_) | TimestampPlace::Claim(_) => false,
        };
        in_place || self.signed_string.covers_timestamp()
    }

    /// Whether a change of any byte of the body is noticed.
    pub(super) fn covers_body(&self) -> bool {
        let by_hash = self.body_hash.as_ref().is_some_and(|hash| {
            // A form is then covered by its fields, or not at all.
            !hash.required_unless_form || self.signed_string.covers_form()
        });
        by_hash || self.signed_string.covers_body()
    }

    /// Whether the text in this place is among what is signed.
    pub(super) fn covers_place(&self, place: &Place) -> bool {
        match place {
            Place::Header(header) => {
                let is_stamp = self.timestamp.as_ref().is_some_and(|timestamp| timestamp.is_in(place));
                let covers_stamp = self.signed_string.covers_timestamp() || self.signed_string.lists_headers();
                self.signed_string.covers_header(header) || (is_stamp && covers_stamp)
            }
            Place::Pointer(pointer) => self.covers_body() || self.signed_string.covers_pointer(pointer),
            Place::Form(field) => self.covers_body() || self.signed_string.covers_field(field),
            Place::Query(parameter) => self.signed_string.covers_parameter(parameter),
        }
    }
}
