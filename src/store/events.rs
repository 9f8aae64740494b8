//! The event log, as the store offers it.
//!
//! Keeping an event: room is asked for, what is too large for a value is written to a file of its own and synced, then the
//! entry that names the file goes through the commit thread, and only after its sync is the caller told. Whoever dies on
//! the way leaves at most a file that no entry names. While the store is down nothing is kept, and the caller is told that.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::Store;
use super::content_file;
use super::engine::EngineError;
use super::event_job::{EventAsk, EventJob, Fresh, Told};
use super::fault::Fault;
use super::job::Job;
use super::kept::{ContentFile, Kept, Place};
use super::list::STEP_RECORDS;
use super::record::{DamagedRecord, MAX_VALUE_BYTES, has_room_to_grow};
use super::room::{NotKept, Room};
use super::shared::Shared;
use crate::chain::Chain;
use crate::claim::Namespace;
use crate::event::{Content, Event, EventId, Failure};

/// Which events are wanted.
#[derive(Debug, Clone, Default)]
pub struct EventSelection {
    /// Those of the route of this name only.
    pub route: Option<Box<str>>,
    /// Those of these namespaces only.
    pub namespaces: Option<Vec<Namespace>>,
    /// Those after this one.
    pub after: Option<EventId>,
    /// So many at most.
    pub limit: usize,
}

/// Reads a content, or a part of it, from its file.
type ReadFile = fn(&Path, &ContentFile) -> Result<Content, DamagedRecord>;

/// Some events, and where to go on.
#[derive(Debug, Default)]
pub struct EventPage {
    /// The events, in the order of their ids.
    pub events: Vec<Event>,
    /// The id to go on after; `None` when that was all.
    pub next: Option<EventId>,
}

impl EventSelection {
    fn wants(&self, event: &Event) -> bool {
        self.route.as_ref().is_none_or(|route| *route == event.route)
            && self.namespaces.as_ref().is_none_or(|namespaces| namespaces.contains(&event.namespace))
    }
}

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
        if self.has_events() && self.fail(failure.clone(), None).await?.is_there {
            return Ok(());
        }
        let fresh = self.prepare(failure.first(0), content().await).await?;
        self.fail(failure.clone(), Some(fresh)).await?;
        Ok(())
    }

    /// Removes the entry of an event that was handled after all. While the store is down that is remembered.
    ///
    /// # Errors
    /// The fault of the store; the entry may stay for longer then.
    pub async fn settle_event(&self, id: EventId) -> Result<(), Fault> {
        self.ask_event(EventAsk::Settle(id)).await.map(drop)
    }

    /// Gives an event up; whether there was one.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn discard_event(&self, id: EventId) -> Result<bool, Fault> {
        self.ask_event(EventAsk::Discard(id)).await.map(|told| told.was_there)
    }

    /// Whether any event may be kept: asked before work that only then has a point.
    #[must_use]
    pub fn has_events(&self) -> bool {
        self.room.entries() > 0 || self.fault().is_some()
    }

    /// Reads an event; while the store is down, as far as the failed database still says.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn event(&self, id: EventId) -> Result<Option<Event>, Fault> {
        Ok(self.read_kept(id).await?.map(|kept| kept.event))
    }

    /// Reads an event with what was sent.
    ///
    /// # Errors
    /// The fault of the store; [`Fault::Damaged`] where the content is not what was written.
    pub async fn event_content(&self, id: EventId) -> Result<Option<(Event, Content)>, Fault> {
        self.read_content(id, content_file::read).await
    }

    /// Reads an event with what was sent but for the body: that of a large one is not read, and not looked at.
    ///
    /// # Errors
    /// The fault of the store; [`Fault::Damaged`] where what is read is not what was written.
    pub async fn event_head(&self, id: EventId) -> Result<Option<(Event, Content)>, Fault> {
        self.read_content(id, content_file::read_head).await
    }

    async fn read_content(&self, id: EventId, from: ReadFile) -> Result<Option<(Event, Content)>, Fault> {
        let Some(Kept { event, place, .. }) = self.read_kept(id).await? else {
            return Ok(None);
        };
        let file = match place {
            Place::Inline(content) => return Ok(Some((event, content))),
            Place::File(file) => file,
        };
        let dir = self.settings.dir.clone();
        let read = tokio::task::spawn_blocking(move || from(&dir, &file)).await;
        match read.map_err(|_| Fault::Closed)? {
            Ok(content) => Ok(Some((event, content))),
            // Gone between the two reads, its file with it; or the file alone.
            Err(DamagedRecord::File(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                if self.read_kept(id).await?.is_none() {
                    return Ok(None);
                }
                tracing::error!(event = %id, "the file of an event is missing");
                Err(Fault::Damaged)
            }
            Err(DamagedRecord::File(error)) => Err(Fault::of_io(&error)),
            Err(error) => {
                tracing::error!(event = %id, error = %Chain(&error), "the file of an event is damaged");
                Err(Fault::Damaged)
            }
        }
    }

    /// Reads a page of events; one that cannot be read is left out. The page may hold fewer than the limit and not be the
    /// last.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn events(&self, selection: EventSelection) -> Result<EventPage, Fault> {
        let page = self.walk(move |shared| page(shared, &selection)).await?;
        self.barrier().await?;
        Ok(page)
    }

    async fn fail(&self, failure: Failure, fresh: Option<Fresh>) -> Result<Told, NotKept> {
        self.ask_event(EventAsk::Fail { failure, fresh }).await.map_err(NotKept::Store)
    }

    async fn ask_event(&self, ask: EventAsk) -> Result<Told, Fault> {
        let (to, from) = oneshot::channel();
        let job = EventJob { ask, room: Arc::clone(&self.room), reply: None, to };
        self.ask(Job::Event(Box::new(job)), from).await?
    }

    /// Reads an entry; what it says is synced when this returns, unless the store is down.
    async fn read_kept(&self, id: EventId) -> Result<Option<Kept>, Fault> {
        let read = move |shared: &Shared| match shared.borrow(|engine| engine.read_event(id)) {
            Some(kept) => kept.map_err(|error| error.fault()),
            None => Err(shared.not_lent()),
        };
        let kept = self.walk(read).await?;
        self.barrier().await?;
        Ok(kept)
    }

    /// Finds a place for a content: in the entry, or in a file that is synced when this returns.
    async fn prepare(&self, event: Event, content: Content) -> Result<Fresh, NotKept> {
        let room = Arc::clone(&self.room);
        let prepared = tokio::task::spawn_blocking(move || prepare(&room, &event, content)).await;
        prepared.unwrap_or(Err(NotKept::Store(Fault::Closed)))
    }
}

fn prepare(room: &Arc<Room>, event: &Event, content: Content) -> Result<Fresh, NotKept> {
    let reserved = room.reserve(content.len_bytes())?;
    if content.len_bytes() <= MAX_VALUE_BYTES as u64 {
        let place = Place::Inline(content.clone());
        if has_room_to_grow(event, &place) {
            return Ok(Fresh { place, _reserved: reserved });
        }
    }
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).expect("the kernel's random source answers once it is seeded, long before this runs");
    let bytes = content_file::file_bytes(&content);
    let file = ContentFile { id: event.id, nonce: u64::from_be_bytes(nonce), bytes };
    content_file::write(room.store(), &file, &content).map_err(NotKept::File)?;
    Ok(Fresh { place: Place::File(file), _reserved: reserved })
}

fn page(shared: &Shared, selection: &EventSelection) -> Result<EventPage, Fault> {
    let walked = shared.borrow(|engine| -> Result<EventPage, EngineError> {
        let mut page = EventPage::default();
        for (looked_at, item) in engine.scan_events(selection.after).enumerate() {
            let (id, kept) = item?;
            match kept {
                Ok(kept) if selection.wants(&kept.event) => page.events.push(kept.event),
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(event = %id, error = %Chain(&error), "a list leaves out an event that cannot be read");
                }
            }
            if page.events.len() >= selection.limit || looked_at + 1 >= STEP_RECORDS {
                page.next = Some(id);
                break;
            }
        }
        Ok(page)
    });
    match walked {
        Some(Ok(page)) => Ok(page),
        Some(Err(error)) => Err(error.fault()),
        None => Err(shared.not_lent()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
mod tests;
