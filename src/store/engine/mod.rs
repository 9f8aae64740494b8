//! sled, and nothing but sled: the only place that opens, reads and writes it.
//!
//! One tree holds the records by [`Key::as_bytes`], another the event log by [`EventId::as_bytes`]; what else there is to know
//! of events lies in trees of its own ([`Tree`]). The sequence number of the last commit stands in the first under a name
//! that no key can have. sled's log is one sequence over all trees: what is written first is recovered first, so a commit
//! whose number is there is there whole. One thread writes; any thread may read.

mod tree;

use std::fs;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

pub(super) use tree::Tree;

use super::durable::Sync;
use super::fault::Fault;
use super::kept::Kept;
use super::record::{self, DamagedRecord};
use crate::claim::{Key, Record};
use crate::event::EventId;

/// No key begins with a zero: that byte is the length of its namespace.
const SEQUENCE: &[u8] = b"\0sequence";
/// How long sled's threads may hold on to the file after the database that they served was closed.
const UNLOCK_PATIENCE: Duration = Duration::from_secs(1);

/// An open database.
#[derive(Debug)]
pub(super) struct Engine {
    db: sled::Db,
    /// The event log.
    events: Tree,
    /// What is to be handed over, in the order of its time ([`super::events::schedule`]).
    pub(super) schedule: Tree,
    /// What apps have handled, in the order of its time ([`super::events::trim`]).
    pub(super) finished: Tree,
    /// What people have done to events ([`super::events::audit`]).
    pub(super) audit: Tree,
    /// Redrives that are not finished ([`super::events::redrive`]).
    pub(super) redrives: Tree,
    sync: Sync,
    #[cfg(test)]
    writes_left: WritesLeft,
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
    #[error("the database gave up: {0}")]
    Panicked(String),
    #[error("a stored value is damaged")]
    Damaged(#[source] DamagedRecord),
}

impl EngineError {
    /// Whether what is on disk is not what was written.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Damaged(_) | Self::Panicked(_) => true,
            // Unsupported: the parameters that sled wrote down for itself make no sense.
            Self::Database(error) => matches!(error, sled::Error::Corruption { .. } | sled::Error::Unsupported(_)),
            Self::Sync(_) | Self::NotOpen => false,
        }
    }

    /// What to call the failure towards callers.
    pub(super) fn fault(&self) -> Fault {
        match self {
            Self::Database(sled::Error::Io(error)) | Self::Sync(error) => Fault::of_io(error),
            Self::Database(_) | Self::NotOpen => Fault::Database,
            Self::Damaged(_) | Self::Panicked(_) => Fault::Damaged,
        }
    }
}

impl Engine {
    /// Opens or makes the database in a directory.
    pub(super) fn open(dir: &Path, cache_bytes: u64, real_sync: bool) -> Result<Self, EngineError> {
        let config = sled::Config::new()
            .path(dir)
            .cache_capacity(cache_bytes)
            .mode(sled::Mode::HighThroughput)
            // Its own flusher would only log a failed sync, and so hide it.
            .flush_every_ms(None);
        remove_half_snapshots(dir).map_err(|error| EngineError::Database(error.into()))?;
        let deadline = Instant::now() + UNLOCK_PATIENCE;
        let db = loop {
            // Nothing of a database that broke down while it opened is used again.
            let opened = panic::catch_unwind(AssertUnwindSafe(|| config.open()));
            match opened.map_err(|panic| EngineError::Panicked(text_of(&*panic)))? {
                Ok(db) => break db,
                // Our own lock keeps others out, so what holds this one is what is left of a database just closed.
                Err(error) if is_locked(&error) && Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(EngineError::Database(error)),
            }
        };
        let sync = Sync::of(dir, real_sync).map_err(EngineError::Sync)?;
        Self::of(db, sync)
    }

    fn of(db: sled::Db, sync: Sync) -> Result<Self, EngineError> {
        let tree = |name| Tree::open(&db, name);
        let (events, schedule, finished) = (tree(b"events")?, tree(b"schedule")?, tree(b"finished")?);
        let (audit, redrives) = (tree(b"audit")?, tree(b"redrives")?);
        #[cfg(test)]
        let writes_left = events.writes_left.clone();
        let engine = Self {
            db,
            events,
            schedule,
            finished,
            audit,
            redrives,
            sync,
            #[cfg(test)]
            writes_left,
        };
        #[cfg(test)]
        let engine = engine.counting();
        Ok(engine)
    }

    /// Gives up a share of a database; the last one closes it. sled syncs its file then, where it has not noticed that it
    /// failed, and panics when that fails.
    pub(super) fn close(share: Arc<Self>) -> Result<(), EngineError> {
        let closed = panic::catch_unwind(AssertUnwindSafe(|| drop(share)));
        closed.map_err(|panic| EngineError::Panicked(text_of(&*panic)))
    }

    /// The record of a key.
    pub(super) fn read(&self, key: &Key) -> Result<Option<Record>, EngineError> {
        let value = self.db.get(key.as_bytes()).map_err(EngineError::Database)?;
        value.map(|value| record::decode(&value).map_err(EngineError::Damaged)).transpose()
    }

    /// Makes this the record of a key if it has none; `false` when it has. Synced by the next [`Engine::flush`].
    pub(super) fn create(&self, key: &Key, record: &Record) -> Result<bool, EngineError> {
        #[cfg(test)]
        self.writes_left.take()?;
        let swapped = self.db.compare_and_swap(key.as_bytes(), None::<&[u8]>, Some(record::encode(record)));
        let created = swapped.map_err(EngineError::Database)?.is_ok();
        if created {
            self.settle(key)?;
        }
        Ok(created)
    }

    /// Makes this the record of a key; synced by the next [`Engine::flush`].
    pub(super) fn write(&self, key: &Key, record: Option<&Record>) -> Result<(), EngineError> {
        #[cfg(test)]
        self.writes_left.take()?;
        let written = match record {
            Some(record) => self.db.insert(key.as_bytes(), record::encode(record)),
            None => self.db.remove(key.as_bytes()),
        };
        written.map_err(EngineError::Database)?;
        self.settle(key)
    }

    /// Walks to a key that was just written. sled splits a page that has grown too large on the *next* walk through it, a
    /// read too, and a database that has failed cannot split: the keys of such a page could not be read any more, just when
    /// those that were done must stay done. So the next walk is this one.
    fn settle(&self, key: &Key) -> Result<(), EngineError> {
        self.db.get(key.as_bytes()).map(drop).map_err(EngineError::Database)
    }

    /// The entry of an event.
    pub(super) fn read_event(&self, id: EventId) -> Result<Option<Kept>, EngineError> {
        let value = self.events.read(id.as_bytes())?;
        value.map(|value| record::decode_event(id, value.as_ref()).map_err(EngineError::Damaged)).transpose()
    }

    /// Makes this value the entry of an event; synced by the next [`Engine::flush`]. Settled like a record.
    pub(super) fn write_event(&self, id: EventId, value: Option<&[u8]>) -> Result<(), EngineError> {
        match value {
            Some(value) => self.events.write(id.as_bytes(), value)?,
            None => self.events.remove(id.as_bytes())?,
        }
        self.events.settle(id.as_bytes())
    }

    /// The entries of the events after `after`, in the order of their ids; each with the damage that it has.
    pub(super) fn scan_events(
        &self,
        after: Option<EventId>,
    ) -> impl Iterator<Item = Result<(EventId, Result<Kept, DamagedRecord>), EngineError>> {
        let start = after.map_or_else(Vec::new, |id| [&id.as_bytes()[..], b"\0"].concat());
        self.events.scan(&start).filter_map(|item| {
            let (name, value) = match item {
                Ok(pair) => pair,
                Err(error) => return Some(Err(error)),
            };
            let id = EventId::from_bytes(name.as_ref().try_into().ok()?);
            Some(Ok((id, record::decode_event(id, value.as_ref()))))
        })
    }

    /// Those of [`Engine::scan`] that are held, or may be; the others are passed over at a glance.
    pub(super) fn scan_held(&self, prefix: &[u8], after: Option<&Key>) -> Scan {
        Scan { wants: record::may_be_held, ..self.scan(prefix, after) }
    }

    /// The number of the last commit that is there whole.
    pub(super) fn sequence(&self) -> Result<u64, EngineError> {
        let value = self.db.get(SEQUENCE).map_err(EngineError::Database)?;
        Ok(value.and_then(|value| value.as_ref().try_into().ok()).map_or(0, u64::from_be_bytes))
    }

    /// Numbers a commit: call it after the last write of the commit. Settled like every write.
    pub(super) fn write_sequence(&self, sequence: u64) -> Result<(), EngineError> {
        #[cfg(test)]
        self.writes_left.take()?;
        let written = self.db.insert(SEQUENCE, &sequence.to_be_bytes());
        written.map_err(EngineError::Database)?;
        self.sequence().map(drop)
    }

    /// Syncs all that was written before.
    pub(super) fn flush(&self) -> Result<(), EngineError> {
        #[cfg(test)]
        self.writes_left.take()?;
        self.db.flush().map_err(EngineError::Database)?;
        self.sync.after_flush().map_err(EngineError::Sync)
    }

    /// The records whose keys begin with `prefix` and come after `after`, in the order of their keys' bytes.
    pub(super) fn scan(&self, prefix: &[u8], after: Option<&Key>) -> Scan {
        let start = after.map_or_else(|| prefix.to_vec(), |key| [key.as_bytes(), b"\0"].concat());
        Scan { iter: self.db.range(start..), prefix: prefix.to_vec(), wants: |_| true }
    }
}

/// Removes the snapshots that an earlier opening did not finish: sled takes the newest, half as it is, for its own and then
/// calls the whole database damaged. They count only once they are renamed; without one sled reads its log from further
/// back.
fn remove_half_snapshots(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "generating") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// sled has no kind of its own for it.
fn is_locked(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if error.to_string().starts_with("could not acquire lock"))
}

/// What a panic said.
fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().map(ToOwned::to_owned);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it did not say why".into())
}

/// A walk over the records; what is written meanwhile may or may not be seen.
pub(super) struct Scan {
    iter: sled::Iter,
    prefix: Vec<u8>,
    /// Whether a value is worth a closer look.
    wants: fn(&[u8]) -> bool,
}

impl Iterator for Scan {
    /// A key with its record, or with the damage that it has.
    type Item = Result<(Key, Result<Record, DamagedRecord>), EngineError>;

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
            if !(self.wants)(&value) {
                continue;
            }
            let Some(key) = Key::from_bytes(&name) else { continue };
            return Some(Ok((key, record::decode(&value))));
        }
    }
}

/// How many more writes succeed, for tests that let the disk fail in the middle of a commit.
#[cfg(test)]
#[derive(Debug, Clone)]
pub(super) struct WritesLeft(Arc<std::sync::atomic::AtomicI64>);

#[cfg(test)]
impl Default for WritesLeft {
    fn default() -> Self {
        Self(Arc::new(i64::MAX.into()))
    }
}

#[cfg(test)]
impl WritesLeft {
    fn take(&self) -> Result<(), EngineError> {
        if self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) > 0 {
            return Ok(());
        }
        Err(EngineError::Database(sled::Error::Io(io::Error::other("no writes are left"))))
    }
}

#[cfg(test)]
impl Engine {
    /// All trees count together.
    fn counting(mut self) -> Self {
        for tree in [&mut self.schedule, &mut self.finished, &mut self.audit, &mut self.redrives] {
            tree.writes_left = self.writes_left.clone();
        }
        self
    }

    /// Lets every write fail after so many more.
    pub(super) fn fail_after(&self, writes: i64) {
        self.writes_left.0.store(writes, std::sync::atomic::Ordering::Relaxed);
    }

    /// Makes the record of a key one that cannot be read.
    pub(super) fn spoil(&self, key: &Key) {
        self.db.insert(key.as_bytes(), b"spoilt".as_slice()).expect("it can be written");
    }

    /// Makes the entry of an event one that cannot be read.
    pub(super) fn spoil_event(&self, id: EventId) {
        self.events.write(id.as_bytes(), b"spoilt").expect("it can be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sled's own threads hold its lock for a moment after the database is dropped. A first start makes a store, closes it
    /// and opens it, and now and then refused to start because the file was locked.
    #[test]
    fn a_database_can_be_opened_though_what_was_just_closed_lets_go_a_moment_later() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = || Engine::open(dir.path(), 1 << 20, false);
        drop(open().expect("it is made"));
        let file = std::fs::File::open(dir.path().join("db")).expect("sled's file");
        file.lock().expect("the lock can be had");
        let letting_go = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            drop(file);
        });
        open().expect("it opens");
        letting_go.join().expect("it let go");
    }

    /// An opening that ran out of disk, or was killed, left half a snapshot, and no start after it succeeded, not even with
    /// all the space in the world.
    #[test]
    fn half_a_snapshot_of_an_opening_that_was_cut_off_does_no_harm() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = || Engine::open(dir.path(), 1 << 20, false).expect("it opens");
        open().write_sequence(5).expect("written");
        for half in ["", "half of it"] {
            fs::write(dir.path().join("snap.00000000FFFFFFFF.generating"), half).expect("writable");
            assert_eq!(open().sequence().expect("readable"), 5);
        }
    }
}
