//! Dead letters that somebody wants after all, and events that nobody wants any more. Each such action is in the audit list,
//! in the same commit.

use super::super::Store;
use super::super::counts::Counted;
use super::super::engine::EngineError;
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::super::kept::Kept;
use super::audit::{Action, Actor, Deed};
use super::desk::Found;
use super::work::Ask;
use crate::event::{EventId, State};

/// What came of a dead letter that was to be queued anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeued {
    /// It is due now, with a fresh budget.
    Queued,
    /// It is no dead letter.
    NotDead,
    /// There is no such event.
    Gone,
}

/// What came of an event that was to be discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discarded {
    /// It is gone.
    Discarded,
    /// There was none.
    Gone,
    /// It is being handed over.
    Delivering,
    /// It is no dead letter, and only such a one was to go.
    NotDead,
}

impl Store {
    /// Queues a dead letter anew. When this returns that is synced, whatever `sync` says.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn requeue(&self, id: EventId, actor: Actor, action: Action) -> Result<Requeued, Fault> {
        self.ask_event(Requeue { id, actor, action }).await
    }

    /// Gives an event up for good, unless it is being handed over.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn discard(&self, id: EventId, actor: Actor) -> Result<Discarded, Fault> {
        self.ask_event(Discard { id, which: Discardable::Any, actor }).await
    }

    /// The same, if it is a dead letter: judged in the commit in which it goes, so that one that somebody queues anew
    /// meanwhile stays.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn discard_dead_letter(&self, id: EventId, actor: Actor) -> Result<Discarded, Fault> {
        self.ask_event(Discard { id, which: Discardable::DeadLetter, actor }).await
    }
}

#[derive(Debug)]
struct Requeue {
    id: EventId,
    actor: Actor,
    action: Action,
}

impl Ask for Requeue {
    type Told = Requeued;

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<Requeued, Fault>, EngineError> {
        let kept = match desk.find(self.id)? {
            Found::Kept(kept) => kept,
            Found::Nothing | Found::Damaged => return Ok(Ok(Requeued::Gone)),
        };
        let deed = Deed::on(&self.actor, self.action, &kept.event);
        match desk.requeue(kept)? {
            Ok(true) => {
                desk.audit(&deed)?;
                Ok(Ok(Requeued::Queued))
            }
            Ok(false) => Ok(Ok(Requeued::NotDead)),
            Err(fault) => Ok(Err(fault)),
        }
    }
}

/// Which event may be discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Discardable {
    /// Whatever its state is, but for one that is being handed over.
    Any,
    /// A dead letter, or what cannot be read any more.
    DeadLetter,
}

#[derive(Debug)]
struct Discard {
    id: EventId,
    which: Discardable,
    actor: Actor,
}

impl Ask for Discard {
    type Told = Discarded;

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<Discarded, Fault>, EngineError> {
        let deed = match desk.find(self.id)? {
            Found::Nothing => return Ok(Ok(Discarded::Gone)),
            Found::Damaged => {
                desk.remove_damaged(self.id)?;
                Deed::on_unreadable(&self.actor, Action::Discard, self.id)
            }
            Found::Kept(kept) if self.which == Discardable::DeadLetter && !is_dead(&kept) => {
                return Ok(Ok(Discarded::NotDead));
            }
            Found::Kept(kept) if matches!(kept.event.state, State::Delivering(_)) => {
                return Ok(Ok(Discarded::Delivering));
            }
            Found::Kept(kept) => {
                desk.remove(&kept)?;
                Deed::on(&self.actor, Action::Discard, &kept.event)
            }
        };
        desk.audit(&deed)?;
        Ok(Ok(Discarded::Discarded))
    }
}

fn is_dead(kept: &Kept) -> bool {
    matches!(kept.event.state, State::Dead { .. })
}

impl HealthyDesk<'_> {
    /// Queues a dead letter anew; whether it is one.
    pub(super) fn requeue(&mut self, mut kept: Kept) -> Result<Result<bool, Fault>, EngineError> {
        let before = Counted::of(&kept);
        if !kept.event.requeue(self.now) {
            return Ok(Ok(false));
        }
        Ok(self.write(Some(before), kept)?.map(|_| true))
    }
}
