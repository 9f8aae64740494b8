//! `[history]`.

use std::time::Duration;

use crate::delivery::HistorySettings;

use super::cause::{Cause, HistoryCauses};
use super::faults::Reported;
use super::section::Section;
use super::value;

/// The longest that a finished event is kept. What has to be there for longer than a year belongs into an archive.
const MAX_KEEP: Duration = Duration::from_secs(366 * 86_400);

const DEFAULT_KEEP: Duration = Duration::from_secs(7 * 86_400);
const DEFAULT_MAX_BYTES: u64 = 1 << 30;

pub(super) fn read(mut section: Section<'_>) -> Result<(HistorySettings, HistoryCauses), Reported> {
    let keep = section.parse("keep", value::length(MAX_KEEP));
    let bounds = "more than 0B; a route keeps nothing with record = \"off\"";
    let max_bytes = section.parse("max_bytes", value::size(1, u64::MAX, bounds));
    section.finish();
    let (keep, max_bytes) = (keep?, max_bytes?);
    let cause = |is_set: bool| if is_set { Cause::History } else { Cause::BuiltIn };
    let causes = HistoryCauses { keep: cause(keep.is_some()), max_bytes: cause(max_bytes.is_some()) };
    let settings =
        HistorySettings { keep: keep.unwrap_or(DEFAULT_KEEP), max_bytes: max_bytes.unwrap_or(DEFAULT_MAX_BYTES) };
    Ok((settings, causes))
}
