//! The wire form of requests and answers: what JSON looks like, and nothing of what it means.
//!
//! The OpenAPI document is generated from these types ([`super::openapi`]). Unknown fields are errors, and so is a field
//! that comes twice: a request that means two things is not one request.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::unique_json::UniqueJson;

/// Claims a key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimRequest {
    /// In a batch: the verb.
    pub(super) command: Option<VerbName>,
    /// 1 to 64 of `a-z`, `0-9`, `.`, `_`, `-`.
    #[schema(pattern = "^[a-z0-9][a-z0-9._-]{0,63}$")]
    pub(super) namespace: String,
    /// 1 to 512 bytes of UTF-8 without control characters.
    #[schema(min_length = 1, max_length = 512)]
    pub(super) key: String,
    /// A token of the caller's own, one per attempt: 22 to 128 visible ASCII characters.
    #[schema(min_length = 22, max_length = 128)]
    pub(super) token: Option<String>,
    /// How long the claim lives unfinished, such as `120s`; at most 24 hours.
    #[schema(pattern = "^[0-9]+(ms|s|m|h|d)$")]
    pub(super) processing_ttl: Option<String>,
    /// The caller's hash of the payload.
    #[schema(min_length = 1, max_length = 128)]
    pub(super) fingerprint: Option<String>,
    /// A label for people.
    #[schema(min_length = 1, max_length = 128)]
    pub(super) owner: Option<String>,
    /// How long to wait while somebody else holds the key, such as `5s`; at most 30 seconds count. Not in a batch.
    #[schema(pattern = "^[0-9]+(ms|s|m|h|d)$")]
    pub(super) wait: Option<String>,
}

/// Says that the work is done.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfirmRequest {
    /// In a batch: the verb.
    pub(super) command: Option<VerbName>,
    /// 1 to 64 of `a-z`, `0-9`, `.`, `_`, `-`.
    #[schema(pattern = "^[a-z0-9][a-z0-9._-]{0,63}$")]
    pub(super) namespace: String,
    /// 1 to 512 bytes of UTF-8 without control characters.
    #[schema(min_length = 1, max_length = 512)]
    pub(super) key: String,
    /// The holder's token, so that the answer can tell an overrun.
    #[schema(min_length = 22, max_length = 128)]
    pub(super) token: Option<String>,
    /// How long the finished key is remembered, such as `7d`; at most 90 days.
    #[schema(pattern = "^[0-9]+(ms|s|m|h|d)$")]
    pub(super) confirmed_ttl: Option<String>,
    /// Any JSON of at most 2 KiB, for those who come later.
    #[schema(value_type = Option<serde_json::Value>)]
    pub(super) result: Option<UniqueJson>,
}

/// Gives the key back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseRequest {
    /// In a batch: the verb.
    pub(super) command: Option<VerbName>,
    /// 1 to 64 of `a-z`, `0-9`, `.`, `_`, `-`.
    #[schema(pattern = "^[a-z0-9][a-z0-9._-]{0,63}$")]
    pub(super) namespace: String,
    /// 1 to 512 bytes of UTF-8 without control characters.
    #[schema(min_length = 1, max_length = 512)]
    pub(super) key: String,
    /// The holder's token.
    #[schema(min_length = 22, max_length = 128)]
    pub(super) token: String,
}

/// Asks for more time.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExtendRequest {
    /// In a batch: the verb.
    pub(super) command: Option<VerbName>,
    /// 1 to 64 of `a-z`, `0-9`, `.`, `_`, `-`.
    #[schema(pattern = "^[a-z0-9][a-z0-9._-]{0,63}$")]
    pub(super) namespace: String,
    /// 1 to 512 bytes of UTF-8 without control characters.
    #[schema(min_length = 1, max_length = 512)]
    pub(super) key: String,
    /// The holder's token.
    #[schema(min_length = 22, max_length = 128)]
    pub(super) token: String,
    /// How long from now, such as `120s`; at most 24 hours.
    #[schema(pattern = "^[0-9]+(ms|s|m|h|d)$")]
    pub(super) processing_ttl: Option<String>,
}

/// Several commands, in order, in one commit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchRequest<'a> {
    /// 1 to 1,000 requests, each with its `command`.
    #[serde(borrow)]
    #[schema(value_type = Vec<BatchCommand>, min_items = 1, max_items = 1000)]
    pub(super) commands: Vec<&'a RawValue>,
}

/// One command of a batch: the request of a verb, with that verb in `command`. For the document alone.
#[derive(ToSchema)]
#[serde(tag = "command", rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "it is only described: a batch is parsed command by command, so that a bad one fails alone"
)]
pub(super) enum BatchCommand {
    Claim(ClaimRequest),
    Confirm(ConfirmRequest),
    Release(ReleaseRequest),
    Extend(ExtendRequest),
}

/// The verb of a command in a batch; everything else of it is looked at later.
#[derive(Debug, Deserialize)]
pub(super) struct Tagged {
    pub(super) command: VerbName,
}

/// A verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(try_from = "String", rename_all = "snake_case")]
pub(super) enum VerbName {
    Claim,
    Confirm,
    Release,
    Extend,
}

impl VerbName {
    const ALL: [Self; 4] = [Self::Claim, Self::Confirm, Self::Release, Self::Extend];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Confirm => "confirm",
            Self::Release => "release",
            Self::Extend => "extend",
        }
    }
}

/// From a text alone: a derived reader would take `{"claim": null}` as well.
impl TryFrom<String> for VerbName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let verb = Self::ALL.into_iter().find(|verb| verb.as_str() == text);
        verb.ok_or("must be claim, confirm, release or extend")
    }
}

/// What a command came to.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(super) enum OutcomeBody<'a> {
    /// The caller is the holder.
    Claimed {
        /// True: the caller should handle it. So on a later attempt too; `attempt` says which one it is.
        first_delivery: bool,
        token: &'a str,
        attempt: u32,
        fence: u64,
        previous: PreviousName,
        repeated: bool,
        /// RFC 3339 with milliseconds.
        expires_at: String,
        expires_in_ms: u64,
        #[serde(flatten)]
        condition: Condition,
    },
    /// Somebody else is.
    InProgress {
        /// False: it is not the caller's to handle.
        first_delivery: bool,
        attempt: u32,
        expires_at: String,
        expires_in_ms: u64,
        retry_after_ms: u64,
        #[serde(flatten)]
        condition: Condition,
    },
    /// The key is finished.
    Done {
        /// False: it has been handled.
        first_delivery: bool,
        attempt: u32,
        confirmed_at: String,
        expires_at: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<serde_json::Value>)]
        result: Option<&'a RawValue>,
        #[serde(flatten)]
        condition: Condition,
    },
    /// The key is known with another payload.
    Mismatch {
        #[serde(flatten)]
        condition: Condition,
    },
    /// The key is finished now, or was before.
    Confirmed {
        overrun: bool,
        attempt: u32,
        expires_at: String,
        #[serde(flatten)]
        condition: Condition,
    },
    /// The caller holds the key no longer.
    Released {
        #[serde(skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
        #[serde(flatten)]
        condition: Condition,
    },
    /// The caller holds the key for longer.
    Extended {
        attempt: u32,
        expires_at: String,
        expires_in_ms: u64,
        #[serde(flatten)]
        condition: Condition,
    },
    /// The caller is not the holder.
    NotHolder {
        #[serde(flatten)]
        condition: Condition,
    },
    /// Nothing is remembered of the key any more.
    Forgotten {
        /// Whether anything was.
        existed: bool,
        #[serde(flatten)]
        condition: Condition,
    },
}

/// Whether an answer can be relied on.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(super) struct Condition {
    /// The answer comes from memory, because the store is down.
    pub(super) degraded: bool,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'static str>,
}

/// What became of the attempt before.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum PreviousName {
    None,
    Released,
    Expired,
}

/// The answers to a batch, in the order of its commands.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BatchBody<'a> {
    /// Each answer with the status that it would have had alone.
    #[schema(value_type = Vec<serde_json::Value>)]
    pub(super) answers: Vec<&'a RawValue>,
}

/// A claim read back.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClaimBody {
    pub(super) namespace: String,
    pub(super) key: String,
    /// `held`, `free` or `done`.
    pub(super) state: &'static str,
    pub(super) attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) claimed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) confirmed_at: Option<String>,
    pub(super) expires_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(super) result: Option<Box<RawValue>>,
    /// The event that was accepted with this key, and whose handling may be yet to come; it may be gone by now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) event: Option<String>,
    #[serde(flatten)]
    pub(super) condition: Condition,
}

/// A page of claims.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ListBody {
    pub(super) claims: Vec<ClaimBody>,
    /// What to pass as `after` for the next page; null on the last one.
    pub(super) next: Option<String>,
    #[serde(flatten)]
    pub(super) condition: Condition,
}

/// Whether the daemon is ready.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReadyBody {
    pub(super) ready: bool,
    /// Why not.
    pub(super) reasons: Vec<String>,
    /// What an operator should look at although it serves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}
