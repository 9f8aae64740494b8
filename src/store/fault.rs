//! What can be wrong with the store, in the words that callers, metrics and logs see.

use std::fmt;
use std::io;

/// Why the store cannot be asked right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// No space, or no quota, is left.
    DiskFull,
    /// The file system takes no writes.
    ReadOnly,
    /// The disk failed in another way.
    Io,
    /// The database reported something other than an I/O error.
    Database,
    /// A stored value does not match its checksum.
    Damaged,
    /// A commit took longer than `commit_deadline`.
    CommitDeadline,
    /// The store is closing or has ended.
    Closed,
}

impl Fault {
    /// The word for it: the `reason` of answers, the label of metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DiskFull => "disk_full",
            Self::ReadOnly => "read_only",
            Self::Io => "io_error",
            Self::Database => "database_error",
            Self::Damaged => "damaged_record",
            Self::CommitDeadline => "commit_deadline",
            Self::Closed => "store_closed",
        }
    }

    pub(super) fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            _ => Self::Io,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
