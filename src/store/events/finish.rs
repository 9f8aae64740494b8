//! Finishing a hand-over: what became of it, and what follows.

use super::super::Store;
use super::super::counts::Counted;
use super::super::engine::EngineError;
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::super::kept::Kept;
use super::super::known::Known;
use super::desk::Found;
use super::work::Ask;
use crate::claim::{Done, Free, Key, Record};
use crate::event::{Attempt, EventId, Next, State};

/// A hand-over that has ended.
#[derive(Debug, Clone)]
pub struct Finish {
    /// Of which event.
    pub id: EventId,
    /// What became of it.
    pub attempt: Attempt,
    /// How the app's answer begins; cut to what is kept.
    pub excerpt: Box<[u8]>,
    /// What follows.
    pub next: Next,
    /// Whether the event is kept once its app has handled it.
    pub keep: bool,
}

impl Store {
    /// Writes what became of a hand-over. When this returns it is synced, whatever `sync` says. It may be told twice.
    ///
    /// # Errors
    /// The fault of the store. It may be written all the same.
    pub async fn finish(&self, finish: Finish) -> Result<(), Fault> {
        self.ask_event(finish).await
    }
}

impl Ask for Finish {
    type Told = ();

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<(), Fault>, EngineError> {
        let mut kept = match desk.find(self.id)? {
            Found::Kept(kept) => kept,
            // Somebody has discarded it, or it was told before.
            Found::Nothing | Found::Damaged => return Ok(Ok(())),
        };
        let (before, was_handled) = (Counted::of(&kept), kept.event.state.handled_at().is_some());
        kept.event.finish(&self.attempt, &self.excerpt, self.next, desk.now);
        let is_handled = kept.event.state.handled_at().is_some();
        let claim = desk.claim_after(&mut kept, is_handled && !was_handled)?;
        if is_handled && !was_handled && !self.keep {
            desk.remove_counted(self.id, before)?;
        } else if let Err(fault) = desk.write(Some(before), kept)? {
            return Ok(Err(fault));
        }
        if let Some((key, known, record)) = claim {
            desk.write_claim(&key, known, record)?;
        }
        Ok(Ok(()))
    }
}

/// A key, what it had, and what it gets.
type Claim = (Key, Known, Record);

impl HealthyDesk<'_> {
    /// What becomes of the claim that points to an event, where its end is written: most often nothing, and then it is not
    /// even looked at.
    fn claim_after(&self, kept: &mut Kept, newly_handled: bool) -> Result<Option<Claim>, EngineError> {
        let was_given_up = matches!(kept.event.state, State::Dead { .. }) && kept.event.id.queued_sequence().is_none();
        let ran_out = newly_handled && kept.remembered_until.is_some_and(|until| until <= self.now);
        let (Some(key), true) = (kept.event.key.clone(), was_given_up || ran_out) else {
            return Ok(None);
        };
        let known = self.claim(&key)?;
        let Known::Record(Some(Record::Done(done))) = &known else {
            return Ok(None);
        };
        if done.event != Some(kept.event.id.into()) {
            return Ok(None);
        }
        // Nothing pins it any more. A sender that waits while it brings its event is to find it free.
        let record = if was_given_up { freed(done, kept.event.delivery.attempts) } else { Record::Done(done.clone()) };
        kept.remembered_until = if was_given_up { None } else { Some(done.expires_at) };
        Ok(Some((key, known, record)))
    }
}

/// The sender's next attempt is one more than any that the app has seen.
fn freed(done: &Done, attempts: u32) -> Record {
    Record::Free(Free { attempt: done.attempt.max(attempts), expires_at: done.expires_at })
}
