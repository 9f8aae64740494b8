//! How much memory all bodies together may take, from their first byte until nobody holds them any more.
//!
//! A limit on one body and a number of connections bound nothing together: four thousand bodies of 25 MiB are 100 GB, and
//! a stranger may send them all. So every body takes a share of one budget as it grows, and gives it back with its last
//! copy, which is when its attempt has ended. Requests alone: an app's reply is bounded by itself (`max_reply_bytes` of the
//! pool), and how many there are at once by the places of the listener, since nearly each is for a sender that has one.
//!
//! There are two reserves, so that a few large bodies cannot keep out the many small ones that nearly all webhooks are.
//! When a reserve is spent, a body waits for a moment; meanwhile the one that comes slowest is given up, if it comes at
//! less than half the waiting one's rate; after that the waiting one itself is refused, which frees what it held. So
//! half-read bodies never wait for each other for long, and whoever sends in drops cannot keep the budget for itself.
//! What is left behind by a refusal is a 503 and a closed connection: nothing was verified, and nothing claimed.
//!
//! A share by the announced length was not taken: a stranger would reserve memory by headers alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use super::seat::Seat;

/// What a body may take of the reserve for small ones. Nine of ten webhooks are below 20 KiB, and the largest that are
/// common (GitHub's pushes, Shopify's orders) around 100.
const SMALL_BYTES: u64 = 128 * 1024;

/// For small bodies: 512 of the largest of them, or 30,000 of two KiB.
const SMALL_RESERVE_BYTES: usize = 64 << 20;

/// For the others: ten of GitHub's largest at once, on a machine of one GiB.
const LARGE_RESERVE_BYTES: usize = 256 << 20;

/// So many of the largest bodies that a route takes must fit at once, also where it takes more than providers send.
const LARGEST_AT_ONCE: u64 = 2;

/// How long a body waits for its share: a few times what a body of 25 MiB needs on the machine itself, and short enough
/// that a sender still has patience for its retry.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a waiting body looks for one that could make way.
const LOOK: Duration = Duration::from_millis(100);

/// A budget; clones share it.
#[derive(Debug, Clone)]
pub struct BodyBudget(Arc<Reserves>);

#[derive(Debug)]
struct Reserves {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// All of the large reserve, in use or not.
    large_bytes: AtomicUsize,
    /// Bodies of several pieces that are being read, and the reserve that each one holds of.
    readers: Mutex<HashMap<u64, (Arc<Seat>, Size)>>,
    next: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Small,
    Large,
}

/// The budget is spent, and nobody made way in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spent;

impl Default for BodyBudget {
    fn default() -> Self {
        Self::of(SMALL_RESERVE_BYTES, LARGE_RESERVE_BYTES)
    }
}

impl BodyBudget {
    /// The usual budget, or a larger one where bodies of `max_bytes` would not fit into that twice.
    #[must_use]
    pub fn for_bodies_up_to(max_bytes: u64) -> Self {
        let budget = Self::default();
        budget.fit(max_bytes);
        budget
    }

    /// Grows where bodies of `max_bytes` would not fit twice; it never shrinks, since what it was may be in use.
    pub fn fit(&self, max_bytes: u64) {
        let needed = usize::try_from(max_bytes.saturating_mul(LARGEST_AT_ONCE)).unwrap_or(usize::MAX);
        let needed = needed.min(Semaphore::MAX_PERMITS);
        let before = self.0.large_bytes.fetch_max(needed, Ordering::Relaxed);
        self.0.large.add_permits(needed.saturating_sub(before));
    }

    fn of(small: usize, large: usize) -> Self {
        Self(Arc::new(Reserves {
            small: Arc::new(Semaphore::new(small)),
            large: Arc::new(Semaphore::new(large)),
            large_bytes: AtomicUsize::new(large),
            readers: Mutex::default(),
            next: AtomicU64::new(0),
        }))
    }

    /// A share of nothing.
    pub(super) fn share(&self) -> Share {
        Share { budget: self.clone(), small: None, large: None, bytes: 0, reading: None }
    }

    fn reserve(&self, size: Size) -> &Arc<Semaphore> {
        match size {
            Size::Small => &self.0.small,
            Size::Large => &self.0.large,
        }
    }

    /// A panic elsewhere leaves the map whole.
    fn readers(&self) -> MutexGuard<'_, HashMap<u64, (Arc<Seat>, Size)>> {
        self.0.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn wait(&self, size: Size, bytes: u32, me: &Seat) -> Result<OwnedSemaphorePermit, Spent> {
        let _not_read_meanwhile = me.waits();
        let deadline = Instant::now() + PATIENCE;
        let granted = Arc::clone(self.reserve(size)).acquire_many_owned(bytes);
        tokio::pin!(granted);
        while Instant::now() < deadline {
            tokio::select! {
                granted = &mut granted => return granted.map_err(|_| Spent),
                () = me.told_to_give_up() => return Err(Spent),
                () = sleep(LOOK) => self.give_up_slowest(size, me),
            }
        }
        tracing::debug!(bytes, "no room for a body");
        Err(Spent)
    }

    /// Gives up the body that comes slowest, if it is far slower than mine.
    fn give_up_slowest(&self, size: Size, me: &Seat) {
        let readers = self.readers();
        let of_size = readers.values().filter(|(_, held)| *held == size);
        let slowest =
            of_size.filter_map(|(seat, _)| Some((seat.body_rate_after_grace()?, seat))).min_by_key(|(rate, _)| *rate);
        if let (Some((slow, seat)), Some((mine, _))) = (slowest, me.body_rate())
            && slow < mine / 2
        {
            seat.give_up_body();
        }
    }
}

/// What one body has of the budget; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: BodyBudget,
    small: Option<OwnedSemaphorePermit>,
    large: Option<OwnedSemaphorePermit>,
    bytes: u64,
    reading: Option<Reading>,
}

/// An entry among the readers.
#[derive(Debug)]
struct Reading {
    budget: BodyBudget,
    number: u64,
}

impl Share {
    /// Takes what is missing to `bytes`. Beyond what is small, all of it is of the large reserve.
    pub(super) async fn grow(&mut self, bytes: u64, seat: &Seat) -> Result<(), Spent> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let size = if bytes > SMALL_BYTES { Size::Large } else { Size::Small };
        let held = match size {
            Size::Small => self.bytes,
            Size::Large => permits(self.large.as_ref()),
        };
        let missing = u32::try_from(bytes - held).map_err(|_| Spent)?;
        let (granted, of) = match self.at_once(size, missing) {
            Some(granted) => granted,
            None => (self.budget.wait(size, missing, seat).await?, size),
        };
        let reserve = match of {
            Size::Small => &mut self.small,
            Size::Large => &mut self.large,
        };
        match reserve {
            Some(held) => held.merge(granted),
            None => *reserve = Some(granted),
        }
        if size == Size::Large {
            self.small = None;
        }
        self.bytes = bytes;
        Ok(())
    }

    /// A small body takes of the large reserve, too, when its own is spent; never the other way round.
    fn at_once(&self, size: Size, bytes: u32) -> Option<(OwnedSemaphorePermit, Size)> {
        let taken = |of: Size| Some((Arc::clone(self.budget.reserve(of)).try_acquire_many_owned(bytes).ok()?, of));
        match size {
            Size::Small => taken(Size::Small).or_else(|| taken(Size::Large)),
            Size::Large => taken(Size::Large),
        }
    }

    /// Notes that the body goes on, so that it can be given up for others. A body of one piece is never noted.
    pub(super) fn goes_on(&mut self, seat: &Arc<Seat>) {
        let size = if self.large.is_some() { Size::Large } else { Size::Small };
        let reading = self.reading.get_or_insert_with(|| Reading::new(&self.budget));
        self.budget.readers().insert(reading.number, (Arc::clone(seat), size));
    }

    /// The bytes of a body that has been read, with the share that they hold until the last copy is gone.
    pub(super) fn hold(mut self, bytes: Bytes) -> Bytes {
        self.reading = None;
        if self.bytes == 0 { bytes } else { Bytes::from_owner(Held { bytes, _share: self }) }
    }
}

fn permits(held: Option<&OwnedSemaphorePermit>) -> u64 {
    held.map_or(0, |held| held.num_permits() as u64)
}

impl Reading {
    fn new(budget: &BodyBudget) -> Self {
        let number = budget.0.next.fetch_add(1, Ordering::Relaxed);
        Self { budget: budget.clone(), number }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.budget.readers().remove(&self.number);
    }
}

/// Bytes and the share they take.
struct Held {
    bytes: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
mod tests;
