//! Holds routes that share a namespace to one account of it: their claims are the same claims, and the settings of a
//! namespace are one set.
//!
//! What is derived may differ, since nobody has said it: two senders of one event have windows of their own.

use std::collections::HashMap;

use crate::claim::{ConfirmedTtl, Namespace};
use crate::ledger::OnStoreFailure;

use super::super::cause::Cause;
use super::super::faults::Reported;
use super::super::section::Section;
use super::lifetimes::Lifetimes;

/// What the routes before say of each namespace.
#[derive(Default)]
pub(super) struct Namesakes(HashMap<Namespace, Said>);

/// A setting of a namespace, with the key that said it first.
struct Said {
    on_store_failure: (OnStoreFailure, String),
    /// `None` while it is only derived.
    confirmed_ttl: Option<(ConfirmedTtl, String)>,
}

impl Namesakes {
    /// Notes what a route says of its namespace; reports it where a route before said something else.
    pub(super) fn note(
        &mut self,
        namespace: &Namespace,
        lifetimes: &Lifetimes,
        section: &Section<'_>,
    ) -> Result<(), Reported> {
        let on_store_failure = (lifetimes.on_store_failure.0, section.dotted("on_store_failure"));
        let confirmed_ttl = match &lifetimes.confirmed_ttl {
            (_, Cause::BuiltIn | Cause::Derived(_)) => None,
            (ttl, Cause::Defaults | Cause::Namespace(_) | Cause::Route | Cause::Delivery | Cause::History) => {
                Some((*ttl, section.dotted("confirmed_ttl")))
            }
        };
        let Some(first) = self.0.get_mut(namespace) else {
            self.0.insert(namespace.clone(), Said { on_store_failure, confirmed_ttl });
            return Ok(());
        };
        let failure = agrees(&first.on_store_failure, &on_store_failure, "on_store_failure", section);
        let ttl = match (&first.confirmed_ttl, &confirmed_ttl) {
            (Some(first), Some(own)) => agrees(first, own, "confirmed_ttl", section),
            _ => Ok(()),
        };
        first.confirmed_ttl = first.confirmed_ttl.take().or(confirmed_ttl);
        failure.and(ttl)
    }
}

fn agrees<T: PartialEq>(
    (first, place): &(T, String),
    (own, _): &(T, String),
    key: &str,
    section: &Section<'_>,
) -> Result<(), Reported> {
    if first == own {
        return Ok(());
    }
    Err(section.fault(key, format_args!("must be the same as {place}: both routes share one namespace")))
}
