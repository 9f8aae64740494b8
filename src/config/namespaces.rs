//! `[defaults]` and `[namespace.…]`.
//!
//! `[defaults]` serves the claim API alone; a route's lifetimes follow other causes. So the table of a route's namespace
//! (`[namespace."route:stripe"]`) is not filled up here, but kept for the route that asks for it.

use std::collections::BTreeMap;

use crate::claim::{ConfirmedTtl, Namespace, ProcessingTtl};
use crate::ledger::{LedgerSettings, NamespaceSettings, OnStoreFailure};

use super::cause::{Cause, NamespaceCauses};
use super::faults::Reported;
use super::item::all;
use super::section::{Read, Section};
use super::value;

/// What a table of lifetimes sets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Overrides {
    pub(super) processing_ttl: Option<ProcessingTtl>,
    pub(super) confirmed_ttl: Option<ConfirmedTtl>,
    pub(super) on_store_failure: Option<OnStoreFailure>,
}

/// Asks a section for the three keys of [`Overrides`].
pub(super) fn overrides(section: &mut Section<'_>) -> Result<Overrides, Reported> {
    let processing_ttl = section.parse("processing_ttl", value::ttl);
    let confirmed_ttl = section.parse("confirmed_ttl", value::ttl);
    let on_store_failure = on_store_failure(section);
    Ok(Overrides {
        processing_ttl: processing_ttl?,
        confirmed_ttl: confirmed_ttl?,
        on_store_failure: on_store_failure?,
    })
}

fn on_store_failure(section: &mut Section<'_>) -> Read<OnStoreFailure> {
    let words = [("open", OnStoreFailure::Open), ("closed", OnStoreFailure::Closed)];
    section.choice("on_store_failure", &words)
}

/// The table of a route's namespace, with its place for faults that only the route can see.
pub(super) struct RouteTable<'a> {
    pub(super) overrides: Overrides,
    pub(super) section: Section<'a>,
}

/// Everything that `[defaults]` and `[namespace.…]` say.
pub(super) struct Namespaces<'a> {
    pub(super) ledger: LedgerSettings,
    pub(super) default_causes: NamespaceCauses,
    pub(super) causes: BTreeMap<Namespace, NamespaceCauses>,
    pub(super) route_tables: BTreeMap<Namespace, RouteTable<'a>>,
}

pub(super) fn read<'a>(
    defaults: Result<Section<'a>, Reported>,
    named: Result<Vec<(&'a str, Section<'a>)>, Reported>,
) -> Result<Namespaces<'a>, Reported> {
    let defaults = defaults.and_then(|mut section| {
        let set = overrides(&mut section);
        section.finish();
        set
    });
    let tables = named.and_then(|named| all(named.into_iter().map(|(name, section)| table(name, section))));
    let built_in = (NamespaceSettings::default(), every(&Cause::BuiltIn));
    let (defaults, default_causes) = fill(defaults?, &Cause::Defaults, built_in);
    let mut namespaces = Namespaces {
        ledger: LedgerSettings { defaults, ..LedgerSettings::default() },
        default_causes,
        causes: BTreeMap::new(),
        route_tables: BTreeMap::new(),
    };
    for (name, table) in tables? {
        namespaces.add(name, table);
    }
    Ok(namespaces)
}

fn table<'a>(name: &str, mut section: Section<'a>) -> Result<(Namespace, RouteTable<'a>), Reported> {
    let namespace = Namespace::parse_any(name).map_err(|reason| section.fault_of_all(reason));
    let overrides = overrides(&mut section);
    section.finish();
    let overrides = overrides?;
    Ok((namespace?, RouteTable { overrides, section }))
}

impl<'a> Namespaces<'a> {
    fn add(&mut self, name: Namespace, table: RouteTable<'a>) {
        if name.is_route() {
            self.route_tables.insert(name, table);
            return;
        }
        let defaults = (self.ledger.defaults, self.default_causes.clone());
        let (settings, causes) = fill(table.overrides, &Cause::Namespace(name.clone()), defaults);
        self.ledger.by_namespace.insert(name.clone(), settings);
        self.causes.insert(name, causes);
    }
}

/// Puts what is set over what holds otherwise.
fn fill(
    set: Overrides,
    cause: &Cause,
    (under, under_causes): (NamespaceSettings, NamespaceCauses),
) -> (NamespaceSettings, NamespaceCauses) {
    let processing = over(set.processing_ttl, cause, (under.processing_ttl, under_causes.processing_ttl));
    let confirmed = over(set.confirmed_ttl, cause, (under.confirmed_ttl, under_causes.confirmed_ttl));
    let failure = over(set.on_store_failure, cause, (under.on_store_failure, under_causes.on_store_failure));
    let settings =
        NamespaceSettings { processing_ttl: processing.0, confirmed_ttl: confirmed.0, on_store_failure: failure.0 };
    let causes =
        NamespaceCauses { processing_ttl: processing.1, confirmed_ttl: confirmed.1, on_store_failure: failure.1 };
    (settings, causes)
}

fn over<T>(set: Option<T>, cause: &Cause, under: (T, Cause)) -> (T, Cause) {
    set.map_or(under, |value| (value, cause.clone()))
}

fn every(cause: &Cause) -> NamespaceCauses {
    NamespaceCauses { processing_ttl: cause.clone(), confirmed_ttl: cause.clone(), on_store_failure: cause.clone() }
}
