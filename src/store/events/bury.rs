//! Giving up on an event that waits: its time is over, and its app is not there to be asked once more.

use super::super::Store;
use super::super::counts::Counted;
use super::super::engine::EngineError;
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::desk::Found;
use super::work::Ask;
use crate::event::{Cause, Due, EventId};

impl Store {
    /// Gives up on an event, if it waits at this place; `false` where it does not any more. When this returns that is
    /// synced, whatever `sync` says.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn bury(&self, id: EventId, due: Due, cause: Cause) -> Result<bool, Fault> {
        self.ask_event(Bury { id, due, cause }).await
    }
}

#[derive(Debug)]
struct Bury {
    id: EventId,
    due: Due,
    cause: Cause,
}

impl Ask for Bury {
    type Told = bool;

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<bool, Fault>, EngineError> {
        let Found::Kept(mut kept) = desk.find(self.id)? else {
            return Ok(Ok(false));
        };
        let before = Counted::of(&kept);
        if !kept.event.give_up(self.due, self.cause, desk.now) {
            return Ok(Ok(false));
        }
        Ok(desk.write(Some(before), kept)?.map(|_| true))
    }
}
