//! Deciding against the database, and remembering what it would take to undo the part that is not synced yet.

use std::sync::Arc;
use std::time::Instant;

use super::engine::{Engine, EngineError};
use super::fault::Fault;
use super::guard::Guard;
use super::job::{Answer, Desk, Reading, Reply, Request};
use super::settings::{OnStoreFailure, SyncMode};
use super::shared::{Records, Shared};
use crate::chain::Chain;
use crate::claim::{Change, Command, Key, Moment, Record, Timestamp, decide};

/// The database, and what it would take to undo its unsynced part.
pub(super) struct Healthy {
    pub(super) engine: Arc<Engine>,
    /// Holds what the group under way has overwritten.
    shared: Arc<Shared>,
    /// What the group under way has written, if it will be answered before it is synced.
    written: Records,
    /// What was answered for and is not synced: always empty unless `sync = "interval"`.
    unsynced: Records,
    sync: SyncMode,
    /// When it was opened.
    pub(super) since: Instant,
    pub(super) last_sync: Instant,
    pub(super) last_mark: Instant,
    /// The commit that the mark on disk speaks of.
    pub(super) marked: u64,
}

impl Healthy {
    pub(super) fn new(engine: Arc<Engine>, shared: Arc<Shared>, sync: SyncMode, marked: u64) -> Self {
        let now = Instant::now();
        Self {
            engine,
            shared,
            written: Records::new(),
            unsynced: Records::new(),
            sync,
            since: now,
            last_sync: now,
            last_mark: now,
            marked,
        }
    }

    /// The truth about every key whose record in the database may be wrong or may be lost.
    pub(super) fn into_guard(self) -> (Guard, Arc<Engine>) {
        let mut guard = Guard::new();
        // The latest of what was answered for, and under that which the failed group overwrote, its first.
        let overwritten = std::mem::take(&mut *self.shared.overwritten());
        for (key, record) in self.unsynced.into_iter().chain(overwritten.into_iter().rev()) {
            guard.remember(&key, record);
        }
        (guard, self.engine)
    }

    /// The desk for one group.
    pub(super) fn desk<'a>(&'a mut self, now: Timestamp, sequence: &'a mut u64) -> HealthyDesk<'a> {
        self.shared.overwritten().clear();
        self.written.clear();
        HealthyDesk { healthy: self, now, sequence }
    }

    /// Syncs all that was written, up to the commit with this number, which it hands back.
    pub(super) fn sync(&mut self, sequence: u64) -> Result<u64, EngineError> {
        self.engine.flush()?;
        self.shared.overwritten().clear();
        self.unsynced.clear();
        self.last_sync = Instant::now();
        Ok(sequence)
    }

    /// With `sync = "interval"` the group is answered now, so its values are what must not be lost.
    pub(super) fn answer_before_sync(&mut self) {
        self.shared.overwritten().clear();
        self.unsynced.append(&mut self.written);
    }
}

pub(super) struct HealthyDesk<'a> {
    healthy: &'a mut Healthy,
    now: Timestamp,
    sequence: &'a mut u64,
}

impl HealthyDesk<'_> {
    fn put(&mut self, key: &Key, before: Option<Record>, next: Option<Record>) -> Result<(), EngineError> {
        // Noted first: a write that fails may have got there all the same.
        self.healthy.shared.overwritten().push((key.clone(), before));
        self.healthy.engine.write(key, next.as_ref())?;
        self.wrote(key, next);
        Ok(())
    }

    fn wrote(&mut self, key: &Key, next: Option<Record>) {
        *self.sequence += 1;
        match self.healthy.sync {
            SyncMode::Always => {}
            SyncMode::Interval => self.healthy.written.push((key.clone(), next)),
        }
    }

    fn moment(&self) -> Moment {
        Moment { now: self.now, sequence: *self.sequence + 1 }
    }

    /// Most claims are the first of their key: they are decided as such and written only if the key has no record, which
    /// spares a walk through the tree. `None` when it has one.
    fn first_claim(&mut self, request: &Request) -> Result<Option<Answer>, EngineError> {
        let decision = decide(None, &request.command, self.moment());
        let Change::Put(record) = decision.change else {
            return Ok(None);
        };
        // Noted first, for whoever reads past this thread: what it reads is not answered for yet.
        let overwritten = |before| self.healthy.shared.overwritten().push((request.key.clone(), before));
        overwritten(None);
        let created = self.healthy.engine.create(&request.key, &record);
        if !matches!(created, Ok(true)) {
            self.healthy.shared.overwritten().pop();
        }
        if created.is_err() {
            // It may have got there or not, and the key may have had a record that was never looked at.
            let before = self.healthy.engine.read(&request.key).ok().flatten();
            overwritten(before.filter(|before| *before != record));
        }
        if !created? {
            return Ok(None);
        }
        self.wrote(&request.key, Some(record));
        Ok(Some(Answer { outcome: decision.outcome, degraded: None }))
    }
}

impl Desk for HealthyDesk<'_> {
    type Failure = EngineError;

    fn command(&mut self, request: &Request) -> Result<Reply, EngineError> {
        if let Command::Claim(_) = request.command
            && let Some(answer) = self.first_claim(request)?
        {
            return Ok(Ok(answer));
        }
        let key = &request.key;
        let (record, degraded) = match self.healthy.engine.read(key) {
            Ok(record) => (record, None),
            Err(error @ EngineError::Damaged(_)) => {
                tracing::error!(key = ?key, error = %Chain(&error), "a record cannot be read");
                if request.on_failure == OnStoreFailure::Closed {
                    return Ok(Err(Fault::Damaged));
                }
                (None, Some(Fault::Damaged))
            }
            Err(error) => return Err(error),
        };
        let decision = decide(record.as_ref(), &request.command, self.moment());
        match decision.change {
            // What cannot be read can still be forgotten.
            Change::Keep if degraded.is_some() && matches!(request.command, Command::Forget) => {
                self.put(key, None, None)?;
            }
            Change::Keep => {}
            Change::Put(next) => self.put(key, record, Some(next))?,
            Change::Remove => self.put(key, record, None)?,
        }
        Ok(Ok(Answer { outcome: decision.outcome, degraded }))
    }

    fn read(&mut self, key: &Key) -> Result<Result<Reading, Fault>, EngineError> {
        match self.healthy.engine.read(key) {
            Ok(record) => Ok(Ok(Reading { record, degraded: None })),
            Err(EngineError::Damaged(_)) => Ok(Err(Fault::Damaged)),
            Err(error) => Err(error),
        }
    }

    fn sweep(&mut self, key: &Key) -> Result<bool, EngineError> {
        match self.healthy.engine.read(key) {
            Ok(Some(record)) if record.is_gone(self.now) => {
                // No number, and so no sync: a removal that is lost is swept again.
                self.healthy.engine.write(key, None)?;
                Ok(true)
            }
            // A damaged record is told of when somebody asks for it.
            Ok(_) | Err(EngineError::Damaged(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
