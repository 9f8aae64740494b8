//! What the commit thread and its callers share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::engine::Engine;
use super::events::pin;
use super::fault::Fault;
use super::known::Known;
use super::numbers::Numbers;
use super::queue::Queue;
use crate::claim::{Key, Record, Timestamp};
use crate::metrics::Metrics;

/// Records in the order of their writes, `None` where the key had none. A list and not a map: it is appended to with every
/// write, and read after a failure only.
pub(super) type Records = Vec<(Key, Option<Record>)>;

/// What keys had before they were written, in the order of the writes.
pub(super) type Overwritten = Vec<(Key, Known)>;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) queue: Queue,
    pub(super) pulse: Pulse,
    pub(super) numbers: Numbers,
    /// Why the store is down; `None` while it is well.
    pub(super) health: watch::Sender<Option<Fault>>,
    pub(super) metrics: Arc<Metrics>,
    /// Whether whoever held a claim of the proxy's has ended, for the mark at the end.
    pub(super) holders_gone: AtomicBool,
    /// What the group under way has overwritten. The commit thread's, but for those whom it does not answer in time.
    overwritten: Mutex<Overwritten>,
    /// The database, for those who only walk over it. Closing it waits until nobody does.
    lent: RwLock<Option<Arc<Engine>>>,
}

impl Shared {
    pub(super) fn new(metrics: Arc<Metrics>, fault: Option<Fault>, numbers: Numbers) -> Self {
        let (queue, pulse, lent) = (Queue::default(), Pulse::new(), RwLock::new(None));
        let (holders_gone, overwritten) = (AtomicBool::new(false), Mutex::default());
        Self { queue, pulse, numbers, health: watch::Sender::new(fault), metrics, holders_gone, overwritten, lent }
    }

    /// What the group under way has overwritten.
    pub(super) fn overwritten(&self) -> MutexGuard<'_, Overwritten> {
        self.overwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was answered for of a key, read past the commit thread: nothing of the group under way.
    pub(super) fn read_past_commits(&self, key: &Key, now: Timestamp) -> Known {
        let read = |engine: &Engine| {
            let pinned = |record| pin::pinned(engine, record, now);
            Known::from(engine.read(key).and_then(|record| record.map(pinned).transpose()))
        };
        let now = || self.borrow(read).unwrap_or(Known::Nothing);
        let before = || {
            let overwritten = self.overwritten();
            let first = overwritten.iter().find(|(written, _)| written == key);
            first.map(|(_, known)| known.clone())
        };
        // Looked up again after the read: the next group may have begun to write meanwhile.
        before().unwrap_or_else(|| {
            let known = now();
            before().unwrap_or(known)
        })
    }

    /// Lends the database out, or takes it back: then no walk is under way any more. Returns what was lent before.
    pub(super) fn lend(&self, engine: Option<Arc<Engine>>) -> Option<Arc<Engine>> {
        std::mem::replace(&mut *self.lent.write().unwrap_or_else(PoisonError::into_inner), engine)
    }

    /// Why nothing is lent: the store is being opened again, or has ended.
    pub(super) fn not_lent(&self) -> Fault {
        self.health.borrow().unwrap_or(Fault::Closed)
    }

    /// Lets a walk use the database.
    pub(super) fn borrow<T>(&self, walk: impl FnOnce(&Engine) -> T) -> Option<T> {
        self.lent.read().unwrap_or_else(PoisonError::into_inner).as_deref().map(walk)
    }
}

/// Since when the commit thread has been busy with one round, and how many there were.
#[derive(Debug)]
pub(super) struct Pulse {
    start: Instant,
    rounds: AtomicU64,
    /// Milliseconds after `start`, plus one; 0 while the thread waits for work.
    busy_since_ms: AtomicU64,
}

impl Pulse {
    fn new() -> Self {
        Self { start: Instant::now(), rounds: AtomicU64::new(0), busy_since_ms: AtomicU64::new(0) }
    }

    pub(super) fn begin(&self) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.go_on();
    }

    /// The round under way is a long one, and does not hang.
    pub(super) fn go_on(&self) {
        self.busy_since_ms.store(self.elapsed_ms() + 1, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.busy_since_ms.store(0, Ordering::Relaxed);
    }

    /// The number of the round under way, or of the last one.
    pub(super) fn round(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// How long the round under way has taken.
    pub(super) fn busy_for(&self) -> Duration {
        match self.busy_since_ms.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => Duration::from_millis((self.elapsed_ms() + 1).saturating_sub(since)),
        }
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
