//! How much room there is for events: what the kept ones take, how many there are of what kind, and what is free on the
//! disk. In memory, counted anew whenever the database is opened.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::bells::Bells;
use super::content_file;
use super::content_log::Segments;
use super::counts::{Counted, Counts, OfRoute};
use super::directory::free_bytes;
use super::engine::{Engine, EngineError};
use super::fault::Fault;
use super::gauges::Gauges;
use super::kept::{ContentFile, Place};
use super::settings::StoreSettings;
use crate::chain::Chain;
use crate::event::{EventId, Failure, State, StateName};
use crate::metrics::{ByRouteAndReason, Metrics};

/// More than the value of an entry takes beside its content, with what the database adds to it.
const ENTRY_BYTES: u64 = 2048;

/// Entries that are counted between two signs of life: some milliseconds.
const PROGRESS_ENTRIES: usize = 1_000;

/// Lost events are told of one by one only this often: an outage under load must not flood the log.
const COMPLAINT_PAUSE: Duration = Duration::from_secs(10);

/// How long a reading of what is free on the disk is good for, less what has been stored since. What others write meanwhile
/// is not seen; `min_free` is there for that too.
const READING_AGE: Duration = Duration::from_secs(1);

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
    segments: Arc<Segments>,
    bells: Bells,
    min_free_bytes: u64,
    max_event_bytes: u64,
    metrics: Arc<Metrics>,
    /// How many letters are kept: beside the lock, since it is asked for after every success. The commit thread's to change.
    letters: AtomicU64,
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
    counts: Counts,
    gauges: Gauges,
    /// For events that are on their way into the store.
    reserved_bytes: u64,
    free: Option<Free>,
}

/// What was free on the disk.
#[derive(Debug)]
struct Free {
    read_at: Instant,
    bytes: u64,
    /// What may have been taken of it since.
    less_bytes: u64,
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

/// One entry before and after a change that is synced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Noted {
    pub(super) before: Option<Counted>,
    pub(super) after: Option<Counted>,
}

/// What a walk over all entries came to.
#[derive(Debug, Default)]
pub(super) struct Stock {
    /// The files that entries name.
    pub(super) named: HashSet<u64>,
    /// Entries that cannot be read.
    pub(super) unreadable: usize,
    /// Events that are being handed over: as many as there are places for that.
    pub(super) delivering: Vec<EventId>,
}

impl Room {
    pub(super) fn new(settings: &StoreSettings, segments: Arc<Segments>, metrics: Arc<Metrics>) -> Self {
        Self {
            store: settings.dir.clone(),
            segments,
            bells: Bells::default(),
            min_free_bytes: settings.min_free_bytes,
            max_event_bytes: settings.max_event_bytes,
            metrics,
            letters: AtomicU64::new(0),
            taken: Mutex::default(),
            complaint: Mutex::default(),
        }
    }

    /// The store's directory.
    pub(super) fn store(&self) -> &Path {
        &self.store
    }

    pub(super) fn segments(&self) -> &Arc<Segments> {
        &self.segments
    }

    pub(super) fn bell(&self, route: &str) -> Arc<Notify> {
        self.bells.of(route)
    }

    /// How many letters are kept.
    pub(super) fn letters(&self) -> u64 {
        self.letters.load(Ordering::Acquire)
    }

    /// What is kept.
    #[cfg(test)]
    pub(super) fn counts(&self) -> Counts {
        self.lock().counts.clone()
    }

    /// How many events wait for a hand-over, or are in one, by route; none where there are none.
    pub(super) fn unfinished(&self) -> Vec<(Box<str>, u64)> {
        let taken = self.lock();
        let of_route = |route: &str| {
            let OfRoute { by_state, .. } = taken.counts.of_route(route);
            by_state[StateName::Queued as usize] + by_state[StateName::Delivering as usize]
        };
        let all = taken.counts.routes().map(|route| (Box::from(route), of_route(route)));
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// What is kept of what apps have handled, in bytes.
    pub(super) fn finished_bytes(&self) -> u64 {
        self.lock().counts.finished_bytes
    }

    /// Asks for room for a content of so many bytes. Asks the file system at most about once a second, while there is room.
    pub(super) fn reserve(self: &Arc<Self>, content_bytes: u64) -> Result<Reserved, NotKept> {
        let bytes = content_bytes + ENTRY_BYTES;
        let mut taken = self.lock();
        if !taken.free.as_ref().is_some_and(|free| self.is_enough(free, bytes) && free.read_at.elapsed() < READING_AGE)
        {
            let free = free_bytes(&self.store).map_err(NotKept::File)?;
            // What is reserved may not be on the disk yet.
            let free = Free { read_at: Instant::now(), bytes: free, less_bytes: taken.reserved_bytes };
            let is_enough = self.is_enough(&free, bytes);
            taken.free = Some(free);
            if !is_enough {
                return Err(NotKept::LowDisk);
            }
        }
        if taken.counts.bytes + taken.reserved_bytes + bytes > self.max_event_bytes {
            return Err(NotKept::TooMany);
        }
        if let Some(free) = &mut taken.free {
            free.less_bytes += bytes;
        }
        taken.reserved_bytes += bytes;
        Ok(Reserved { room: Arc::clone(self), bytes })
    }

    fn is_enough(&self, free: &Free, bytes: u64) -> bool {
        free.bytes.saturating_sub(free.less_bytes) >= self.min_free_bytes.saturating_add(bytes)
    }

    /// Counts a change that is synced, rings for what has come into a schedule, and gives back the place of a content that
    /// nothing names any more.
    pub(super) fn note(&self, Noted { before, after }: &Noted) {
        let mut taken = self.lock();
        before.iter().for_each(|before| taken.counts.take(before));
        after.iter().for_each(|after| taken.counts.add(after));
        if let Some(counted) = after.as_ref().or(before.as_ref()) {
            let Taken { counts, gauges, .. } = &mut *taken;
            gauges.show(&counted.route, counts, &self.metrics);
        }
        self.letters.store(taken.counts.letters, Ordering::Release);
        drop(taken);
        let (left, came) = (before.as_ref().map(|before| before.place), after.as_ref().map(|after| after.place));
        if left != came {
            if let Some(Place::Log(span)) = came {
                self.segments.hold(span);
            }
            match left {
                Some(Place::Log(span)) => self.segments.let_go(span),
                Some(Place::File(file)) => self.remove(&file),
                None => {}
            }
        }
        let due = |counted: &Counted| counted.state.due();
        if let Some(after) = after
            && due(after).is_some_and(|due_at| before.as_ref().and_then(due) != Some(due_at))
        {
            self.bells.ring(&after.route);
        }
    }

    /// Counts anew what a database holds; calls `progress` from time to time. Nobody waits for it: what was counted before
    /// stands until all has been looked at, and stays where that fails.
    pub(super) fn count(&self, engine: &Engine, progress: impl Fn()) -> Result<Stock, EngineError> {
        let (mut counts, mut stock) = (Counts::default(), Stock::default());
        let mut held_bytes: HashMap<u32, u64> = HashMap::new();
        for (number, item) in engine.scan_events(None).enumerate() {
            if number % PROGRESS_ENTRIES == 0 {
                progress();
            }
            match item? {
                (_, Ok(kept)) => {
                    counts.add(&Counted::of(&kept));
                    if let State::Delivering(_) = kept.event.state {
                        stock.delivering.push(kept.event.id);
                    }
                    match kept.place {
                        Place::Log(span) => *held_bytes.entry(span.segment).or_default() += u64::from(span.bytes),
                        Place::File(file) => drop(stock.named.insert(file.nonce)),
                    }
                }
                (id, Err(error)) => {
                    tracing::error!(event = %id, error = %Chain(&error), "an event cannot be read");
                    stock.unreadable += 1;
                }
            }
        }
        self.segments.count_anew(&held_bytes);
        let mut taken = self.lock();
        self.letters.store(counts.letters, Ordering::Release);
        taken.gauges.show_all(&counts, &self.metrics);
        self.metrics.unreadable_events.set(i64::try_from(stock.unreadable).unwrap_or(i64::MAX));
        taken.counts = counts;
        drop(taken);
        self.bells.ring_all();
        Ok(stock)
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
        let (_log, segments) = crate::store::content_log::ContentLog::open(dir.path()).expect("it opens");
        let room = Arc::new(Room::new(&settings, segments, Arc::default()));
        room.letters.store(1, Ordering::Release);
        let asked = std::cell::Cell::new(0);
        let progress = || {
            assert!(room.taken.try_lock().is_ok(), "the lock is free");
            asked.set(asked.get() + room.letters());
        };
        let stock = room.count(&engine, progress).expect("counted");
        assert_eq!(stock.unreadable, 1);
        assert_eq!((asked.get(), room.letters()), (1, 0), "what stood before stands while it is counted");
    }
}
