//! `[[route]]`.

mod event_id;
mod handshake;
mod lifetimes;
mod limits;
mod namesakes;
mod record;
mod sender;
mod shared;

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;

use crate::app::{ForwardTo, RoutePath, SigningKey};
use crate::claim::{MAX_ID_BYTES, Namespace};
use crate::provider::{Acknowledgement, MAX_KEY_BYTES, Profile};
use crate::proxy::{
    DuplicateResponse, HandshakeSettings, InFlight, OnMissingId, OnUnknownOutcome, RouteSettings, SenderSettings,
};

use super::cause::RouteCauses;
use super::faults::Reported;
use super::item::all;
use super::namespaces::{Namespaces, RouteTable};
use super::section::{NOT_YET, Read, Section};
use super::unique::Unique;
use super::warning::{self, Warning};
use super::{Environment, secrets};

use lifetimes::Lifetimes;
use limits::Limits;
use namesakes::Namesakes;
use sender::Sender;
use shared::Prints;

/// Keys of queue routes.
const LATER: [&str; 1] = ["delivery"];

// A sender's id becomes the key of a claim as it is, up to the longest key that there can be. `provider` knows no claims and
// has the number for itself; the config of a route is where the two meet.
const _: () =
    assert!(MAX_KEY_BYTES == MAX_ID_BYTES, "what a provider takes for a key must be one, and every key must do");

/// All routes.
#[derive(Default)]
pub(super) struct Routes {
    /// In the order of the file.
    pub(super) settings: Vec<RouteSettings>,
    /// Why they are what they are, by name.
    pub(super) causes: BTreeMap<Box<str>, RouteCauses>,
    /// What is odd about them.
    pub(super) warnings: Vec<Warning>,
}

impl Routes {
    /// The longest `max_duration`; zero without routes.
    pub(super) fn longest(&self) -> Duration {
        let lengths = self.settings.iter().map(|route| route.max_duration);
        lengths.max().unwrap_or_default()
    }

    fn add(&mut self, (settings, causes, warnings): Route) {
        self.causes.insert(settings.name.clone(), causes);
        self.settings.push(settings);
        self.warnings.extend(warnings);
    }
}

type Route = (RouteSettings, RouteCauses, Vec<Warning>);

/// The tables of the routes' namespaces.
type Tables<'a> = BTreeMap<Namespace, RouteTable<'a>>;

/// What the routes before this one have.
#[derive(Default)]
struct Met {
    names: Unique,
    paths: Unique,
    prints: Prints,
    namesakes: Namesakes,
}

/// Reads all routes. Each table of a route's namespace must be some route's.
pub(super) fn read(
    sections: Result<Vec<Section<'_>>, Reported>,
    environment: &Environment,
    namespaces: Option<&Namespaces<'_>>,
    public_url: Option<&str>,
) -> Result<Routes, Reported> {
    let mut met = Met::default();
    let none = Tables::new();
    let tables = namespaces.map_or(&none, |namespaces| &namespaces.route_tables);
    let sections = sections?.into_iter();
    let read = all(sections.map(|section| route(section, environment, tables, public_url, &mut met)))?;
    let mut routes = Routes::default();
    for route in read {
        routes.add(route);
    }
    let stray = |name: &Namespace| routes.settings.iter().all(|route| route.namespace != *name);
    for (_, table) in tables.iter().filter(|(name, _)| stray(name)) {
        table.section.fault_of_all("is the namespace of no route");
    }
    Ok(routes)
}

fn route(
    mut section: Section<'_>,
    environment: &Environment,
    tables: &Tables<'_>,
    public_url: Option<&str>,
    met: &mut Met,
) -> Result<Route, Reported> {
    let identity = identity(&mut section, met);
    let provider = sender::provider(&mut section, environment);
    let profile = provider.ok().flatten().map(|provider| provider.profile);
    let sender = sender::read(&mut section, environment, provider, public_url, &met.prints);
    let handshakes = handshake::read(&mut section, environment, profile);
    let forward_to = section.parse("forward_to", ForwardTo::parse);
    let forward_to = section.required("forward_to", forward_to);
    let mode = mode(&mut section);
    let namespace = identity.as_ref().ok().map(|identity| &identity.namespace);
    let table = namespace.and_then(|namespace| tables.get_key_value(namespace));
    let lifetimes = lifetimes::read(&mut section, table, profile);
    let agreed = match (namespace, &lifetimes) {
        (Some(namespace), Ok(lifetimes)) => met.namesakes.note(namespace, lifetimes, &section),
        _ => Ok(()),
    };
    let manners = manners(&mut section, profile);
    let limits = limits::read(&mut section, profile);
    let signing_key = signing_key(&mut section, environment);
    section.finish(&LATER);
    mode?;
    agreed?;
    let Sender { settings, prints } = sender?;
    let senders = (settings, handshakes?);
    let (settings, causes) = complete(identity?, senders, forward_to?, lifetimes?, manners?, limits?, signing_key?);
    let mut warnings = warning::of_route(&settings, profile);
    warnings.extend(met.prints.note(&prints, &settings));
    Ok((settings, causes, warnings))
}

fn complete(
    identity: Identity,
    (sender, handshakes): (SenderSettings, HandshakeSettings),
    forward_to: ForwardTo,
    lifetimes: Lifetimes,
    manners: Manners,
    limits: Limits,
    signing_key: Option<SigningKey>,
) -> (RouteSettings, RouteCauses) {
    let causes = RouteCauses {
        processing_ttl: lifetimes.processing_ttl.1,
        confirmed_ttl: lifetimes.confirmed_ttl.1,
        answer_within: lifetimes.answer_within.1,
        max_body: limits.max_body_bytes.1,
        on_store_failure: lifetimes.on_store_failure.1,
    };
    let settings = RouteSettings {
        name: identity.name,
        namespace: identity.namespace,
        path: identity.path,
        sender,
        handshakes,
        forward_to,
        max_duration: lifetimes.max_duration,
        processing_ttl: lifetimes.processing_ttl.0,
        confirmed_ttl: lifetimes.confirmed_ttl.0,
        on_store_failure: lifetimes.on_store_failure.0,
        answer_within: lifetimes.answer_within.0,
        in_flight: manners.in_flight,
        duplicate_response: manners.duplicate_response,
        duplicate_answer: manners.duplicate_answer,
        on_unknown_outcome: manners.on_unknown_outcome,
        on_missing_id: manners.on_missing_id,
        max_body_bytes: limits.max_body_bytes.0,
        dangerous_statuses: limits.dangerous_statuses,
        keep_failures: limits.keep_failures,
        signing_key,
    };
    (settings, causes)
}

/// What tells a route from the others.
struct Identity {
    name: Box<str>,
    namespace: Namespace,
    path: RoutePath,
}

fn identity(section: &mut Section<'_>, met: &mut Met) -> Result<Identity, Reported> {
    let name = section.parse("name", |text| Namespace::of_route(text).map(|namespace| (text, namespace)));
    let shared = section.parse("namespace", Namespace::of_route);
    let path = section.parse("path", |text| RoutePath::parse(text).map(|path| (text, path)));
    let name = section.required("name", name).and_then(|(text, own)| {
        met.names.note(text, section, "name")?;
        Ok((text, own))
    });
    let path = section.required("path", path).and_then(|(text, path)| {
        met.paths.note(text, section, "path")?;
        Ok(path)
    });
    let (name, own) = name?;
    Ok(Identity { name: name.into(), namespace: shared?.unwrap_or(own), path: path? })
}

/// Routes of this version are synchronous.
fn mode(section: &mut Section<'_>) -> Read<()> {
    section.parse("mode", |text| match text {
        "sync" => Ok(()),
        "queue" => Err(format!("\"queue\" {NOT_YET}")),
        _ => Err("must be \"sync\"".to_owned()),
    })
}

/// The key of our own signature to the app.
fn signing_key(section: &mut Section<'_>, environment: &Environment) -> Read<SigningKey> {
    let Some(mut place) = section.table("sign_secret")? else {
        return Ok(None);
    };
    let found = secrets::read(&mut place, environment);
    place.finish(&[]);
    let found = found?;
    let refused = |reason: &dyn std::fmt::Display| place.fault(found.key, reason);
    let text = found.line().map_err(|reason| refused(&reason))?;
    SigningKey::parse(text).map(Some).map_err(|reason| refused(&reason))
}

/// How a route deals with what can go wrong.
struct Manners {
    in_flight: InFlight,
    duplicate_response: DuplicateResponse,
    duplicate_answer: Option<Acknowledgement>,
    on_unknown_outcome: OnUnknownOutcome,
    on_missing_id: OnMissingId,
}

fn manners(section: &mut Section<'_>, profile: Option<&Profile>) -> Result<Manners, Reported> {
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
