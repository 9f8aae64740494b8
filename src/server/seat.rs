//! A connection's place at its listener, and who gives it up when there are none left.
//!
//! A stranger can hold a connection without working for it: idle, with half a head, with a body in drops. While there are
//! places that costs us little. When they run out, the one that does least for its own goes ([`Seat::reluctance`]): first
//! whoever has been at its head for a second, then whoever has been idle or at its head for a moment, each time the longest
//! first; last whoever sends a body at less than a minimum rate. A connection whose request is with its handler is never
//! asked to go.
//!
//! What a connection does is a [`Phase`] behind a lock of its own that nobody but the crowd contends for. Giving up a
//! place leaves a closed connection, and a body that was being read gets its 503 first.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a body is left alone even when places or memory are short, and after which a head is slower than any that is
/// honest: several round trips on a bad line.
const GRACE: Duration = Duration::from_secs(1);

/// How long an idle connection or a head is left alone in any case. A sender's head comes with the packet that opens its
/// connection, or a round trip later, so those who have waited for a place have sent it; and without any grace a crowd of
/// honest senders would keep pushing each other out, and one that sends event after event be closed between two of them.
const MOMENT: Duration = Duration::from_millis(100);

/// Bytes a second below which a body makes way when places are short. It is far below any line in use, and far above a
/// sender that feeds single bytes.
const CROWDED_MIN_RATE: u64 = 8 * 1024;

/// What a connection is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Between two requests.
    Idle(Instant),
    /// New, or within a head.
    Head(Instant),
    /// A handler waits for the rest of its body.
    Body(Arriving),
    /// A handler is at work, or its answer is on its way.
    Busy,
    /// Told to go: the flag says whether something may have to be written first.
    Leaving { idle: bool },
}

/// A body on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arriving {
    /// When it began, later by all the time that it was not read.
    since: Instant,
    /// Bytes that have come.
    got: u64,
    /// Since when it waits for memory: it is not read then, so that it cannot be slow.
    waits_since: Option<Instant>,
}

impl Arriving {
    /// How long it has been read.
    fn took(&self) -> Duration {
        self.waits_since.unwrap_or_else(Instant::now).saturating_duration_since(self.since)
    }
}

/// One connection as the crowd sees it.
#[derive(Debug)]
pub(super) struct Seat {
    phase: Mutex<Phase>,
    /// Cancelled to end the connection; the stop of the listener cancels it as well.
    pub(super) leave: CancellationToken,
    /// Told to give up the body that is being read; sent and taken back under the lock of the phase.
    give_up: Notify,
    /// Whether the last request line had a fragment.
    had_fragment: AtomicBool,
}

impl Seat {
    pub(super) fn new(leave: CancellationToken) -> Self {
        Self {
            phase: Mutex::new(Phase::Head(Instant::now())),
            leave,
            give_up: Notify::new(),
            had_fragment: AtomicBool::new(false),
        }
    }

    /// A panic elsewhere leaves a phase whole.
    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn phase(&self) -> Phase {
        *self.lock()
    }

    /// Bytes have come: true if an idle connection has begun a head with them.
    pub(super) fn hears(&self) -> bool {
        let mut phase = self.lock();
        let begins = matches!(*phase, Phase::Idle(_));
        if begins {
            *phase = Phase::Head(Instant::now());
        }
        begins
    }

    /// The request line that is coming has a fragment.
    pub(super) fn sees_fragment(&self) {
        self.had_fragment.store(true, Ordering::Relaxed);
    }

    /// Whether the request that has come had a fragment; asked once for each request.
    pub(super) fn had_fragment(&self) -> bool {
        self.had_fragment.swap(false, Ordering::Relaxed)
    }

    /// A request has come that has a body.
    pub(super) fn begins_body(&self) {
        let mut phase = self.lock();
        // An order that the body before was too quick to hear is not meant for this one: it is taken out.
        pin!(self.give_up.notified()).enable();
        *phase = Phase::Body(Arriving { since: Instant::now(), got: 0, waits_since: None });
    }

    /// So much of the body is here.
    pub(super) fn has_of_body(&self, bytes: u64) {
        if let Phase::Body(body) = &mut *self.lock() {
            body.got = bytes;
        }
    }

    /// The body waits for memory, until what is handed back is dropped.
    pub(super) fn waits(&self) -> Waiting<'_> {
        if let Phase::Body(body) = &mut *self.lock() {
            body.waits_since = Some(Instant::now());
        }
        Waiting(self)
    }

    /// Nothing more is awaited from the peer.
    pub(super) fn works(&self) {
        *self.lock() = Phase::Busy;
    }

    /// The answer has been taken.
    pub(super) fn rests(&self) {
        *self.lock() = Phase::Idle(Instant::now());
    }

    /// Waits until the body that is being read is to be given up.
    pub(super) async fn told_to_give_up(&self) {
        self.give_up.notified().await;
    }

    /// Bytes a second of the body that is being read, and whether it has had its grace; none for any other phase.
    pub(super) fn body_rate(&self) -> Option<(u64, bool)> {
        let Phase::Body(body) = self.phase() else { return None };
        let took = body.took();
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
        Some((body.got.saturating_mul(1_000) / took_ms, took >= GRACE))
    }

    /// The same for one that may be asked to make way.
    pub(super) fn body_rate_after_grace(&self) -> Option<u64> {
        self.body_rate().and_then(|(rate, had_grace)| had_grace.then_some(rate))
    }

    /// Gives up the body, if one is still being read.
    pub(super) fn give_up_body(&self) {
        if let Phase::Body(_) = *self.lock() {
            self.give_up.notify_one();
        }
    }

    /// How readily its place can be had: the lowest goes first. None for one that stays.
    fn reluctance(&self, now: Instant) -> Option<(u8, u64)> {
        let youth = |since: Instant| u64::MAX - u64::try_from((now - since).as_micros()).unwrap_or(u64::MAX);
        match self.phase() {
            Phase::Head(since) if now - since >= GRACE => Some((0, youth(since))),
            Phase::Head(since) | Phase::Idle(since) => (now - since >= MOMENT).then(|| (1, youth(since))),
            Phase::Body(_) => {
                self.body_rate_after_grace().filter(|rate| *rate < CROWDED_MIN_RATE).map(|rate| (2, rate))
            }
            Phase::Busy | Phase::Leaving { .. } => None,
        }
    }

    /// Tells it to go; false if it has found work meanwhile.
    fn dismiss(&self) -> bool {
        let mut phase = self.lock();
        match *phase {
            Phase::Idle(_) => *phase = Phase::Leaving { idle: true },
            Phase::Head(_) => *phase = Phase::Leaving { idle: false },
            Phase::Body(_) => {
                self.give_up.notify_one();
                return true;
            }
            Phase::Busy | Phase::Leaving { .. } => return false,
        }
        drop(phase);
        self.leave.cancel();
        true
    }
}

/// A body that waits for memory.
pub(super) struct Waiting<'s>(&'s Seat);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Phase::Body(body) = &mut *self.0.lock()
            && let Some(since) = body.waits_since.take()
        {
            body.since += since.elapsed();
        }
    }
}

/// The connections of one listener.
#[derive(Debug, Default)]
pub(super) struct Roster {
    seats: Mutex<HashMap<u64, Arc<Seat>>>,
    next: AtomicU64,
}

impl Roster {
    /// A seat on a place; it is in the roster until it is dropped.
    pub(super) fn seat(self: &Arc<Self>, place: OwnedSemaphorePermit, leave: CancellationToken) -> Seated {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let seat = Arc::new(Seat::new(leave));
        self.lock().insert(number, Arc::clone(&seat));
        Seated { seat, roster: Arc::clone(self), number, _place: place }
    }

    /// Tells the connection to go that can best be spared; false if none can.
    pub(super) fn make_room(&self) -> bool {
        let now = Instant::now();
        let seats = self.lock();
        let spared = seats.values().filter_map(|seat| Some((seat.reluctance(now)?, seat)));
        let spared = spared.min_by_key(|(reluctance, _)| *reluctance).map(|(_, seat)| Arc::clone(seat));
        drop(seats);
        spared.is_some_and(|seat| seat.dismiss())
    }

    /// A panic elsewhere leaves the map whole.
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection on its place, which is free again when this is dropped.
pub(super) struct Seated {
    pub(super) seat: Arc<Seat>,
    roster: Arc<Roster>,
    number: u64,
    _place: OwnedSemaphorePermit,
}

impl Drop for Seated {
    fn drop(&mut self) {
        self.roster.lock().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order to give up a body that ended at the same moment hit the next body on its connection.
    #[tokio::test(start_paused = true)]
    async fn an_order_to_give_up_is_for_the_body_that_was_there_alone() {
        let seat = Seat::new(CancellationToken::new());
        seat.begins_body();
        seat.give_up_body();
        seat.works();
        seat.give_up_body();
        seat.begins_body();
        let told = tokio::time::timeout(GRACE, seat.told_to_give_up()).await;
        assert!(told.is_err(), "it was not this one that was told");
        seat.give_up_body();
        seat.told_to_give_up().await;
    }

    /// We did not read it, and then called it slow.
    #[tokio::test(start_paused = true)]
    async fn the_time_that_a_body_waits_for_memory_is_not_held_against_it() {
        let seat = Seat::new(CancellationToken::new());
        seat.begins_body();
        seat.has_of_body(100_000);
        tokio::time::advance(GRACE).await;
        for _ in 0..3 {
            let waiting = seat.waits();
            tokio::time::advance(100 * GRACE).await;
            assert_eq!(seat.body_rate(), Some((100_000, true)), "while it waits");
            drop(waiting);
            assert_eq!(seat.body_rate(), Some((100_000, true)), "after it has waited");
        }
        tokio::time::advance(GRACE).await;
        assert_eq!(seat.body_rate(), Some((50_000, true)), "what it takes from here on counts again");
    }
}
