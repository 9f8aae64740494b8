//! Walking over the records, for lists and for the sweep. Never in the way of the commit thread: a walk reads on its own.

use super::engine::EngineError;
use super::fault::Fault;
use super::shared::Shared;
use crate::claim::{Key, Namespace, Record, Standing, Timestamp};

/// Records that one step of a walk looks at, at most: some milliseconds.
pub(super) const STEP_RECORDS: usize = 10_000;

/// Which records are wanted.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Those of one namespace only.
    pub namespace: Option<Namespace>,
    /// Those of one state only.
    pub state: Option<StateName>,
    /// Those after this key.
    pub after: Option<Key>,
    /// So many at most.
    pub limit: usize,
}

/// The states that a record can be seen in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StateName {
    /// Somebody holds it.
    Held,
    /// Nobody does, and it is not finished.
    Free,
    /// It is finished.
    Done,
}

impl StateName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Held, Self::Free, Self::Done];

    /// The word in answers, filters and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Free => "free",
            Self::Done => "done",
        }
    }

    /// The state that a record is seen in at `now`; `None` when it counts as absent.
    #[must_use]
    pub fn of(record: &Record, now: Timestamp) -> Option<Self> {
        match record.standing(now) {
            Standing::Absent => None,
            Standing::Free { .. } => Some(Self::Free),
            Standing::Held(_) => Some(Self::Held),
            Standing::Done(_) => Some(Self::Done),
        }
    }
}

/// Some records, and where to go on.
#[derive(Debug, Default)]
pub struct Page {
    /// The records, in the order of their keys in the store.
    pub records: Vec<(Key, Record)>,
    /// The key to go on after; `None` when that was all.
    pub next: Option<Key>,
}

/// Reads one page. It may hold fewer records than the limit, even none, and still not be the last.
pub(super) fn page(shared: &Shared, selection: &Selection, now: Timestamp) -> Result<Page, Fault> {
    let prefix = selection.namespace.as_ref().map(Key::prefix).unwrap_or_default();
    let walked = shared.borrow(|engine| -> Result<Page, EngineError> {
        let mut page = Page::default();
        for (looked_at, item) in engine.scan(prefix.as_bytes(), selection.after.as_ref()).enumerate() {
            let (key, record) = item?;
            let state = StateName::of(&record, now);
            let wanted = state.is_some() && (selection.state.is_none() || selection.state == state);
            let last = key.clone();
            if wanted {
                page.records.push((key, record));
            }
            if page.records.len() >= selection.limit || looked_at + 1 >= STEP_RECORDS {
                page.next = Some(last);
                break;
            }
        }
        Ok(page)
    });
    match walked {
        Some(Ok(page)) => Ok(page),
        Some(Err(error)) => Err(error.fault()),
        None => Err(Fault::Closed),
    }
}

/// What one step of a sweep saw.
#[derive(Debug, Default)]
pub struct SweepStep {
    /// Keys whose records are gone and may be removed.
    pub gone: Vec<Key>,
    /// How many records of each state it saw, in the order of [`StateName::ALL`].
    pub counts: [i64; 3],
    /// The key to go on after; `None` when that was all.
    pub next: Option<Key>,
}

/// Looks at up to `limit` records after a key.
pub(super) fn sweep_step(
    shared: &Shared,
    after: Option<&Key>,
    limit: usize,
    now: Timestamp,
) -> Result<SweepStep, Fault> {
    let walked = shared.borrow(|engine| -> Result<SweepStep, EngineError> {
        let mut step = SweepStep::default();
        for (looked_at, item) in engine.scan(b"", after).enumerate() {
            let (key, record) = match item {
                Ok(pair) => pair,
                // It counts as nothing here; whoever asks for it is told.
                Err(EngineError::Damaged(_)) => continue,
                Err(error) => return Err(error),
            };
            if looked_at + 1 >= limit {
                step.next = Some(key.clone());
            }
            match StateName::of(&record, now) {
                None => step.gone.push(key),
                Some(state) => step.counts[state as usize] += 1,
            }
            if step.next.is_some() {
                break;
            }
        }
        Ok(step)
    });
    match walked {
        Some(Ok(step)) => Ok(step),
        Some(Err(error)) => Err(error.fault()),
        None => Err(Fault::Closed),
    }
}
