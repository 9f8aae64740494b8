//! Who sends to a route: `provider`, `secrets`, `parameters`, `verify`, `tolerance`, `event_id`.

use std::collections::BTreeMap;

use std::convert::Infallible;

use crate::provider::{
    EventIdSource, MAX_SECRETS, Profile, Secret, SecretFault, Signature, Terms, Tolerance, Verifier, VerifierError,
};
use crate::proxy::SenderSettings;
use crate::quantity::parse_duration;

use super::super::faults::Reported;
use super::super::item::all;
use super::super::section::{Read, Section};
use super::super::{Environment, secrets};
use super::event_id;
use super::shared::{Print, Prints};

/// A profile that a route names.
#[derive(Clone, Copy)]
pub(super) struct Provider<'p> {
    name: &'p str,
    pub(super) profile: &'p Profile,
}

/// A sender, and what stands for its secrets.
pub(super) struct Sender {
    pub(super) settings: SenderSettings,
    pub(super) prints: Vec<Print>,
}

pub(super) fn provider<'p>(section: &mut Section<'_>, environment: &'p Environment) -> Read<Provider<'p>> {
    let Some(text) = section.parse("provider", Ok::<_, Infallible>)? else {
        return Ok(None);
    };
    // It has been reported in its own table, and is no fault of the route.
    if let Some(reported) = environment.faulty_provider(text) {
        return Err(reported);
    }
    match environment.profiles().iter().find(|(name, _)| *name == text) {
        Some((name, profile)) => Ok(Some(Provider { name, profile })),
        None => Err(section.fault("provider", "is not a known provider; 'onced providers' lists those that are")),
    }
}

/// The keys as they were read, before anything is made of them.
struct Keys<'p> {
    provider: Read<Provider<'p>>,
    secrets: Result<Vec<(Secret, Print)>, Reported>,
    tolerance: Read<Tolerance>,
    parameters: Result<BTreeMap<String, String>, Reported>,
    event_id: Read<EventIdSource>,
}

pub(super) fn read(
    section: &mut Section<'_>,
    environment: &Environment,
    provider: Read<Provider<'_>>,
    public_url: Option<&str>,
    prints: &Prints,
) -> Result<Sender, Reported> {
    let profile = provider.ok().flatten().map(|provider| provider.profile);
    let secrets = section.tables("secrets").and_then(|sections| {
        let secret = |section| secret(section, environment, profile, prints);
        all(sections.into_iter().map(secret))
    });
    let verify = section.parse("verify", verify);
    let keys = Keys {
        provider,
        secrets,
        tolerance: section.parse("tolerance", tolerance),
        parameters: section.texts("parameters"),
        event_id: event_id::read(section),
    };
    match verify? {
        None => verified(section, keys, public_url),
        Some(Unverified) => unverified(section, keys),
    }
}

fn verified(section: &Section<'_>, keys: Keys<'_>, public_url: Option<&str>) -> Result<Sender, Reported> {
    let provider = section.required("provider", keys.provider);
    let tolerance = keys.tolerance.and_then(|set| match (set, provider) {
        (Some(Tolerance::Seconds(_)), Ok(provider)) if provider.profile.signature.timestamp().is_none() => {
            Err(timeless(section))
        }
        (set, _) => Ok(set),
    });
    let secrets = keys.secrets.and_then(|secrets| match secrets.is_empty() {
        true => Err(section.fault("secrets", "needs at least one; only verify = \"none\" does without")),
        false => Ok(secrets),
    });
    let Provider { name, profile } = provider?;
    let (secrets, prints): (Vec<_>, Vec<_>) = secrets?.into_iter().unzip();
    let terms = Terms { secrets: &secrets, tolerance: tolerance?, public_url, parameters: keys.parameters? };
    let verifier = verifier(section, profile, &terms)?;
    let of_profile = || profile.event_id.as_ref().map(|facts| facts.source.clone());
    let settings = SenderSettings {
        provider: Some(name.into()),
        verifier: Some(verifier),
        event_id: keys.event_id?.or_else(of_profile),
    };
    Ok(Sender { settings, prints })
}

fn verifier(section: &Section<'_>, profile: &Profile, terms: &Terms<'_>) -> Result<Verifier, Reported> {
    Verifier::new(profile, terms).map_err(|error| match error {
        VerifierError::NoTimestamp => timeless(section),
        VerifierError::NoSecret => section.fault("secrets", "needs at least one"),
        VerifierError::TooManySecrets(_) => section.fault("secrets", format_args!("must be at most {MAX_SECRETS}")),
        VerifierError::NoSignature => section.fault("provider", "signs nothing: the route needs verify = \"none\""),
        VerifierError::Secret(error) => section.fault("secrets", unusable(&error.fault)),
        VerifierError::NoPublicUrl => {
            section.fault("provider", "signs the URL that it knows us by: [hooks] public_url must be set to it")
        }
        VerifierError::MissingParameter(name) => {
            section.fault("parameters", format_args!("needs {name}, which this provider signs"))
        }
        VerifierError::UnknownParameter(name) => {
            let known: Vec<_> = profile.signature.parameters().collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            section.fault("parameters", format_args!("has {name}, which this provider does not sign; known: {known}"))
        }
    })
}

fn timeless(section: &Section<'_>) -> Reported {
    section.fault("tolerance", "is of no use: this provider signs no timestamp")
}

/// Secrets or a tolerance beside `verify = "none"` look like protection that is not there. Where the id is must be said,
/// since a profile's is meant for events that are verified; only one of a sender that never signs knows better.
fn unverified(section: &Section<'_>, keys: Keys<'_>) -> Result<Sender, Reported> {
    let unsigned = keys.provider.ok().flatten().filter(|provider| provider.profile.signature == Signature::None);
    let event_id = match (keys.event_id, unsigned) {
        (Ok(None), Some(provider)) => Ok(provider.profile.event_id.as_ref().map(|facts| facts.source.clone())),
        (Ok(None), None) => Err(section.fault("event_id", "is required with verify = \"none\"")),
        (event_id, _) => event_id,
    };
    let secrets = keys.secrets.and_then(|secrets| match secrets.is_empty() {
        true => Ok(()),
        false => Err(section.fault("secrets", "are of no use with verify = \"none\"")),
    });
    let tolerance = keys.tolerance.and_then(|set| match set {
        Some(Tolerance::Seconds(_)) => Err(section.fault("tolerance", "is of no use with verify = \"none\"")),
        Some(Tolerance::Off) | None => Ok(()),
    });
    let parameters = keys.parameters.and_then(|parameters| match parameters.is_empty() {
        true => Ok(()),
        false => Err(section.fault("parameters", "are of no use with verify = \"none\"")),
    });
    secrets.and(tolerance).and(parameters)?;
    let settings = SenderSettings {
        provider: keys.provider?.map(|provider| provider.name.into()),
        verifier: None,
        event_id: event_id?,
    };
    Ok(Sender { settings, prints: Vec::new() })
}

/// A secret, tried on the profile by itself: so that each that does not suit it is reported in its own place.
fn secret(
    mut section: Section<'_>,
    environment: &Environment,
    profile: Option<&Profile>,
    prints: &Prints,
) -> Result<(Secret, Print), Reported> {
    let found = secrets::read(&mut section, environment);
    section.finish();
    let found = found?;
    let refused = |fault: &SecretFault| section.fault(found.key, unusable(fault));
    let secret = Secret::from_bytes(&*found.label, &found.bytes).map_err(|error| refused(&error.fault))?;
    if let Some(Err(error)) = profile.map(|profile| Verifier::try_secret(profile, &secret)) {
        return Err(refused(&error.fault));
    }
    let print = prints.of(&found);
    Ok((secret, print))
}

fn unusable(fault: &SecretFault) -> String {
    format!("cannot be used: {fault}")
}

/// `verify = "none"`, the only thing that can be said: to verify is not an option but the rule.
#[derive(Clone, Copy)]
struct Unverified;

fn verify(text: &str) -> Result<Unverified, &'static str> {
    if text == "none" { Ok(Unverified) } else { Err("must be \"none\" or left out") }
}

/// `300s` or `off`. Stamps count in seconds, and a tolerance of zero refuses all that are not of this very second.
fn tolerance(text: &str) -> Result<Tolerance, String> {
    if text == "off" {
        return Ok(Tolerance::Off);
    }
    let length =
        parse_duration(text).map_err(|reason| format!("must be \"off\" or a length of time; the latter {reason}"))?;
    if length.is_zero() || length.subsec_nanos() != 0 {
        return Err("must be whole seconds, at least 1s; or \"off\"".to_owned());
    }
    Ok(Tolerance::Seconds(length.as_secs()))
}
