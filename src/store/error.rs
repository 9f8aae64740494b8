//! Why a store cannot be opened, and what to do about it.

use std::io;
use std::path::PathBuf;

use super::engine::EngineError;

/// Why a store cannot be opened. Every text names the file and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory cannot be made, read or written.
    #[error(
        "cannot use the store directory {path}: make sure that its parent exists and that this user may write to it"
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system gave no thread.
    #[error("cannot start a thread for the store: raise the limit of tasks (TasksMax, ulimit -u)")]
    Thread(#[source] io::Error),
    /// Another process has it.
    #[error("the store directory {path} is in use by another process: stop that one, or set another [store] dir")]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// A later version wrote it.
    #[error(
        "the store in {path} has format {found}, this program knows up to {known}: install the version that wrote it, \
         nothing was changed"
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// The version that is there.
        found: u32,
        /// The version that this program writes.
        known: u32,
    },
    /// A part is not there, so that acknowledged records may be missing.
    #[error(
        "{file} is missing beside the rest of the store: restore the whole directory from a backup, or move it away to begin \
         with nothing remembered"
    )]
    Missing {
        /// The part.
        file: PathBuf,
    },
    /// A part cannot be read as what it is.
    #[error(
        "{file} is damaged: restore the whole store directory from a backup, or move it away to begin with nothing \
         remembered"
    )]
    Damaged {
        /// The part.
        file: PathBuf,
        /// What was found, where there is more to say.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The newest commits are gone.
    #[error(
        "{file} ends at commit {found}, but commit {expected} was acknowledged: restore the whole store directory from a \
         backup, or move it away to begin with nothing remembered"
    )]
    LostTail {
        /// Where the records are.
        file: PathBuf,
        /// The last commit that is there.
        found: u64,
        /// The last commit that was answered for.
        expected: u64,
    },
    /// The disk failed while opening.
    #[error("cannot open the records in {file}: {}", advice(&**source))]
    Engine {
        /// Where the records are.
        file: PathBuf,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn advice(source: &(dyn std::error::Error + Send + Sync + 'static)) -> &'static str {
    use super::fault::Fault;
    match source.downcast_ref::<EngineError>().map(EngineError::fault) {
        Some(Fault::DiskFull) => "the disk is full: free some space (24 MiB are enough) and start again",
        Some(Fault::ReadOnly) => "the file system is read-only: mount it writable and start again",
        _ => "the disk reported an error: look at the kernel's log, then start again",
    }
}
