//! Reading events back, with what was sent.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::super::Store;
use super::super::content_file;
use super::super::fault::Fault;
use super::super::kept::{ContentFile, Kept, Place};
use super::super::record::{DamagedRecord, decode_content};
use crate::chain::Chain;
use crate::event::{Content, Event, EventId};

/// Reads a content, or a part of it, from its file.
type ReadFile = fn(&Path, &ContentFile) -> Result<Content, DamagedRecord>;

/// Contents move while the content log is tidied up: a few tries find one that has.
const TRIES: usize = 4;

impl Store {
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
        let kept = self.read_kept(id).await?;
        self.read_content(id, kept, content_file::read).await
    }

    /// Reads what was sent of an event that is to be handed over, once there is room for a body of its length. Its entry may
    /// not be synced yet: whoever reads it begins the hand-over before anybody else learns of it.
    ///
    /// # Errors
    /// The fault of the store; [`Fault::Damaged`] where the content is not what was written.
    pub async fn content_with<R>(
        &self,
        id: EventId,
        room: impl AsyncFnOnce(u64) -> R,
    ) -> Result<Option<(R, Content)>, Fault> {
        // Its place in the schedule is written before its entry: whoever comes from there may be early for that too.
        let seen = match self.look_up(id).await? {
            Some(kept) => Some(kept),
            None => {
                self.barrier().await?;
                self.look_up(id).await?
            }
        };
        let Some(kept) = seen else {
            return Ok(None);
        };
        let room = room(kept.event.body_bytes).await;
        if let Ok(content) = self.read_place(id, kept.place, content_file::read).await? {
            return Ok(Some((room, content)));
        }
        // Its entry may be seen before what was sent is laid down: both are there once that commit is through. Mostly they are,
        // and so nobody waits for it unasked.
        let kept = self.read_kept(id).await?;
        Ok(self.read_content(id, kept, content_file::read).await?.map(|(_, content)| (room, content)))
    }

    /// Reads an event with what was sent but for the body: that of a large one is not read, and not looked at.
    ///
    /// # Errors
    /// The fault of the store; [`Fault::Damaged`] where what is read is not what was written.
    pub async fn event_head(&self, id: EventId) -> Result<Option<(Event, Content)>, Fault> {
        let kept = self.read_kept(id).await?;
        self.read_content(id, kept, content_file::read_head).await
    }

    /// Where the content of an event lies that is there and cannot be read back; of a large one the head alone is looked at.
    pub(super) async fn unreadable_content(&self, id: EventId) -> Result<Option<Place>, Fault> {
        let kept = match self.look_up(id).await {
            // Its entry cannot be read either.
            Ok(None) | Err(Fault::Damaged) => return Ok(None),
            Ok(Some(kept)) => kept,
            Err(fault) => return Err(fault),
        };
        let place = kept.place;
        match self.read_content(id, Some(kept), content_file::read_head).await {
            Ok(_) => Ok(None),
            Err(Fault::Damaged) => Ok(Some(place)),
            Err(fault) => Err(fault),
        }
    }

    async fn read_content(
        &self,
        id: EventId,
        mut kept: Option<Kept>,
        from: ReadFile,
    ) -> Result<Option<(Event, Content)>, Fault> {
        for _ in 0..TRIES {
            let Some(Kept { event, place, .. }) = kept else {
                return Ok(None);
            };
            match self.read_place(id, place, from).await? {
                Ok(content) => return Ok(Some((event, content))),
                // Gone between the two reads, its entry with it, or moved; or its file alone.
                Err(DamagedRecord::File(error)) if error.kind() == io::ErrorKind::NotFound => {
                    kept = self.look_up(id).await?;
                    if kept.as_ref().is_some_and(|kept| kept.place == place) {
                        tracing::error!(event = %id, "what was sent of an event is missing");
                        return Err(Fault::Damaged);
                    }
                }
                Err(DamagedRecord::File(error)) => return Err(Fault::of_io(&error)),
                Err(error) => {
                    tracing::error!(event = %id, error = %Chain(&error), "what was sent of an event is damaged");
                    return Err(Fault::Damaged);
                }
            }
        }
        Err(Fault::Damaged)
    }

    /// Reads a content from its place, once.
    async fn read_place(
        &self,
        id: EventId,
        place: Place,
        from: ReadFile,
    ) -> Result<Result<Content, DamagedRecord>, Fault> {
        let room = Arc::clone(&self.room);
        let read = move || match place {
            Place::Log(span) => room.segments().read(id, span).and_then(decode_content),
            Place::File(file) => from(room.store(), &file),
        };
        tokio::task::spawn_blocking(read).await.map_err(|_| Fault::Closed)
    }

    /// Reads an entry; what it says is synced when this returns, unless the store is down.
    async fn read_kept(&self, id: EventId) -> Result<Option<Kept>, Fault> {
        let was_well = self.is_well();
        let kept = self.look_up(id).await?;
        self.barrier_or_fault(was_well).await?;
        Ok(kept)
    }

    /// Reads an entry as it is just now.
    async fn look_up(&self, id: EventId) -> Result<Option<Kept>, Fault> {
        self.walk(move |shared| shared.walked(|engine| engine.read_event(id))).await
    }
}
