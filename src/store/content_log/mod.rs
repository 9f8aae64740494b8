//! The content log: what was sent, of events that are small enough, appended to a few large files.
//!
//! A file for every event would cost two syncs and a name each, and in the database every content would be written several
//! times over. Here a group of events costs one write and one sync, made before the number of their commit is written: a new
//! event whose number is not there is removed, so that it may be written into the database before its content is safe. A
//! record that no number undoes names only what was laid down in an earlier group ([`Laid`]).
//!
//! On disk it is the directory `contents/`, made with the first segment in it, and segments `<number, 10 digits>.log` of at
//! most [`MAX_SEGMENT_BYTES`]. A segment is a row of frames ([`frame`]) and is written from its beginning to its end by one
//! run of the program alone: what a start finds is never appended to. What the content of an event is depends on no order
//! and on no neighbour: its record has a [`Span`], and the frame there says itself whose it is and whether it is whole.
//!
//! What a crash leaves:
//!
//! - while a group is written: a torn tail, at the end of a segment that nothing is ever added to, or a segment without a
//!   name. No record names what is in it, but those of events that were never acknowledged, which go first.
//! - between the sync and the commit of the records: whole frames that no record names. They are dead weight until their
//!   segment goes. The same holds for what a group that failed has left behind.
//! - between the commit that removes the last record and the removal of the segment, or where a removal was not synced: a
//!   segment that nobody holds, which the next start removes ([`Segments::remove_unheld`]).
//!
//! Space comes back by segments: one that nothing is held in is removed ([`segments`]), and of one that is mostly dead
//! ([`Segments::sparse`]) the living can be appended anew, so that it is removed too.

mod frame;
mod segments;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::mark::sync_dir;
use crate::event::EventId;

pub(super) use frame::Entries;
pub(super) use segments::{Laid, Segments};

/// The directory's name.
pub(super) const DIR: &str = "contents";
/// Small enough to come back soon, large enough that a backlog of gigabytes is a few hundred files. A frame that is larger
/// has a segment of its own.
const MAX_SEGMENT_BYTES: u32 = 32 << 20;
/// A segment that is being written and in which nothing lives any more is given up for a new one above this; below it, what
/// a new file costs is more than what comes back.
const WORTH_GIVING_UP_BYTES: u32 = 4 << 20;
/// Memory that is kept from one group to the next.
const BUFFER_BYTES: usize = 1 << 20;

/// Where a content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// The number of its segment.
    pub(super) segment: u32,
    /// Where its frame begins.
    pub(super) offset: u32,
    /// The length of its frame.
    pub(super) bytes: u32,
}

/// The end that is written to: the commit thread's.
#[derive(Debug)]
pub(super) struct ContentLog {
    store: PathBuf,
    segments: Arc<Segments>,
    /// Where the next frame goes; `None` where it goes into a new segment.
    tail: Option<Tail>,
    /// The file that was written to last.
    file: Option<(u32, File)>,
    /// What was appended since the last sync: a part for every segment, almost always one.
    group: Vec<Part>,
    /// Segments that were filled in this group, and those of the group before, whose spans are held by now.
    full: Vec<u32>,
    over: Vec<u32>,
    /// An empty buffer for the next group.
    spare: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Tail {
    segment: u32,
    end: u32,
}

#[derive(Debug)]
struct Part {
    segment: u32,
    bytes: Vec<u8>,
}

impl ContentLog {
    /// Opens the log of a store directory. Makes nothing before the first append.
    pub(super) fn open(store: &Path) -> io::Result<(Self, Arc<Segments>)> {
        let segments = Arc::new(Segments::open(store.join(DIR))?);
        let log = Self {
            store: store.into(),
            segments: Arc::clone(&segments),
            tail: None,
            file: None,
            group: Vec::new(),
            full: Vec::new(),
            over: Vec::new(),
            spare: Vec::new(),
        };
        Ok((log, segments))
    }

    /// Appends an encoded content, in memory; it is safe after the next [`ContentLog::sync`]. Whoever keeps the span holds it
    /// ([`Segments::hold`]) before the sync of the next group: until then its segment stays.
    pub(super) fn append(&mut self, id: EventId, content: &[u8]) -> Span {
        let bytes = frame::frame_bytes(content);
        let tail = match self.tail {
            Some(tail) if tail.end.saturating_add(bytes) <= MAX_SEGMENT_BYTES => tail,
            full => {
                self.full.extend(full.map(|tail| tail.segment));
                Tail { segment: self.segments.begin(), end: 0 }
            }
        };
        if self.group.last().is_none_or(|part| part.segment != tail.segment) {
            self.group.push(Part { segment: tail.segment, bytes: std::mem::take(&mut self.spare) });
        }
        if let Some(part) = self.group.last_mut() {
            frame::append(&mut part.bytes, id, content);
        }
        self.tail = Some(Tail { end: tail.end + bytes, ..tail });
        Span { segment: tail.segment, offset: tail.end, bytes }
    }

    /// Appends like [`ContentLog::append`], for a record that comes in a later group.
    pub(super) fn lay(&mut self, id: EventId, content: &[u8]) -> Laid {
        let span = self.append(id, content);
        self.segments.lay(span)
    }

    /// Makes durable what was appended: one write and one sync, where it is in one segment. Does nothing where nothing was
    /// appended, but for giving back segments that have become empty.
    ///
    /// # Errors
    /// Where it could not be written or synced: none of what was appended since the sync before may be believed, and the log
    /// has given it up.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.segments.retire(&std::mem::replace(&mut self.over, std::mem::take(&mut self.full)));
        if self.group.is_empty() {
            self.leave_if_dead();
            return Ok(());
        }
        let group = std::mem::take(&mut self.group);
        let written = group.iter().try_for_each(|part| self.write(part));
        self.spare = group.into_iter().next_back().map(|part| part.bytes).unwrap_or_default();
        self.spare.clear();
        self.spare.shrink_to(BUFFER_BYTES);
        written.inspect_err(|_| self.give_up())
    }

    /// Drops what was appended since the last sync, and leaves the segment behind, in whatever state it is: after a group that
    /// failed, here or later. Nothing is removed: a record of that group may turn out to be there when the database is opened
    /// again, and then all is counted anew.
    pub(super) fn give_up(&mut self) {
        self.group.clear();
        self.file = None;
        let mut left = std::mem::take(&mut self.over);
        left.append(&mut self.full);
        left.extend(self.tail.take().map(|tail| tail.segment));
        self.segments.leave(&left);
    }

    fn leave_if_dead(&mut self) {
        let dead = |tail: &Tail| tail.end >= WORTH_GIVING_UP_BYTES && self.segments.is_empty(tail.segment);
        if let Some(tail) = self.tail.take_if(|tail| dead(tail)) {
            self.file = None;
            self.segments.retire(&[tail.segment]);
        }
    }

    fn write(&mut self, part: &Part) -> io::Result<()> {
        // Counted before it is tried: what a failure leaves takes space too.
        self.segments.grow(part.segment, part.bytes.len() as u64);
        match &mut self.file {
            Some((segment, file)) if *segment == part.segment => {
                file.write_all(&part.bytes)?;
                file.sync_data()
            }
            _ => {
                let mut file = self.create(part.segment)?;
                file.write_all(&part.bytes)?;
                file.sync_data()?;
                self.file = Some((part.segment, file));
                sync_dir(&self.store.join(DIR))
            }
        }
    }

    /// The first segment makes the directory.
    fn create(&self, segment: u32) -> io::Result<File> {
        let dir = self.store.join(DIR);
        let path = dir.join(frame::file_name(segment));
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        fs::create_dir(&dir).and_then(|()| sync_dir(&self.store))?;
        File::create_new(path)
    }
}
