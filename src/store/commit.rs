//! The commit thread: the one place where a claim is decided, and where it becomes durable.
//!
//! A round: take all jobs that have gathered, decide each against the database and write what changed, sync what events have
//! brought along ([`super::content_log`]), write the number of the commit, sync once, answer all. Nothing of a group is told
//! before its sync, with one exception. If the process dies before the sync, nobody was answered but the exception; if it dies
//! after, the records are there; in between lies nothing that was promised. A content that an entry of an older event is to
//! name goes into the log a group earlier ([`super::events`]): such an entry is not undone.
//!
//! The exception goes ahead of its sync where the caller asks for it: a claim that is granted
//! ([`super::AnswerAt::Decision`]). Its holder begins to work at once, and what it says to others waits for a sync of its own.
//!
//! When a write or a sync fails, nothing more is written through that database ([`super::outage`]), the group is decided
//! again from memory, and the thread tries to come back: a probe of the disk, close, open, write back, and only then is
//! the database asked again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::content_log::ContentLog;
use super::directory::Directory;
use super::engine::{Engine, EngineError};
use super::healthy::Healthy;
use super::job::Job;
use super::mark::{self, Mark};
use super::outage::Outage;
use super::recovery::Unrecoverable;
use super::room::Room;
use super::settings::{StoreSettings, SyncMode};
use super::shared::Shared;
use crate::claim::Timestamp;
use crate::clock::Clock;

/// The period of `sync = "interval"` and of the mark.
const TICK: Duration = Duration::from_secs(1);
/// A claim that was answered as soon as it was decided is synced after this time at the latest. In most apps a success
/// takes longer; where it comes sooner, one sync serves both the claim and its confirm.
pub const EARLY_SYNC: Duration = Duration::from_millis(2);
/// Commands after which a group is closed to newcomers: a few milliseconds of deciding.
const MAX_GROUP_COMMANDS: usize = 512;
/// A mark is renewed this often even when nothing was written, for the clock's sake.
const IDLE_MARK: Duration = Duration::from_secs(60);

pub(super) struct Committer {
    pub(super) shared: Arc<Shared>,
    pub(super) room: Arc<Room>,
    /// Where what is sent goes.
    pub(super) log: ContentLog,
    pub(super) directory: Directory,
    pub(super) settings: StoreSettings,
    pub(super) real_sync: bool,
    pub(super) clock: Clock,
    /// Where this run began to number.
    pub(super) numbered_from: u64,
    /// Whether the run before may have left claims whose holders died with it.
    pub(super) may_have_orphans: bool,
    /// The last number that the database was given: right after an unclean end far below the next one. The mark must never
    /// speak of a higher one.
    pub(super) written: u64,
    /// The last number that is synced.
    pub(super) synced: u64,
    pub(super) state: State,
}

pub(super) enum State {
    Healthy(Healthy),
    Outage(Outage),
}

impl Committer {
    /// Serves the queue until it is closed and empty.
    ///
    /// # Errors
    /// When what the database holds is less than what was answered for, or it broke down: nothing may be answered then.
    pub(super) fn run(mut self) -> Result<(), Unrecoverable> {
        let ended = self.serve_all().and_then(|()| self.close());
        ended.and(self.let_go())
    }

    fn serve_all(&mut self) -> Result<(), Unrecoverable> {
        let mut group = Vec::new();
        let shared = Arc::clone(&self.shared);
        let mut expected = 1;
        while shared.queue.take(&mut group, self.patience(), expected) {
            shared.pulse.begin();
            expected = self.expected_after(&group);
            self.serve(&mut group);
            self.tend()?;
            shared.pulse.end();
        }
        Ok(())
    }

    /// How many jobs are worth a moment's wait. Callers that wait for their answers come back when they have them, most of
    /// them at about the same time; a sync for each half of them would cost twice. A lone caller is never kept waiting.
    fn expected_after(&self, group: &[Job]) -> usize {
        match self.settings.sync {
            SyncMode::Always => group.len() * 3 / 4,
            SyncMode::Interval => 1,
        }
    }

    fn patience(&self) -> Duration {
        match &self.state {
            State::Outage(outage) => outage.until_retry(self.clock.now()).min(TICK),
            State::Healthy(healthy) => match healthy.early_since {
                Some(since) => EARLY_SYNC.saturating_sub(since.elapsed()),
                None => TICK,
            },
        }
    }

    fn serve(&mut self, group: &mut Vec<Job>) {
        let now = self.clock.now();
        if let Err(error) = self.commit(group, now) {
            self.fail(&error);
        }
        if let State::Outage(outage) = &mut self.state {
            let mut desk = outage.desk(now, &self.shared.numbers);
            for job in group.iter_mut() {
                let Ok(()) = job.decide(&mut desk);
            }
        }
        group.drain(..).for_each(Job::answer);
    }

    /// Decides, writes and syncs a group; does nothing during an outage.
    fn commit(&mut self, group: &mut Vec<Job>, now: Timestamp) -> Result<(), EngineError> {
        let State::Healthy(healthy) = &mut self.state else {
            return Ok(());
        };
        if group.is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        let before = self.shared.numbers.last();
        let mut desk = healthy.desk(&mut self.log, now);
        let (mut decided, mut commands) = (0, 0);
        // A sync costs more than many decisions, so whoever arrives while the group is decided still joins it.
        while decided < group.len() {
            for job in &mut group[decided..] {
                job.decide(&mut desk)?;
                if self.settings.sync == SyncMode::Always && job.answer_early() {
                    desk.answered_early();
                }
                commands += job.weight();
            }
            decided = group.len();
            if commands < MAX_GROUP_COMMANDS {
                self.shared.queue.take_more(group);
            }
        }
        let last = self.shared.numbers.last();
        // Whoever hears of a claim that was answered early, and is not synced yet, waits as for one of this group.
        let nothing_new = last == before && healthy.early_since.is_none();
        let nobody_waits = healthy.early_since.is_some() && !group.iter().any(Job::waits);
        if nothing_new || nobody_waits {
            return Ok(());
        }
        // What entries name is safe before the number is written that makes them count.
        self.log.sync().map_err(EngineError::Sync)?;
        healthy.engine.write_sequence(last)?;
        self.written = last;
        match self.settings.sync {
            SyncMode::Interval if !group.iter().any(Job::must_be_synced) => healthy.answer_before_sync(),
            SyncMode::Interval | SyncMode::Always => self.synced = healthy.sync(self.written)?,
        }
        self.shared.metrics.commit_group_size.observe(group.len() as f64);
        self.shared.metrics.commit_seconds.observe(started.elapsed().as_secs_f64());
        Ok(())
    }

    /// What has to be done from time to time, whether there are jobs or not.
    fn tend(&mut self) -> Result<(), Unrecoverable> {
        if let Some(step_ms) = self.clock.notice_step() {
            tracing::warn!(step_ms, "the wall clock was stepped; lifetimes follow the boot clock");
        }
        if let Err(error) = self.tend_healthy() {
            self.fail(&error);
        }
        let now = self.clock.now();
        match &self.state {
            State::Outage(outage) if outage.is_due(now) => self.recover(),
            State::Outage(_) | State::Healthy(_) => Ok(()),
        }
    }

    fn tend_healthy(&mut self) -> Result<(), EngineError> {
        let State::Healthy(healthy) = &mut self.state else {
            return Ok(());
        };
        if healthy.early_since.is_some_and(|since| since.elapsed() >= EARLY_SYNC) {
            let (started, last) = (Instant::now(), self.shared.numbers.last());
            healthy.engine.write_sequence(last)?;
            self.written = last;
            self.synced = healthy.sync(last)?;
            self.shared.metrics.commit_seconds.observe(started.elapsed().as_secs_f64());
        }
        if self.synced != self.written && healthy.last_sync.elapsed() >= TICK {
            self.synced = healthy.sync(self.written)?;
        }
        let due = if self.synced == healthy.marked { IDLE_MARK } else { TICK };
        if healthy.last_mark.elapsed() >= due {
            let (sequence, numbered_from) = (self.synced, self.numbered_from);
            let anchor = self.clock.anchor();
            let mark = Mark { sequence, numbered_from, clean: false, holders_gone: false, anchor };
            healthy.last_mark = Instant::now();
            match mark::write(self.directory.path(), &mark) {
                // No file can be opened just now, which says nothing about the disk; a mark that lags is harmless.
                Err(error) if lacks_descriptors(&error) => {
                    tracing::warn!(error = %error, "the mark could not be renewed; it is tried again");
                    return Ok(());
                }
                written => written.map_err(EngineError::Sync)?,
            }
            healthy.marked = self.synced;
            if let Err(error) = self.directory.keep_reserve() {
                tracing::debug!(error = %error, "no reserve for a full disk could be made");
            }
        }
        Ok(())
    }

    /// Syncs all there is and marks the end as one in order. A database that is down, or fails now, gets one try to come
    /// back.
    fn close(&mut self) -> Result<(), Unrecoverable> {
        if let Err(error) = self.close_healthy() {
            self.fail(&error);
            self.recover()?;
            self.close_healthy().map_err(|_again| Unrecoverable::NotClosed(error))?;
        }
        tracing::info!("the store is closed");
        Ok(())
    }

    /// Closes the database, however it is.
    fn let_go(self) -> Result<(), Unrecoverable> {
        let reader = match self.state {
            State::Healthy(healthy) => Some(healthy.engine),
            State::Outage(outage) => outage.reader,
        };
        let closed = [self.shared.lend(None), reader].into_iter().flatten().try_for_each(Engine::close);
        closed.map_err(Unrecoverable::Panicked)
    }

    fn close_healthy(&mut self) -> Result<(), EngineError> {
        let State::Healthy(healthy) = &mut self.state else {
            return Err(EngineError::NotOpen);
        };
        let last = self.shared.numbers.last();
        // Numbers that were told while a commit hung must not come again either.
        if last != self.written {
            healthy.engine.write_sequence(last)?;
            self.written = last;
        }
        self.synced = healthy.sync(self.written)?;
        let anchor = self.clock.anchor();
        let (numbered_from, holders_gone) = (self.numbered_from, self.shared.holders_gone.load(Ordering::Relaxed));
        let mark = Mark { sequence: self.written, numbered_from, clean: true, holders_gone, anchor };
        mark::write(self.directory.path(), &mark).map_err(EngineError::Sync)
    }
}

fn lacks_descriptors(error: &io::Error) -> bool {
    let errno = rustix::io::Errno::from_io_error(error);
    matches!(errno, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}
