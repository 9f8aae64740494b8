//! Works off redrives: many dead letters queued anew by one command, a step at a time, on disk after each. One that the
//! process before has left unfinished goes on at the start.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::Delivery;
use super::works::ALL;
use crate::store::{Actor, Fault, Filter, Progress, RedriveId};

/// How long the store is left alone when it could not be asked.
const PAUSE: Duration = Duration::from_secs(1);

/// Redrives of which it is remembered how far they came: many more than people wait for at once.
const REMEMBERED: usize = 64;

/// The redrives of one daemon.
#[derive(Debug)]
pub(super) struct Redrives {
    /// Rung when there is one more.
    rung: Notify,
    /// How far the latest came, in this run.
    steps: watch::Sender<BTreeMap<RedriveId, Progress>>,
}

impl Default for Redrives {
    fn default() -> Self {
        Self { rung: Notify::new(), steps: watch::Sender::new(BTreeMap::new()) }
    }
}

impl Delivery {
    /// Begins a redrive and sees to its end. When this returns it is on disk.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn redrive(&self, filter: Filter, actor: Actor) -> Result<RedriveId, Fault> {
        let id = self.works.store().start_redrive(filter, actor).await?;
        self.redrives.begin(id);
        self.redrives.rung.notify_one();
        Ok(id)
    }

    /// How far a redrive that was begun in this run has come: at its end, or after so long.
    pub async fn redriven(&self, id: RedriveId, patience: Duration) -> Progress {
        let mut steps = self.redrives.steps.subscribe();
        let is_done = |steps: &BTreeMap<_, Progress>| steps.get(&id).is_some_and(|progress| progress.is_done);
        // Done or not: what is known then is the answer.
        let _is_over = timeout(patience, steps.wait_for(is_done)).await.is_ok();
        steps.borrow().get(&id).copied().unwrap_or(Progress { requeued: 0, is_done: false })
    }

    /// Works off what there is, now and whenever there is more.
    pub async fn work_off_redrives(&self) -> std::convert::Infallible {
        loop {
            if let Err(fault) = self.take_all_steps().await {
                self.works.note_fault(ALL, fault, "a redrive is put off");
                self.works.clock().sleep_until(self.works.clock().now().after(PAUSE)).await;
                continue;
            }
            self.redrives.rung.notified().await;
        }
    }

    async fn take_all_steps(&self) -> Result<(), Fault> {
        let begun = self.redrives.unfinished();
        let unfinished = self.works.store().unfinished_redrives().await?;
        self.redrives.end(begun.into_iter().filter(|id| !unfinished.contains(id)));
        for id in unfinished {
            while let Some(progress) = self.works.store().redrive_step(id).await? {
                self.redrives.note(id, progress);
                if progress.is_done {
                    tracing::info!(redrive = id.number(), requeued = progress.requeued, "a redrive is done");
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Redrives {
    /// One was begun; it may be under way already.
    fn begin(&self, id: RedriveId) {
        self.steps.send_modify(|steps| {
            steps.entry(id).or_insert(Progress { requeued: 0, is_done: false });
        });
    }

    /// Those that were begun and are not known to have ended.
    fn unfinished(&self) -> Vec<RedriveId> {
        self.steps.borrow().iter().filter(|(_, progress)| !progress.is_done).map(|(id, _)| *id).collect()
    }

    /// These have ended without a word: the step was taken that was the last, and its answer was a fault. How many it queued
    /// is not known, and so not counted.
    fn end(&self, ids: impl Iterator<Item = RedriveId>) {
        self.steps.send_modify(|steps| {
            for id in ids {
                steps.entry(id).and_modify(|progress| progress.is_done = true);
            }
        });
    }

    fn note(&self, id: RedriveId, progress: Progress) {
        self.steps.send_modify(|steps| {
            steps.insert(id, progress);
            while steps.len() > REMEMBERED {
                steps.pop_first();
            }
        });
    }
}
