//! What may be said only once in a config.

use std::collections::HashMap;

use super::faults::Reported;
use super::section::Section;

/// Values of one kind that have been met, each with the key that had it first.
#[derive(Default)]
pub(super) struct Unique(HashMap<String, String>);

impl Unique {
    /// Notes a value of a key; reports it when another key had it before. The report names that key, not the value.
    pub(super) fn note(&mut self, value: &str, section: &Section<'_>, key: &str) -> Result<(), Reported> {
        if let Some(first) = self.0.get(value) {
            return Err(section.fault(key, format_args!("is the same as {first}")));
        }
        self.0.insert(value.to_owned(), section.dotted(key));
        Ok(())
    }
}
