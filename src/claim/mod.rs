//! The claim state machine: keys, lifetimes, records and the decisions on them.
//!
//! Pure: no I/O, no clock, no async. A record is one of three states, and [`decide()`] is the only place where one becomes
//! another. Expired records count as what they amount to ([`Record::standing`]), whether the sweep has been there or not.

mod accept;
mod decide;
mod key;
mod record;
#[cfg(test)]
mod tests;
mod text;
mod ttl;

pub use accept::{Acceptance, accept};
pub use decide::{Change, Claim, Claimed, Command, Confirm, Decision, Moment, Outcome, decide};
pub use key::{Key, KeyError, MAX_ID_BYTES, MAX_NAMESPACE_BYTES, Namespace, ROUTE_PREFIX};
pub use record::{Done, EventRef, Free, Held, Previous, Record, Standing};
pub use text::{
    Fingerprint, MAX_FINGERPRINT_BYTES, MAX_OWNER_BYTES, MAX_RESULT_BYTES, MAX_TOKEN_BYTES, MIN_TOKEN_BYTES, Owner,
    TextError, Token, WorkResult,
};
pub use ttl::{ConfirmedTtl, MAX_CONFIRMED_MS, MAX_PROCESSING_MS, ProcessingTtl, Timestamp, Ttl, TtlError};
