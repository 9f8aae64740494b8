//! Which events of a route are kept: `record`.

use crate::provider::{Profile, StatusRange};
use crate::proxy::KeepFailures;

use super::super::section::{Read, Section};

/// The value of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Record {
    /// Every one.
    All,
    /// Failed events that their sender will not send again, and queued ones.
    #[default]
    Failures,
    /// None that is finished, and of a sync route not even those that failed.
    Off,
}

pub(super) fn read(section: &mut Section<'_>) -> Read<Record> {
    section.choice("record", &[("all", Record::All), ("failures", Record::Failures), ("off", Record::Off)])
}

impl Record {
    /// What it comes to for a sender, who is told these statuses though they make it stop. One of whom nothing is known does
    /// not promise to come again.
    pub(super) fn of(self, profile: Option<&Profile>, relayed_stops: Vec<StatusRange>) -> KeepFailures {
        match self {
            Self::Off => KeepFailures::Never,
            Self::All | Self::Failures if !profile.is_some_and(Profile::retries_automatically) => KeepFailures::Always,
            Self::All | Self::Failures if relayed_stops.is_empty() => KeepFailures::Never,
            Self::All | Self::Failures => KeepFailures::Stopped(relayed_stops),
        }
    }
}
