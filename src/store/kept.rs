//! An entry of the event log as the store has it: with where its content lies.

use super::content_log::Span;
use crate::claim::Timestamp;
use crate::event::Event;

/// An entry, and where its content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) event: Event,
    pub(super) place: Place,
    /// Until when the key that points to the event is remembered by itself; `None` where none does.
    pub(super) remembered_until: Option<Timestamp>,
    /// What its value takes in the database.
    pub(super) record_bytes: u64,
}

/// Where a content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the content log.
    Log(Span),
    /// In a file of its own.
    File(ContentFile),
}

/// The file of a content. No two ever have the same name, so whoever finds one that no entry names may remove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentFile {
    pub(super) nonce: u64,
    pub(super) bytes: u64,
}

impl Kept {
    /// Bytes that it takes on the disk.
    pub(super) fn bytes(&self) -> u64 {
        self.record_bytes + self.place.bytes()
    }
}

impl Place {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Log(span) => span.bytes.into(),
            Self::File(file) => file.bytes,
        }
    }

    #[cfg(test)]
    pub(super) fn file(&self) -> Option<&ContentFile> {
        match self {
            Self::Log(_) => None,
            Self::File(file) => Some(file),
        }
    }
}

impl ContentFile {
    pub(super) fn name(&self) -> String {
        format!("{:016x}", self.nonce)
    }

    /// What a file of this name was called; `None` when it was not made here.
    pub(super) fn nonce_in(name: &str) -> Option<u64> {
        let hex = name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if hex { u64::from_str_radix(name, 16).ok() } else { None }
    }
}
