//! What can be set about the store.

use std::path::PathBuf;
use std::time::Duration;

/// The settings of `[store]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// The directory that holds everything that must survive.
    pub dir: PathBuf,
    /// When a record counts as written.
    pub sync: SyncMode,
    /// Bytes of pages that sled keeps in memory; resident memory is well above it.
    pub cache_bytes: u64,
    /// Free bytes on the file system below which no new events are stored; claims go on.
    pub min_free_bytes: u64,
    /// Bytes that stored events may take.
    pub max_event_bytes: u64,
    /// How long a commit may hang before it counts as a fault.
    pub commit_deadline: Duration,
}

impl StoreSettings {
    /// The embedded defaults, for a directory.
    #[must_use]
    pub fn for_dir(dir: PathBuf) -> Self {
        Self {
            dir,
            sync: SyncMode::Always,
            cache_bytes: 64 << 20,
            min_free_bytes: 256 << 20,
            max_event_bytes: 10 << 30,
            commit_deadline: Duration::from_secs(5),
        }
    }
}

/// When a record counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncMode {
    /// Synced before its answer: survives the loss of power.
    Always,
    /// Written and synced once a second: an end in order loses nothing, but a kill or the loss of power takes what was
    /// answered for in the last second. (sled keeps what is not synced in buffers of the process.)
    Interval,
}

/// What happens to a command when the store cannot be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnStoreFailure {
    /// It is answered from memory, marked as degraded: forwarding an event twice is better than dropping it.
    Open,
    /// It is refused.
    Closed,
}
