//! The store: read a key, decide, write it, durably, then answer.
//!
//! Everything that must survive lies in one directory ([`directory`]); the records are in sled ([`engine`]), one a key, with
//! no second index that could disagree. Events lie beside them ([`events`]), what was sent of them in a log of its own
//! ([`content_log`]), or in a file of its own where it is large ([`content_file`]). All writes go through one commit thread
//! ([`commit`]), which takes what has gathered in its queue as one group: decided, written, synced once, answered; with
//! `sync = "interval"` synced once a second, after the answers. Walks over the records ([`list`]) do not pass through it and
//! never hold it up.
//!
//! sled and bincode are mentioned in this folder and nowhere else. What sled 0.34.7 cannot do, and what is done about it:
//! its flush does not sync ([`durable`]); after a failed write nothing may be written through it ([`outage`]); it drops a
//! lost tail without a word ([`mark`]); it mends while it opens ([`original`]) and must be closed before it can be opened
//! again ([`recall`]); a hanging disk takes the commit thread along ([`last_resort`]); it has no cheap transactions, so a
//! record is one value.

mod bells;
mod commit;
mod content_file;
mod content_log;
mod counts;
mod directory;
mod durable;
mod engine;
mod error;
mod events;
mod fault;
mod gauges;
mod guard;
mod healthy;
mod held;
mod job;
mod kept;
mod known;
mod last_resort;
mod list;
mod mark;
mod numbers;
mod opening;
mod original;
mod outage;
mod private;
mod queue;
mod recall;
mod record;
mod recovery;
mod room;
mod settings;
mod shared;
mod stock;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

pub use commit::EARLY_SYNC;
pub use durable::{FilterError, force_real_sync};
pub use error::OpenError;
pub use events::{
    Accepted, Action, Actor, AuditEntry, AuditPage, BeginAsk, Begun, Compacted, Deed, Discarded, DuePage, EventPage,
    EventSelection, Filter, Finish, Progress, RedriveId, Requeued,
};
pub use fault::Fault;
pub use job::{Answer, AnswerAt, Reading, Reply, Request};
pub use list::{Page, Selection, StateName, SweepStep};
pub use room::NotKept;
pub use settings::{OnStoreFailure, StoreSettings, SyncMode};

use crate::chain::Chain;
use crate::claim::Key;
use crate::clock::{Clock, Source};
use crate::metrics::Metrics;
use job::Job;
use last_resort::LastResort;
use room::Room;
use shared::Shared;

/// Disk space, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// What the store's files take.
    pub disk_bytes: u64,
    /// What is free on their file system.
    pub free_bytes: u64,
}

/// The store's end was not in order; the log says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the store could not be closed in order")]
pub struct NotClosed;

/// An open store. Dropped without [`Store::close`], it ends some time later, and nobody can wait for it.
#[derive(Debug)]
pub struct Store {
    shared: Arc<Shared>,
    room: Arc<Room>,
    clock: Clock,
    settings: StoreSettings,
    may_have_orphans: bool,
    ended: watch::Receiver<Option<Result<(), NotClosed>>>,
    last_resort: LastResort,
}

impl Store {
    /// Opens the store in its directory, or makes one, and starts the commit thread.
    ///
    /// `real_sync` says whether [`force_real_sync`] holds for this process; where it does not, the store syncs through a
    /// handle of its own. Blocks for as long as recovery takes.
    ///
    /// # Errors
    /// Where the directory cannot be used, is in use, was written by a later version, or may have lost records.
    pub fn open(
        settings: StoreSettings,
        source: Source,
        real_sync: bool,
        metrics: Arc<Metrics>,
    ) -> Result<Self, OpenError> {
        let committer = opening::open(settings.clone(), source, real_sync, metrics)?;
        let (shared, clock) = (Arc::clone(&committer.shared), committer.clock.clone());
        let (room, may_have_orphans) = (Arc::clone(&committer.room), committer.may_have_orphans);
        let (end, ended) = watch::channel(None);
        let run = move || {
            let ended = committer.run();
            if let Err(broken) = &ended {
                tracing::error!(error = %Chain(broken), "the store did not end in order; nothing more is answered");
            }
            end.send_replace(Some(ended.map_err(|_told| NotClosed)));
        };
        thread::Builder::new().name("commit".into()).spawn(run).map_err(OpenError::Thread)?;
        Ok(Self { shared, room, clock, settings, may_have_orphans, ended, last_resort: LastResort::new() })
    }

    /// The clock that the records' lifetimes run on.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Decides a command; the answer comes when what it speaks of is synced, or written with `sync = "interval"`.
    ///
    /// # Errors
    /// The fault of the store, where the request does not let it be answered from memory.
    pub async fn submit(&self, request: Request) -> Reply {
        let (to, from) = oneshot::channel();
        let kept = request.clone();
        match self.ask(Job::One { request, reply: None, to: Some(to) }, from).await {
            Ok(reply) => reply,
            Err(fault) => {
                let mut replies = self.answer_overdue(vec![kept], fault).await;
                replies.pop().unwrap_or(Err(fault))
            }
        }
    }

    /// Decides commands in order and commits them together.
    pub async fn submit_batch(&self, requests: Vec<Request>) -> Vec<Reply> {
        let (to, from) = oneshot::channel();
        let kept = requests.clone();
        match self.ask(Job::Batch { requests, replies: Vec::new(), to }, from).await {
            Ok(replies) => replies,
            Err(fault) => self.answer_overdue(kept, fault).await,
        }
    }

    /// Reads the record of a key; what it says is as safe as an answer to a command.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn read(&self, key: Key) -> Result<Reading, Fault> {
        let (to, from) = oneshot::channel();
        self.ask(Job::Read { key, reply: None, to }, from).await?
    }

    /// Reads a page of records; what it says is as safe as an answer to a command. What cannot be read is left out.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn list(&self, selection: Selection) -> Result<Page, Fault> {
        let now = self.clock.now();
        let wanted = selection.clone();
        let mut page = self.walk(move |shared| list::page(shared, &selection, now)).await?;
        self.barrier().await?;
        if self.fault().is_some() {
            // A failed database holds what was never answered for; the commit thread knows better, key by key.
            let records = std::mem::take(&mut page.records);
            for (key, _) in records {
                let record = self.read(key.clone()).await?.record;
                let record = record.filter(|record| wanted.wants(record, now));
                page.records.extend(record.map(|record| (key, record)));
            }
        }
        Ok(page)
    }

    /// Looks at up to `limit` records after a key for those that are gone.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn sweep_step(&self, after: Option<Key>, limit: usize) -> Result<SweepStep, Fault> {
        let now = self.clock.now();
        self.walk(move |shared| list::sweep_step(shared, after.as_ref(), limit, now)).await
    }

    /// Removes the records of these keys, those that are gone by now; says how many were.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn remove_gone(&self, keys: Vec<Key>) -> Result<usize, Fault> {
        let (to, from) = oneshot::channel();
        self.ask(Job::Sweep { keys, removed: 0, to }, from).await
    }

    /// Why the store is down; `None` while it is well.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        let told = *self.shared.health.borrow();
        told.or_else(|| (self.busy_for() > self.settings.commit_deadline).then_some(Fault::CommitDeadline))
    }

    /// How long the commit thread has been busy with one round.
    #[must_use]
    pub fn busy_for(&self) -> Duration {
        self.shared.pulse.busy_for()
    }

    /// How long a commit may hang before it counts as a fault.
    #[must_use]
    pub fn commit_deadline(&self) -> Duration {
        self.settings.commit_deadline
    }

    /// The store's directory.
    #[must_use]
    pub fn dir(&self) -> &PathBuf {
        &self.settings.dir
    }

    /// The space that the store takes, and what is left beside it.
    ///
    /// # Errors
    /// Where the file system cannot be asked.
    pub async fn space(&self) -> io::Result<Space> {
        let dir = self.settings.dir.clone();
        let look =
            move || Ok(Space { disk_bytes: directory::disk_bytes(&dir)?, free_bytes: directory::free_bytes(&dir)? });
        tokio::task::spawn_blocking(look).await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    /// Waits for the end of the commit thread: never, unless the store was closed or has lost records.
    pub async fn ended(&self) {
        let _how = self.ending().await;
    }

    /// Commits what is in the queue, syncs, and closes the database. Returns when all of it is done.
    ///
    /// # Errors
    /// Where it could not be: what was answered for and marked as degraded may be lost. The log says why.
    pub async fn close(&self) -> Result<(), NotClosed> {
        self.shared.queue.close();
        self.ending().await
    }

    async fn ending(&self) -> Result<(), NotClosed> {
        let mut ended = self.ended.clone();
        // A thread that panicked says nothing; its sender goes with it.
        let ending = ended.wait_for(Option::is_some).await.map_err(|_| NotClosed)?;
        ending.unwrap_or(Err(NotClosed))
    }

    async fn answer_overdue(&self, requests: Vec<Request>, fault: Fault) -> Vec<Reply> {
        // Not a fault that passes: what is decided now could never be written, and nobody would remember it.
        if fault == Fault::Closed {
            return requests.iter().map(|_| Err(fault)).collect();
        }
        self.last_resort.answer(&self.shared, requests, fault, self.clock.now()).await
    }

    async fn barrier(&self) -> Result<(), Fault> {
        let (to, from) = oneshot::channel();
        self.ask(Job::Barrier { to }, from).await
    }

    async fn ask<T>(&self, job: Job, from: oneshot::Receiver<T>) -> Result<T, Fault> {
        if !self.shared.queue.push(job) {
            return Err(Fault::Closed);
        }
        match tokio::time::timeout(self.settings.commit_deadline, from).await {
            Ok(answered) => answered.map_err(|_| Fault::Closed),
            Err(_) => Err(Fault::CommitDeadline),
        }
    }

    async fn walk<T: Send + 'static>(
        &self,
        walk: impl FnOnce(&Shared) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let shared = Arc::clone(&self.shared);
        tokio::task::spawn_blocking(move || walk(&shared)).await.unwrap_or(Err(Fault::Closed))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}
