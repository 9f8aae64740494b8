//! Those who wait for a key, without polling.
//!
//! A release calls one waiter, a confirm calls all. When the holder expires nobody calls: each waiter has a timer of its
//! own for that, all of them ask at once, in few commits, and one has the key. A waiter that has gone hands its call on to the next, which is what
//! [`Notify`] does when a notified future is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::claim::Key;

/// Waiters at most, over all keys. Further ones are told at once that the key is in progress.
const MAX_WAITERS: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Waiters {
    keys: Arc<Mutex<Keys>>,
}

#[derive(Debug, Default)]
struct Keys {
    by_key: HashMap<Key, Line>,
    waiters: usize,
}

#[derive(Debug, Default)]
struct Line {
    notify: Arc<Notify>,
    waiters: usize,
}

/// A place in the queue of a key; given up when dropped.
pub(super) struct Place {
    keys: Arc<Mutex<Keys>>,
    key: Key,
    notify: std::pin::Pin<Box<tokio::sync::futures::OwnedNotified>>,
}

impl Waiters {
    /// Takes a place; `None` when there are too many waiters. Calls from now on count, even before it is waited for.
    pub(super) fn join(&self, key: &Key) -> Option<Place> {
        let mut keys = lock(&self.keys);
        if keys.waiters >= MAX_WAITERS {
            return None;
        }
        keys.waiters += 1;
        let line = keys.by_key.entry(key.clone()).or_default();
        line.waiters += 1;
        let mut notify = Box::pin(Arc::clone(&line.notify).notified_owned());
        notify.as_mut().enable();
        Some(Place { keys: Arc::clone(&self.keys), key: key.clone(), notify })
    }

    /// The key is free: one waiter may have it.
    pub(super) fn call_one(&self, key: &Key) {
        if let Some(line) = lock(&self.keys).by_key.get(key) {
            line.notify.notify_one();
        }
    }

    /// The key is finished: all waiters may know.
    pub(super) fn call_all(&self, key: &Key) {
        if let Some(line) = lock(&self.keys).by_key.get(key) {
            line.notify.notify_waiters();
        }
    }
}

impl Place {
    /// Waits until called.
    pub(super) async fn called(mut self) {
        self.notify.as_mut().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut keys = lock(&self.keys);
        keys.waiters -= 1;
        if let Some(line) = keys.by_key.get_mut(&self.key) {
            line.waiters -= 1;
            if line.waiters == 0 {
                keys.by_key.remove(&self.key);
            }
        }
    }
}

/// Counters and maps are whole at every point where this could panic.
fn lock(keys: &Mutex<Keys>) -> MutexGuard<'_, Keys> {
    keys.lock().unwrap_or_else(PoisonError::into_inner)
}
