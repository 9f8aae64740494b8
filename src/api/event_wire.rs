//! The wire form of events; like [`super::wire`], what JSON looks like and nothing of what it means.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::wire::Condition;

/// An event in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EventRow {
    /// Our name for it, which apps know as `Onced-Delivery`.
    pub(super) id: String,
    /// Where its claim lives, or would live if it had a key.
    pub(super) namespace: String,
    /// The key of its claim; null for an event without an identity.
    pub(super) key: Option<String>,
    pub(super) route: String,
    /// `queued`, `parked` (waits for its route to be configured again), `delivering`, `delivered`, `dead` (given up on) or
    /// `passed` (handled while its sender waited).
    pub(super) state: &'static str,
    /// RFC 3339 with milliseconds.
    pub(super) received_at: String,
    /// Rises over all events.
    pub(super) sequence: u64,
    pub(super) body_bytes: u64,
    /// How it went with each app.
    pub(super) deliveries: Vec<DeliveryBody>,
}

/// How it went with one app.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DeliveryBody {
    /// The app: its host, and its port where that is not the scheme's own.
    pub(super) app: String,
    /// As the event's.
    pub(super) state: &'static str,
    pub(super) attempts: u32,
    /// Null before the first.
    pub(super) first_attempt_at: Option<String>,
    /// Null before the first.
    pub(super) last_attempt_at: Option<String>,
    /// Null where there is none to come.
    pub(super) next_attempt_at: Option<String>,
    /// What the app answered last; null where its answer is missing.
    pub(super) last_status: Option<u16>,
    /// Null unless it was given up on. `rejected`: the app answered, and not with 2xx. `unreachable`: it was not reached, or
    /// its answer is missing. `attempts_exhausted`, `too_old`: the limits of its route.
    pub(super) cause: Option<&'static str>,
    /// How the app's last answer begins; what is no UTF-8 in it is replaced.
    pub(super) excerpt: String,
}

/// A header of an event.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HeaderBody {
    /// As it was written.
    pub(super) name: String,
    /// The value, where it is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<String>,
    /// The bytes of the value, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value_base64: Option<String>,
}

/// An event with what was sent, but for the body.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EventBody {
    #[serde(flatten)]
    pub(super) row: EventRow,
    /// Path and query, as they arrived.
    pub(super) target: String,
    /// The sender's id, where it has one; what is no UTF-8 in it is replaced.
    pub(super) sender_id: Option<String>,
    /// Without those that belong to one connection.
    pub(super) headers: Vec<HeaderBody>,
    /// The path of the body.
    pub(super) body: String,
    /// Its latest hand-overs, the oldest first.
    pub(super) attempts: Vec<AttemptBody>,
    #[serde(flatten)]
    pub(super) condition: Condition,
}

/// One hand-over.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AttemptBody {
    /// 1 for the event's first.
    pub(super) number: u32,
    /// When it began.
    pub(super) at: String,
    pub(super) took_ms: u32,
    /// `delivered`, `answered` (and not with 2xx), `never_reached`, `timed_out`, `lost` (the answer was cut off, or is none) or
    /// `unknown` (the process died meanwhile).
    pub(super) outcome: &'static str,
    /// What the app answered; null where its answer is missing.
    pub(super) status: Option<u16>,
}

/// A page of events.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EventListBody {
    /// In the order of their ids; `sequence` says in which order they came.
    pub(super) items: Vec<EventRow>,
    /// What to pass as `after` for the next page; null on the last one.
    pub(super) next: Option<String>,
    #[serde(flatten)]
    pub(super) condition: Condition,
}

/// An event that was given up for good.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DiscardBody {
    /// `discarded`.
    pub(super) outcome: &'static str,
    /// Whether there was one.
    pub(super) existed: bool,
}

/// Hands an event over again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayRequest {
    /// How often, one after the other; once when nothing is said.
    #[schema(minimum = 1, maximum = 100)]
    pub(super) times: Option<u32>,
    /// Hand it over even if it was handled.
    pub(super) force: Option<bool>,
}

/// What replays came to.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReplaysBody {
    /// In their order; fewer than were asked for where the daemon could not go on.
    pub(super) results: Vec<ReplayBody>,
    /// How many the app took.
    pub(super) forwarded: usize,
    /// How many were not handed over, because the event was handled before.
    pub(super) duplicates: usize,
}

/// What one replay came to.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReplayBody {
    /// `forwarded`: the app answered 2xx. `duplicate`: it was handled before. `in_progress`: another attempt is under way.
    /// `failed`: the app answered otherwise, or not at all.
    pub(super) outcome: &'static str,
    /// The number of the attempt, where there was one.
    pub(super) attempt: Option<u32>,
    /// What the app answered.
    pub(super) status: Option<u16>,
}

/// Queues dead letters anew: all that match, and all there are where nothing is said.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RedriveRequest {
    /// Those of this route only.
    pub(super) route: Option<String>,
    /// Those given up on for this cause only.
    #[schema(pattern = "^(rejected|attempts_exhausted|too_old|unreachable)$")]
    pub(super) cause: Option<String>,
    /// Those given up on before then only: RFC 3339, in UTC.
    #[schema(format = DateTime)]
    pub(super) before: Option<String>,
}

/// How far a redrive of many has come.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RedriveBody {
    /// Its number.
    pub(super) job: u64,
    /// How many dead letters it has queued anew by now.
    pub(super) redriven: u64,
    /// Whether that was all; if not it goes on, also after a crash.
    pub(super) finished: bool,
}

/// What somebody did to events.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AuditRow {
    /// RFC 3339 with milliseconds.
    pub(super) at: String,
    /// The name of a token; `socket`, or `loopback` where there was none.
    pub(super) actor: String,
    /// `replay`, `force_replay`, `redrive` (of one), `redrive_many` or `discard`.
    pub(super) action: &'static str,
    /// The id of an event, or the words that many were chosen by.
    pub(super) target: String,
}

/// A page of the audit list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AuditBody {
    /// The newest first.
    pub(super) items: Vec<AuditRow>,
    /// What to pass as `after` for the next page; null on the last one.
    pub(super) next: Option<String>,
    #[serde(flatten)]
    pub(super) condition: Condition,
}
