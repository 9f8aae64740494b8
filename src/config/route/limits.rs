//! What a route does not let through: bodies that are too large, to the app; dangerous answers, to the sender. And what it
//! does not let go: failed events.

use crate::provider::{Profile, StatusRange};
use crate::proxy::KeepFailures;

use super::super::cause::Cause;
use super::super::faults::Reported;
use super::super::section::Section;
use super::super::value;
use super::mode::{Mode, only_sync};
use super::record::{self, Record};

/// The largest body that may be allowed. Providers stay below 30 MiB.
const MAX_BODY_BYTES: u64 = 1 << 30;
/// The largest body where neither route nor profile says: GitHub's, the largest that a built-in sender publishes.
const DEFAULT_MAX_BODY_BYTES: u64 = 25 << 20;

pub(super) struct Limits {
    pub(super) max_body_bytes: (u64, Cause),
    pub(super) dangerous_statuses: Vec<StatusRange>,
    pub(super) keep_failures: KeepFailures,
    pub(super) record: (Record, Cause),
}

pub(super) fn read(
    section: &mut Section<'_>,
    profile: Option<&Profile>,
    mode: Result<Mode, Reported>,
) -> Result<Limits, Reported> {
    let max_body = section.parse("max_body", value::size(1, MAX_BODY_BYTES, "from 1B to 1GiB"));
    let relay_dangerous_status = section.flag("relay_dangerous_status");
    let unseen = "the sender does not get the app's answers";
    let relay_dangerous_status = only_sync(relay_dangerous_status, "relay_dangerous_status", section, mode, unseen);
    let record = record::read(section);
    let of_profile = profile.and_then(|profile| {
        let cause = format!("the largest body of {}", profile.title);
        profile.max_body_bytes.map(|bytes| (bytes, Cause::Derived(cause)))
    });
    let max_body_bytes = match max_body? {
        Some(bytes) => (bytes, Cause::Route),
        None => of_profile.unwrap_or((DEFAULT_MAX_BODY_BYTES, Cause::BuiltIn)),
    };
    let stops = profile.map_or_else(Vec::new, |profile| profile.stop_statuses.clone());
    let (dangerous_statuses, relayed_stops) = match relay_dangerous_status?.unwrap_or(false) {
        true => (Vec::new(), stops),
        false => (stops, Vec::new()),
    };
    let record = record?.map_or((Record::default(), Cause::BuiltIn), |record| (record, Cause::Route));
    let keep_failures = record.0.of(profile, relayed_stops);
    Ok(Limits { max_body_bytes, dangerous_statuses, keep_failures, record })
}
