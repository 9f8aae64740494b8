//! `verify_token`: the text by which a sender shows itself before it delivers, for senders that were given one.

use crate::provider::{Handshake, Profile, Secret};
use crate::proxy::HandshakeSettings;

use super::super::faults::Reported;
use super::super::section::Section;
use super::super::{Environment, secrets};

pub(super) fn read(
    section: &mut Section<'_>,
    environment: &Environment,
    profile: Option<&Profile>,
) -> Result<HandshakeSettings, Reported> {
    let known = profile.map_or(&[][..], |profile| &profile.handshake);
    let token = match section.table("verify_token")? {
        None => None,
        Some(place) => Some(token(place, environment)?),
    };
    let asks = |handshake: &Handshake| handshake.token.is_some();
    if token.is_some() && !known.iter().any(asks) {
        return Err(section.fault("verify_token", "is of no use: this provider shows none"));
    }
    Ok(HandshakeSettings { known: known.into(), token })
}

fn token(mut place: Section<'_>, environment: &Environment) -> Result<Secret, Reported> {
    let found = secrets::read(&mut place, environment);
    place.finish();
    let found = found?;
    Secret::from_bytes(&*found.label, &found.bytes)
        .map_err(|error| place.fault(found.key, format_args!("cannot be used: {}", error.fault)))
}
