//! How the timeline goes on over restarts. Pure: readings in, a timeline out.

use serde::{Deserialize, Serialize};

use super::source::Readings;
use crate::claim::Timestamp;

/// The longest time that a reboot may seem to have taken, in milliseconds: 24 hours.
///
/// A wall clock that comes back years ahead must not forget every finished key at once. A day is the longest processing
/// TTL, so counting no more than a day still leaves no key stuck, and finished keys are remembered longer than they need
/// be, which is the harmless side.
pub const MAX_REBOOT_STEP_MS: u64 = crate::claim::MAX_PROCESSING_MS;

/// What one run leaves for the next: where the timeline was when the clocks read what they did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The point on the timeline, in milliseconds.
    pub timeline_ms: u64,
    /// The clocks at that point.
    pub readings: Readings,
}

/// A timeline: the boot clock, moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    origin_ms: u64,
    origin_boot_ms: u64,
}

/// How a timeline was taken up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumed {
    /// There was nothing to go on from.
    First,
    /// The same boot: the boot clock says how long it took.
    SameBoot,
    /// Another boot: the wall clock says so.
    Reboot,
    /// Another boot, and the wall clock is behind the last time seen: no time counts as passed.
    WallBehind {
        /// By how many milliseconds.
        behind_ms: u64,
    },
    /// Another boot, and the wall clock is ahead by more than [`MAX_REBOOT_STEP_MS`], which is what counts.
    WallFarAhead {
        /// By how many milliseconds.
        ahead_ms: u64,
    },
}

impl Timeline {
    /// Goes on from an anchor.
    #[must_use]
    pub fn resume(anchor: Option<&Anchor>, readings: &Readings) -> (Self, Resumed) {
        let (origin_ms, resumed) = match anchor {
            None => (readings.wall_ms, Resumed::First),
            Some(anchor) => {
                let (elapsed_ms, resumed) = elapsed(&anchor.readings, readings);
                (anchor.timeline_ms.saturating_add(elapsed_ms), resumed)
            }
        };
        (Self { origin_ms, origin_boot_ms: readings.boot_ms }, resumed)
    }

    /// The point that belongs to a reading of the boot clock.
    #[must_use]
    pub fn at(&self, boot_ms: u64) -> Timestamp {
        Timestamp::from_millis(self.origin_ms.saturating_add(boot_ms.saturating_sub(self.origin_boot_ms)))
    }
}

fn elapsed(then: &Readings, now: &Readings) -> (u64, Resumed) {
    if then.boot_id == now.boot_id && now.boot_ms >= then.boot_ms {
        return (now.boot_ms - then.boot_ms, Resumed::SameBoot);
    }
    match now.wall_ms.checked_sub(then.wall_ms) {
        None => (0, Resumed::WallBehind { behind_ms: then.wall_ms - now.wall_ms }),
        Some(ahead_ms) if ahead_ms > MAX_REBOOT_STEP_MS => (MAX_REBOOT_STEP_MS, Resumed::WallFarAhead { ahead_ms }),
        Some(elapsed_ms) => (elapsed_ms, Resumed::Reboot),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(wall_ms: u64, boot_ms: u64, boot_id: &str) -> Readings {
        Readings { wall_ms, boot_ms, boot_id: boot_id.into() }
    }

    #[test]
    fn a_restart_goes_on_from_the_anchor_by_the_clock_that_can_be_trusted() {
        const DAY: u64 = 86_400_000;
        const WALL: u64 = 1_700_000_000_000;
        let anchor = Anchor { timeline_ms: WALL + 5, readings: readings(WALL, 50_000, "a") };
        let year = 365 * DAY;
        let rows = [
            // The wall clock is stepped while the daemon is down, within one boot: nothing but 7 s has passed.
            (readings(WALL + 7_000, 57_000, "a"), WALL + 7_005, Resumed::SameBoot),
            (readings(WALL + year, 57_000, "a"), WALL + 7_005, Resumed::SameBoot),
            (readings(WALL - DAY, 57_000, "a"), WALL + 7_005, Resumed::SameBoot),
            // Over a reboot the wall clock is all there is.
            (readings(WALL + 90_000, 4_000, "b"), WALL + 90_005, Resumed::Reboot),
            (readings(WALL + DAY, 4_000, "b"), WALL + DAY + 5, Resumed::Reboot),
            (readings(WALL - DAY, 4_000, "b"), WALL + 5, Resumed::WallBehind { behind_ms: DAY }),
            (readings(WALL + year, 4_000, "b"), WALL + DAY + 5, Resumed::WallFarAhead { ahead_ms: year }),
            // A boot id that stayed while its clock went back is no boot id.
            (readings(WALL + 9_000, 4_000, "a"), WALL + 9_005, Resumed::Reboot),
        ];
        for (now, start_ms, how) in rows {
            let (timeline, resumed) = Timeline::resume(Some(&anchor), &now);
            assert_eq!((timeline.at(now.boot_ms).as_millis(), resumed), (start_ms, how), "{now:?}");
            assert_eq!(timeline.at(now.boot_ms + 1_000).as_millis(), start_ms + 1_000);
        }
        let (first, how) = Timeline::resume(None, &readings(WALL, 4_000, "b"));
        assert_eq!((first.at(4_000).as_millis(), how), (WALL, Resumed::First));
    }
}
