//! `acknowledge = { … }`: what a queue route's sender gets for an event that is stored.

use http::{HeaderValue, StatusCode};

use crate::provider::{Acknowledgement, Profile};

use super::super::cause::Cause;
use super::super::faults::Reported;
use super::super::section::{Read, Section};
use super::mode::Mode;

/// The longest body. Senders that read it at all look for a word.
const MAX_BODY_BYTES: usize = 4 << 10;

/// The route's, else the profile's, else 202 with an empty object. A table takes the place of the whole: what it leaves out
/// is not sent, but for the status, which there must be.
pub(super) fn read(
    section: &mut Section<'_>,
    profile: Option<&Profile>,
    mode: Result<Mode, Reported>,
) -> Result<(Acknowledgement, Cause), Reported> {
    let of_profile = || {
        let profile = profile?;
        let cause = Cause::Derived(format!("what {} wants", profile.title));
        Some((profile.acknowledgement.clone()?, cause))
    };
    let set = own(section, profile)?;
    if set.is_some() && mode == Ok(Mode::Sync) {
        let reason = "is of no use without mode = \"queue\": the sender gets the app's answer";
        return Err(section.fault("acknowledge", reason));
    }
    let set = set.map(|own| (own, Cause::Delivery));
    Ok(set.or_else(of_profile).unwrap_or_else(|| (built_in(), Cause::BuiltIn)))
}

fn built_in() -> Acknowledgement {
    Acknowledgement { status: 202, content_type: Some("application/json".to_owned()), body: "{}".to_owned() }
}

fn own(section: &mut Section<'_>, profile: Option<&Profile>) -> Read<Acknowledgement> {
    let Some(mut keys) = section.table("acknowledge")? else {
        return Ok(None);
    };
    let status = keys.number("status", 200..=299);
    let content_type = keys.parse("content_type", content_type);
    let body = keys.parse("body", body);
    keys.finish();
    let status = status.and_then(|set| status_that_succeeds(set, &keys, profile));
    let (status, content_type, body) = (status?, content_type?, body?.unwrap_or_default());
    // Both are without a body by their definition (RFC 9110, sections 15.3.5 and 15.3.6).
    if matches!(status, 204 | 205) && !body.is_empty() {
        return Err(keys.fault("body", format_args!("must be empty with status {status}")));
    }
    if content_type.is_none() && !body.is_empty() {
        return Err(keys.fault("content_type", "is required with a body"));
    }
    Ok(Some(Acknowledgement { status, content_type, body: body.to_owned() }))
}

/// A sender that takes it for a failure would send the event again and again, and be told the same.
fn status_that_succeeds(set: Option<u16>, keys: &Section<'_>, profile: Option<&Profile>) -> Result<u16, Reported> {
    let of_profile = || profile?.acknowledgement.as_ref().map(|acknowledgement| acknowledgement.status);
    let status = set.or_else(of_profile).unwrap_or(built_in().status);
    let succeeds = |profile: &Profile| StatusCode::from_u16(status).is_ok_and(|status| profile.succeeds_with(status));
    match profile {
        Some(profile) if !succeeds(profile) => {
            let taken: Vec<_> = profile.success.iter().map(ToString::to_string).collect();
            let (title, taken) = (&profile.title, taken.join(", "));
            Err(keys.fault("status", format_args!("is a failure to {title}, which takes {taken} for success")))
        }
        _ => Ok(status),
    }
}

fn content_type(text: &str) -> Result<String, &'static str> {
    match HeaderValue::from_str(text) {
        Ok(value) if !value.is_empty() => Ok(text.to_owned()),
        Ok(_) | Err(_) => Err("must be the type of a body, such as text/plain"),
    }
}

fn body(text: &str) -> Result<&str, String> {
    if text.len() > MAX_BODY_BYTES { Err(format!("must be at most {MAX_BODY_BYTES} bytes")) } else { Ok(text) }
}
