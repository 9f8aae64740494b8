//! `[provider.NAME]`: profiles of the user's own, in the schema of the built-in ones.
//!
//! They are read by the same code as those, so that a fault has the place and the words that the reader of TOML gives it.
//! What contradicts itself has no single place, and is reported at the table.

use serde::Deserialize;
use toml::Spanned;
use toml::de::Deserializer;

use crate::provider::{Profile, Profiles};

use super::faults::Reported;
use super::section::Section;

/// The profiles that a config knows: `known`, and those of its tables.
pub(super) fn read(named: Result<Vec<(&str, Section<'_>)>, Reported>, known: &Profiles) -> Result<Profiles, Reported> {
    let mut profiles = known.clone();
    let mut all = Ok(());
    for (name, section) in named? {
        let defined = profile(&section)
            .and_then(|profile| profiles.define(name, profile).map_err(|error| section.fault_of_all(error.reason())));
        all = all.and(defined);
    }
    all.map(|()| profiles)
}

fn profile(section: &Section<'_>) -> Result<Profile, Reported> {
    let Some((table, offset)) = section.whole() else {
        return Err(section.fault_of_all("must be a table"));
    };
    let reader = Deserializer::from(Spanned::new(offset..offset, table));
    // By way of the trait, whose reader checks the whole.
    <Profile as Deserialize>::deserialize(reader).map_err(|error| {
        let inside = error.span().map(|span| span.start).filter(|start| *start > offset);
        section.fault_at(inside, error.message().trim_end())
    })
}
