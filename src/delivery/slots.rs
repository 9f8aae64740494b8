//! How many hand-overs may be under way at once. The number may change while some are.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Places for hand-overs.
#[derive(Debug)]
pub(super) struct Slots {
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    taken: usize,
    limit: usize,
}

/// One place, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Slot(Arc<Slots>);

impl Slots {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { taken: 0, limit }), freed: Notify::new() })
    }

    /// Waits for a place.
    pub(super) async fn take(self: &Arc<Self>) -> Slot {
        loop {
            // Joined before looking: a place that is given back in between is not missed.
            let freed = self.freed.notified();
            if let Some(slot) = self.try_take() {
                return slot;
            }
            freed.await;
        }
    }

    /// Lets so many hold from now on; whoever has a place keeps it.
    pub(super) fn resize(&self, limit: usize) {
        self.lock().limit = limit;
        self.freed.notify_waiters();
    }

    fn try_take(self: &Arc<Self>) -> Option<Slot> {
        let mut state = self.lock();
        if state.taken >= state.limit {
            return None;
        }
        state.taken += 1;
        Some(Slot(Arc::clone(self)))
    }

    /// A count is never half done.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.lock().taken -= 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    async fn waits(slots: &Arc<Slots>) -> bool {
        timeout(Duration::from_secs(1), slots.take()).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_gets_a_place_beyond_the_limit_also_when_it_shrinks_or_grows_meanwhile() {
        let slots = Slots::new(2);
        let (first, second) = (slots.take().await, slots.take().await);
        assert!(waits(&slots).await);
        slots.resize(1);
        drop(first);
        assert!(waits(&slots).await, "one is taken, and one is all");
        let (third, ()) = tokio::join!(slots.take(), async { drop(second) });
        slots.resize(3);
        let _two_more = [slots.take().await, slots.take().await];
        assert!(waits(&slots).await);
        let (_fourth, ()) = tokio::join!(timeout(Duration::from_secs(1), slots.take()), async { slots.resize(4) });
        drop(third);
    }

    /// A waiter that gave up took the call with it, and the place stood empty.
    #[tokio::test(start_paused = true)]
    async fn a_place_is_not_lost_with_a_waiter_that_gives_up() {
        let slots = Slots::new(1);
        let held = slots.take().await;
        let (gone, next) = (Arc::clone(&slots), Arc::clone(&slots));
        let gone = tokio::spawn(async move { gone.take().await });
        tokio::task::yield_now().await;
        let next = tokio::spawn(async move { next.take().await });
        tokio::task::yield_now().await;
        drop(held);
        gone.abort();
        assert!(timeout(Duration::from_secs(1), next).await.is_ok());
    }
}
