//! What is odd about a config and allowed all the same: the route works, though perhaps not as was meant.

use std::fmt;
use std::time::Duration;

use crate::app::RoutePath;
use crate::delivery::HistorySettings;
use crate::provider::Profile;
use crate::proxy::{KeepFailures, Mode, OnMissingId, RouteSettings};
use crate::quantity::{format_bytes, format_duration};
use crate::server::ShutdownSettings;
use crate::store::StoreSettings;

/// An oddity, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What is odd.
    pub about: About,
    /// In which way.
    pub oddity: Oddity,
}

/// What something can be odd about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// A route, by its name.
    Route(Box<str>),
    /// `[history]`.
    History,
}

/// What can be odd. Senders are called by the title of their profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oddity {
    /// A retry may come when the event has been forgotten, and would take effect again.
    ForgottenEarly {
        /// How long a finished event is remembered.
        confirmed_ttl: Duration,
        /// Who sends.
        sender: String,
        /// How long it goes on by itself.
        window: Duration,
    },
    /// A claim whose holder died would turn every retry away, the last one too.
    ClaimOutlastsRetries {
        /// How long an attempt's claim lives.
        processing_ttl: Duration,
        /// Who sends.
        sender: String,
        /// How long it goes on by itself.
        window: Duration,
    },
    /// The sender takes a slow success for a failure.
    SlowerThanSender {
        /// How long the app may take.
        max_duration: Duration,
        /// Who sends.
        sender: String,
        /// How long it waits.
        timeout: Duration,
        /// When it gets an answer.
        answer_within: Duration,
    },
    /// An event that fails is lost.
    FailuresLost {
        /// Who sends.
        sender: String,
    },
    /// Nothing tells a repeat from an event.
    Unguarded {
        /// Who sends.
        sender: String,
    },
    /// The app may refuse what has waited, by the time that its sender signed.
    SignatureGrowsOld {
        /// Who sends.
        sender: String,
    },
    /// A stop does not wait for what the app may still be at.
    CutByStop {
        /// How long the app may take.
        max_duration: Duration,
        /// How long a stop waits.
        drain: Duration,
    },
    /// Finished events may fill the room that new ones need.
    HistoryFillsStore {
        /// What finished events may take.
        max_bytes: u64,
        /// What all events may take.
        max_event_bytes: u64,
    },
    /// What follows the prefix would be glued to the app's last word.
    NoSlash,
    /// Of two senders one holds the other's secret, or one of the routes has the wrong one.
    SharedSecret {
        /// The route that had it first.
        with: Box<str>,
    },
}

/// What is odd about a route, by itself and beside what is known of its sender.
pub(super) fn of_route(route: &RouteSettings, profile: Option<&Profile>) -> Vec<Warning> {
    let mut oddities = profile.map_or_else(Vec::new, |profile| beside(route, profile));
    let is_prefix = matches!(route.path, RoutePath::Prefix(_));
    oddities.extend((is_prefix && !route.forward_to.path().ends_with('/')).then_some(Oddity::NoSlash));
    oddities.into_iter().map(|oddity| about(route, oddity)).collect()
}

pub(super) fn about(route: &RouteSettings, oddity: Oddity) -> Warning {
    Warning { about: About::Route(route.name.clone()), oddity }
}

/// What is odd about the routes beside what holds for the daemon as a whole, and about that.
pub(super) fn of_the_rest(
    routes: &[RouteSettings],
    shutdown: &ShutdownSettings,
    history: &HistorySettings,
    store: &StoreSettings,
) -> Vec<Warning> {
    let drain = shutdown.drain;
    let cut = routes.iter().filter(|route| route.max_duration > drain);
    let mut warnings: Vec<_> =
        cut.map(|route| about(route, Oddity::CutByStop { max_duration: route.max_duration, drain })).collect();
    let (max_bytes, max_event_bytes) = (history.max_bytes, store.max_event_bytes);
    // Without routes there are no events.
    if !routes.is_empty() && max_bytes >= max_event_bytes {
        let oddity = Oddity::HistoryFillsStore { max_bytes, max_event_bytes };
        warnings.push(Warning { about: About::History, oddity });
    }
    warnings
}

fn beside(route: &RouteSettings, profile: &Profile) -> Vec<Oddity> {
    let sender = || profile.title.clone();
    let is_sync = matches!(route.mode, Mode::Sync);
    let mut oddities = Vec::new();
    if route.sender.event_id.is_none() && route.on_missing_id == OnMissingId::Forward {
        oddities.push(Oddity::Unguarded { sender: sender() });
    }
    let (processing_ttl, confirmed_ttl) = (route.processing_ttl.as_duration(), route.confirmed_ttl.as_duration());
    // A window of 0 is a sender that does not come again.
    if let Some(window) = profile.retry.automatic.window().filter(|window| !window.is_zero()) {
        if confirmed_ttl < window {
            oddities.push(Oddity::ForgottenEarly { confirmed_ttl, sender: sender(), window });
        }
        // When both end together, the last retry may still find the claim held. A queue route claims for good.
        if is_sync && processing_ttl >= window {
            oddities.push(Oddity::ClaimOutlastsRetries { processing_ttl, sender: sender(), window });
        }
    }
    if let Some(timeout) = profile.timeout().filter(|timeout| is_sync && route.max_duration > *timeout) {
        oddities.push(Oddity::SlowerThanSender {
            max_duration: route.max_duration,
            sender: sender(),
            timeout,
            answer_within: route.answer_within,
        });
    }
    if !is_sync && route.signing_key.is_none() && profile.signature.timestamp().is_some() {
        oddities.push(Oddity::SignatureGrowsOld { sender: sender() });
    }
    if is_sync && matches!(route.keep_failures, KeepFailures::Never) && !profile.retries_automatically() {
        oddities.push(Oddity::FailuresLost { sender: sender() });
    }
    oddities
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.about {
            About::Route(name) => write!(f, "route {name}: {}", self.oddity),
            About::History => write!(f, "history: {}", self.oddity),
        }
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format_duration;
        match self {
            Self::ForgottenEarly { confirmed_ttl, sender, window } => write!(
                f,
                "confirmed_ttl {} is shorter than the {} for which {sender} retries: a late retry takes effect again",
                text(*confirmed_ttl),
                text(*window)
            ),
            Self::ClaimOutlastsRetries { processing_ttl, sender, window } => write!(
                f,
                "processing_ttl {} does not end before the last retry of {sender} after {}: a crash uses up all of them",
                text(*processing_ttl),
                text(*window)
            ),
            Self::SlowerThanSender { max_duration, sender, timeout, answer_within } => write!(
                f,
                "max_duration {} is longer than the {} that {sender} waits: what takes longer than answer_within {} is \
                 answered with 503 while the app goes on; mode = \"queue\" answers at once, and gives the app its time",
                text(*max_duration),
                text(*timeout),
                text(*answer_within)
            ),
            Self::FailuresLost { sender } => write!(
                f,
                "record is \"off\", and {sender} does not promise to send an event again: one that the app does not take is \
                 lost"
            ),
            Self::Unguarded { sender } => write!(
                f,
                "{sender} has no event id: each of its requests is handed over, repeats too, unless the route has event_id \
                 or on_missing_id"
            ),
            Self::SignatureGrowsOld { sender } => write!(
                f,
                "{sender} signs the time too, and while an event waits its signature grows old: an app that holds that time \
                 against its clock refuses the event then. Let it go by Onced-Verified, or widen the tolerance of its library \
                 to give_up_after, or set sign_secret and check by Standard Webhooks"
            ),
            Self::CutByStop { max_duration, drain } => write!(
                f,
                "max_duration {} is longer than the {} of [shutdown] drain: a stop cuts what the app is still at, and it counts \
                 as unknown whether that went well",
                text(*max_duration),
                text(*drain)
            ),
            Self::HistoryFillsStore { max_bytes, max_event_bytes } => write!(
                f,
                "max_bytes {} leaves no room in the {} of [store] max_event_bytes: when finished events have filled it, new ones \
                 are not stored",
                format_bytes(*max_bytes),
                format_bytes(*max_event_bytes)
            ),
            Self::NoSlash => f.write_str(
                "what follows the prefix of path is appended to forward_to as it comes, which does not end with a slash",
            ),
            Self::SharedSecret { with } => {
                write!(f, "has a secret in common with route {with}, whose provider is another")
            }
        }
    }
}
