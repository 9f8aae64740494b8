//! `[provider.NAME]`: profiles of the user's own, in the schema of the built-in ones.
//!
//! They are read by the same code as those, so that a fault has the place and the words that the reader of TOML gives it.
//! What contradicts itself has no single place, and is reported at the table.

use serde::Deserialize;
use toml::Spanned;
use toml::de::Deserializer;

use crate::provider::{Profile, Profiles};

use super::Environment;
use super::faults::Reported;
use super::section::Section;

/// The profiles that a config knows.
pub(super) struct Providers {
    /// Those that were known before, and those of its tables that are sound.
    sound: Profiles,
    /// The tables that are not, each with its report: what names one has no fault of its own.
    faulty: Vec<(String, Reported)>,
}

impl Providers {
    /// Reads the tables, beside what is known already.
    pub(super) fn read(named: Result<Vec<(&str, Section<'_>)>, Reported>, known: &Profiles) -> Result<Self, Reported> {
        let (mut sound, mut faulty) = (known.clone(), Vec::new());
        for (name, section) in named? {
            let defined = profile(&section)
                .and_then(|profile| sound.define(name, profile).map_err(|error| section.fault_of_all(error.reason())));
            faulty.extend(defined.err().map(|reported| (name.to_owned(), reported)));
        }
        Ok(Self { sound, faulty })
    }

    /// What routes may name, with the reports of what they may not.
    pub(super) fn around(&self, environment: &Environment) -> Environment {
        environment.clone().with_profiles(self.sound.clone()).with_faulty_providers(self.faulty.clone())
    }

    /// All of them, if all are sound.
    pub(super) fn all(self) -> Result<Profiles, Reported> {
        self.faulty.first().map_or(Ok(self.sound), |(_, reported)| Err(*reported))
    }
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
