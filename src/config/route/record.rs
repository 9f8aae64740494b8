//! Which events of a route are kept: `record`.

use crate::provider::{Profile, StatusRange};
use crate::proxy::KeepFailures;

use super::super::section::{NOT_YET, Read, Section};

/// The value of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Record {
    /// Failed events that their sender will not send again.
    #[default]
    Failures,
    /// None, not even those.
    Off,
}

pub(super) fn read(section: &mut Section<'_>) -> Read<Record> {
    section.parse("record", |text| match text {
        "failures" => Ok(Record::Failures),
        "off" => Ok(Record::Off),
        "all" => Err(format!("\"all\" {NOT_YET}")),
        _ => Err("must be \"failures\" or \"off\"".to_owned()),
    })
}

impl Record {
    /// What it comes to for a sender, who is told these statuses though they make it stop. One of whom nothing is known does
    /// not promise to come again.
    pub(super) fn of(self, profile: Option<&Profile>, relayed_stops: Vec<StatusRange>) -> KeepFailures {
        match self {
            Self::Off => KeepFailures::Never,
            Self::Failures if !profile.is_some_and(Profile::retries_automatically) => KeepFailures::Always,
            Self::Failures if relayed_stops.is_empty() => KeepFailures::Never,
            Self::Failures => KeepFailures::Stopped(relayed_stops),
        }
    }
}
