//! The store's directory: what lies in it, who owns it, and when it may be opened.
//!
//! | name | what |
//! |---|---|
//! | `lock` | locked while a daemon has the directory |
//! | `format` | the format version, written once |
//! | `records/` | sled's files |
//! | `records.new/` | a store that is just being made; nothing in it was ever answered for |
//! | `records.before/` | the records as they were before a start ([`super::original`]) |
//! | `records.copy/`, `records.old/` | the same while it is made, or thrown away |
//! | `contents/` | what was sent, of events that are small enough ([`super::content_log`]) |
//! | `events/` | what was sent, of larger ones ([`super::content_file`]) |
//! | `mark` | the commit mark and the clock's anchor ([`super::mark`]) |
//! | `reserve` | space to give back when the disk is full |
//! | `probe` | for a moment: whether the disk takes writes |
//! | `mark.new`, `format.new` | for a moment: what is renamed into place when it is synced |
//!
//! A new store is made under another name and renamed last, so a crash on the way leaves either nothing or a whole store.
//! A directory whose files do not fit together is refused: an empty store in place of a lost one would run every event
//! again.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::error::OpenError;
use super::mark::{FILE as MARK, replace, sync_dir};
use super::original;
use super::private;

const FORMAT_VERSION: u32 = 1;
const FORMAT: &str = "format";
const FORMAT_PREFIX: &str = "onced store, format ";
pub(super) const RECORDS: &str = "records";
const RECORDS_NEW: &str = "records.new";
const RESERVE: &str = "reserve";
const LOCK: &str = "lock";
const PROBE: &str = "probe";
/// sled writes up to a few segments of 512 KiB when it opens; the reserve gives them to a full disk.
const RESERVE_BYTES: u64 = 4 << 20;
/// Free space that must be left beside the reserve before it is made again.
const RESERVE_HEADROOM_BYTES: u64 = 8 << 20;

/// Bytes that are written again at once.
const REWRITE_BYTES: usize = 1 << 20;

/// A directory that this process, and no other, may use as a store.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// Held for its lock.
    _lock: File,
}

impl Directory {
    /// Takes the directory, making it, for its owner alone, where only the last part of its path is missing.
    pub(super) fn take(path: &Path) -> Result<Self, OpenError> {
        match private::make(path).and_then(|()| sync_parent(path)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => private::shut_strangers_out(path),
            Err(source) => {
                return Err(OpenError::Directory { path: path.into(), source });
            }
        }
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK))
            .map_err(|source| OpenError::Directory { path: path.into(), source })?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.into(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.into() }),
            Err(TryLockError::Error(source)) => Err(OpenError::Directory { path: path.into(), source }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where sled's files are.
    pub(super) fn records(&self) -> PathBuf {
        self.path.join(RECORDS)
    }

    /// Whether there is a store to open; `false` when one is to be made first.
    pub(super) fn has_store(&self) -> Result<bool, OpenError> {
        original::finish_putting_back(&self.path)
            .map_err(|source| OpenError::Directory { path: self.path.clone(), source })?;
        let format = self.format()?;
        let records = self.records().is_dir();
        let unfinished = self.path.join(RECORDS_NEW).is_dir();
        match (format, records) {
            (Some(version), _) if version > FORMAT_VERSION => {
                Err(OpenError::Newer { path: self.path.clone(), found: version, known: FORMAT_VERSION })
            }
            (Some(_), true) => self.has_parts(),
            // A mark beside an unfinished store is that store's own; alone it speaks of one that was there.
            (None, false) if self.path.join(MARK).exists() && !unfinished => {
                Err(OpenError::Missing { file: self.records() })
            }
            (None, false) => Ok(false),
            (Some(_), false) if unfinished => Ok(false),
            (Some(_), false) => Err(OpenError::Missing { file: self.records() }),
            (None, true) => Err(OpenError::Missing { file: self.path.join(FORMAT) }),
        }
    }

    /// sled would make anew what is missing of its own files.
    fn has_parts(&self) -> Result<bool, OpenError> {
        let parts = [self.records().join("db"), self.records().join("conf")];
        match parts.into_iter().find(|part| !part.exists()) {
            Some(file) => Err(OpenError::Missing { file }),
            None => Ok(true),
        }
    }

    fn format(&self) -> Result<Option<u32>, OpenError> {
        let path = self.path.join(FORMAT);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(OpenError::Directory { path, source }),
        };
        let version = text.strip_prefix(FORMAT_PREFIX).and_then(|version| version.trim_end().parse().ok());
        version.map(Some).ok_or(OpenError::Damaged { file: path, source: None })
    }

    /// Makes a store: `fill` gets the directory for sled's files and leaves them synced and closed, and writes the mark.
    pub(super) fn make_store(&self, fill: impl FnOnce(&Path) -> Result<(), OpenError>) -> Result<(), OpenError> {
        let unfinished = self.path.join(RECORDS_NEW);
        let here = |source| OpenError::Directory { path: self.path.clone(), source };
        if unfinished.exists() {
            // Its mark and format first: without it they would speak of a store that is lost.
            for name in [FORMAT, MARK] {
                remove_if_there(&self.path.join(name)).map_err(here)?;
            }
            sync_dir(&self.path).map_err(here)?;
            fs::remove_dir_all(&unfinished).map_err(here)?;
        }
        fs::create_dir(&unfinished).map_err(here)?;
        fill(&unfinished)?;
        // sled syncs its files, not their names.
        sync_dir(&unfinished).map_err(here)?;
        replace(&self.path, FORMAT, format!("{FORMAT_PREFIX}{FORMAT_VERSION}\n").as_bytes()).map_err(here)?;
        fs::rename(&unfinished, self.records()).map_err(here)?;
        sync_dir(&self.path).map_err(here)
    }

    /// Makes the reserve where there is none and the disk has room for it.
    pub(super) fn keep_reserve(&self) -> io::Result<()> {
        let path = self.path.join(RESERVE);
        // One that was cut off before it had its space is none.
        let there = fs::metadata(&path).is_ok_and(|file| file.len() >= RESERVE_BYTES);
        if there || free_bytes(&self.path)? < RESERVE_BYTES + RESERVE_HEADROOM_BYTES {
            return Ok(());
        }
        let file = File::create(&path)?;
        match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, RESERVE_BYTES) {
            Ok(()) => file.sync_all(),
            Err(error) => {
                fs::remove_file(&path)?;
                Err(error.into())
            }
        }
    }

    /// Gives the reserve back to the disk.
    pub(super) fn release_reserve(&self) -> io::Result<()> {
        remove_if_there(&self.path.join(RESERVE))
    }

    /// Syncs sled's files as they are.
    pub(super) fn sync_records(&self) -> io::Result<()> {
        sync_all(&self.records())
    }

    /// Writes sled's files again as they read now, and syncs them; calls `progress` from time to time.
    ///
    /// After a failed sync the kernel counts the pages as written though they never reached the disk, and a later sync that
    /// succeeds says nothing about them (fsync(2) reports an error once). They are still in memory, so what is read is
    /// what was meant; written anew they are synced for what they are.
    pub(super) fn rewrite_records(&self, progress: impl Fn()) -> io::Result<()> {
        let mut bytes = vec![0; REWRITE_BYTES];
        for entry in fs::read_dir(self.records())? {
            let entry = entry?;
            if !entry.file_type()?.is_file() {
                continue;
            }
            let file = File::options().read(true).write(true).open(entry.path())?;
            let mut offset = 0;
            loop {
                progress();
                let length = file.read_at(&mut bytes, offset)?;
                if length == 0 {
                    break;
                }
                file.write_all_at(&bytes[..length], offset)?;
                offset += length as u64;
            }
            file.sync_all()?;
        }
        sync_dir(&self.records())
    }

    /// Whether the disk takes `bytes` and a sync again: tried with a file beside the database.
    pub(super) fn probe(&self, bytes: usize) -> io::Result<()> {
        let path = self.path.join(PROBE);
        let tried = File::create(&path).and_then(|mut file| {
            file.write_all(&vec![0; bytes])?;
            file.sync_all()
        });
        let removed = fs::remove_file(&path);
        tried.and(removed)
    }
}

/// Syncs the files below a directory and their names.
pub(super) fn sync_all(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_dir(dir)
}

fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Makes the name of a new directory durable.
fn sync_parent(dir: &Path) -> io::Result<()> {
    match dir.parent() {
        Some(parent) if parent == Path::new("") => sync_dir(Path::new(".")),
        Some(parent) => sync_dir(parent),
        None => Ok(()),
    }
}

/// Free bytes on the file system of a directory, for those without privileges.
pub(super) fn free_bytes(dir: &Path) -> io::Result<u64> {
    let figures = rustix::fs::statvfs(dir)?;
    Ok(figures.f_bavail.saturating_mul(figures.f_frsize))
}

/// Bytes that the files below a directory take on the disk.
pub(super) fn disk_bytes(dir: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            // Removed between the listing and the look.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        // `st_blocks` counts 512 bytes each, whatever the file system's block is (stat(2)).
        bytes += if metadata.is_dir() { disk_bytes(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> (tempfile::TempDir, Directory) {
        let dir = tempfile::tempdir().expect("a directory");
        let directory = Directory::take(&dir.path().join("store")).expect("it can be had");
        (dir, directory)
    }

    fn make(directory: &Directory) {
        let fill = |records: &Path| {
            for part in ["db", "conf"] {
                fs::write(records.join(part), "").expect("writable");
            }
            replace(&directory.path, MARK, b"mark").expect("writable");
            Ok(())
        };
        directory.make_store(fill).expect("it is made");
    }

    /// A first start that was cut off twice left a mark without records, and no start after it made the store.
    #[test]
    fn a_store_whose_making_was_cut_off_at_any_step_can_be_made() {
        let (_dir, directory) = directory();
        let unfinished = directory.path.join(RECORDS_NEW);
        fs::create_dir(&unfinished).expect("it can be made");
        for name in [MARK, FORMAT] {
            replace(&directory.path, name, b"onced store, format 1\n").expect("writable");
            assert!(!directory.has_store().expect("it fits together"));
        }
        let cut_off = directory.make_store(|_| Err(OpenError::Missing { file: unfinished.clone() }));
        assert!(cut_off.is_err());
        assert!(!directory.path.join(MARK).exists() && !directory.path.join(FORMAT).exists());
        fs::remove_dir(&unfinished).expect("removable");
        assert!(!directory.has_store().expect("it fits together"));
        make(&directory);
        assert!(directory.has_store().expect("it fits together"));
    }

    #[test]
    fn a_reserve_that_was_cut_off_before_it_had_its_space_is_made_again() {
        let (_dir, directory) = directory();
        fs::write(directory.path.join(RESERVE), "").expect("writable");
        directory.keep_reserve().expect("there is room");
        assert_eq!(fs::metadata(directory.path.join(RESERVE)).expect("it is there").len(), RESERVE_BYTES);
        directory.release_reserve().expect("removable");
        directory.release_reserve().expect("nothing is as good");
    }
}
