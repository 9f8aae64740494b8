//! Where the time comes from: the machine, or a test.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// One look at the clocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readings {
    /// Milliseconds since the Unix epoch, as the wall clock has it.
    pub wall_ms: u64,
    /// Milliseconds since the machine was started, suspended time included.
    pub boot_ms: u64,
    /// Names this boot, as the kernel does in `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
}

/// Where the time comes from.
#[derive(Debug, Clone)]
pub struct Source {
    boot_id: Arc<str>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Machine,
    Manual(watch::Receiver<State>),
}

impl Source {
    /// The machine's clocks.
    #[must_use]
    pub fn machine() -> Self {
        // Without a boot id (a bare container, say) every start counts as a reboot: the wall clock is trusted then.
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_else(|_| "unknown".to_owned());
        Self { boot_id: boot_id.trim().into(), kind: Kind::Machine }
    }

    /// Clocks that stand still until a test moves them.
    #[must_use]
    pub fn manual(time: &ManualTime) -> Self {
        let state = time.0.subscribe();
        let boot_id = state.borrow().boot_id.clone();
        Self { boot_id, kind: Kind::Manual(state) }
    }

    pub(super) fn boot_ms(&self) -> u64 {
        match &self.kind {
            Kind::Machine => {
                let time = clock_gettime(ClockId::Boottime);
                let seconds = u64::try_from(time.tv_sec).expect("the boot clock counts from 0");
                let nanos = u64::try_from(time.tv_nsec).expect("a part of a second is positive");
                seconds * 1_000 + nanos / 1_000_000
            }
            Kind::Manual(state) => state.borrow().boot_ms,
        }
    }

    pub(super) fn wall_ms(&self) -> u64 {
        match &self.kind {
            Kind::Machine => machine_wall_ms(),
            Kind::Manual(state) => state.borrow().wall_ms,
        }
    }

    pub(super) fn readings(&self) -> Readings {
        Readings { wall_ms: self.wall_ms(), boot_ms: self.boot_ms(), boot_id: self.boot_id.to_string() }
    }

    pub(super) async fn sleep(&self, wait: Duration) {
        match &self.kind {
            Kind::Machine => tokio::time::sleep(wait).await,
            Kind::Manual(state) => {
                let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                let until = state.borrow().boot_ms.saturating_add(millis);
                if state.clone().wait_for(|state| state.boot_ms >= until).await.is_err() {
                    // The test let go of its clock: time stands still for ever.
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

/// A wall clock before 1970 is broken; it reads as the epoch.
fn machine_wall_ms() -> u64 {
    let elapsed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// Time in the hands of a test.
#[derive(Debug)]
pub struct ManualTime(watch::Sender<State>);

#[derive(Debug)]
struct State {
    wall_ms: u64,
    boot_ms: u64,
    boot_id: Arc<str>,
}

impl ManualTime {
    /// Clocks that show this wall time, ten seconds after a boot.
    #[must_use]
    pub fn new(wall_ms: u64) -> Self {
        Self(watch::Sender::new(State { wall_ms, boot_ms: 10_000, boot_id: "boot-1".into() }))
    }

    /// Lets time pass, on all clocks.
    pub fn advance(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).expect("a test's length of time");
        self.0.send_modify(|state| {
            state.wall_ms += millis;
            state.boot_ms += millis;
        });
    }

    /// Steps the wall clock alone.
    pub fn step_wall(&self, millis: i64) {
        self.0.send_modify(|state| state.wall_ms = state.wall_ms.saturating_add_signed(millis));
    }

    /// Starts the machine anew: another boot, whose clock begins at zero.
    pub fn reboot(&self, boot_id: &str) {
        self.0.send_modify(|state| {
            state.boot_ms = 0;
            state.boot_id = boot_id.into();
        });
    }
}
