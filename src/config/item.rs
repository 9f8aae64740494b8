//! One value of the text, with the place where it stands.

use std::fmt::Display;
use std::ops::RangeInclusive;

use toml::de::{DeTable, DeValue};

use super::faults::{Faults, Reported};
use super::section::Section;

/// A value whose kind nobody has looked at yet. Each method takes it as one kind, or reports that it is another.
#[derive(Clone)]
pub(super) struct Item<'a> {
    pub(super) faults: &'a Faults<'a>,
    /// The dotted key.
    pub(super) key: String,
    /// Where faults of it are reported, in bytes.
    pub(super) offset: usize,
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> Item<'a> {
    pub(super) fn fault(&self, reason: impl Display) -> Reported {
        self.faults.report(self.offset, &self.key, reason)
    }

    fn wrong_kind(&self, wanted: &str) -> Reported {
        self.fault(format_args!("must be {wanted}, not {}", kind(self.value)))
    }

    /// A text that `parse` takes. What `parse` says must not repeat the text.
    pub(super) fn parse<T, E: Display>(&self, parse: impl Fn(&'a str) -> Result<T, E>) -> Result<T, Reported> {
        let text = self.value.as_str().ok_or_else(|| self.wrong_kind("a text in quotes"))?;
        parse(text).map_err(|reason| self.fault(reason))
    }

    pub(super) fn flag(&self) -> Result<bool, Reported> {
        self.value.as_bool().ok_or_else(|| self.wrong_kind("true or false"))
    }

    /// A whole number within bounds.
    pub(super) fn number<T>(&self, bounds: &RangeInclusive<T>) -> Result<T, Reported>
    where
        T: TryFrom<u64> + PartialOrd + Display,
    {
        let number = self.value.as_integer().ok_or_else(|| self.wrong_kind("a whole number"))?;
        let within =
            u64::from_str_radix(number.as_str(), number.radix()).ok().and_then(|number| T::try_from(number).ok());
        let within = within.filter(|number| bounds.contains(number));
        within.ok_or_else(|| {
            self.fault(format_args!("must be a whole number from {} to {}", bounds.start(), bounds.end()))
        })
    }

    /// One text or a list of texts, each taken by `parse`; every bad one is reported.
    pub(super) fn list<T, E: Display>(&self, parse: impl Fn(&'a str) -> Result<T, E>) -> Result<Vec<T>, Reported> {
        match self.value {
            DeValue::Array(_) => all(self.elements()?.iter().map(|element| element.parse(&parse))),
            _ => Ok(vec![self.parse(&parse)?]),
        }
    }

    /// The elements of a list, numbered from 0 as in `route[0]`.
    pub(super) fn elements(&self) -> Result<Vec<Item<'a>>, Reported> {
        let array = self.value.as_array().ok_or_else(|| self.wrong_kind("a list"))?;
        let element = |(nth, value): (usize, &'a toml::Spanned<DeValue<'a>>)| Item {
            faults: self.faults,
            key: format!("{}[{nth}]", self.key),
            offset: value.span().start,
            value: value.get_ref(),
        };
        Ok(array.iter().enumerate().map(element).collect())
    }

    pub(super) fn table(&self) -> Result<&'a DeTable<'a>, Reported> {
        self.value.as_table().ok_or_else(|| self.wrong_kind("a table"))
    }

    pub(super) fn section(&self) -> Result<Section<'a>, Reported> {
        Ok(Section::new(self.faults, self.key.clone(), self.offset, Some(self.table()?)))
    }
}

/// Goes through all before it gives up, so that every fault is reported.
pub(super) fn all<T>(results: impl Iterator<Item = Result<T, Reported>>) -> Result<Vec<T>, Reported> {
    results.collect::<Vec<_>>().into_iter().collect()
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number without quotes",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
