//! What is remembered in memory while the database is down.
//!
//! An entry holds the truth about its key wherever that may differ from what the database would read: what was decided
//! meanwhile, and what the failed commit overwrote. All of it is written back before the database answers again.
//! Bounded: when it is full the oldest finished or released entries go; held ones never do, because letting a second
//! holder in is what the guard is there to prevent.

use std::collections::{HashMap, VecDeque};

use crate::claim::{Key, Record};

/// Entries at most, some 30 MB: over three minutes of outage at 500 events a second.
const MAX_ENTRIES: usize = 100_000;

#[derive(Debug)]
pub(super) struct Guard {
    entries: HashMap<Key, Option<Record>>,
    /// Keys in the order of their first entry.
    order: VecDeque<Key>,
    max_entries: usize,
}

impl Guard {
    pub(super) fn new() -> Self {
        Self::bounded(MAX_ENTRIES)
    }

    fn bounded(max_entries: usize) -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new(), max_entries }
    }

    /// What is known of a key: `None` when nothing is, `Some(None)` when it is known to be absent.
    pub(super) fn entry(&self, key: &Key) -> Option<Option<&Record>> {
        self.entries.get(key).map(Option::as_ref)
    }

    /// Remembers the record of a key; `false` when there was no room.
    pub(super) fn remember(&mut self, key: &Key, record: Option<Record>) -> bool {
        if let Some(entry) = self.entries.get_mut(key) {
            *entry = record;
            return true;
        }
        if self.entries.len() >= self.max_entries && !self.evict() {
            return false;
        }
        self.entries.insert(key.clone(), record);
        self.order.push_back(key.clone());
        true
    }

    /// Drops the oldest entry that nobody holds.
    fn evict(&mut self) -> bool {
        for _ in 0..self.order.len() {
            let Some(key) = self.order.pop_front() else {
                return false;
            };
            if matches!(self.entries.get(&key), Some(Some(Record::Held(_)))) {
                self.order.push_back(key);
            } else {
                self.entries.remove(&key);
                return true;
            }
        }
        false
    }

    /// All that has to be written back.
    pub(super) fn entries(&self) -> impl ExactSizeIterator<Item = (&Key, Option<&Record>)> {
        self.entries.iter().map(|(key, record)| (key, record.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{ConfirmedTtl, Free, Held, Namespace, Previous, Timestamp, Token};

    fn key(id: &str) -> Key {
        Key::new(&Namespace::parse("a").expect("good"), id).expect("good")
    }

    fn held() -> Option<Record> {
        Some(Record::Held(Held {
            token: Token::from_bits([1; 16]),
            claimed_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(9),
            retention: ConfirmedTtl::MAX,
            attempt: 1,
            fence: 1,
            previous: Previous::None,
            fingerprint: None,
            owner: None,
        }))
    }

    fn free() -> Option<Record> {
        Some(Record::Free(Free { attempt: 1, expires_at: Timestamp::from_millis(9) }))
    }

    #[test]
    fn a_full_guard_lets_go_of_the_oldest_entry_that_nobody_holds() {
        let mut guard = Guard::bounded(3);
        assert!(guard.remember(&key("held-1"), held()));
        assert!(guard.remember(&key("free-1"), free()));
        assert!(guard.remember(&key("free-2"), free()));
        assert!(guard.remember(&key("held-2"), held()), "room is made");
        assert_eq!(guard.entry(&key("free-1")), None);
        assert!(guard.remember(&key("held-3"), held()));
        assert!(!guard.remember(&key("held-4"), held()), "held entries are never evicted");
        assert_eq!(guard.entries().len(), 3);
        assert!(guard.remember(&key("held-1"), None), "what is there can always change");
        assert_eq!(guard.entry(&key("held-1")), Some(None));
        assert!(guard.remember(&key("held-4"), held()));
        assert_eq!(guard.entry(&key("held-1")), None);
    }
}
