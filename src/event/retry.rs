//! When an event that was not delivered is handed over again, and when it is given up on.

use std::time::Duration;

/// By what rule the attempts at an event follow each other, and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The gap behind the first attempt, and the shortest of all; each later one is twice the one before. Never zero.
    pub backoff_base: Duration,
    /// The longest gap that the doubling leads to; never below `backoff_base`.
    pub backoff_cap: Duration,
    /// What an app's `Retry-After` counts for at most.
    pub retry_after_cap: Duration,
    /// How long after its arrival, or after its redrive, an event is given up on.
    pub give_up_after: Duration,
    /// How many attempts an event has, never 0; `None` where the time alone decides.
    pub max_attempts: Option<u32>,
}
