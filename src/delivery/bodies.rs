//! How much of large bodies a lane holds in memory at once. Small ones are bounded by the number of slots.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A body up to this length counts as small, as it does in the store.
const SMALL_BYTES: u64 = 32 * 1024;
/// For the others together, in KiB: the largest that GitHub sends, or some of them.
const ROOM_KIB: u32 = 32 * 1024;

/// The room of one lane.
#[derive(Debug, Clone)]
pub(super) struct Bodies(Arc<Semaphore>);

impl Default for Bodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ROOM_KIB as usize)))
    }
}

impl Bodies {
    /// Room for a body, if there is some just now and nobody waits for it; within, `None` for one that needs no room.
    pub(super) fn room_now(&self, body_bytes: u64) -> Option<Option<OwnedSemaphorePermit>> {
        match kib_of(body_bytes) {
            None => Some(None),
            Some(kib) => Arc::clone(&self.0).try_acquire_many_owned(kib).ok().map(Some),
        }
    }

    /// Waits until there is room for a body, in the order of asking: one that is larger than all of it waits for all of it.
    /// `None` for one that needs no room.
    pub(super) async fn room(&self, body_bytes: u64) -> Option<OwnedSemaphorePermit> {
        let kib = kib_of(body_bytes)?;
        Some(Arc::clone(&self.0).acquire_many_owned(kib).await.expect("it is never closed"))
    }
}

/// The room that a body takes; `None` for none.
fn kib_of(body_bytes: u64) -> Option<u32> {
    let kib = || u32::try_from(body_bytes.div_ceil(1024)).unwrap_or(u32::MAX).min(ROOM_KIB);
    (body_bytes > SMALL_BYTES).then(kib)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn large_bodies_wait_for_each_other_and_small_ones_for_nobody() {
        let bodies = Bodies::default();
        let half = bodies.room(16 << 20).await;
        let other = bodies.room(16 << 20).await;
        let in_vain = |bytes| {
            let bodies = bodies.clone();
            async move { timeout(Duration::from_secs(1), bodies.room(bytes)).await.is_err() }
        };
        assert!(in_vain(SMALL_BYTES + 1).await);
        assert!(!in_vain(SMALL_BYTES).await);
        assert!(bodies.room_now(SMALL_BYTES + 1).is_none());
        assert!(bodies.room_now(SMALL_BYTES).is_some_and(|room| room.is_none()));
        drop(half);
        assert!(bodies.room_now(16 << 20).is_some_and(|room| room.is_some()));
        assert!(in_vain(1 << 40).await, "larger than all of it, and half is taken");
        drop(other);
        assert!(!in_vain(1 << 40).await);
    }
}
