//! How much the kept events take, and how many there are of what kind: in memory, counted anew whenever the database is
//! opened.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::content_file;
use super::directory::free_bytes;
use super::engine::{Engine, EngineError};
use super::fault::Fault;
use super::kept::{ContentFile, Kept};
use super::settings::StoreSettings;
use crate::chain::Chain;
use crate::event::Failure;
use crate::metrics::{ByCause, ByRouteAndReason, Metrics};

/// More than the value of an entry takes beside its content, with what sled adds to it.
const ENTRY_BYTES: u64 = 2048;

/// Entries that are counted between two signs of life: some milliseconds.
const PROGRESS_ENTRIES: usize = 1_000;

/// Lost events are told of one by one only this often: an outage under load must not flood the log.
const COMPLAINT_PAUSE: Duration = Duration::from_secs(10);

/// Why an event was not kept.
#[derive(Debug, thiserror::Error)]
pub enum NotKept {
    /// The store is down.
    #[error("the store is down ({0})")]
    Store(Fault),
    /// `min_free` would be undercut.
    #[error("less than min_free would be left on the disk")]
    LowDisk,
    /// `max_event_bytes` would be passed.
    #[error("the kept events would take more than max_event_bytes")]
    TooMany,
    /// The file for its content cannot be written.
    #[error("its file cannot be written")]
    File(#[source] std::io::Error),
}

impl NotKept {
    /// The word for it, in metrics.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Store(fault) => fault.as_str(),
            Self::LowDisk => "min_free",
            Self::TooMany => "max_event_bytes",
            Self::File(error) => Fault::of_io(error).as_str(),
        }
    }
}

/// The room for events.
#[derive(Debug)]
pub(super) struct Room {
    store: PathBuf,
    min_free_bytes: u64,
    max_event_bytes: u64,
    metrics: Arc<Metrics>,
    /// How many events are kept: beside the lock, since it is asked for after every success. The commit thread's to change.
    entries: AtomicU64,
    taken: Mutex<Taken>,
    complaint: Mutex<Complaint>,
}

/// When a lost event was told of last, and how many have been lost since.
#[derive(Debug, Default)]
struct Complaint {
    last: Option<Instant>,
    untold: u64,
}

#[derive(Debug, Default)]
struct Taken {
    bytes: u64,
    /// For events that are on their way into the store.
    reserved_bytes: u64,
}

/// Room for an event that is on its way; given back when dropped.
#[derive(Debug)]
pub(super) struct Reserved {
    room: Arc<Room>,
    bytes: u64,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.room.lock().reserved_bytes -= self.bytes;
    }
}

impl Room {
    pub(super) fn new(settings: &StoreSettings, metrics: Arc<Metrics>) -> Self {
        Self {
            store: settings.dir.clone(),
            min_free_bytes: settings.min_free_bytes,
            max_event_bytes: settings.max_event_bytes,
            metrics,
            entries: AtomicU64::new(0),
            taken: Mutex::default(),
            complaint: Mutex::default(),
        }
    }

    /// The store's directory.
    pub(super) fn store(&self) -> &Path {
        &self.store
    }

    /// How many events are kept.
    pub(super) fn entries(&self) -> u64 {
        self.entries.load(Ordering::Acquire)
    }

    /// Asks for room for a content of so many bytes. Blocks for as long as the file system takes to say what is free.
    pub(super) fn reserve(self: &Arc<Self>, content_bytes: u64) -> Result<Reserved, NotKept> {
        let bytes = content_bytes + ENTRY_BYTES;
        let free = free_bytes(&self.store).map_err(NotKept::File)?;
        let mut taken = self.lock();
        // What is reserved may not be on the disk yet.
        if free.saturating_sub(taken.reserved_bytes) < self.min_free_bytes.saturating_add(bytes) {
            return Err(NotKept::LowDisk);
        }
        if taken.bytes + taken.reserved_bytes + bytes > self.max_event_bytes {
            return Err(NotKept::TooMany);
        }
        taken.reserved_bytes += bytes;
        Ok(Reserved { room: Arc::clone(self), bytes })
    }

    /// Counts a change that is synced, and removes the file that nothing names any more.
    pub(super) fn note(&self, before: Option<&Kept>, after: Option<&Kept>) {
        let mut entries = self.entries();
        let mut taken = self.lock();
        if let Some(before) = before {
            (entries, taken.bytes) = (entries.saturating_sub(1), taken.bytes.saturating_sub(before.bytes()));
            if let Some(labels) = Self::labels(before) {
                self.metrics.dead_letters.get_or_create(&labels).dec();
            }
        }
        if let Some(after) = after {
            (entries, taken.bytes) = (entries + 1, taken.bytes + after.bytes());
            if let Some(labels) = Self::labels(after) {
                self.metrics.dead_letters.get_or_create(&labels).inc();
            }
        }
        drop(taken);
        self.entries.store(entries, Ordering::Release);
        let (before, after) = (before.and_then(Kept::file), after.and_then(Kept::file));
        if let Some(file) = before.filter(|file| after != Some(file)) {
            self.remove(file);
        }
    }

    /// Counts anew what a database holds; calls `progress` from time to time. Nobody waits for it: what was counted before
    /// stands until all has been looked at, and stays where that fails.
    pub(super) fn count(&self, engine: &Engine, progress: impl Fn()) -> Result<(), EngineError> {
        let (mut entries, mut bytes, mut by_cause) = (0, 0, HashMap::<_, i64>::new());
        for (number, item) in engine.scan_events(None).enumerate() {
            if number % PROGRESS_ENTRIES == 0 {
                progress();
            }
            // What cannot be read is told of at the start, and when somebody asks for it.
            if let (_, Ok(kept)) = item? {
                (entries, bytes) = (entries + 1, bytes + kept.bytes());
                if let Some(labels) = Self::labels(&kept) {
                    *by_cause.entry(labels).or_default() += 1;
                }
            }
        }
        self.lock().bytes = bytes;
        self.entries.store(entries, Ordering::Release);
        self.metrics.dead_letters.clear();
        for (labels, count) in by_cause {
            self.metrics.dead_letters.get_or_create(&labels).set(count);
        }
        Ok(())
    }

    /// Counts an event that is lost, and tells of it.
    pub(super) fn complain(&self, failure: &Failure, why: &NotKept) {
        let labels = ByRouteAndReason { route: failure.route.to_string(), reason: why.as_str() };
        self.metrics.events_not_kept.get_or_create(&labels).inc();
        let mut complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        if complaint.last.is_some_and(|last| last.elapsed() < COMPLAINT_PAUSE) {
            complaint.untold += 1;
            return;
        }
        let untold = complaint.untold;
        *complaint = Complaint { last: Some(Instant::now()), untold: 0 };
        tracing::error!(
            route = %failure.route, event = %failure.id, untold, error = %Chain(why),
            "an event that its sender will not send again could not be kept"
        );
    }

    /// Removes a file that nothing names. One that cannot be removed is so at the next start.
    pub(super) fn remove(&self, file: &ContentFile) {
        if let Err(error) = content_file::remove(&self.store, file) {
            tracing::debug!(error = %error, "the file of an event could not be removed");
        }
    }

    fn labels(kept: &Kept) -> Option<ByCause> {
        let cause = kept.event.delivery.cause?;
        Some(ByCause { route: kept.event.route.to_string(), cause: cause.as_str() })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever asked, after a success, whether any event is kept waited for a count of a hundred thousand of them, on a
    /// thread of the runtime.
    #[test]
    fn nobody_waits_while_the_events_are_counted_anew() {
        let dir = tempfile::tempdir().expect("a directory");
        let engine = Engine::open(&dir.path().join("store"), 1 << 20, false).expect("it opens");
        engine.spoil_event(crate::event::EventId::from_bytes([1; 16]));
        let settings = StoreSettings { min_free_bytes: 0, ..StoreSettings::for_dir(dir.path().into()) };
        let room = Arc::new(Room::new(&settings, Arc::default()));
        room.entries.store(1, Ordering::Release);
        let asked = std::cell::Cell::new(0);
        let progress = || {
            assert!(room.taken.try_lock().is_ok(), "the lock is free");
            asked.set(asked.get() + room.entries());
        };
        room.count(&engine, progress).expect("counted");
        assert_eq!((asked.get(), room.entries()), (1, 0), "what stood before stands while it is counted");
    }
}
