//! The segments, for whoever reads them, and how much of each is held.
//!
//! What is held is counted in memory, anew whenever the database is opened. A segment that nothing is held in is removed at
//! once, unless it is being written. The removal is not synced: a segment that comes back after a loss of power is held by
//! nobody. So whatever a record names is let go only after the commit that removed the name is synced; the other way round a
//! crash would bring back a record whose content is gone. What is laid down for a record that comes in a later group keeps its
//! segment too ([`Laid`]).

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::record::DamagedRecord;
use super::Span;
use super::frame::{self, Entries};
use crate::event::EventId;

/// Files that are kept open for readers: those who deliver read in the order of arrival, so a few a route are enough.
const MAX_OPEN: usize = 16;

/// What lies in the directory.
#[derive(Debug)]
pub(in crate::store) struct Segments {
    dir: PathBuf,
    counts: Mutex<Counts>,
    /// Those that were read last, the latest first.
    open: Mutex<Vec<(u32, Arc<File>)>>,
}

#[derive(Debug)]
struct Counts {
    /// The next number: above all that were ever seen, also of segments that are gone.
    next: u32,
    segments: BTreeMap<u32, Count>,
}

#[derive(Debug, Default)]
struct Count {
    bytes: u64,
    held_bytes: u64,
    /// How many contents in it are on their way to a record.
    laid: usize,
    stage: Stage,
    /// What was held when it was called sparse last.
    offered: Option<u64>,
}

/// How far a segment has come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It is being written, or what was written last may not be held yet.
    Written,
    /// Given up with a group that failed: what of it is held the next count says.
    Left,
    /// Nothing more is written to it.
    #[default]
    Whole,
}

impl Count {
    fn is_over(&self) -> bool {
        self.stage == Stage::Whole && self.held_bytes == 0 && self.laid == 0
    }
}

/// A content that lies in the log and is on its way to a record: until this is dropped its segment stays. What is counted
/// anew meanwhile knows nothing of it.
#[derive(Debug)]
pub(in crate::store) struct Laid {
    span: Span,
    segments: Arc<Segments>,
}

impl Laid {
    pub(in crate::store) fn span(&self) -> Span {
        self.span
    }
}

impl Drop for Laid {
    fn drop(&mut self) {
        let mut counts = self.segments.counts();
        if let Some(count) = counts.segments.get_mut(&self.span.segment) {
            count.laid = count.laid.saturating_sub(1);
            self.segments.remove_if_over(&mut counts, self.span.segment);
        }
    }
}

impl Segments {
    pub(super) fn open(dir: PathBuf) -> io::Result<Self> {
        let mut segments = BTreeMap::new();
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            other => Some(other?),
        };
        for entry in entries.into_iter().flatten() {
            let entry = entry?;
            if let Some(segment) = entry.file_name().to_str().and_then(frame::segment_in) {
                segments.insert(segment, Count { bytes: entry.metadata()?.len(), ..Count::default() });
            }
        }
        let next = segments.last_key_value().map_or(1, |(last, _)| last.saturating_add(1));
        Ok(Self { dir, counts: Mutex::new(Counts { next, segments }), open: Mutex::default() })
    }

    /// Reads the content of an event. Where the file is gone the error is [`DamagedRecord::File`]: with the record, perhaps.
    pub(in crate::store) fn read(&self, id: EventId, span: Span) -> Result<Vec<u8>, DamagedRecord> {
        let mut frame = vec![0; span.bytes as usize];
        let read = self.file(span.segment).and_then(|file| file.read_exact_at(&mut frame, span.offset.into()));
        match read {
            Ok(()) => frame::open(id, frame),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(DamagedRecord::Short),
            Err(error) => Err(DamagedRecord::File(error)),
        }
    }

    /// Notes that a record names this span.
    pub(in crate::store) fn hold(&self, span: Span) {
        let mut counts = self.counts();
        counts.next = counts.next.max(span.segment.saturating_add(1));
        counts.segments.entry(span.segment).or_default().held_bytes += u64::from(span.bytes);
    }

    /// Keeps the segment of a span that was just appended, until a record names it.
    pub(in crate::store) fn lay(self: &Arc<Self>, span: Span) -> Laid {
        self.counts().segments.entry(span.segment).or_default().laid += 1;
        Laid { span, segments: Arc::clone(self) }
    }

    /// Notes that no record names this span any more, after the commit that says so is synced; removes its segment with the
    /// last one.
    pub(in crate::store) fn let_go(&self, span: Span) {
        let mut counts = self.counts();
        if let Some(count) = counts.segments.get_mut(&span.segment) {
            count.held_bytes = count.held_bytes.saturating_sub(span.bytes.into());
            self.remove_if_over(&mut counts, span.segment);
        }
    }

    /// What is held, by segment, as it was counted anew. In one step: whoever lets go meanwhile must not find a segment empty
    /// that is not.
    pub(in crate::store) fn count_anew(&self, held_bytes: &HashMap<u32, u64>) {
        let mut counts = self.counts();
        for segment in held_bytes.keys() {
            counts.segments.entry(*segment).or_default();
            counts.next = counts.next.max(segment.saturating_add(1));
        }
        for (segment, count) in &mut counts.segments {
            count.held_bytes = held_bytes.get(segment).copied().unwrap_or(0);
            if count.stage == Stage::Left {
                count.stage = Stage::Whole;
            }
        }
    }

    /// Removes the segments that nothing is held in; says how many. For when all is counted, and the start is not going to be
    /// refused any more.
    pub(in crate::store) fn remove_unheld(&self) -> usize {
        let mut counts = self.counts();
        let before = counts.segments.len();
        for segment in counts.segments.keys().copied().collect::<Vec<_>>() {
            self.remove_if_over(&mut counts, segment);
        }
        before - counts.segments.len()
    }

    /// The emptiest segment of which less than half is held, if there is one. The same is named again only when something of
    /// it has been let go since: what is damaged in it cannot be moved, and must not be tried for ever.
    pub(in crate::store) fn sparse(&self) -> Option<u32> {
        let mut counts = self.counts();
        let sparse = counts.segments.iter_mut().filter(|(_, count)| {
            let is_sparse = count.held_bytes > 0 && count.held_bytes * 2 < count.bytes;
            is_sparse && count.stage == Stage::Whole && count.offered != Some(count.held_bytes)
        });
        let (segment, count) = sparse.min_by_key(|(_, count)| count.held_bytes)?;
        count.offered = Some(count.held_bytes);
        Some(*segment)
    }

    /// What is in a segment, dead or alive, as far as it is whole. A frame says whose it was; only the record of that event
    /// says whether it still is.
    pub(in crate::store) fn entries(&self, segment: u32) -> io::Result<Entries> {
        let file = File::open(self.dir.join(frame::file_name(segment)))?;
        let end = file.metadata()?.len();
        Ok(Entries::of(segment, file, end))
    }

    /// What all segments take on the disk.
    #[cfg(test)]
    pub(in crate::store) fn bytes(&self) -> u64 {
        self.counts().segments.values().map(|count| count.bytes).sum()
    }

    /// Gives out the next number, for a segment that is being written from now on.
    pub(super) fn begin(&self) -> u32 {
        let mut counts = self.counts();
        let segment = counts.next;
        counts.next = segment.checked_add(1).expect("no disk lives through four billion segments");
        counts.segments.insert(segment, Count { stage: Stage::Written, ..Count::default() });
        segment
    }

    pub(super) fn grow(&self, segment: u32, bytes: u64) {
        self.counts().segments.entry(segment).or_default().bytes += bytes;
    }

    /// Nothing more is written to these, and whatever of them is kept is held.
    pub(super) fn retire(&self, segments: &[u32]) {
        let mut counts = self.counts();
        for segment in segments {
            if let Some(count) = counts.segments.get_mut(segment) {
                count.stage = Stage::Whole;
            }
            self.remove_if_over(&mut counts, *segment);
        }
    }

    /// Nothing more is written to these; what becomes of them the next count says.
    pub(super) fn leave(&self, segments: &[u32]) {
        let mut counts = self.counts();
        for segment in segments {
            if let Some(count) = counts.segments.get_mut(segment) {
                count.stage = Stage::Left;
            }
        }
    }

    pub(super) fn is_empty(&self, segment: u32) -> bool {
        self.counts().segments.get(&segment).is_none_or(|count| count.held_bytes == 0)
    }

    /// What cannot be removed stays counted, and the next start tries again.
    fn remove_if_over(&self, counts: &mut Counts, segment: u32) {
        if !counts.segments.get(&segment).is_some_and(Count::is_over) {
            return;
        }
        // An open file would keep the space.
        self.opened().retain(|(open, _)| *open != segment);
        match fs::remove_file(self.dir.join(frame::file_name(segment))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(segment, error = %error, "a segment of the content log cannot be removed");
            }
            Ok(()) | Err(_) => drop(counts.segments.remove(&segment)),
        }
    }

    fn file(&self, segment: u32) -> io::Result<Arc<File>> {
        if let Some(file) = self.opened_before(segment) {
            return Ok(file);
        }
        let file = Arc::new(File::open(self.dir.join(frame::file_name(segment)))?);
        // Under the lock of those who remove: one that was removed meanwhile is not kept open.
        if self.counts().segments.contains_key(&segment) {
            let mut open = self.opened();
            open.insert(0, (segment, Arc::clone(&file)));
            open.truncate(MAX_OPEN);
        }
        Ok(file)
    }

    fn opened_before(&self, segment: u32) -> Option<Arc<File>> {
        let mut open = self.opened();
        let at = open.iter().position(|(number, _)| *number == segment)?;
        open[..=at].rotate_right(1);
        open.first().map(|(_, file)| Arc::clone(file))
    }

    fn opened(&self) -> MutexGuard<'_, Vec<(u32, Arc<File>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
