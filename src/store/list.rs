//! Walking over the records, for lists and for the sweep. Never in the way of the commit thread: a walk reads on its own.

use super::engine::EngineError;
use super::events::pin;
use super::fault::Fault;
use super::shared::Shared;
use crate::chain::Chain;
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

impl Selection {
    /// Whether a record is of the state that is wanted, at `now`.
    pub(super) fn wants(&self, record: &Record, now: Timestamp) -> bool {
        let state = StateName::of(record, now);
        state.is_some() && (self.state.is_none() || self.state == state)
    }
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
        let (mut page, mut damaged) = (Page::default(), None);
        for (looked_at, item) in engine.scan(prefix.as_bytes(), selection.after.as_ref()).enumerate() {
            let (key, record) = item?;
            let last = key.clone();
            match record {
                Ok(record) => {
                    let record = pin::pinned(engine, record, now)?;
                    if selection.wants(&record, now) {
                        page.records.push((key, record));
                    }
                }
                // A page without it is of more use than none; whoever asks for the key is told.
                Err(damage) => {
                    damaged.get_or_insert((key, damage));
                }
            }
            if page.records.len() >= selection.limit || looked_at + 1 >= STEP_RECORDS {
                page.next = Some(last);
                break;
            }
        }
        if let Some((key, damage)) = damaged {
            tracing::error!(key = ?key, error = %Chain(&damage), "a list leaves out what cannot be read, this key first");
        }
        Ok(page)
    });
    match walked {
        Some(Ok(page)) => Ok(page),
        Some(Err(error)) => Err(error.fault()),
        None => Err(shared.not_lent()),
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
            let (key, record) = item?;
            if looked_at + 1 >= limit {
                step.next = Some(key.clone());
            }
            // One that cannot be read counts as nothing here; whoever asks for it is told.
            if let Ok(record) = record {
                match StateName::of(&pin::pinned(engine, record, now)?, now) {
                    None => step.gone.push(key),
                    Some(state) => step.counts[state as usize] += 1,
                }
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
        None => Err(shared.not_lent()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::claim::Free;
    use crate::metrics::Metrics;
    use crate::store::engine::Engine;
    use crate::store::numbers::Numbers;

    /// One value that cannot be read made every list fail that came to its page.
    #[test]
    fn a_damaged_record_is_left_out_and_the_walk_goes_on_after_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let engine = Arc::new(Engine::open(dir.path(), 1 << 20, false).expect("it opens"));
        let key = |id: &str| Key::new(&Namespace::parse("a").expect("good"), id).expect("good");
        let (now, later) = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        for id in ["k-1", "k-3"] {
            engine.write(&key(id), Some(&Record::Free(Free { attempt: 1, expires_at: later }))).expect("written");
        }
        engine.spoil(&key("k-2"));
        let shared = Shared::new(Arc::new(Metrics::new()), None, Numbers::after(0));
        shared.lend(Some(engine));
        let selection = Selection { limit: 10, ..Selection::default() };
        let page = page(&shared, &selection, now).expect("a page");
        let keys: Vec<_> = page.records.into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, [key("k-1"), key("k-3")]);
        let step = sweep_step(&shared, None, 2, now).expect("a step");
        assert_eq!((step.counts, step.next), ([0, 1, 0], Some(key("k-2"))), "it is looked at like any other");
    }
}
