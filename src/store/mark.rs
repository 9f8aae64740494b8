//! The commit mark: how far the store had got, kept outside sled.
//!
//! On disk it is the file `mark`: JSON with a checksum, replaced by a synced rename about once a second, always after the
//! commit that it speaks of. sled drops a lost tail without a word; a store that is behind its mark has lost something
//! acknowledged. A failure between commit and mark leaves the mark behind the store, which is harmless.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::clock::Anchor;

/// Its name.
pub(super) const FILE: &str = "mark";

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The sequence number of the last synced commit.
    pub(super) sequence: u64,
    /// Where the run that wrote it began to number: what it gave out and did not sync lies above.
    pub(super) numbered_from: u64,
    /// Whether the store was closed in order, so that nothing was under way.
    pub(super) clean: bool,
    /// Whether whoever held a claim of the proxy's had ended by then. A mark that says nothing of it says no.
    #[serde(default)]
    pub(super) holders_gone: bool,
    /// Where the timeline was.
    pub(super) anchor: Anchor,
}

/// Why a mark cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum MarkError {
    #[error("cannot read it")]
    Read(#[source] io::Error),
    #[error("its content is damaged")]
    Damaged,
}

/// Reads the mark of a store directory.
pub(super) fn read(dir: &Path) -> Result<Mark, MarkError> {
    let bytes = fs::read(dir.join(FILE)).map_err(MarkError::Read)?;
    let (body, checksum) = bytes.split_last_chunk::<8>().ok_or(MarkError::Damaged)?;
    if hex::encode(crc32fast::hash(body).to_be_bytes()).as_bytes() != checksum {
        return Err(MarkError::Damaged);
    }
    serde_json::from_slice(body).map_err(|_| MarkError::Damaged)
}

/// Replaces the mark of a store directory, durably.
pub(super) fn write(dir: &Path, mark: &Mark) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(mark).map_err(io::Error::other)?;
    let checksum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(hex::encode(checksum.to_be_bytes()).as_bytes());
    replace(dir, FILE, &bytes)
}

/// Puts a whole file in place of another: written beside it, synced, renamed, directory synced.
pub(super) fn replace(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let beside = dir.join(format!("{name}.new"));
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, dir.join(name))?;
    sync_dir(dir)
}

/// Makes names in a directory durable.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Readings;

    #[test]
    fn a_mark_comes_back_as_it_was_and_damage_is_seen() {
        let dir = tempfile::tempdir().expect("a directory");
        let readings = Readings { wall_ms: 5, boot_ms: 6, boot_id: "b".into() };
        let anchor = Anchor { timeline_ms: 8, readings };
        let mark = Mark { sequence: 7, numbered_from: 6, clean: true, holders_gone: true, anchor };
        write(dir.path(), &mark).expect("written");
        assert_eq!(read(dir.path()).expect("sound"), mark);
        let path = dir.path().join(FILE);
        let bytes = fs::read(&path).expect("readable");
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).expect("writable");
            assert!(matches!(read(dir.path()), Err(MarkError::Damaged)), "{length} bytes");
        }
        fs::remove_file(&path).expect("removable");
        assert!(matches!(read(dir.path()), Err(MarkError::Read(_))));
    }
}
