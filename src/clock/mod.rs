//! The store's own timeline, and the only place where the wall clock is read.
//!
//! Lifetimes run on the boot clock, which no one can step: while the daemon runs, and over its restarts within one boot.
//! Only over a reboot is the wall clock asked how long it took ([`Timeline::resume`]). Points on the timeline look like
//! Unix time, because the first start sets it to the wall clock; later they need not agree with it, so whatever is shown
//! to people goes through [`Clock::wall`].

mod senders;
mod source;
mod timeline;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

pub use senders::SenderClocks;
pub use source::{ManualTime, Readings, Source};
pub use timeline::{Anchor, MAX_REBOOT_STEP_MS, Resumed, Timeline};

use crate::claim::Timestamp;

/// A wall clock that moved by more than this against the timeline has been stepped; less is ordinary slewing.
const STEP_MS: i64 = 1_000;

/// Tells the time, on the timeline and on the wall. Cheap to clone; all clones agree.
#[derive(Debug, Clone)]
pub struct Clock {
    source: Source,
    timeline: Timeline,
    /// Wall clock minus timeline, followed only in steps, so that a point read back twice shows the same wall time.
    wall_offset_ms: Arc<AtomicI64>,
    senders: Arc<SenderClocks>,
}

impl Clock {
    /// A clock that goes on from what an earlier run left.
    #[must_use]
    pub fn resume(source: Source, anchor: Option<&Anchor>) -> (Self, Resumed) {
        let readings = source.readings();
        let (timeline, resumed) = Timeline::resume(anchor, &readings);
        let offset = signed(readings.wall_ms) - signed(timeline.at(readings.boot_ms).as_millis());
        let (wall_offset_ms, senders) = (Arc::new(AtomicI64::new(offset)), Arc::default());
        (Self { source, timeline, wall_offset_ms, senders }, resumed)
    }

    /// The present point on the timeline.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.timeline.at(self.source.boot_ms())
    }

    /// The wall time of a point on the timeline, as far as the wall clock can be believed now.
    #[must_use]
    pub fn wall(&self, point: Timestamp) -> SystemTime {
        let millis = signed(point.as_millis()).saturating_add(self.wall_offset_ms.load(Ordering::Relaxed));
        SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    /// The point on the timeline that has this wall time, as far as the wall clock can be believed now.
    #[must_use]
    pub fn point(&self, wall: SystemTime) -> Timestamp {
        let wall_ms = wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
        let wall_ms = i64::try_from(wall_ms).unwrap_or(i64::MAX);
        let millis = wall_ms.saturating_sub(self.wall_offset_ms.load(Ordering::Relaxed));
        Timestamp::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    /// The wall clock itself, for signatures that carry a time.
    #[must_use]
    pub fn wall_now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.source.wall_ms())
    }

    /// What senders' clocks say about the wall clock.
    #[must_use]
    pub fn senders(&self) -> &SenderClocks {
        &self.senders
    }

    /// What a later run needs in order to go on from here.
    #[must_use]
    pub fn anchor(&self) -> Anchor {
        let readings = self.source.readings();
        Anchor { timeline_ms: self.timeline.at(readings.boot_ms).as_millis(), readings }
    }

    /// Looks whether the wall clock was stepped since the last look, and by how many milliseconds.
    #[must_use]
    pub fn notice_step(&self) -> Option<i64> {
        let point = self.timeline.at(self.source.boot_ms());
        let offset = signed(self.source.wall_ms()) - signed(point.as_millis());
        let step = offset - self.wall_offset_ms.load(Ordering::Relaxed);
        if step.abs() < STEP_MS {
            return None;
        }
        self.wall_offset_ms.store(offset, Ordering::Relaxed);
        Some(step)
    }

    /// Waits until the timeline has reached `point`.
    pub async fn sleep_until(&self, point: Timestamp) {
        let wait = point.since(self.now());
        self.source.sleep(wait).await;
    }
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stepping_the_wall_clock_moves_what_is_shown_and_nothing_else() {
        let time = ManualTime::new(1_700_000_000_000);
        let (clock, _) = Clock::resume(Source::manual(&time), None);
        let point = clock.now();
        let day = 86_400_000;
        for step in [365 * day, -day] {
            time.step_wall(step);
            assert_eq!(clock.now(), point, "the timeline does not step");
            assert_eq!(clock.notice_step(), Some(step));
            assert_eq!(clock.notice_step(), None);
            assert_eq!(clock.wall(point), clock.wall_now());
            assert_eq!(clock.point(clock.wall_now()), point);
        }
        time.advance(Duration::from_secs(60));
        assert_eq!(clock.now().since(point), Duration::from_secs(60));
        time.step_wall(999);
        assert_eq!(clock.notice_step(), None, "slewing is no step");
    }
}
