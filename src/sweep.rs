//! The sweep: removes the records that count as nothing any more, and counts the others.
//!
//! Nobody's answer depends on it: an expired record counts as absent, swept or not. So it may be slow, and it is made so:
//! after every step it rests nine times as long as the step took, and what it hands to the commit queue at once is less
//! than a commit of a busy daemon. A failure leaves the rest for the next pass.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::ledger::Ledger;
use crate::metrics::{ByState, Metrics};
use crate::store::{Fault, StateName};

/// Records that one step looks at: about a millisecond of reading.
const STEP_RECORDS: usize = 1_000;
/// Removals that are handed over at once.
const REMOVALS: usize = 100;
/// A tenth of the time at most.
const REST_FACTOR: u32 = 9;
/// The pause between two passes.
const PAUSE: Duration = Duration::from_secs(10);

/// What one pass came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Records that were removed.
    pub removed: usize,
    /// Records that stayed, in the order of [`StateName::ALL`].
    pub left: [i64; 3],
}

/// Whether a pass takes its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it goes.
    Straight,
    /// With rests.
    Resting,
}

/// One pass over all records.
///
/// # Errors
/// The fault of the store; what was removed until then stays removed.
pub async fn sweep_once(ledger: &Ledger, metrics: &Metrics, pace: Pace) -> Result<Swept, Fault> {
    let store = ledger.store();
    let mut swept = Swept::default();
    let mut after = None;
    loop {
        let started = Instant::now();
        let step = store.sweep_step(after, STEP_RECORDS).await?;
        for (left, count) in swept.left.iter_mut().zip(step.counts) {
            *left += count;
        }
        for keys in step.gone.chunks(REMOVALS) {
            let removed = store.remove_gone(keys.to_vec()).await?;
            metrics.swept.inc_by(removed as u64);
            swept.removed += removed;
        }
        after = step.next;
        if after.is_none() {
            break;
        }
        if pace == Pace::Resting {
            tokio::time::sleep(started.elapsed() * REST_FACTOR).await;
        }
    }
    for (state, left) in StateName::ALL.into_iter().zip(swept.left) {
        metrics.store_records.get_or_create(&ByState { state: state.as_str() }).set(left);
    }
    Ok(swept)
}

/// Sweeps for ever.
pub async fn run(ledger: Arc<Ledger>, metrics: Arc<Metrics>) {
    loop {
        match sweep_once(&ledger, &metrics, Pace::Resting).await {
            Ok(swept) if swept.removed > 0 => tracing::debug!(removed = swept.removed, "swept"),
            Ok(_) => {}
            Err(fault) => tracing::debug!(fault = %fault, "the sweep was broken off"),
        }
        match ledger.store().compact(REST_FACTOR).await {
            Ok(compacted) if compacted.segments > 0 => {
                tracing::debug!(
                    moved = compacted.moved,
                    segments = compacted.segments,
                    "the content log was tidied up"
                );
            }
            Ok(_) => {}
            Err(fault) => tracing::debug!(fault = %fault, "tidying up the content log was broken off"),
        }
        match ledger.store().space().await {
            Ok(space) => {
                metrics.store_disk_bytes.set(i64::try_from(space.disk_bytes).unwrap_or(i64::MAX));
                metrics.store_free_bytes.set(i64::try_from(space.free_bytes).unwrap_or(i64::MAX));
            }
            Err(error) => tracing::debug!(error = %error, "the disk space cannot be read"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
