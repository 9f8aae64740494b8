//! `[[route]]`.

mod lifetimes;
mod sender;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::claim::Namespace;
use crate::proxy::{ForwardTo, InFlight, OnMissingId, OnUnknownOutcome, RoutePath, RouteSettings, Tolerance};

use super::Environment;
use super::cause::RouteCauses;
use super::faults::Reported;
use super::item::all;
use super::namespaces::{Namespaces, RouteTable};
use super::section::{NOT_YET, Read, Section};
use super::unique::Unique;
use super::value;

/// Keys of queue routes, of recording and of signing to the app.
const LATER: [&str; 4] = ["delivery", "duplicate_response", "record", "sign_secret"];

/// The longest that a sender may be kept waiting. None waits for more than a minute or two; what is longer is a slip.
const MAX_ANSWER_WITHIN: Duration = Duration::from_secs(3_600);
/// The largest body that may be allowed. Providers stay below 30 MiB.
const MAX_BODY_BYTES: u64 = 1 << 30;

/// The routes in the order of the file, and the causes of their lifetimes by name.
pub(super) type Routes = (Vec<RouteSettings>, BTreeMap<Box<str>, RouteCauses>);

/// The tables of the routes' namespaces.
type Tables<'a> = BTreeMap<Namespace, RouteTable<'a>>;

/// Reads all routes. Each table of a route's namespace must be some route's.
pub(super) fn read(
    sections: Result<Vec<Section<'_>>, Reported>,
    environment: &Environment,
    namespaces: Option<&Namespaces<'_>>,
) -> Result<Routes, Reported> {
    let mut unique = (Unique::default(), Unique::default());
    let none = Tables::new();
    let tables = namespaces.map_or(&none, |namespaces| &namespaces.route_tables);
    let sections = sections?.into_iter();
    let routes = all(sections.map(|section| route(section, environment, tables, &mut unique)))?;
    let (routes, causes): (Vec<_>, Vec<_>) = routes.into_iter().unzip();
    let stray = |name: &Namespace| routes.iter().all(|route: &RouteSettings| route.namespace != *name);
    for (_, table) in tables.iter().filter(|(name, _)| stray(name)) {
        table.section.fault_of_all("is the namespace of no route");
    }
    let names = routes.iter().map(|route| route.name.clone());
    let causes = names.zip(causes).collect();
    Ok((routes, causes))
}

fn route(
    mut section: Section<'_>,
    environment: &Environment,
    tables: &Tables<'_>,
    unique: &mut (Unique, Unique),
) -> Result<(RouteSettings, RouteCauses), Reported> {
    let identity = identity(&mut section, unique);
    let sender = sender::read(&mut section, environment);
    let forward_to = section.parse("forward_to", ForwardTo::parse);
    let forward_to = section.required("forward_to", forward_to);
    let mode = mode(&mut section);
    let table = identity
        .as_ref()
        .ok()
        .and_then(|identity| tables.get_key_value(&identity.namespace));
    let lifetimes = lifetimes::read(&mut section, table);
    let manners = manners(&mut section);
    section.finish(&LATER);
    mode?;
    let (identity, lifetimes, manners) = (identity?, lifetimes?, manners?);
    let settings = RouteSettings {
        name: identity.name,
        namespace: identity.namespace,
        path: identity.path,
        sender: sender?,
        forward_to: forward_to?,
        max_duration: lifetimes.max_duration,
        processing_ttl: lifetimes.processing_ttl,
        confirmed_ttl: lifetimes.confirmed_ttl,
        on_store_failure: lifetimes.on_store_failure,
        tolerance: manners.tolerance,
        answer_within: manners.answer_within,
        in_flight: manners.in_flight,
        on_unknown_outcome: manners.on_unknown_outcome,
        on_missing_id: manners.on_missing_id,
        max_body_bytes: manners.max_body_bytes,
        relay_dangerous_status: manners.relay_dangerous_status,
    };
    Ok((settings, lifetimes.causes))
}

/// What tells a route from the others.
struct Identity {
    name: Box<str>,
    namespace: Namespace,
    path: RoutePath,
}

fn identity(section: &mut Section<'_>, (names, paths): &mut (Unique, Unique)) -> Result<Identity, Reported> {
    let name = section.parse("name", |text| {
        Namespace::of_route(text).map(|namespace| (text, namespace))
    });
    let shared = section.parse("namespace", Namespace::of_route);
    let path = section.parse("path", |text| RoutePath::parse(text).map(|path| (text, path)));
    let name = section.required("name", name).and_then(|(text, own)| {
        names.note(text, section, "name")?;
        Ok((text, own))
    });
    let path = section.required("path", path).and_then(|(text, path)| {
        paths.note(text, section, "path")?;
        Ok(path)
    });
    let (name, own) = name?;
    Ok(Identity {
        name: name.into(),
        namespace: shared?.unwrap_or(own),
        path: path?,
    })
}

/// Routes of this version are synchronous, so that there is nothing to keep.
fn mode(section: &mut Section<'_>) -> Read<()> {
    section.parse("mode", |text| match text {
        "sync" => Ok(()),
        "queue" => Err(format!("\"queue\" {NOT_YET}")),
        _ => Err("must be \"sync\"".to_owned()),
    })
}

/// How a route deals with senders and with what can go wrong.
struct Manners {
    tolerance: Option<Tolerance>,
    answer_within: Option<Duration>,
    in_flight: InFlight,
    on_unknown_outcome: OnUnknownOutcome,
    on_missing_id: OnMissingId,
    max_body_bytes: Option<u64>,
    relay_dangerous_status: bool,
}

fn manners(section: &mut Section<'_>) -> Result<Manners, Reported> {
    let tolerance = section.parse("tolerance", Tolerance::parse);
    let answer_within = section.parse("answer_within", value::length(MAX_ANSWER_WITHIN));
    let in_flight = section.choice("in_flight", &[("wait", InFlight::Wait), ("busy", InFlight::Busy)]);
    let unknown = [("release", OnUnknownOutcome::Release), ("hold", OnUnknownOutcome::Hold)];
    let on_unknown_outcome = section.choice("on_unknown_outcome", &unknown);
    let missing = [
        ("forward", OnMissingId::Forward),
        ("reject", OnMissingId::Reject),
        ("hash", OnMissingId::Hash),
    ];
    let on_missing_id = section.choice("on_missing_id", &missing);
    let max_body = section.parse("max_body", value::size(1, MAX_BODY_BYTES, "from 1B to 1GiB"));
    let relay_dangerous_status = section.flag("relay_dangerous_status");
    Ok(Manners {
        tolerance: tolerance?,
        answer_within: answer_within?,
        in_flight: in_flight?.unwrap_or(InFlight::Wait),
        on_unknown_outcome: on_unknown_outcome?.unwrap_or(OnUnknownOutcome::Release),
        on_missing_id: on_missing_id?.unwrap_or(OnMissingId::Forward),
        max_body_bytes: max_body?,
        relay_dangerous_status: relay_dangerous_status?.unwrap_or(false),
    })
}
