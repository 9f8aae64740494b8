//! What is asked of the event log, on its way through the commit thread.

use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::super::content_log::Laid;
use super::super::engine::EngineError;
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::super::kept::{ContentFile, Place};
use super::super::outage::Outage;
use super::super::room::{Noted, Reserved, Room};

/// One question about events.
pub(in crate::store) trait Ask: fmt::Debug + Send + 'static {
    /// What the caller is told.
    type Told: fmt::Debug + Send + 'static;

    /// Decides it against the database. What changes draws a number, and so is synced with its group.
    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<Self::Told, Fault>, EngineError>;

    /// Decides it while the database is down: mostly nothing can be said then.
    fn decide_down(&self, outage: &mut Outage) -> Result<Self::Told, Fault> {
        Err(outage.fault)
    }

    /// What was written for it before it came here.
    fn fresh(&self) -> Option<&Fresh> {
        None
    }

    /// Whether it is of no use, and may do harm, once its caller has given up: that has gone on without it.
    fn needs_its_caller(&self) -> bool {
        false
    }

    /// How many entries have to be looked at for it.
    fn weight(&self) -> usize {
        1
    }
}

/// A content that no entry names yet.
#[derive(Debug)]
pub(in crate::store) struct Fresh {
    pub(in crate::store) content: FreshContent,
    /// Held until the entry itself is counted.
    pub(in crate::store) _reserved: Reserved,
}

#[derive(Debug)]
pub(in crate::store) enum FreshContent {
    /// For the content log, encoded.
    Small(Vec<u8>),
    /// In the content log, synced.
    Laid(Laid),
    /// In a file that is synced.
    File(ContentFile),
}

impl Fresh {
    pub(in crate::store) fn file(&self) -> Option<&ContentFile> {
        match &self.content {
            FreshContent::Small(_) | FreshContent::Laid(_) => None,
            FreshContent::File(file) => Some(file),
        }
    }
}

/// A question with whoever has asked it, as the commit thread sees it.
pub(in crate::store) trait Work: fmt::Debug + Send {
    fn decide(&mut self, desk: &mut HealthyDesk<'_>) -> Result<(), EngineError>;
    fn decide_down(&mut self, outage: &mut Outage);
    /// Whether it has changed something, so that even with `sync = "interval"` it is synced before it is answered: whoever
    /// hears of it may have no second chance to ask.
    fn must_be_synced(&self) -> bool;
    fn weight(&self) -> usize;
    /// Counts what is synced now and tells the caller; `false` when it has gone.
    fn answer(self: Box<Self>) -> bool;
}

#[derive(Debug)]
pub(in crate::store) struct Asked<A: Ask> {
    ask: A,
    room: Arc<Room>,
    reply: Option<Result<A::Told, Fault>>,
    noted: Vec<Noted>,
    is_written: bool,
    /// What was written for it may be named by an entry that nobody was told of.
    is_doubtful: bool,
    to: oneshot::Sender<Result<A::Told, Fault>>,
}

impl<A: Ask> Asked<A> {
    pub(in crate::store) fn new(ask: A, room: Arc<Room>, to: oneshot::Sender<Result<A::Told, Fault>>) -> Self {
        Self { ask, room, reply: None, noted: Vec::new(), is_written: false, is_doubtful: false, to }
    }
}

impl<A: Ask> Work for Asked<A> {
    fn decide(&mut self, desk: &mut HealthyDesk<'_>) -> Result<(), EngineError> {
        desk.is_written = false;
        if self.ask.needs_its_caller() && self.to.is_closed() {
            return Ok(());
        }
        self.reply = Some(self.ask.decide(desk)?);
        self.noted = std::mem::take(&mut desk.noted);
        self.is_written = desk.is_written;
        Ok(())
    }

    fn decide_down(&mut self, outage: &mut Outage) {
        self.reply = Some(self.ask.decide_down(outage));
        self.noted.clear();
        self.is_doubtful = true;
        outage.doubtful.extend(self.ask.fresh().and_then(Fresh::file));
    }

    fn must_be_synced(&self) -> bool {
        self.is_written
    }

    fn weight(&self) -> usize {
        self.ask.weight()
    }

    fn answer(self: Box<Self>) -> bool {
        self.noted.iter().for_each(|noted| self.room.note(noted));
        if let Some(file) = self.ask.fresh().and_then(Fresh::file).filter(|_| !self.is_doubtful) {
            let names = |noted: &Noted| noted.after.as_ref().is_some_and(|after| after.place == Place::File(*file));
            if !self.noted.iter().any(names) {
                self.room.remove(file);
            }
        }
        self.to.send(self.reply.unwrap_or(Err(Fault::Closed))).is_ok()
    }
}
