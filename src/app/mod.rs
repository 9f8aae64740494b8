//! A hand-over: the request for an app, sent once, and what came of it.
//!
//! The request is what was sent, byte for byte, to the app's own address ([`ForwardTo`]), with what we say of it
//! ([`Marks`]) and with a signature of ours where the app asks for one ([`SigningKey`]); [`request()`] puts it together, and
//! [`Apps`] sends it. What an [`Outcome`] means for an event is decided elsewhere, and so is whether there is another
//! attempt: nothing here is ever sent twice. A failure leaves nothing behind but a closed connection.

mod address;
mod marks;
mod request;
mod sending;
mod signing;

pub(crate) use address::is_bare;
pub use address::{ForwardTo, ForwardToError, RoutePath, RoutePathError};
pub use marks::{EventMarks, Marks, NO_EVENT_ID};
pub use request::request;
pub use sending::{Apps, Outcome};
pub use signing::{SigningKey, SigningKeyError};
