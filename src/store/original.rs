//! The records as they were before this start.
//!
//! sled mends while it opens: it cuts off what it cannot read, overwrites whole segments, drops files. Where the store then
//! turns out to be damaged, what could still have been read of it would be gone. So the records are copied first (a file system
//! that can share blocks does it at once), opened, and put back if the start is refused.
//!
//! On disk: `records.copy/` while it is made, `records.before/` once it is whole, `records.old/` while something is thrown
//! away. The copy goes before anything is answered, so one that is found at a start misses nothing. It is synced only when it
//! is put back: after a loss of power it may be worth less than the records, so a copy of an earlier start is never put back
//! over them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::directory::{RECORDS, disk_bytes, free_bytes, sync_all};
use super::mark::sync_dir;

const COPY: &str = "records.copy";
const BEFORE: &str = "records.before";
const OLD: &str = "records.old";

/// Copied at most: a few seconds on a slow disk.
const MAX_BYTES: u64 = 1 << 30;
/// What has to stay free beside the copy.
const HEADROOM_BYTES: u64 = 32 << 20;

/// A copy of the records, made by this start.
#[derive(Debug)]
pub(super) struct Original {
    dir: PathBuf,
}

impl Original {
    /// Copies the records of a store; `None` where there is no room for it, or one is there from a start that was cut off.
    pub(super) fn keep(dir: &Path) -> io::Result<Option<Self>> {
        for leftover in [COPY, OLD] {
            remove(&dir.join(leftover))?;
        }
        let (records, copy, before) = (dir.join(RECORDS), dir.join(COPY), dir.join(BEFORE));
        let bytes = disk_bytes(&records)?;
        if before.exists() || bytes > MAX_BYTES || free_bytes(dir)? < bytes + HEADROOM_BYTES {
            return Ok(None);
        }
        copy_dir(&records, &copy).and_then(|()| fs::rename(&copy, &before))?;
        Ok(Some(Self { dir: dir.into() }))
    }

    /// Puts the copy back in place of what has been opened.
    pub(super) fn put_back(self) -> io::Result<()> {
        let (records, old) = (self.dir.join(RECORDS), self.dir.join(OLD));
        let before = self.dir.join(BEFORE);
        // What it replaces is synced, so it has to be before that goes.
        sync_all(&before)?;
        fs::rename(&records, &old)?;
        fs::rename(before, &records)?;
        sync_dir(&self.dir)?;
        remove(&old)
    }
}

/// Finishes what a start was doing when it was cut off while it put the copy back.
pub(super) fn finish_putting_back(dir: &Path) -> io::Result<()> {
    let (records, before) = (dir.join(RECORDS), dir.join(BEFORE));
    if records.exists() || !before.exists() {
        return Ok(());
    }
    // It was synced before the records went.
    fs::rename(before, records)?;
    sync_dir(dir)
}

/// Drops the copy: the records are sound.
pub(super) fn drop_copy(dir: &Path) -> io::Result<()> {
    let (before, old) = (dir.join(BEFORE), dir.join(OLD));
    // Under another name first: half a copy must never be taken for one.
    match fs::rename(before, &old) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => remove(&old),
    }
}

fn copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_dir(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn remove(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
