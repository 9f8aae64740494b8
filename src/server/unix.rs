//! Binds a Unix socket so that its file never has wider permissions than asked for.
//!
//! `bind` makes the file with the umask's mode, and a later `chmod` leaves a moment in which strangers may connect.
//! Setting the umask for it was not taken: it belongs to the whole process, and other threads make files too, which are
//! to stay private (`serve` begins with 077). Instead the socket is bound inside a directory of mode 0700, gets its mode
//! there, whatever the umask is, and is then renamed to its place, which also replaces a stale file in one step. A kill in
//! between leaves an empty private directory, and the next start with the same process id removes it.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use super::ListenError;

/// The longest path that can be bound, in bytes: `sun_path` has 108, one of them the closing NUL (unix(7)).
const MAX_PATH_BYTES: usize = 107;

/// The file of a bound socket; dropping it removes the file, unless another process has put its own there since.
#[derive(Debug)]
pub(super) struct SocketFile {
    pub(super) path: PathBuf,
    inode: (u64, u64),
}

/// Binds `path` with `mode`, in place of a stale socket file; refuses if anything else is there.
pub(super) async fn bind(path: &Path, mode: u32) -> Result<(UnixListener, SocketFile), ListenError> {
    check_free(path).await?;
    let place = |source| ListenError::Place { path: path.into(), source };
    let nursery = nursery(path);
    let _leftover = fs::remove_dir_all(&nursery); // usually there is none, and mkdir reports what is in its way
    DirBuilder::new().mode(0o700).create(&nursery).map_err(place)?;
    let bound = bind_within(&nursery, path, mode).map_err(place);
    fs::remove_dir_all(&nursery).map_err(place)?;
    bound
}

fn bind_within(nursery: &Path, path: &Path, mode: u32) -> io::Result<(UnixListener, SocketFile)> {
    let born = nursery.join("s");
    let listener = bind_any_length(&born)?;
    fs::set_permissions(&born, Permissions::from_mode(mode))?;
    let inode = inode(&born)?;
    fs::rename(&born, path)?;
    Ok((listener, SocketFile { path: path.into(), inode }))
}

/// The path may be longer than what can be bound, where the socket's own, with a shorter name, is not. The directory's
/// descriptor then stands for the directory; not always, because `/proc` is not everywhere.
fn bind_any_length(path: &Path) -> io::Result<UnixListener> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return UnixListener::bind(path);
    };
    if path.as_os_str().len() <= MAX_PATH_BYTES {
        return UnixListener::bind(path);
    }
    let directory = fs::File::open(parent)?;
    UnixListener::bind(Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name))
}

/// Beside the socket, since a rename stays within one file system.
fn nursery(path: &Path) -> PathBuf {
    path.with_file_name(format!(".onced-{}", std::process::id()))
}

/// Only "connection refused" proves that a socket file is stale. A full backlog or a missing permission does not.
async fn check_free(path: &Path) -> Result<(), ListenError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(ListenError::Place { path: path.into(), source });
        }
        Ok(found) if !found.file_type().is_socket() => return Err(ListenError::NotASocket { path: path.into() }),
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => Ok(()),
        Ok(_) | Err(_) => Err(ListenError::InUse { path: path.into() }),
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if inode(&self.path).is_ok_and(|found| found == self.inode)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "the socket file could not be removed");
        }
    }
}
