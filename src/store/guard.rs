//! What is remembered in memory while the database is down.
//!
//! An entry holds the truth about its key wherever that may differ from what the database would read: what was decided
//! meanwhile, and what the failed commit overwrote. All of it is written back before the database answers again.
//!
//! Bounded: when it is full, claims that have expired go, then the oldest finished or released entries. Claims that are
//! held never do, because letting a second holder in is what the guard is there to prevent; nor does what corrects the
//! database, because the database would then say what was never answered for.

use std::collections::{BTreeMap, HashMap};

use crate::claim::{Key, Record, Timestamp};

/// Entries at most: over three minutes of outage at 500 events a second. Some 60 MB with keys and owners of 50 bytes; 300 MB
/// at the very most, if every key and every result is as long as it may be.
const MAX_ENTRIES: usize = 100_000;

#[derive(Debug)]
pub(super) struct Guard {
    entries: HashMap<Key, Entry>,
    /// What may go, what is to go first in front.
    going: BTreeMap<Place, Key>,
    /// How many entries there have been.
    made: u64,
    max_entries: usize,
}

#[derive(Debug)]
struct Entry {
    record: Option<Record>,
    made: u64,
    standing: Standing,
}

/// What an entry is to the database's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The database may say what was never answered for: never evicted.
    Corrects,
    /// Decided on what was known of the key.
    Follows,
    /// Decided while nothing could be known of the key.
    Blind,
}

/// When an entry may go, and its age among those that may go at the same time.
type Place = (Timestamp, u64);

impl Entry {
    /// Where it stands among those that may go; `None` when it stays.
    fn place(&self) -> Option<Place> {
        let from = match (&self.record, self.standing) {
            (_, Standing::Corrects) => return None,
            (Some(Record::Held(held)), Standing::Follows | Standing::Blind) => held.expires_at,
            (Some(Record::Free(_) | Record::Done(_)) | None, Standing::Follows | Standing::Blind) => {
                Timestamp::from_millis(0)
            }
        };
        Some((from, self.made))
    }
}

impl Guard {
    pub(super) fn new() -> Self {
        Self::bounded(MAX_ENTRIES)
    }

    fn bounded(max_entries: usize) -> Self {
        Self { entries: HashMap::new(), going: BTreeMap::new(), made: 0, max_entries }
    }

    /// What is known of a key: `None` when nothing is, `Some(None)` when it is known to be absent.
    pub(super) fn entry(&self, key: &Key) -> Option<Option<&Record>> {
        self.entries.get(key).map(|entry| entry.record.as_ref())
    }

    /// Remembers what a key had before the database was given something that was never answered for. There is room: these
    /// are the keys of one group, or of the second before.
    pub(super) fn correct(&mut self, key: &Key, record: Option<Record>) {
        self.set(key, record, Standing::Corrects);
    }

    /// Knows nothing of a key any more.
    pub(super) fn drop(&mut self, key: &Key) {
        if let Some(place) = self.entries.remove(key).as_ref().and_then(Entry::place) {
            self.going.remove(&place);
        }
    }

    /// Remembers the record of a key; `false` when there was no room.
    pub(super) fn remember(&mut self, key: &Key, record: Option<Record>, now: Timestamp) -> bool {
        self.remember_as(Standing::Follows, key, record, now)
    }

    /// Remembers the record of a key that was decided on without knowing what the database holds; `false` when there was no
    /// room.
    pub(super) fn remember_blindly(&mut self, key: &Key, record: Option<Record>, now: Timestamp) -> bool {
        self.remember_as(Standing::Blind, key, record, now)
    }

    fn remember_as(&mut self, standing: Standing, key: &Key, record: Option<Record>, now: Timestamp) -> bool {
        // What is there can always change; why it is there does not.
        let known = self.entries.get(key).map(|entry| entry.standing);
        if known.is_none() && self.entries.len() >= self.max_entries && !self.evict(now) {
            return false;
        }
        self.set(key, record, known.unwrap_or(standing));
        true
    }

    fn set(&mut self, key: &Key, record: Option<Record>, standing: Standing) {
        let before = self.entries.get(key);
        if let Some(place) = before.and_then(Entry::place) {
            self.going.remove(&place);
        }
        let made = before.map_or(self.made, |entry| entry.made);
        self.made += 1;
        let entry = Entry { record, made, standing };
        if let Some(place) = entry.place() {
            self.going.insert(place, key.clone());
        }
        self.entries.insert(key.clone(), entry);
    }

    /// Drops the oldest entry that nobody holds.
    fn evict(&mut self, now: Timestamp) -> bool {
        let Some(first) = self.going.first_entry() else {
            return false;
        };
        if first.key().0 > now {
            return false;
        }
        self.entries.remove(&first.remove());
        true
    }

    /// All that has to be written back. Where the flag is set it was decided blindly: a key that turns out to be done has to
    /// stay done.
    pub(super) fn entries(&self) -> impl ExactSizeIterator<Item = (&Key, Option<&Record>, bool)> {
        self.entries.iter().map(|(key, entry)| (key, entry.record.as_ref(), entry.standing == Standing::Blind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{ConfirmedTtl, Free, Held, Namespace, Previous, Token};

    const NOW: Timestamp = Timestamp::from_millis(5);

    fn key(id: &str) -> Key {
        Key::new(&Namespace::parse("a").expect("good"), id).expect("good")
    }

    fn held_until(millis: u64) -> Option<Record> {
        Some(Record::Held(Held {
            token: Token::from_bits([1; 16]),
            claimed_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(millis),
            retention: ConfirmedTtl::MAX,
            attempt: 1,
            fence: 1,
            previous: Previous::None,
            fingerprint: None,
            owner: None,
        }))
    }

    fn held() -> Option<Record> {
        held_until(9)
    }

    fn free() -> Option<Record> {
        Some(Record::Free(Free { attempt: 1, expires_at: Timestamp::from_millis(9) }))
    }

    #[test]
    fn a_full_guard_lets_go_of_the_oldest_entry_that_nobody_holds() {
        let mut guard = Guard::bounded(3);
        assert!(guard.remember(&key("held-1"), held(), NOW));
        assert!(guard.remember(&key("free-1"), free(), NOW));
        assert!(guard.remember(&key("free-2"), free(), NOW));
        assert!(guard.remember(&key("held-2"), held(), NOW), "room is made");
        assert_eq!(guard.entry(&key("free-1")), None);
        assert!(guard.remember(&key("held-3"), held(), NOW));
        assert!(!guard.remember(&key("held-4"), held(), NOW), "held entries are never evicted");
        assert_eq!(guard.entries().len(), 3);
        assert!(guard.remember(&key("held-1"), None, NOW), "what is there can always change");
        assert_eq!(guard.entry(&key("held-1")), Some(None));
        assert!(guard.remember(&key("held-4"), held(), NOW));
        assert_eq!(guard.entry(&key("held-1")), None);
    }

    /// A guard that was full of claims stayed full after all of them had expired, and granted keys that it could not
    /// remember to everybody.
    #[test]
    fn a_claim_that_has_expired_makes_room_for_the_next() {
        let mut guard = Guard::bounded(2);
        assert!(guard.remember(&key("long"), held_until(9), NOW));
        assert!(guard.remember(&key("short"), held_until(6), NOW));
        assert!(!guard.remember(&key("new"), held(), NOW));
        assert!(guard.remember(&key("new"), held(), Timestamp::from_millis(6)));
        assert_eq!(guard.entry(&key("short")), None);
        assert!(guard.entry(&key("long")).is_some());
    }

    /// The entries that undo the failed commit were the oldest, and so the first to go.
    #[test]
    fn what_corrects_the_database_is_never_evicted() {
        let mut guard = Guard::bounded(2);
        guard.correct(&key("undone"), None);
        assert!(guard.remember(&key("free"), free(), NOW));
        assert!(guard.remember(&key("undone"), free(), NOW), "what is there can always change");
        assert!(guard.remember(&key("new"), held(), NOW));
        assert_eq!(guard.entry(&key("free")), None);
        assert!(guard.entry(&key("undone")).is_some());
        assert!(!guard.remember(&key("newer"), held(), NOW));
    }
}
