//! `[shutdown]`.

use std::time::Duration;

use crate::daemon::ShutdownSettings;

use super::faults::Reported;
use super::section::Section;
use super::value;

/// The longest drain: above what the longest `max_duration` leads to, and below a typing error.
const MAX_DRAIN: Duration = Duration::from_secs(24 * 3_600);

pub(super) fn read(mut section: Section<'_>, longest: Duration) -> Result<ShutdownSettings, Reported> {
    let drain = section.parse("drain", value::length(MAX_DRAIN));
    section.finish(&[]);
    Ok(drain?.map_or_else(|| ShutdownSettings::for_longest(longest), |drain| ShutdownSettings { drain }))
}
