//! What a test needs from the system around it, and what happens when it is not there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether a program is installed; says what is skipped if not.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    found || skipped(&format!("{program} is not installed"))
}

/// Notes that a test is skipped; always false.
pub(crate) fn skipped(why: &str) -> bool {
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI must not skip: {why}");
    println!("skipped: {why}");
    false
}

/// The library that fakes the wall clock.
pub(crate) fn libfaketime() -> Option<PathBuf> {
    let places = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let path =
        places.iter().map(|place| Path::new(place).join("faketime/libfaketimeMT.so.1")).find(|path| path.exists());
    if path.is_none() {
        skipped("libfaketime is not installed");
    }
    path
}

/// A small file system of its own, gone when dropped.
pub(crate) struct SmallDisk {
    dir: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts one; needs root.
    pub(crate) fn mount(mebibytes: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let size = format!("size={mebibytes}m");
        if run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", dir.path().to_str().unwrap()]) {
            return Some(Self { dir });
        }
        skipped("this user may not mount a file system");
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Takes all the space that is left, or all but some.
    pub(crate) fn fill(&self, leave_bytes: u64) {
        let free = || {
            let figures = rustix::fs::statvfs(self.path()).unwrap();
            figures.f_bavail * figures.f_frsize
        };
        let ballast = fs::File::create(self.path().join("ballast")).unwrap();
        let bytes = free().saturating_sub(leave_bytes);
        if bytes > 0 {
            rustix::fs::fallocate(&ballast, rustix::fs::FallocateFlags::empty(), 0, bytes).unwrap();
        }
    }

    /// Gives the space back.
    pub(crate) fn free(&self) {
        fs::remove_file(self.path().join("ballast")).unwrap();
    }

    /// Makes it read-only or writable; `false` while somebody writes to it.
    pub(crate) fn remount(&self, mode: &str) -> bool {
        run("mount", &["-o", &format!("remount,{mode}"), self.path().to_str().unwrap()])
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process of a test that failed may still be on it.
        run("umount", &["-l", self.dir.path().to_str().unwrap()]);
    }
}

/// Runs a program; whether it ended well.
pub(crate) fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
