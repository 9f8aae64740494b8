//! Contents of events that are too large for the content log: a file each, in a directory beside the records.
//!
//! A file is `<version: 1 byte><crc32 of what follows up to the body: 4 bytes><crc32 of the body: 4 bytes><length of the
//! head: 4 bytes><head><body>`, numbers little endian: so the head can be read and checked without the body, which may be a
//! gigabyte. It is written, synced and its name synced before an entry names it, and never changed after. An entry goes
//! before its file. So a file that no entry names is what a crash left behind, and is removed at the next start; an entry
//! whose file is missing or damaged is never taken for whole.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::kept::ContentFile;
use super::mark::sync_dir;
use super::record::{DamagedRecord, decode_head, encode_head, sealed, unsealed};
use crate::event::Content;

/// The directory's name.
pub(super) const DIR: &str = "events";
/// The first had one checksum over all, and was never released.
const VERSION: u8 = 2;
/// What stands before the head.
const PREFIX_BYTES: u64 = 1 + 4 + 4 + 4;
const NUMBER_BYTES: usize = 4;

/// How long the file of a content is.
pub(super) fn file_bytes(content: &Content) -> u64 {
    PREFIX_BYTES + encode_head(content).len() as u64 + content.body.len() as u64
}

/// Writes a content, durably. What could be written of it in vain is removed.
pub(super) fn write(store: &Path, file: &ContentFile, content: &Content) -> io::Result<()> {
    let (dir, path) = (store.join(DIR), path(store, file));
    let written = create(store, &path).and_then(|mut to| {
        let head = encode_head(content);
        let length = u32::try_from(head.len()).map_err(io::Error::other)?.to_le_bytes();
        let of_body = crc32fast::hash(&content.body).to_le_bytes();
        let front = sealed(VERSION, |bytes| bytes.extend([&of_body[..], &length, &head].concat()));
        to.write_all(&front)?;
        to.write_all(&content.body)?;
        to.sync_all()?;
        sync_dir(&dir)
    });
    if written.is_err()
        && let Err(error) = remove(store, file)
    {
        tracing::debug!(error = %error, "a file that could not be written could not be removed either");
    }
    written
}

/// The first file makes the directory: a store without large events has none.
fn create(store: &Path, path: &Path) -> io::Result<File> {
    match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    match fs::create_dir(store.join(DIR)).and_then(|()| sync_dir(store)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    File::create_new(path)
}

/// Reads a content.
pub(super) fn read(store: &Path, file: &ContentFile) -> Result<Content, DamagedRecord> {
    let mut from = File::open(path(store, file)).map_err(DamagedRecord::File)?;
    let front = Front::read(&mut from, file)?;
    let mut body = Vec::with_capacity(usize::try_from(file.bytes).unwrap_or(0).saturating_sub(front.head.len()));
    from.read_to_end(&mut body).map_err(DamagedRecord::File)?;
    if crc32fast::hash(&body) != front.of_body {
        return Err(DamagedRecord::Checksum);
    }
    decode_head(&front.head, body.into())
}

/// Reads a content but for its body, which is left empty, whatever has become of it.
pub(super) fn read_head(store: &Path, file: &ContentFile) -> Result<Content, DamagedRecord> {
    let mut from = File::open(path(store, file)).map_err(DamagedRecord::File)?;
    decode_head(&Front::read(&mut from, file)?.head, Bytes::new())
}

/// What stands before a body.
struct Front {
    head: Vec<u8>,
    /// The checksum of the body.
    of_body: u32,
}

impl Front {
    fn read(from: &mut impl Read, file: &ContentFile) -> Result<Self, DamagedRecord> {
        let mut bytes = Vec::new();
        from.by_ref().take(PREFIX_BYTES).read_to_end(&mut bytes).map_err(DamagedRecord::File)?;
        let length = bytes.last_chunk::<NUMBER_BYTES>().map(|length| u64::from(u32::from_le_bytes(*length)));
        // A length that was damaged is not believed.
        let length = length.filter(|length| PREFIX_BYTES + length <= file.bytes).ok_or(DamagedRecord::Short)?;
        from.take(length).read_to_end(&mut bytes).map_err(DamagedRecord::File)?;
        let (of_body, rest) = unsealed(VERSION, &bytes)?.split_first_chunk().ok_or(DamagedRecord::Short)?;
        let (_length, head) = rest.split_first_chunk::<NUMBER_BYTES>().ok_or(DamagedRecord::Short)?;
        Ok(Self { head: head.into(), of_body: u32::from_le_bytes(*of_body) })
    }
}

/// Removes a file, if it is there. Not synced: one that comes back after a loss of power is named by no entry.
pub(super) fn remove(store: &Path, file: &ContentFile) -> io::Result<()> {
    match fs::remove_file(path(store, file)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Removes the files that were made here and that `is_named` does not know; says how many.
pub(super) fn remove_unnamed(store: &Path, is_named: impl Fn(u64) -> bool) -> io::Result<usize> {
    let entries = match fs::read_dir(store.join(DIR)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        other => other?,
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry?;
        let nonce = entry.file_name().to_str().and_then(ContentFile::nonce_in);
        if nonce.is_some_and(|nonce| !is_named(nonce)) {
            fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn path(store: &Path, file: &ContentFile) -> PathBuf {
    store.join(DIR).join(file.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::HeaderLine;

    fn content(body: &[u8]) -> Content {
        let line = HeaderLine { name: (*b"X-Odd").into(), value: (*b"\xe9").into() };
        let body = Bytes::copy_from_slice(body);
        Content { target: "/a".into(), sender_id: None, verified_by: None, headers: vec![line], body }
    }

    fn file(nonce: u64, content: &Content) -> ContentFile {
        ContentFile { nonce, bytes: file_bytes(content) }
    }

    #[test]
    fn a_content_comes_back_as_it_was_and_damage_at_any_place_is_seen() {
        let dir = tempfile::tempdir().expect("a directory");
        for (nonce, body) in [(0, &b""[..]), (1, b"a body\0\xff")] {
            let content = content(body);
            let file = file(nonce, &content);
            write(dir.path(), &file, &content).expect("written");
            assert_eq!(read(dir.path(), &file).expect("sound"), content);
            let path = path(dir.path(), &file);
            let bytes = fs::read(&path).expect("readable");
            assert_eq!(bytes.len() as u64, file.bytes);
            for length in 0..bytes.len() {
                fs::write(&path, &bytes[..length]).expect("writable");
                assert!(read(dir.path(), &file).is_err(), "{length} bytes");
            }
            for bit in 0..bytes.len() * 8 {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                fs::write(&path, damaged).expect("writable");
                assert!(read(dir.path(), &file).is_err(), "bit {bit}");
            }
            remove(dir.path(), &file).expect("removable");
            remove(dir.path(), &file).expect("nothing is as good");
            assert!(!path.exists());
        }
    }

    /// A gigabyte of body was read for a few headers.
    #[test]
    fn the_head_is_read_and_checked_without_the_body() {
        let dir = tempfile::tempdir().expect("a directory");
        let content = content(b"a body");
        let file = file(0, &content);
        write(dir.path(), &file, &content).expect("written");
        let path = path(dir.path(), &file);
        let bytes = fs::read(&path).expect("readable");
        let body_at = bytes.len() - content.body.len();
        fs::write(&path, &bytes[..body_at]).expect("writable");
        assert_eq!(read_head(dir.path(), &file).expect("sound"), Content { body: Bytes::new(), ..content });
        for bit in 0..body_at * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, damaged).expect("writable");
            assert!(read_head(dir.path(), &file).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn only_what_was_made_here_and_is_not_named_is_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(remove_unnamed(dir.path(), |_| false).expect("nothing there"), 0);
        let content = content(b"b");
        for nonce in 0..3 {
            write(dir.path(), &file(nonce, &content), &content).expect("written");
        }
        let strange = dir.path().join(DIR).join("lost+found");
        fs::write(&strange, "").expect("writable");
        let named = file(1, &content);
        assert_eq!(remove_unnamed(dir.path(), |nonce| nonce == named.nonce).expect("removable"), 2);
        assert!(read(dir.path(), &named).is_ok() && strange.exists());
    }

    /// The name of a file is taken: an entry must never come to name a file of somebody else's content.
    #[test]
    fn a_file_that_is_there_is_not_written_over() {
        let dir = tempfile::tempdir().expect("a directory");
        let (first, second) = (content(b"1"), content(b"2"));
        write(dir.path(), &file(0, &first), &first).expect("written");
        assert!(write(dir.path(), &file(0, &second), &second).is_err());
    }
}
