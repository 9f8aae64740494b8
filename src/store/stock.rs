//! Taking stock: a walk over all entries of the event log, for whoever counts them anew.

use std::collections::{HashMap, HashSet};

use super::content_log::Segments;
use super::counts::{Counted, Counts};
use super::engine::{Engine, EngineError};
use super::kept::Place;
use crate::chain::Chain;
use crate::event::{EventId, State};

/// Entries that are counted between two signs of life: some milliseconds.
const PROGRESS_ENTRIES: usize = 1_000;

/// What a walk over all entries came to.
#[derive(Debug, Default)]
pub(super) struct Stock {
    pub(super) counts: Counts,
    /// What is held of the content log, by segment.
    pub(super) held_bytes: HashMap<u32, u64>,
    /// The files that entries name.
    pub(super) named: HashSet<u64>,
    /// Entries that cannot be read.
    pub(super) unreadable: HashSet<EventId>,
    /// Events that are being handed over: as many as there are places for that.
    pub(super) delivering: Vec<EventId>,
}

impl Stock {
    /// Walks over all entries; calls `progress` from time to time.
    pub(super) fn take(engine: &Engine, segments: &Segments, progress: impl Fn()) -> Result<Self, EngineError> {
        let mut stock = Self::default();
        for (number, item) in engine.scan_events(None).enumerate() {
            if number % PROGRESS_ENTRIES == 0 {
                progress();
            }
            match item? {
                (_, Ok(kept)) => {
                    stock.counts.add(&Counted::of(&kept));
                    if let State::Delivering(_) = kept.event.state {
                        stock.delivering.push(kept.event.id);
                    }
                    match kept.place {
                        Place::Log(span) => stock.hold(span.segment, span.bytes.into()),
                        Place::File(file) => drop(stock.named.insert(file.nonce)),
                    }
                }
                (id, Err(error)) => {
                    tracing::error!(event = %id, error = %Chain(&error), "an event cannot be read");
                    stock.unreadable.insert(id);
                }
            }
        }
        if !stock.unreadable.is_empty() {
            stock.hold_unreadable(segments, progress);
        }
        Ok(stock)
    }

    /// Whatever was once written of the unreadable ones is held: where their entries point nobody knows. Reads all segments,
    /// which takes as long as it takes: it is done only where something is damaged.
    fn hold_unreadable(&mut self, segments: &Segments, progress: impl Fn()) {
        for segment in segments.numbers() {
            progress();
            let entries = match segments.entries(segment) {
                Ok(entries) => entries,
                Err(error) => {
                    tracing::warn!(segment, error = %error, "a segment of the content log cannot be read, and stays");
                    self.hold(segment, 1);
                    continue;
                }
            };
            for (number, (id, span)) in entries.enumerate() {
                if number % PROGRESS_ENTRIES == 0 {
                    progress();
                }
                if self.unreadable.contains(&id) {
                    self.hold(segment, span.bytes.into());
                }
            }
        }
    }

    fn hold(&mut self, segment: u32, bytes: u64) {
        *self.held_bytes.entry(segment).or_default() += bytes;
    }
}
