//! What can be set about the end of the daemon.

use std::time::Duration;

/// The settings of `[shutdown]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownSettings {
    /// How long requests under way may go on after the signal to stop.
    pub drain: Duration,
}

impl ShutdownSettings {
    /// What a forward needs after its app has answered in the last moment: confirm, sync, relay. Five seconds is also
    /// the deadline of a commit.
    const AFTER_THE_APP: Duration = Duration::from_secs(5);

    /// The default: the slowest app may finish, and its outcome be written down.
    #[must_use]
    pub fn for_longest(max_duration: Duration) -> Self {
        Self { drain: max_duration + Self::AFTER_THE_APP }
    }
}
