//! `[shutdown]`.

use std::time::Duration;

use crate::server::ShutdownSettings;

use super::faults::Reported;
use super::section::Section;
use super::value;

/// The longest drain: above what the longest `max_duration` leads to, and below a typing error.
const MAX_DRAIN: Duration = Duration::from_secs(24 * 3_600);

/// What a forward needs after its app has answered in the last moment: confirm, sync, relay. Five seconds is also the
/// deadline of a commit.
const AFTER_THE_APP: Duration = Duration::from_secs(5);

/// By default the slowest app may finish, and its outcome be written down.
pub(super) fn read(mut section: Section<'_>, longest: Duration) -> Result<ShutdownSettings, Reported> {
    let drain = section.parse("drain", value::length(MAX_DRAIN));
    section.finish();
    Ok(ShutdownSettings { drain: drain?.unwrap_or(longest + AFTER_THE_APP) })
}
