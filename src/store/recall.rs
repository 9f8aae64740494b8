//! What the database held, in memory, while even opening it fails.
//!
//! The failed database has to be closed before it can be opened anew, for sled locks its file. Where opening then fails (a
//! disk that has room for the probe and not for sled, writes that fail in one place) there is nothing left to read from,
//! and keys that were done would be handed out again. So the records are read out first, in their disk form, which is small.

use std::collections::HashMap;

use super::engine::Engine;
use super::events::pin;
use super::record;
use crate::claim::{Key, Record, Timestamp};

/// Bytes of keys and values at most: some 500,000 records. What is beyond it is not known while opening fails.
const MAX_BYTES: usize = 64 << 20;

#[derive(Debug, Default)]
pub(super) struct Recall {
    values: HashMap<Box<[u8]>, Box<[u8]>>,
    bytes: usize,
}

impl Recall {
    /// Reads the records that count at `now`, as far as they can be read: a database that failed halfway through opening may
    /// hand out less than the one before, so what is there stays.
    pub(super) fn add(&mut self, engine: &Engine, now: Timestamp) {
        for item in engine.scan(b"", None) {
            let (key, record) = match item {
                Ok((key, _)) if self.values.contains_key(key.as_bytes()) => continue,
                Ok((key, Ok(record))) => match pin::pinned(engine, record, now) {
                    Ok(record) if !record.is_gone(now) => (key, record),
                    Ok(_) | Err(_) => continue,
                },
                Ok((_, Err(_))) => continue,
                Err(_) => break,
            };
            let value = record::encode(&record);
            self.bytes += key.as_bytes().len() + value.len();
            if self.bytes > MAX_BYTES {
                let records = self.values.len();
                tracing::warn!(records, "not all records are known while the store is opened again");
                break;
            }
            self.values.insert(key.as_bytes().into(), value.into());
        }
    }

    pub(super) fn read(&self, key: &Key) -> Option<Record> {
        self.values.get(key.as_bytes()).and_then(|value| record::decode(value).ok())
    }
}
