//! What is odd about a config and allowed all the same: the route works, though perhaps not as was meant.

use std::fmt;
use std::time::Duration;

use crate::app::RoutePath;
use crate::provider::Profile;
use crate::proxy::{KeepFailures, OnMissingId, RouteSettings};
use crate::quantity::format_duration;

/// An oddity of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The route's name.
    pub route: Box<str>,
    /// What is odd about it.
    pub oddity: Oddity,
}

/// What can be odd about a route. Senders are called by the title of their profile.
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
    let warning = |oddity| Warning { route: route.name.clone(), oddity };
    oddities.into_iter().map(warning).collect()
}

fn beside(route: &RouteSettings, profile: &Profile) -> Vec<Oddity> {
    let sender = || profile.title.clone();
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
        // When both end together, the last retry may still find the claim held.
        if processing_ttl >= window {
            oddities.push(Oddity::ClaimOutlastsRetries { processing_ttl, sender: sender(), window });
        }
    }
    if let Some(timeout) = profile.timeout().filter(|timeout| route.max_duration > *timeout) {
        oddities.push(Oddity::SlowerThanSender {
            max_duration: route.max_duration,
            sender: sender(),
            timeout,
            answer_within: route.answer_within,
        });
    }
    if matches!(route.keep_failures, KeepFailures::Never) && !profile.retries_automatically() {
        oddities.push(Oddity::FailuresLost { sender: sender() });
    }
    oddities
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "route {}: {}", self.route, self.oddity)
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
                 answered with 503 while the app goes on; a queue suits such an app better, and is for a later version",
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
            Self::NoSlash => f.write_str(
                "what follows the prefix of path is appended to forward_to as it comes, which does not end with a slash",
            ),
            Self::SharedSecret { with } => {
                write!(f, "has a secret in common with route {with}, whose provider is another")
            }
        }
    }
}
