//! What can be set about the proxy: where senders arrive, and the routes that they arrive at.
//!
//! A route is complete: what its config leaves open has been filled in from the provider's profile. Its secrets are not
//! here: the verifier has absorbed them.

mod network;
mod public_url;

use std::net::SocketAddr;
use std::time::Duration;

pub use network::{Network, NetworkError};
pub use public_url::{PublicUrl, PublicUrlError};

use crate::app::{ForwardTo, RoutePath, SigningKey};
use crate::claim::{ConfirmedTtl, Namespace, ProcessingTtl};
use crate::ledger::OnStoreFailure;
use crate::provider::{Acknowledgement, EventIdSource, Handshake, Secret, StatusRange, Verifier};
use crate::server::TlsFiles;

/// The settings of `[hooks]`.
#[derive(Debug, Clone)]
pub struct HooksSettings {
    /// The TCP addresses where senders arrive; never empty when there are routes.
    pub listen: Vec<SocketAddr>,
    /// The address that providers know us by, for signatures over the URL; the verifiers of the routes have absorbed
    /// it.
    pub public_url: Option<PublicUrl>,
    /// Peers whose word on the sender's address counts.
    pub trusted_proxies: Vec<Network>,
    /// TLS on every address.
    pub tls: Option<TlsFiles>,
}

/// The settings of one `[[route]]`. What concerns the delivery of queued events is apart ([`crate::delivery`] has it for each
/// route).
#[derive(Debug, Clone)]
pub struct RouteSettings {
    /// The name in logs and metrics; no two routes share it.
    pub name: Box<str>,
    /// Where its claims live: `route:` and the name, or what several routes share.
    pub namespace: Namespace,
    /// What a request's path is held against; no two routes share it.
    pub path: RoutePath,
    /// Who sends, and how it is known.
    pub sender: SenderSettings,
    /// What the sender asks before it delivers.
    pub handshakes: HandshakeSettings,
    /// The app.
    pub forward_to: ForwardTo,
    /// When the sender is answered.
    pub mode: Mode,
    /// How long the app may take.
    pub max_duration: Duration,
    /// How long an attempt's claim lives; never below `max_duration`.
    pub processing_ttl: ProcessingTtl,
    /// How long a finished event is remembered.
    pub confirmed_ttl: ConfirmedTtl,
    /// What happens to an event when the store cannot be asked.
    pub on_store_failure: OnStoreFailure,
    /// How long the sender is kept waiting for the app, counted from its arrival.
    pub answer_within: Duration,
    /// What a duplicate of an unfinished attempt gets.
    pub in_flight: InFlight,
    /// What a duplicate of a finished event gets.
    pub duplicate_response: DuplicateResponse,
    /// What a duplicate gets in the place of 200, from a sender that takes 200 for a failure.
    pub duplicate_answer: Option<Acknowledgement>,
    /// What becomes of a claim when nobody knows what the app did.
    pub on_unknown_outcome: OnUnknownOutcome,
    /// What becomes of an event without an id.
    pub on_missing_id: OnMissingId,
    /// The largest body taken, in bytes.
    pub max_body_bytes: u64,
    /// The app's answers that this sender takes as "stop sending", and does not get; none with
    /// `relay_dangerous_status = true`.
    pub dangerous_statuses: Vec<StatusRange>,
    /// Which failed events are kept, because their sender will not send them again.
    pub keep_failures: KeepFailures,
    /// Whether the history has also the events that went well while their sender waited. Queued ones are kept in any case
    /// until they are delivered.
    pub keep_passed: bool,
    /// What every attempt is signed with, beside the sender's own signature; `None` where the app does not ask for it.
    pub signing_key: Option<SigningKey>,
}

impl RouteSettings {
    /// The provider that an event is shown to come from once it has passed, where anything verifies the route.
    pub(super) fn verified_by(&self) -> Option<&str> {
        self.sender.verifier.as_ref().and(self.sender.provider.as_deref())
    }
}

/// When a sender is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// When the app has answered, with its answer.
    Sync,
    /// When the event is stored and synced. While it cannot be, and the route is to stay open, it is as if the route were
    /// sync; so the settings for sync routes are there as well, as far as they make sense with their defaults.
    Queue {
        /// What an accepted event gets, and each repeat of it. Its status is one that the sender takes for success.
        acknowledge: Acknowledgement,
    },
}

/// Which failed events are kept.
#[derive(Debug, Clone)]
pub enum KeepFailures {
    /// None: the sender comes again by itself, or the route says so.
    Never,
    /// Those whose sender is told one of these statuses, after which it gives up.
    Stopped(Vec<StatusRange>),
    /// All: the sender does not promise to come again.
    Always,
}

/// Who sends to a route, and how it is known.
#[derive(Debug, Clone)]
pub struct SenderSettings {
    /// The name of the profile; always there with a verifier.
    pub provider: Option<Box<str>>,
    /// What every request must pass. `None` is `verify = "none"`: anyone who reaches the path is believed.
    pub verifier: Option<Verifier>,
    /// Where the id is; `None` where the sender has none.
    pub event_id: Option<EventIdSource>,
}

/// What a sender asks before it delivers.
#[derive(Debug, Clone, Default)]
pub struct HandshakeSettings {
    /// The profile's.
    pub known: Box<[Handshake]>,
    /// The text that the sender was given to show that it is the sender: `verify_token`.
    pub token: Option<Secret>,
}

/// What a duplicate of an unfinished attempt gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InFlight {
    /// The outcome of that attempt, if it comes in time.
    Wait,
    /// 503 at once.
    Busy,
}

/// What a duplicate of a finished event gets; 2xx either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicateResponse {
    /// A plain 200 of our own.
    Plain,
    /// The app's answer again, if it was short enough to be kept.
    Replay,
}

/// What becomes of a claim when nobody knows what the app did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnUnknownOutcome {
    /// It is released: the sender's next try is handed over.
    Release,
    /// It stays until the processing TTL is over.
    Hold,
}

/// What becomes of an event without an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMissingId {
    /// It is forwarded unguarded, and counted.
    Forward,
    /// It is refused with 422.
    Reject,
    /// The hash of its body stands in, for 10 minutes.
    Hash,
}
