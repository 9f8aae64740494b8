//! Works off redrives: many dead letters queued anew by one command, a step at a time, on disk after each. One that the
//! process before has left unfinished goes on at the start.

use std::time::Duration;

use super::Delivery;
use super::works::ALL;
use crate::store::{Actor, Fault, Filter, RedriveId};

/// How long the store is left alone when it could not be asked.
const PAUSE: Duration = Duration::from_secs(1);

impl Delivery {
    /// Begins a redrive and sees to its end. When this returns it is on disk.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn redrive(&self, filter: Filter, actor: Actor) -> Result<RedriveId, Fault> {
        let id = self.works.store().start_redrive(filter, actor).await?;
        self.redrives.notify_one();
        Ok(id)
    }

    /// Works off what there is, now and whenever there is more.
    pub async fn work_off_redrives(&self) -> std::convert::Infallible {
        loop {
            if let Err(fault) = self.take_all_steps().await {
                self.works.note_fault(ALL, fault, "a redrive is put off");
                self.works.pause(PAUSE).await;
                continue;
            }
            self.redrives.notified().await;
        }
    }

    async fn take_all_steps(&self) -> Result<(), Fault> {
        for id in self.works.store().unfinished_redrives().await? {
            while let Some(progress) = self.works.store().redrive_step(id).await? {
                if progress.is_done {
                    tracing::info!(redrive = id.number(), requeued = progress.requeued, "a redrive is done");
                    break;
                }
            }
        }
        Ok(())
    }
}
