//! Making a sync a sync.
//!
//! sled calls `sync_file_range` on Linux, which starts the write-out and waits for it, but tells the disk nothing, so the
//! loss of power can take what was answered for. Where the call does not exist sled falls back to `fsync`, before it
//! counts anything as stable. So a seccomp filter makes the call not exist for this process. Where no filter can be set,
//! each flush is followed by an `fdatasync` through a handle of our own: what was answered for is then as safe, though
//! sled may have reused a segment a moment too early.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch};

/// Linux's number of `sync_file_range`, by architecture.
#[cfg(target_arch = "x86_64")]
const SYNC_FILE_RANGE: i64 = 277;
#[cfg(target_arch = "aarch64")]
const SYNC_FILE_RANGE: i64 = 84;
/// `ENOSYS`: no such system call.
const ENOSYS: u32 = 38;

/// Why the filter could not be set.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The filter is wrong for this machine.
    #[error("cannot build the system call filter")]
    Build(#[source] seccompiler::BackendError),
    /// The kernel refused it.
    #[error("cannot set the system call filter")]
    Set(#[source] seccompiler::Error),
    /// The kernel took it and it is not there.
    #[error("the system call filter is not in force")]
    NotInForce,
}

/// Makes sled's flush a real sync, for this thread and all that it starts: call it before there are others.
///
/// # Errors
/// Where the kernel does not take the filter. The store then syncs through a handle of its own.
pub fn force_real_sync() -> Result<(), FilterError> {
    let before = filters_in_force();
    let architecture: TargetArch = std::env::consts::ARCH.try_into().map_err(FilterError::Build)?;
    let rules = [(SYNC_FILE_RANGE, Vec::<SeccompRule>::new())].into_iter().collect();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(ENOSYS), architecture)
        .map_err(FilterError::Build)?;
    let program = BpfProgram::try_from(filter).map_err(FilterError::Build)?;
    seccompiler::apply_filter(&program).map_err(FilterError::Set)?;
    if filters_in_force() > before { Ok(()) } else { Err(FilterError::NotInForce) }
}

/// How many filters the kernel says hold for this thread.
fn filters_in_force() -> u32 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let count = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// What follows a flush of sled's.
#[derive(Debug)]
pub(super) enum Sync {
    /// Nothing: the flush has synced.
    InFlush,
    /// An `fdatasync` of sled's file through this handle.
    OwnHandle(File),
}

impl Sync {
    /// Chooses for a database directory, by what is in force for the process.
    pub(super) fn of(db_dir: &Path, real_sync: bool) -> io::Result<Self> {
        if real_sync { Ok(Self::InFlush) } else { Ok(Self::OwnHandle(File::open(db_dir.join("db"))?)) }
    }

    pub(super) fn after_flush(&self) -> io::Result<()> {
        match self {
            Self::InFlush => Ok(()),
            Self::OwnHandle(file) => file.sync_data(),
        }
    }
}
