//! Giving space back: what still lives in a segment of the content log that is mostly dead is appended anew, so that the
//! segment goes.
//!
//! A step reads beside the commit thread and moves a little: one commit lays the contents down, the next lets the entries name
//! the new place, and then the old one is let go. Whoever dies in between leaves what is dead weight to the next start.

use std::io;
use std::sync::Arc;

use super::super::Store;
use super::super::content_log::{Entries, Laid, Span};
use super::super::counts::Counted;
use super::super::engine::EngineError;
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::super::kept::{Kept, Place};
use super::super::room::Room;
use super::super::shared::Shared;
use super::desk::Found;
use super::work::Ask;
use crate::event::EventId;

/// Contents that are moved in one commit, and their bytes: a millisecond or two of it.
const STEP_EVENTS: usize = 64;
const STEP_BYTES: usize = 1 << 20;

/// What one tidying of the content log came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Contents that were moved.
    pub moved: usize,
    /// Segments that were gone through.
    pub segments: usize,
}

impl Store {
    /// Moves what still lives in sparse segments, until there are none.
    ///
    /// # Errors
    /// The fault of the store; what was moved until then stays so.
    pub async fn compact(&self) -> Result<Compacted, Fault> {
        let mut compacted = Compacted::default();
        while self.fault().is_none() {
            let Some(segment) = self.room.segments().sparse() else { break };
            compacted.segments += 1;
            let mut entries = self.room.segments().entries(segment).map(Some).or_else(gone)?;
            while let Some(from) = entries.take() {
                let room = Arc::clone(&self.room);
                let (contents, rest) = self.walk(move |shared| look(shared, &room, from)).await?;
                entries = rest;
                compacted.moved += self.move_all(contents).await?;
            }
        }
        Ok(compacted)
    }

    /// Moves these contents; says how many were where they had been found.
    async fn move_all(&self, found: Vec<Living>) -> Result<usize, Fault> {
        if found.is_empty() {
            return Ok(0);
        }
        let places: Vec<_> = found.iter().map(|living| (living.id, living.from)).collect();
        let laid = self.lay(found.into_iter().map(|living| (living.id, living.content)).collect()).await?;
        let moves = places.into_iter().zip(laid).map(|((id, from), to)| Moved { id, from, to });
        self.ask_event(Move(moves.collect())).await
    }
}

/// A segment that has gone meanwhile.
fn gone(error: io::Error) -> Result<Option<Entries>, Fault> {
    if error.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(Fault::of_io(&error)) }
}

/// A content that an entry still names.
struct Living {
    id: EventId,
    from: Span,
    content: Vec<u8>,
}

/// What the next step moves, and what is left of the segment.
fn look(shared: &Shared, room: &Room, mut from: Entries) -> Result<(Vec<Living>, Option<Entries>), Fault> {
    let (mut contents, mut bytes) = (Vec::new(), 0);
    while let Some((id, span)) = from.next() {
        let named = match shared.borrow(|engine| engine.read_event(id)) {
            Some(Ok(kept)) => kept.is_some_and(|kept| kept.place == Place::Log(span)),
            Some(Err(EngineError::Damaged(_))) => false,
            Some(Err(error)) => return Err(error.fault()),
            None => return Err(shared.not_lent()),
        };
        // What cannot be read stays where it is, and with it the segment.
        if named && let Ok(content) = room.segments().read(id, span) {
            bytes += content.len();
            contents.push(Living { id, from: span, content });
        }
        if contents.len() >= STEP_EVENTS || bytes >= STEP_BYTES {
            return Ok((contents, Some(from)));
        }
    }
    Ok((contents, None))
}

#[derive(Debug)]
struct Moved {
    id: EventId,
    from: Span,
    to: Laid,
}

#[derive(Debug)]
struct Move(Vec<Moved>);

impl Ask for Move {
    /// How many were moved.
    type Told = usize;

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<usize, Fault>, EngineError> {
        let mut moved = 0;
        for Moved { id, from, to } in &self.0 {
            match desk.find(*id)? {
                Found::Kept(kept) if kept.place == Place::Log(*from) => {
                    let before = Counted::of(&kept);
                    let place = Place::Log(to.span());
                    if let Err(fault) = desk.write(Some(before), Kept { place, ..kept })? {
                        return Ok(Err(fault));
                    }
                    moved += 1;
                }
                Found::Kept(_) | Found::Nothing | Found::Damaged => {}
            }
        }
        Ok(Ok(moved))
    }

    fn weight(&self) -> usize {
        self.0.len()
    }
}
