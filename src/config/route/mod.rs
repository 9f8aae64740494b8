//! `[[route]]`.

mod acknowledge;
mod delivery;
mod event_id;
mod handshake;
mod lifetimes;
mod limits;
mod manners;
mod mode;
mod namesakes;
mod parts;
mod record;
mod sender;
mod shared;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::app::{ForwardTo, RoutePath, SigningKey};
use crate::claim::{MAX_ID_BYTES, Namespace};
use crate::delivery::LaneSettings;
use crate::provider::MAX_KEY_BYTES;
use crate::proxy::RouteSettings;

use super::cause::RouteCauses;
use super::faults::Reported;
use super::item::all;
use super::namespaces::{Namespaces, RouteTable};
use super::section::{Read, Section};
use super::unique::Unique;
use super::warning::{self, Warning};
use super::{Environment, secrets};

use namesakes::Namesakes;
use parts::Parts;
use sender::Sender;
use shared::Prints;

// A sender's id becomes the key of a claim as it is, up to the longest key that there can be. `provider` knows no claims and
// has the number for itself; the config of a route is where the two meet.
const _: () =
    assert!(MAX_KEY_BYTES == MAX_ID_BYTES, "what a provider takes for a key must be one, and every key must do");

/// All routes.
#[derive(Default)]
pub(super) struct Routes {
    /// In the order of the file.
    pub(super) settings: Vec<RouteSettings>,
    /// How their events are delivered, in the same order.
    pub(super) lanes: Vec<LaneSettings>,
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

    fn add(&mut self, route: Route) {
        self.causes.insert(route.settings.name.clone(), route.causes);
        self.settings.push(route.settings);
        self.lanes.push(route.lane);
        self.warnings.extend(route.warnings);
    }
}

/// One route, read.
struct Route {
    settings: RouteSettings,
    lane: LaneSettings,
    causes: RouteCauses,
    warnings: Vec<Warning>,
}

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
    let mode = mode::read(&mut section);
    let namespace = identity.as_ref().ok().map(|identity| &identity.namespace);
    let table = namespace.and_then(|namespace| tables.get_key_value(namespace));
    let lifetimes = lifetimes::read(&mut section, table, profile);
    let agreed = match (namespace, &lifetimes) {
        (Some(namespace), Ok(lifetimes)) => met.namesakes.note(namespace, lifetimes, &section),
        _ => Ok(()),
    };
    let manners = manners::read(&mut section, profile, mode);
    let limits = limits::read(&mut section, profile, mode);
    let delivery = delivery::read(&mut section, profile, mode);
    let signing_key = signing_key(&mut section, environment);
    section.finish();
    agreed?;
    let Sender { settings: sender, prints } = sender?;
    let parts = Parts {
        identity: identity?,
        sender,
        handshakes: handshakes?,
        forward_to: forward_to?,
        mode: mode?,
        lifetimes: lifetimes?,
        manners: manners?,
        limits: limits?,
        delivery: delivery?,
        signing_key: signing_key?,
    };
    let (causes, lane, settings) = (parts.causes(), parts.lane(), parts.settings());
    let mut warnings = warning::of_route(&settings, profile);
    warnings.extend(met.prints.note(&prints, &settings));
    Ok(Route { settings, lane, causes, warnings })
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

/// The key of our own signature to the app.
fn signing_key(section: &mut Section<'_>, environment: &Environment) -> Read<SigningKey> {
    let Some(mut place) = section.table("sign_secret")? else {
        return Ok(None);
    };
    let found = secrets::read(&mut place, environment);
    place.finish();
    let found = found?;
    let refused = |reason: &dyn std::fmt::Display| place.fault(found.key, reason);
    let text = found.line().map_err(|reason| refused(&reason))?;
    SigningKey::parse(text).map(Some).map_err(|reason| refused(&reason))
}
