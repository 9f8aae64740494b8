//! An entry of the event log as the store has it: with where its content lies.

use crate::event::{Content, Event, EventId};

/// An entry, and where its content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) event: Event,
    pub(super) place: Place,
    /// What its value takes in the database.
    pub(super) record_bytes: u64,
}

/// Where a content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// In the entry's own value.
    Inline(Content),
    /// In a file of its own.
    File(ContentFile),
}

/// The file of a content. No two ever have the same name, so whoever finds one that no entry names may remove it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContentFile {
    pub(super) id: EventId,
    pub(super) nonce: u64,
    pub(super) bytes: u64,
}

impl Kept {
    /// Bytes that it takes on the disk.
    pub(super) fn bytes(&self) -> u64 {
        self.record_bytes + self.file().map_or(0, |file| file.bytes)
    }

    pub(super) fn file(&self) -> Option<&ContentFile> {
        match &self.place {
            Place::Inline(_) => None,
            Place::File(file) => Some(file),
        }
    }
}

impl ContentFile {
    pub(super) fn name(&self) -> String {
        format!("{}-{:016x}", self.id, self.nonce)
    }

    /// The event that a file of this name was made for; `None` when it was not made here.
    pub(super) fn id_in(name: &str) -> Option<EventId> {
        let (id, nonce) = name.split_once('-')?;
        EventId::parse(id).filter(|_| nonce.len() == 16)
    }
}
