//! Who sends to a route: `provider`, `secrets`, `verify`, `event_id`.

use crate::proxy::{EventIdSource, JsonPointer, SecretText, SenderSettings};

use super::super::faults::Reported;
use super::super::item::all;
use super::super::section::{Read, Section};
use super::super::{Environment, secrets};

/// The most secrets of a route. Two are a rotation; each costs a hash of every body.
const MAX_SECRETS: usize = 8;

pub(super) fn read(section: &mut Section<'_>, environment: &Environment) -> Result<SenderSettings, Reported> {
    let provider = section.parse("provider", |name| known(name, environment));
    let secrets = section
        .tables("secrets")
        .and_then(|sections| all(sections.into_iter().map(|it| secret(it, environment))));
    let verify = section.parse("verify", verify);
    let event_id = event_id(section);
    match verify? {
        None => verified(section, provider, secrets, event_id),
        Some(Unverified) => unverified(section, provider, secrets, event_id),
    }
}

fn verified(
    section: &Section<'_>,
    provider: Read<Box<str>>,
    secrets: Result<Vec<SecretText>, Reported>,
    event_id: Read<EventIdSource>,
) -> Result<SenderSettings, Reported> {
    let provider = section.required("provider", provider);
    let secrets = secrets.and_then(|secrets| match secrets.len() {
        0 => Err(section.fault("secrets", "needs at least one; only verify = \"none\" does without")),
        1..=MAX_SECRETS => Ok(secrets),
        _ => Err(section.fault("secrets", format_args!("must be at most {MAX_SECRETS}"))),
    });
    Ok(SenderSettings::Verified {
        provider: provider?,
        secrets: secrets?,
        event_id: event_id?,
    })
}

/// Secrets beside `verify = "none"` look like protection that is not there.
fn unverified(
    section: &Section<'_>,
    provider: Read<Box<str>>,
    secrets: Result<Vec<SecretText>, Reported>,
    event_id: Read<EventIdSource>,
) -> Result<SenderSettings, Reported> {
    let event_id = match event_id {
        Ok(None) => Err(section.fault("event_id", "is required with verify = \"none\"")),
        event_id => event_id.map(|set| set.expect("not being set is the arm above")),
    };
    if !secrets?.is_empty() {
        return Err(section.fault("secrets", "are of no use with verify = \"none\""));
    }
    Ok(SenderSettings::Unverified {
        provider: provider?,
        event_id: event_id?,
    })
}

fn known(name: &str, environment: &Environment) -> Result<Box<str>, String> {
    if environment.knows_provider(name) {
        return Ok(name.into());
    }
    let known: Vec<_> = environment.known_providers().collect();
    Err(format!("is not a known provider; known are {}", known.join(", ")))
}

fn secret(mut section: Section<'_>, environment: &Environment) -> Result<SecretText, Reported> {
    let found = secrets::read(&mut section, environment);
    section.finish(&[]);
    let found = found?;
    SecretText::new(&found.label, &found.text).map_err(|reason| section.fault(found.key, reason))
}

/// `verify = "none"`, the only thing that can be said: to verify is not an option but the rule.
#[derive(Clone, Copy)]
struct Unverified;

fn verify(text: &str) -> Result<Unverified, &'static str> {
    if text == "none" {
        Ok(Unverified)
    } else {
        Err("must be \"none\" or left out")
    }
}

fn event_id(section: &mut Section<'_>) -> Read<EventIdSource> {
    let Some(mut place) = section.table("event_id")? else {
        return Ok(None);
    };
    let header = place.parse("header", header);
    let pointer = place.parse("pointer", JsonPointer::parse);
    let form = place.parse("form", form);
    place.finish(&[]);
    match (header?, form?, pointer?) {
        (Some(header), None, None) => Ok(Some(EventIdSource::Header(header))),
        (None, Some(field), pointer) => Ok(Some(EventIdSource::Form { field, pointer })),
        (None, None, Some(pointer)) => Ok(Some(EventIdSource::Pointer(pointer))),
        _ => Err(place.fault_of_all("needs header, pointer, form, or form with pointer")),
    }
}

fn header(text: &str) -> Result<http::HeaderName, &'static str> {
    text.parse().map_err(|_| "must be the name of a header")
}

fn form(text: &str) -> Result<Box<str>, &'static str> {
    if text.is_empty() {
        Err("must be the name of a form field")
    } else {
        Ok(text.into())
    }
}
