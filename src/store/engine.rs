//! sled, and nothing but sled: the only file that opens, reads and writes it.
//!
//! One tree holds the records by [`Key::as_bytes`]. The sequence number of the last commit stands in the same tree under a
//! name that no key can have, because sled's log is one sequence: what is written first is recovered first, so a commit
//! whose number is there is there whole. One thread writes; any thread may read.

use std::io;
use std::path::Path;

use super::durable::Sync;
use super::fault::Fault;
use super::record::{self, DamagedRecord};
use crate::claim::{Key, Record};

/// No key begins with a zero: that byte is the length of its namespace.
const SEQUENCE: &[u8] = b"\0sequence";

/// An open database.
#[derive(Debug)]
pub(super) struct Engine {
    db: sled::Db,
    sync: Sync,
}

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    #[error("the database failed")]
    Database(#[source] sled::Error),
    #[error("the data could not be synced")]
    Sync(#[source] io::Error),
    #[error("the database is not open")]
    NotOpen,
    #[error("a stored value is damaged")]
    Damaged(#[source] DamagedRecord),
}

impl EngineError {
    /// Whether what is on disk is not what was written.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(_) | Self::Database(sled::Error::Corruption { .. }))
    }

    /// What to call the failure towards callers.
    pub(super) fn fault(&self) -> Fault {
        match self {
            Self::Database(sled::Error::Io(error)) | Self::Sync(error) => Fault::of_io(error),
            Self::Database(_) | Self::NotOpen => Fault::Database,
            Self::Damaged(_) => Fault::Damaged,
        }
    }
}

impl Engine {
    /// Opens or makes the database in a directory.
    pub(super) fn open(dir: &Path, cache_bytes: u64, real_sync: bool) -> Result<Self, EngineError> {
        let db = sled::Config::new()
            .path(dir)
            .cache_capacity(cache_bytes)
            .mode(sled::Mode::HighThroughput)
            // Its own flusher would only log a failed sync, and so hide it.
            .flush_every_ms(None)
            .open()
            .map_err(EngineError::Database)?;
        let sync = Sync::of(dir, real_sync).map_err(EngineError::Sync)?;
        Ok(Self { db, sync })
    }

    /// The record of a key.
    pub(super) fn read(&self, key: &Key) -> Result<Option<Record>, EngineError> {
        let value = self.db.get(key.as_bytes()).map_err(EngineError::Database)?;
        value
            .map(|value| record::decode(&value).map_err(EngineError::Damaged))
            .transpose()
    }

    /// Makes this the record of a key; synced by the next [`Engine::flush`].
    pub(super) fn write(&self, key: &Key, record: Option<&Record>) -> Result<(), EngineError> {
        let written = match record {
            Some(record) => self.db.insert(key.as_bytes(), record::encode(record)),
            None => self.db.remove(key.as_bytes()),
        };
        written.map(drop).map_err(EngineError::Database)
    }

    /// The number of the last commit that is there whole.
    pub(super) fn sequence(&self) -> Result<u64, EngineError> {
        let value = self.db.get(SEQUENCE).map_err(EngineError::Database)?;
        Ok(value
            .and_then(|value| value.as_ref().try_into().ok())
            .map_or(0, u64::from_be_bytes))
    }

    /// Numbers a commit: call it after the last write of the commit.
    pub(super) fn write_sequence(&self, sequence: u64) -> Result<(), EngineError> {
        let written = self.db.insert(SEQUENCE, &sequence.to_be_bytes());
        written.map(drop).map_err(EngineError::Database)
    }

    /// Syncs all that was written before.
    pub(super) fn flush(&self) -> Result<(), EngineError> {
        self.db.flush().map_err(EngineError::Database)?;
        self.sync.after_flush().map_err(EngineError::Sync)
    }

    /// The records whose keys begin with `prefix` and come after `after`, in the order of their keys' bytes.
    pub(super) fn scan(&self, prefix: &[u8], after: Option<&Key>) -> Scan {
        let start = after.map_or_else(|| prefix.to_vec(), |key| [key.as_bytes(), b"\0"].concat());
        Scan {
            iter: self.db.range(start..),
            prefix: prefix.to_vec(),
        }
    }
}

/// A walk over the records; what is written meanwhile may or may not be seen.
pub(super) struct Scan {
    iter: sled::Iter,
    prefix: Vec<u8>,
}

impl Iterator for Scan {
    type Item = Result<(Key, Record), EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (name, value) = match self.iter.next()? {
                Ok(pair) => pair,
                Err(error) => return Some(Err(EngineError::Database(error))),
            };
            if name.as_ref() == SEQUENCE {
                continue;
            }
            if !name.starts_with(&self.prefix) {
                return None;
            }
            let Some(key) = Key::from_bytes(&name) else { continue };
            return Some(
                record::decode(&value)
                    .map(|record| (key, record))
                    .map_err(EngineError::Damaged),
            );
        }
    }
}
