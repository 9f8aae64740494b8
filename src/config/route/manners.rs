//! How a route deals with repeats, and with what cannot be known: `in_flight`, `duplicate_response`, `on_unknown_outcome`,
//! `on_missing_id`.

use http::StatusCode;

use crate::provider::{Acknowledgement, Profile};
use crate::proxy::{DuplicateResponse, InFlight, OnMissingId, OnUnknownOutcome};

use super::super::faults::Reported;
use super::super::section::Section;
use super::mode::{Mode, only_sync};

pub(super) struct Manners {
    pub(super) in_flight: InFlight,
    pub(super) duplicate_response: DuplicateResponse,
    pub(super) duplicate_answer: Option<Acknowledgement>,
    pub(super) on_unknown_outcome: OnUnknownOutcome,
    pub(super) on_missing_id: OnMissingId,
}

pub(super) fn read(
    section: &mut Section<'_>,
    profile: Option<&Profile>,
    mode: Result<Mode, Reported>,
) -> Result<Manners, Reported> {
    let in_flight = section.choice("in_flight", &[("wait", InFlight::Wait), ("busy", InFlight::Busy)]);
    let duplicate = [("plain", DuplicateResponse::Plain), ("replay", DuplicateResponse::Replay)];
    let duplicate_response = section.choice("duplicate_response", &duplicate);
    let unknown = [("release", OnUnknownOutcome::Release), ("hold", OnUnknownOutcome::Hold)];
    let on_unknown_outcome = section.choice("on_unknown_outcome", &unknown);
    let missing = [("forward", OnMissingId::Forward), ("reject", OnMissingId::Reject), ("hash", OnMissingId::Hash)];
    let on_missing_id = section.choice("on_missing_id", &missing).and_then(|set| match set {
        Some(OnMissingId::Hash) if profile.is_some_and(|profile| profile.body_changes) => {
            let reason = "must not be \"hash\": this provider's body differs between attempts at one event";
            Err(section.fault("on_missing_id", reason))
        }
        set => Ok(set),
    });
    let at_once = "an event is acknowledged once it is stored, and so is a repeat";
    let in_flight = only_sync(in_flight, "in_flight", section, mode, at_once);
    let acknowledged = "a repeat gets the acknowledgement again";
    let duplicate_response = only_sync(duplicate_response, "duplicate_response", section, mode, acknowledged);
    let again = "an event is handed over until the app has answered";
    let on_unknown_outcome = only_sync(on_unknown_outcome, "on_unknown_outcome", section, mode, again);
    Ok(Manners {
        in_flight: in_flight?.unwrap_or(InFlight::Wait),
        duplicate_response: duplicate_response?.unwrap_or(DuplicateResponse::Plain),
        duplicate_answer: profile.and_then(unusual_success),
        on_unknown_outcome: on_unknown_outcome?.unwrap_or(OnUnknownOutcome::Release),
        on_missing_id: on_missing_id?.unwrap_or(OnMissingId::Forward),
    })
}

/// What a sender takes for success that takes 200 for a failure. A profile that leaves out 202 too has an acknowledgement.
fn unusual_success(profile: &Profile) -> Option<Acknowledgement> {
    let accepted = || Acknowledgement { status: 202, content_type: None, body: String::new() };
    let usual = profile.succeeds_with(StatusCode::OK);
    (!usual).then(|| profile.acknowledgement.clone().unwrap_or_else(accepted))
}
