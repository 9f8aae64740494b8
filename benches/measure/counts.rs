//! What an app has had: how many events, and whether each of them once.

use std::sync::atomic::{AtomicU64, Ordering};

use super::keys;

/// No load generator sends as many events as this; an id of a higher number is nobody's.
const NUMBERS: usize = 1 << 30;

/// Counts that grow while they are looked at.
#[derive(Default)]
pub(crate) struct Counts {
    handled: AtomicU64,
    distinct: AtomicU64,
    strangers: AtomicU64,
}

/// A bit for the number of each event that was handled.
#[derive(Default)]
pub(crate) struct Seen(Vec<u64>);

impl Counts {
    /// Events that were answered with 200.
    pub(crate) fn all(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }

    /// Of those, how many different ones, of the ones that the load generator sends.
    pub(crate) fn distinct(&self) -> u64 {
        self.distinct.load(Ordering::Relaxed)
    }

    /// Of those, how many that the load generator never sends.
    pub(crate) fn strangers(&self) -> u64 {
        self.strangers.load(Ordering::Relaxed)
    }

    /// Counts an event by its id.
    pub(super) fn handled(&self, seen: &mut Seen, id: &[u8]) {
        self.handled.fetch_add(1, Ordering::Relaxed);
        let number = keys::number(id).and_then(|number| usize::try_from(number).ok());
        let Some(number) = number.filter(|number| *number < NUMBERS) else {
            self.strangers.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let (word, bit) = (number / 64, 1 << (number % 64));
        if seen.0.len() <= word {
            seen.0.resize(2 * word + 1, 0);
        }
        self.distinct.fetch_add(u64::from(seen.0[word] & bit == 0), Ordering::Relaxed);
        seen.0[word] |= bit;
    }
}
