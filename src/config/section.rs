//! A table of the text, read key by key.
//!
//! Whoever reads a section asks for every key that it takes, set or not, and then calls [`Section::finish`]: what is in
//! the table and was never asked for is unknown. So the list of known keys is the code that reads them, and cannot be
//! out of date. A fault never stops the reading: `?` belongs behind `finish`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::ops::RangeInclusive;

use toml::de::DeTable;

use super::faults::{Faults, Reported};
use super::item::{Item, all};

/// What the reading of one key comes to: set, not set, or wrong and reported.
pub(super) type Read<T> = Result<Option<T>, Reported>;

/// A table, or the lack of one, in which nothing is set.
pub(super) struct Section<'a> {
    faults: &'a Faults<'a>,
    name: String,
    offset: usize,
    table: Option<&'a DeTable<'a>>,
    asked: Vec<&'static str>,
}

impl<'a> Section<'a> {
    pub(super) fn new(faults: &'a Faults<'a>, name: String, offset: usize, table: Option<&'a DeTable<'a>>) -> Self {
        Self { faults, name, offset, table, asked: Vec::new() }
    }

    /// The dotted name of a key of it.
    pub(super) fn dotted(&self, key: &str) -> String {
        let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let key = match key.bytes().all(bare) && !key.is_empty() {
            true => key.to_owned(),
            false => format!("{key:?}"),
        };
        if self.name.is_empty() { key } else { format!("{}.{key}", self.name) }
    }

    /// Reports a fault of a key, at the key or, when it is not set, at the section.
    pub(super) fn fault(&self, key: &str, reason: impl Display) -> Reported {
        let place = self.table.and_then(|table| table.get_key_value(key));
        let offset = place.map_or(self.offset, |(key, _)| key.span().start);
        self.faults.report(offset, &self.dotted(key), reason)
    }

    /// Reports a fault of the section as a whole.
    pub(super) fn fault_of_all(&self, reason: impl Display) -> Reported {
        self.faults.report(self.offset, &self.name, reason)
    }

    /// Reports a fault at a place inside of the section, where it is known.
    pub(super) fn fault_at(&self, offset: Option<usize>, reason: impl Display) -> Reported {
        self.faults.report(offset.unwrap_or(self.offset), &self.name, reason)
    }

    /// The table as a whole, for a reader of its own; with where it begins.
    pub(super) fn whole(&self) -> Option<(DeTable<'a>, usize)> {
        Some((self.table?.clone(), self.offset))
    }

    fn take(&mut self, key: &'static str) -> Option<Item<'a>> {
        self.asked.push(key);
        self.item(key)
    }

    fn item(&self, key: &str) -> Option<Item<'a>> {
        let (place, value) = self.table?.get_key_value(key)?;
        Some(Item { faults: self.faults, key: self.dotted(key), offset: place.span().start, value: value.get_ref() })
    }

    /// A text that `parse` takes.
    pub(super) fn parse<T, E: Display>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&'a str) -> Result<T, E>,
    ) -> Read<T> {
        self.take(key).map(|item| item.parse(parse)).transpose()
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Read<T> {
        self.parse(key, |text| {
            let found = words.iter().find(|(word, _)| *word == text);
            found.map(|(_, value)| *value).ok_or_else(|| one_of(words))
        })
    }

    /// A whole number within bounds, written without quotes.
    pub(super) fn number<T>(&mut self, key: &'static str, bounds: RangeInclusive<T>) -> Read<T>
    where
        T: TryFrom<u64> + PartialOrd + Display,
    {
        self.take(key).map(|item| item.number(&bounds)).transpose()
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, key: &'static str) -> Read<bool> {
        self.take(key).map(|item| item.flag()).transpose()
    }

    /// One text or a list of texts.
    pub(super) fn list<T, E: Display>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&'a str) -> Result<T, E>,
    ) -> Read<Vec<T>> {
        self.take(key).map(|item| item.list(parse)).transpose()
    }

    /// A table, if there is one.
    pub(super) fn table(&mut self, key: &'static str) -> Read<Section<'a>> {
        self.take(key).map(|item| item.section()).transpose()
    }

    /// A table in which, when there is none, nothing is set.
    pub(super) fn section(&mut self, key: &'static str) -> Result<Section<'a>, Reported> {
        let absent = Section::new(self.faults, self.dotted(key), self.offset, None);
        Ok(self.table(key)?.unwrap_or(absent))
    }

    /// A list of tables; empty when not set.
    pub(super) fn tables(&mut self, key: &'static str) -> Result<Vec<Section<'a>>, Reported> {
        let Some(item) = self.take(key) else {
            return Ok(Vec::new());
        };
        all(item.elements()?.iter().map(Item::section))
    }

    /// The tables in a table, by names that the user chose.
    pub(super) fn named(&mut self, key: &'static str) -> Result<Vec<(&'a str, Section<'a>)>, Reported> {
        let section = self.section(key)?;
        let names = section.table.into_iter().flatten();
        all(names.filter_map(|(name, _)| {
            let name: &'a str = name.get_ref();
            let item = section.item(name)?;
            Some(item.section().map(|table| (name, table)))
        }))
    }

    /// A table of texts, by names that the user chose; empty when not set.
    pub(super) fn texts(&mut self, key: &'static str) -> Result<BTreeMap<String, String>, Reported> {
        let section = self.section(key)?;
        let names = section.table.into_iter().flatten();
        let texts = all(names.filter_map(|(name, _)| {
            let name: &str = name.get_ref();
            let text = section.item(name)?.parse(|text| Ok::<_, Infallible>(text.to_owned()));
            Some(text.map(|text| (name.to_owned(), text)))
        }));
        Ok(texts?.into_iter().collect())
    }

    /// The value, or a report that there is none.
    pub(super) fn required<T>(&self, key: &str, read: Read<T>) -> Result<T, Reported> {
        read?.ok_or_else(|| self.fault(key, "is required"))
    }

    /// Reports every key that nobody asked for.
    pub(super) fn finish(&self) {
        for (key, _) in self.table.into_iter().flatten() {
            let name: &str = key.get_ref();
            if !self.asked.contains(&name) {
                self.fault(name, format_args!("is unknown; known here: {}", self.asked.join(", ")));
            }
        }
    }
}

fn one_of<T>(words: &[(&str, T)]) -> String {
    let words: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    format!("must be {}", words.join(" or "))
}
