//! Lifetimes that follow from their causes: how long an event is remembered from how long it can come again, how long a
//! claim lives from how long the app may take, how soon a sender is answered from how long it waits.

use super::{Profile, Redelivery};
use crate::quantity::format_duration;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

/// No event is forgotten sooner: senders' backlogs and people's second tries come on top of what is published.
const MIN_CONFIRMED_TTL: Duration = DAY;

/// A person's redelivery counts up to here. Beyond a week it is a decision ("run this once more") rather than a repeat,
/// and memory for it would cost every event of every day.
const MAX_MANUAL_WINDOW: Duration = Duration::from_secs(7 * 86_400);

/// The claim outlives the app's hard limit by this factor: room for the wait before the hand-over, the answer's way back
/// and the confirm, so that a claim runs out only where its holder died.
pub const PROCESSING_FACTOR: u32 = 4;

/// The answer for senders whose patience is not published. The usual limits are 10 s and more; the few below publish
/// them.
const DEFAULT_ANSWER_WITHIN: Duration = Duration::from_secs(8);

/// A number and why it is this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caused {
    /// The span.
    pub span: Duration,
    /// Where it comes from, as a phrase that can follow it.
    pub cause: String,
}

/// The lifetimes of a route whose config sets none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifetimes {
    /// How long a claim lives unfinished.
    pub processing_ttl: Caused,
    /// How long a finished event is remembered.
    pub confirmed_ttl: Caused,
    /// By when the sender has an answer, counted from its arrival.
    pub answer_within: Caused,
}

impl Lifetimes {
    /// Derives them for a profile and the app's hard limit.
    pub fn derive(profile: &Profile, max_duration: Duration) -> Self {
        Self {
            processing_ttl: processing_ttl(max_duration),
            confirmed_ttl: confirmed_ttl(profile),
            answer_within: answer_within(profile),
        }
    }

    /// Those of a sender that no profile describes.
    pub fn without_profile(max_duration: Duration) -> Self {
        const CAUSE: &str = "no provider is named";
        Self {
            processing_ttl: processing_ttl(max_duration),
            confirmed_ttl: floor(CAUSE.to_owned()),
            answer_within: Caused { span: DEFAULT_ANSWER_WITHIN, cause: CAUSE.to_owned() },
        }
    }
}

fn processing_ttl(max_duration: Duration) -> Caused {
    let cause = format!("{PROCESSING_FACTOR} x max_duration ({})", format_duration(max_duration));
    Caused { span: max_duration.saturating_mul(PROCESSING_FACTOR), cause }
}

fn confirmed_ttl(profile: &Profile) -> Caused {
    let automatic = profile.retry.automatic.window().map(|window| (window, "automatic retries"));
    // Of two equal windows the last counts: the sender's own retries are the stronger cause.
    let longest = manual_window(profile.retry.manual).into_iter().chain(automatic).max_by_key(|(window, _)| *window);
    let Some((window, whose)) = longest else {
        return floor(format!("{} publishes no retry or redelivery window", profile.title));
    };
    let span = whole_minutes(window + window / 4);
    let cause = format!("5/4 of the {} of {whose} at {}", format_duration(window), profile.title);
    if span < MIN_CONFIRMED_TTL { floor(cause) } else { Caused { span, cause } }
}

/// Rounded up, so that it can be read: a quarter of a published schedule has milliseconds that nobody has chosen.
fn whole_minutes(span: Duration) -> Duration {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    Duration::from_secs(seconds.next_multiple_of(60))
}

fn floor(instead_of: String) -> Caused {
    Caused { span: MIN_CONFIRMED_TTL, cause: format!("at least 24h; {instead_of}") }
}

/// How long a person's redelivery counts, and how to call it.
fn manual_window(manual: Redelivery) -> Option<(Duration, &'static str)> {
    let longest = (MAX_MANUAL_WINDOW, "manual redelivery (counted up to 7 days)");
    match manual {
        Redelivery::Never | Redelivery::Unpublished => None,
        Redelivery::Unlimited => Some(longest),
        Redelivery::WithinSeconds(seconds) => match Duration::from_secs(seconds) {
            window if window > MAX_MANUAL_WINDOW => Some(longest),
            window => Some((window, "manual redelivery")),
        },
    }
}

/// Four fifths of the sender's patience; the rest is for the network and for the sender's clock having started first.
fn answer_within(profile: &Profile) -> Caused {
    match profile.timeout() {
        Some(timeout) => {
            let cause = format!("4/5 of the {} that {} waits", format_duration(timeout), profile.title);
            Caused { span: timeout / 5 * 4, cause }
        }
        None => Caused {
            span: DEFAULT_ANSWER_WITHIN,
            cause: format!("{} does not publish how long it waits", profile.title),
        },
    }
}
