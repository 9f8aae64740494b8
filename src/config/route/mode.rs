//! `mode`: when the sender is answered; and the keys that make sense in one of the two alone.

use super::super::faults::Reported;
use super::super::section::{Read, Section};

/// The value of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    /// With the app's answer.
    #[default]
    Sync,
    /// When the event is stored.
    Queue,
}

pub(super) fn read(section: &mut Section<'_>) -> Result<Mode, Reported> {
    Ok(section.choice("mode", &[("sync", Mode::Sync), ("queue", Mode::Queue)])?.unwrap_or_default())
}

/// Refuses a key of sync routes on a queue route, where it would promise what does not happen: whoever switches a route is
/// told what becomes of it. Of a `mode` that cannot be read nothing follows.
pub(super) fn only_sync<T>(
    read: Read<T>,
    key: &str,
    section: &Section<'_>,
    mode: Result<Mode, Reported>,
    instead: &str,
) -> Read<T> {
    match (read, mode) {
        (Ok(Some(_)), Ok(Mode::Queue)) => {
            Err(section.fault(key, format_args!("is of no use with mode = \"queue\": {instead}")))
        }
        (read, _) => read,
    }
}
