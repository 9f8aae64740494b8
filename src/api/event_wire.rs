//! The wire form of events; like [`super::wire`], what JSON looks like and nothing of what it means.

use serde::Serialize;
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
    /// `queued`, `delivering`, `delivered`, `dead` (given up on) or `passed` (handled while its sender waited).
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
    #[serde(flatten)]
    pub(super) condition: Condition,
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
