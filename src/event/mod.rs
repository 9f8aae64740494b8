//! What is kept of events: the entries of the event log.
//!
//! An entry says which event it is, what was sent, and how its hand-over went. What becomes of an entry when another
//! hand-over fails is decided here ([`Event::again`]). This module never does I/O, asks no clock and makes no random bits:
//! it takes them. So nothing of it can fail halfway; how an entry lies on the disk is the store's part.
//!
//! - [`EventId`]: our own name for an event, the same over all attempts at it.
//! - [`Event`]: an entry; [`Failure`]: a hand-over that failed, of which the first makes an entry and each later one
//!   changes it.
//! - [`Content`]: what was sent, byte for byte.
//! - [`RetryPolicy`]: by what rule attempts follow each other.

mod content;
mod entry;
mod id;
mod retry;

pub use content::{Content, HeaderLine};
pub use entry::{Cause, Delivery, Event, Failure, MAX_APP_BYTES, MAX_EXCERPT_BYTES};
pub use id::EventId;
pub use retry::RetryPolicy;
