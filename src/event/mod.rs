//! What is kept of events: the entries of the event log.
//!
//! An entry says which event it is, where it stands, and how its hand-overs went. What becomes of an entry is decided here:
//! when it is accepted ([`Event::accepted`]), handed over ([`Event::begin`], [`Event::finish`]), queued anew
//! ([`Event::requeue`]), or kept after a failure ([`Event::again`]). This module never does I/O, asks no clock and makes no
//! random bits: it takes them. So nothing of it can fail halfway; how an entry lies on the disk is the store's part.
//!
//! - [`EventId`]: our own name for an event, the same over all attempts at it.
//! - [`Event`]: an entry; [`State`]: where it stands; [`Attempt`]: one of its hand-overs.
//! - [`Arrival`]: an event for a queue; [`Passed`]: one that was handled while its sender waited; [`Failure`]: one whose
//!   hand-over failed, of which the first makes an entry and each later one changes it.
//! - [`Content`]: what was sent, byte for byte.
//! - [`RetryPolicy`]: by what rule attempts follow each other.

mod arrival;
mod attempt;
mod cause;
mod content;
mod entry;
mod failure;
mod id;
mod life;
mod retry;
mod state;

pub use arrival::{Arrival, Passed};
pub use attempt::{Attempt, AttemptOutcome, MAX_LOG, Next};
pub use cause::Cause;
pub use content::{Content, HeaderLine};
pub(crate) use entry::cut;
pub use entry::{Delivery, Event, MAX_APP_BYTES, MAX_EXCERPT_BYTES};
pub use failure::Failure;
pub use id::EventId;
pub use life::{Beginning, How};
pub use retry::{FEW, RetryPolicy};
pub use state::{Due, DueLane, State, StateName};
