//! Events of routes that hand over while the sender waits: dead letters of those whose sender does not come again, and
//! events that were handled, where all are recorded.
//!
//! Keeping one: room is asked for, what was sent goes into the content log ([`super::lay`]) or into a file of its own and is
//! synced, then the entry that names it goes through the commit thread, and only after its sync is the caller told. Whoever dies on the
//! way leaves at most what no entry names. While the store is down nothing is kept, and the caller is told that.

use std::sync::Arc;

use super::super::Store;
use super::super::content_file;
use super::super::counts::Counted;
use super::super::engine::EngineError;
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::super::kept::{ContentFile, Kept, Place};
use super::super::outage::Outage;
use super::super::record::encode_content;
use super::super::room::{NotKept, Reserved, Room};
use super::desk::Found;
use super::work::{Ask, Fresh, FreshContent};
use crate::event::{Content, Event, EventId, Failure, Passed, State};

/// Contents up to this go into the content log; a larger one is worth the two syncs that a file costs.
const SMALL_BYTES: u64 = 32 << 10;
/// Events whose end is remembered while the store is down: as many as the guard has entries, 16 bytes each. One beyond them
/// stays kept.
const MAX_SETTLED: usize = 100_000;

impl Store {
    /// Keeps an event whose hand-over has failed: makes an entry of it, or changes the one that is there. When this returns
    /// it is synced, whatever `sync` says. `content` is asked for only where there is no entry yet.
    ///
    /// # Errors
    /// Why it is not kept, which has been told and counted. (When a commit hangs it may yet turn out to be.)
    pub async fn keep_event(&self, failure: Failure, content: impl AsyncFnOnce() -> Content) -> Result<(), NotKept> {
        let kept = self.try_keep(&failure, content).await;
        kept.inspect_err(|why| self.room.complain(&failure, why))
    }

    async fn try_keep(&self, failure: &Failure, content: impl AsyncFnOnce() -> Content) -> Result<(), NotKept> {
        // Asked first: on a disk that is full nothing more is to be written.
        if let Some(fault) = self.fault() {
            return Err(NotKept::Store(fault));
        }
        let unreadable = match self.has_events() {
            true => self.unreadable_content(failure.id).await.map_err(NotKept::Store)?,
            false => None,
        };
        let fail = async |fresh| {
            let ask = Fail { failure: failure.clone(), fresh, unreadable };
            self.ask_event(ask).await.map_err(NotKept::Store)
        };
        if self.has_events() && unreadable.is_none() && fail(None).await? {
            return Ok(());
        }
        let fresh = self.prepare(content().await).await?;
        let fresh = self.lay_fresh(failure.id, fresh).await.map_err(NotKept::Store)?;
        fail(Some(fresh)).await?;
        Ok(())
    }

    /// Keeps an event that its app has handled while its sender waited.
    ///
    /// # Errors
    /// Why it is not kept.
    pub async fn keep_passed(&self, passed: Passed, content: Content) -> Result<(), NotKept> {
        if let Some(fault) = self.fault() {
            return Err(NotKept::Store(fault));
        }
        let fresh = self.prepare(content).await?;
        let fresh = self.lay_fresh(passed.id, fresh).await.map_err(NotKept::Store)?;
        self.ask_event(Pass { passed, fresh }).await.map_err(NotKept::Store)
    }

    /// Removes the entry of an event that was handled after all. While the store is down that is remembered.
    ///
    /// # Errors
    /// The fault of the store; the entry may stay for longer then.
    pub async fn settle_event(&self, id: EventId) -> Result<(), Fault> {
        self.ask_event(Settle(id)).await
    }

    /// Whether any event may be kept that was given up on while its sender waited: asked before work that only then has a
    /// point.
    #[must_use]
    pub fn has_events(&self) -> bool {
        self.room.letters() > 0 || self.fault().is_some()
    }

    /// Asks for room for a content, and encodes it for the content log, or writes it to a file that is synced when this
    /// returns.
    pub(super) async fn prepare(&self, content: Content) -> Result<Fresh, NotKept> {
        let reserved = self.room.reserve(content.len_bytes())?;
        if content.len_bytes() <= SMALL_BYTES {
            return Ok(Fresh { content: FreshContent::Small(encode_content(&content)), _reserved: reserved });
        }
        let room = Arc::clone(&self.room);
        let written = tokio::task::spawn_blocking(move || write_file(&room, &content, reserved)).await;
        written.unwrap_or(Err(NotKept::Store(Fault::Closed)))
    }
}

fn write_file(room: &Room, content: &Content, reserved: Reserved) -> Result<Fresh, NotKept> {
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).expect("the kernel's random source answers once it is seeded, long before this runs");
    let file = ContentFile { nonce: u64::from_be_bytes(nonce), bytes: content_file::file_bytes(content) };
    content_file::write(room.store(), &file, content).map_err(NotKept::File)?;
    Ok(Fresh { content: FreshContent::File(file), _reserved: reserved })
}

/// A hand-over has failed: the entry says so too, or is made, if its content is brought along.
#[derive(Debug)]
struct Fail {
    failure: Failure,
    fresh: Option<Fresh>,
    /// Where its content lies, if it was found not to be what was written: what is brought along takes its place.
    unreadable: Option<Place>,
}

impl Ask for Fail {
    /// Whether it is kept.
    type Told = bool;

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<bool, Fault>, EngineError> {
        let id = self.failure.id;
        let fresh = self.fresh.as_ref().map(|fresh| desk.place(id, fresh));
        let again = |kept: &mut Kept| {
            kept.event = kept.event.again(&self.failure);
            if let Some(place) = fresh.filter(|_| self.unreadable == Some(kept.place)) {
                kept.place = place;
            }
        };
        if let Some(changed) = desk.change(id, again)? {
            return Ok(changed.map(|()| true));
        }
        let Some(place) = fresh else {
            return Ok(Ok(false));
        };
        Ok(desk.make(place, |sequence| self.failure.first(sequence))?.map(|()| true))
    }

    fn fresh(&self) -> Option<&Fresh> {
        self.fresh.as_ref()
    }
}

/// An app has handled an event, and that is kept.
#[derive(Debug)]
struct Pass {
    passed: Passed,
    fresh: Fresh,
}

impl Ask for Pass {
    type Told = ();

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<(), Fault>, EngineError> {
        let id = self.passed.id;
        match desk.change(id, |kept| kept.event.pass(&self.passed))? {
            Some(changed) => Ok(changed),
            None => {
                let place = desk.place(id, &self.fresh);
                desk.make(place, |sequence| self.passed.first(sequence))
            }
        }
    }

    fn fresh(&self) -> Option<&Fresh> {
        Some(&self.fresh)
    }
}

impl HealthyDesk<'_> {
    /// Changes an entry, if there is one that can be read.
    fn change(
        &mut self,
        id: EventId,
        change: impl FnOnce(&mut Kept),
    ) -> Result<Option<Result<(), Fault>>, EngineError> {
        let mut kept = match self.find(id)? {
            Found::Kept(kept) => kept,
            Found::Nothing | Found::Damaged => return Ok(None),
        };
        let before = Counted::of(&kept);
        change(&mut kept);
        Ok(Some(self.write(Some(before), kept)?.map(drop)))
    }

    /// Makes an entry, of a content that lies here.
    fn make(&mut self, place: Place, event: impl FnOnce(u64) -> Event) -> Result<Result<(), Fault>, EngineError> {
        self.number();
        let event = event(self.healthy.shared.numbers.last());
        Ok(self.write(None, Kept { event, place, remembered_until: None, record_bytes: 0 })?.map(drop))
    }
}

/// A hand-over went well after all: the entry goes. Remembered while the database is down.
#[derive(Debug)]
struct Settle(EventId);

impl Ask for Settle {
    type Told = ();

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<(), Fault>, EngineError> {
        match desk.find(self.0)? {
            Found::Nothing => {}
            Found::Damaged => desk.remove_damaged(self.0)?,
            Found::Kept(kept) => {
                if is_settled(&kept.event.state) {
                    desk.remove(&kept)?;
                }
            }
        }
        Ok(Ok(()))
    }

    fn decide_down(&self, outage: &mut Outage) -> Result<(), Fault> {
        if outage.settled.len() >= MAX_SETTLED {
            return Err(outage.fault);
        }
        // Most of them were never kept: nothing is to be told of those that are done with.
        outage.settled.insert(self.0);
        Ok(())
    }
}

/// Whether an entry goes once its event was handled elsewhere: not while it is being handed over, which will say so itself,
/// and not where it is history.
pub(in crate::store) fn is_settled(state: &State) -> bool {
    match state {
        State::Queued(_) | State::Dead { .. } => true,
        State::Delivering(_) | State::Delivered { .. } | State::Passed { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::claim::Timestamp;
    use crate::store::guard::Guard;

    /// A success while the store was down was a warning in the log each time, whether anything was kept of its event or not.
    #[test]
    fn what_is_handled_while_the_store_is_down_is_remembered() {
        let mut outage = Outage::new(Fault::Io, Guard::new(), None, Timestamp::from_millis(1));
        let id = EventId::from_bytes([1; 16]);
        assert_eq!(Settle(id).decide_down(&mut outage), Ok(()));
        assert_eq!(outage.settled, HashSet::from([id]));
    }
}
