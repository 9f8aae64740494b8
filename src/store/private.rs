//! What customers have sent is nobody else's to read: the modes of the store's directory.
//!
//! What is made in it has the mode that the process's umask leaves; `serve` begins with 077.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

/// The mode of a directory that is made.
const OWNER_ALONE: u32 = 0o700;
/// What a mode gives to strangers.
const STRANGERS: u32 = 0o007;

/// Makes a directory for its owner alone, whatever the umask is.
pub(super) fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(OWNER_ALONE).create(path)
}

/// Takes from strangers what a directory that was there lets them do: files in it may be older than we are, and made for
/// all to read. What it gives to its group stays, since somebody may have meant it, for a socket in it for example.
pub(super) fn shut_strangers_out(path: &Path) {
    let tightened = fs::metadata(path).and_then(|found| {
        let mode = found.permissions().mode();
        if !found.is_dir() || mode & STRANGERS == 0 {
            return Ok(false);
        }
        fs::set_permissions(path, Permissions::from_mode(mode & !STRANGERS)).map(|()| true)
    });
    match tightened {
        Ok(true) => tracing::warn!(dir = %path.display(), "the store's directory was open to all; it no longer is"),
        Ok(false) => {}
        // A directory of somebody else's that we may write into, or a disk that takes no writes: the store says which.
        Err(error) => tracing::warn!(dir = %path.display(), %error, "the store's directory may be open to all"),
    }
}
