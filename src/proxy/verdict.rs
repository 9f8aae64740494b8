//! What a request came to, in the proxy's own terms.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response, StatusCode};

use super::handshake::Greeting;
use super::settings::RouteSettings;
use crate::app::Outcome;
use crate::server::BodyError;
use crate::store::Fault;

/// What a request came to.
#[derive(Debug)]
pub(super) enum Verdict {
    /// No route has this path.
    Unrouted,
    /// The path would leave the part of the app that its route stands for.
    Climbing,
    /// The route does not take this method.
    Method {
        /// What it takes.
        taken: Vec<Method>,
    },
    /// The body could not be read.
    Body(BodyError),
    /// It is not shown to be the sender's.
    Unverified,
    /// It is the sender's, and its timestamp is out of tolerance: perhaps our clock is wrong.
    Stale,
    /// It has no event id, on a route that asks for one.
    NoId,
    /// It was no event, but what the sender asks before it delivers.
    Handshake(Greeting),
    /// The event is in its queue, and safe there; what its sender gets for it.
    Accepted(Response<Bytes>),
    /// There is no room for the event.
    NoRoom,
    /// The event was handled before, or accepted.
    Duplicate {
        /// What the app answered then, where that is to be said again.
        replay: Option<Response<Bytes>>,
    },
    /// Another attempt at the event is under way.
    InProgress {
        /// When its claim ends.
        expires_in: Duration,
    },
    /// The store cannot be asked, and the route is closed then.
    StoreDown,
    /// The app has answered.
    Answered(Response<Bytes>),
    /// The app has answered with a status that would make the sender stop for good.
    Dangerous(StatusCode),
    /// The app has answered with a redirect, which is never followed.
    Redirected(StatusCode),
    /// The app was not reached: it has not seen a byte.
    NeverReached,
    /// The app may have taken the event; its answer is missing.
    Unknown {
        /// Whether it took too long.
        timed_out: bool,
    },
    /// The app is still at it, and the sender's patience is over.
    Late,
    /// Too many attempts of this route are under way.
    Crowded,
    /// Something here broke.
    Broken,
}

impl Verdict {
    /// What a hand-over came to, in the eyes of the route's sender.
    pub(super) fn of(route: &RouteSettings, outcome: Outcome) -> Self {
        let answer = match outcome {
            Outcome::Answered(answer) => answer,
            Outcome::NeverReached => return Self::NeverReached,
            Outcome::TimedOut => return Self::Unknown { timed_out: true },
            Outcome::Lost => return Self::Unknown { timed_out: false },
        };
        let status = answer.status();
        if status.is_redirection() {
            Self::Redirected(status)
        } else if !status.is_success() && route.dangerous_statuses.iter().any(|range| range.contains(status)) {
            Self::Dangerous(status)
        } else {
            Self::Answered(answer)
        }
    }

    /// Whether the app has handled the event.
    pub(super) fn is_success(&self) -> bool {
        matches!(self, Self::Answered(answer) if answer.status().is_success())
    }

    /// What the app answered; `None` where it was not asked, not reached, or not understood.
    pub(super) fn app_status(&self) -> Option<StatusCode> {
        match self {
            Self::Answered(answer) => Some(answer.status()),
            Self::Dangerous(status) | Self::Redirected(status) => Some(*status),
            Self::Unrouted
            | Self::Climbing
            | Self::Method { .. }
            | Self::Handshake(_)
            | Self::Body(_)
            | Self::Unverified
            | Self::Stale
            | Self::NoId
            | Self::Accepted(_)
            | Self::NoRoom
            | Self::Duplicate { .. }
            | Self::InProgress { .. }
            | Self::StoreDown
            | Self::NeverReached
            | Self::Unknown { .. }
            | Self::Late
            | Self::Crowded
            | Self::Broken => None,
        }
    }

    /// The word for it, in `Onced-Outcome` and in metrics.
    pub(super) fn outcome(&self) -> &'static str {
        match self {
            Self::Unrouted => "unrouted",
            Self::Unverified | Self::Stale => "unverified",
            Self::Handshake(_) => "handshake",
            Self::Accepted(_) => "accepted",
            Self::Duplicate { .. } => "duplicate",
            Self::InProgress { .. } | Self::Late => "in_progress",
            Self::StoreDown => "degraded",
            Self::Answered(_) | Self::Dangerous(_) => "forwarded",
            Self::Climbing
            | Self::Method { .. }
            | Self::Body(_)
            | Self::NoId
            | Self::NoRoom
            | Self::Redirected(_)
            | Self::NeverReached
            | Self::Unknown { .. }
            | Self::Crowded
            | Self::Broken => "failed",
        }
    }
}

impl From<Fault> for Verdict {
    fn from(_: Fault) -> Self {
        Self::StoreDown
    }
}
