//! What can be set about the proxy: where senders arrive, and the routes that they arrive at.
//!
//! What is `None` here was not set, and follows from the provider.

mod event_id;
mod network;
mod secret;
mod tolerance;
mod url;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub use event_id::{EventIdSource, JsonPointer, JsonPointerError};
pub use network::{Network, NetworkError};
pub use secret::{SecretText, SecretTextError};
pub use tolerance::{Tolerance, ToleranceError};
pub use url::{ForwardTo, ForwardToError, PublicUrl, PublicUrlError, RoutePath, RoutePathError};

use crate::claim::{ConfirmedTtl, Namespace, ProcessingTtl};
use crate::ledger::OnStoreFailure;

/// The settings of `[hooks]`.
#[derive(Debug, Clone)]
pub struct HooksSettings {
    /// The TCP addresses where senders arrive; never empty when there are routes.
    pub listen: Vec<SocketAddr>,
    /// The address that providers know us by.
    pub public_url: Option<PublicUrl>,
    /// Peers whose word on the sender's address counts.
    pub trusted_proxies: Vec<Network>,
    /// TLS on every address.
    pub tls: Option<TlsFiles>,
}

/// The PEM files of a TLS listener. They could be read when the config was; whether they fit is seen on binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, own certificate first.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// The settings of one `[[route]]`, whose events go to the app while their sender waits.
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
    /// The app.
    pub forward_to: ForwardTo,
    /// How long the app may take.
    pub max_duration: Duration,
    /// How long an attempt's claim lives; never below `max_duration`.
    pub processing_ttl: ProcessingTtl,
    /// How long a finished event is remembered.
    pub confirmed_ttl: Option<ConfirmedTtl>,
    /// What happens to an event when the store cannot be asked.
    pub on_store_failure: OnStoreFailure,
    /// How far a sender's timestamp may be from our clock.
    pub tolerance: Option<Tolerance>,
    /// How long the sender is kept waiting for the app.
    pub answer_within: Option<Duration>,
    /// What a duplicate of an unfinished attempt gets.
    pub in_flight: InFlight,
    /// What becomes of a claim when nobody knows what the app did.
    pub on_unknown_outcome: OnUnknownOutcome,
    /// What becomes of an event without an id.
    pub on_missing_id: OnMissingId,
    /// The largest body taken, in bytes.
    pub max_body_bytes: Option<u64>,
    /// Whether the sender may see an app's status that makes it stop sending.
    pub relay_dangerous_status: bool,
}

/// Who sends to a route, and what it proves itself with.
#[derive(Debug, Clone)]
pub enum SenderSettings {
    /// Every request must carry a signature.
    Verified {
        /// The name of a profile.
        provider: Box<str>,
        /// One or more; several while rotating.
        secrets: Vec<SecretText>,
        /// Where the id is, when not where the profile says.
        event_id: Option<EventIdSource>,
    },
    /// `verify = "none"`: anyone who reaches the path is believed.
    Unverified {
        /// The name of a profile whose other facts hold.
        provider: Option<Box<str>>,
        /// Where the id is.
        event_id: EventIdSource,
    },
}

impl SenderSettings {
    /// The name of the profile, if there is one.
    #[must_use]
    pub fn provider(&self) -> Option<&str> {
        match self {
            Self::Verified { provider, .. } => Some(provider),
            Self::Unverified { provider, .. } => provider.as_deref(),
        }
    }
}

/// What a duplicate of an unfinished attempt gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InFlight {
    /// The outcome of that attempt, if it comes in time.
    Wait,
    /// 503 at once.
    Busy,
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
