//! What a sender's documentation says, as data, and the decisions that follow from it: is this request authentic, which
//! event is it, how long must that event be remembered.
//!
//! Nothing here reads a clock, a file or a socket, and nothing waits. `now`, the header map and the body come in as
//! arguments; the answers go out as values. So every case of the field is a row of a table, and a log line that carries
//! the same arguments replays the same decision.
//!
//! In reading order:
//!
//! * [`Profile`]: one sender's facts, deserialised from TOML and checked in the same step. The built-in ones and a
//!   `[provider.my-partner]` of the config are the same type read by the same code; [`Profiles`] holds both.
//! * [`Signature`]: the building block that a profile picks and fills in. Most senders sign a string that can be
//!   described ([`Message`]) and write the result somewhere ([`Carrier`]); they differ in what makes it, an HMAC, a plain
//!   hash or the private half of a key. The others send a signed token ([`Jwt`]) or the secret itself.
//! * [`Request`]: what a sender sent, and the text that stands in a [`Place`] of it.
//! * [`Secret`], [`Terms`] and [`Verifier`]: secrets, and what else a route brings to its profile, are judged once, at
//!   load, where a person is looking; from then on [`Verifier::verify`] cannot fail, only answer a [`Verification`].
//! * [`EventIdSource`] and [`EventId`]: where the id stands, in one text, in several or in the items of a batch, and how any
//!   bytes a sender calls an id become a claim key.
//! * [`Handshake`]: what a sender asks before it delivers, how that is told from an event, and what it gets.
//! * [`Lifetimes`]: the numbers of a route that follow from its sender, each with its cause.
//! * `description`: a profile in words, derived from the same values.
//!
//! Left out on purpose: a parsed JSON document. Parsing into a tree rounds integers above 2^53, forgets which of two
//! equal keys came first, and costs memory in proportion to a body that nobody has authenticated.

mod acknowledgement;
mod batch;
mod carrier;
mod described;
mod description;
mod event_id;
mod form;
mod format;
mod gzip;
mod handshake;
mod hash;
mod header;
mod hmac;
mod id_part;
mod jwt;
mod keys;
mod lifetimes;
mod message;
mod pieces;
mod place;
mod pointer;
mod profile;
mod public_key;
mod rejection;
mod request;
mod retry;
mod rfc3339;
mod secret;
mod shared_secret;
mod signature;
mod signed_string;
mod sought;
mod status;
mod table;
mod timestamp;
mod url_ports;
mod verification;

#[cfg(test)]
mod tests;

pub use self::acknowledgement::Acknowledgement;
pub use self::batch::{BatchArray, MAX_BATCH_ITEMS};
pub use self::carrier::{Carrier, CarrierError, SignaturePlace};
pub use self::described::MAX_SIGNED_ITEMS;
pub use self::event_id::{
    EventId, EventIdSource, EventIdSourceError, Identity, MAX_ID_PARTS, MAX_KEY_BYTES, body_key_text,
};
pub use self::form::MAX_FORM_FIELDS;
pub use self::format::{Encoding, Format, List, MAX_LIST_ENTRIES, Plain, Separator, SeparatorError};
pub use self::gzip::Undecodable;
pub use self::handshake::{
    Handshake, HandshakeAnswer, HandshakeCondition, HandshakeFault, HandshakeMethod, HandshakeReply, MAX_ECHO_BYTES,
    MAX_TOKEN_BYTES, MAX_UNVERIFIED_BODY_BYTES, SignedToken, reply_unsigned, reply_unverified, reply_verified,
};
pub use self::hash::Hash;
pub use self::header::{Header, HeaderNameError};
pub use self::hmac::{Algorithm, Base64Key, Hmac, KeyForm};
pub use self::id_part::{IdPart, IdPartError, IdPartKeys};
pub use self::jwt::{Jwt, JwtAlgorithm};
pub use self::lifetimes::{Caused, Lifetimes, PROCESSING_FACTOR};
pub use self::message::{BodyHash, Message};
pub use self::place::Place;
pub use self::pointer::{MAX_POINTER_STEPS, Pointer, PointerError};
pub use self::profile::{Confidence, EventIdFacts, Grounds, Profile, ProfileFault, Stability};
pub use self::public_key::{ChosenHash, EcdsaP256, Ed25519, Rsa, RsaAlgorithm, RsaHash};
pub use self::rejection::Rejection;
pub use self::request::{Request, Unreadable};
pub use self::retry::{Redelivery, Retry};
pub use self::secret::{MAX_SECRET_BYTES, Secret, SecretError, SecretFault};
pub use self::shared_secret::{Basic, Token};
pub use self::signature::{Signature, SignatureFault};
pub use self::signed_string::{SignedString, SignedStringError};
pub use self::sought::MissingId;
pub use self::status::{StatusRange, StatusRangeError};
pub use self::table::{DefineError, Profiles};
pub use self::timestamp::{Timestamp, TimestampPlace, TimestampUnit, Tolerance, UnixSeconds};
pub use self::url_ports::UrlPorts;
pub use self::verification::{MAX_SECRETS, Terms, Verification, Verifier, VerifierError};
