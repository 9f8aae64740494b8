//! What the figures were taken on, and what a process takes of it.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write},
    os::unix::fs::MetadataExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// The kernel's unit of processor time in /proc, on every Linux that there is.
const TICKS_PER_SECOND: u64 = 100;
/// Of how many synced writes the median is taken.
const PROBES: usize = 50;

/// The machine, as far as it decides the figures.
pub(crate) struct Machine {
    cores: usize,
    kernel: String,
    filesystem: String,
    synced_write: Duration,
}

impl Machine {
    /// Looks at the machine and at the filesystem of `directory`, where it writes and removes a small file.
    pub(crate) fn look(directory: &Path) -> io::Result<Self> {
        Ok(Self {
            cores: thread::available_parallelism()?.get(),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            filesystem: filesystem(directory)?,
            synced_write: synced_write(directory)?,
        })
    }

    /// Whether a sync reaches no disk, so that no figure would mean anything.
    pub(crate) fn never_syncs(&self) -> bool {
        matches!(self.filesystem.as_str(), "tmpfs" | "ramfs")
    }

    /// One line for the top of the report.
    pub(crate) fn describe(&self, directory: &Path) -> String {
        let Self { cores, kernel, filesystem, synced_write } = self;
        let (micros, directory) = (synced_write.as_micros(), directory.display());
        format!(
            "{cores} cores · Linux {kernel} · data on {filesystem} in {directory}, where 4 KiB are synced in {micros} µs"
        )
    }
}

/// The type of the filesystem that holds `directory`: of the mounts above it, the deepest and latest.
fn filesystem(directory: &Path) -> io::Result<String> {
    let directory = directory.canonicalize()?;
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((Path::new(fields.next()?), fields.next()?))
    });
    let holding = mounts.filter(|(point, _)| directory.starts_with(point));
    let deepest = holding.max_by_key(|(point, _)| point.components().count());
    deepest.map(|(_, kind)| kind.to_owned()).ok_or_else(|| ErrorKind::NotFound.into())
}

/// The median time of appending 4 KiB and syncing them.
fn synced_write(directory: &Path) -> io::Result<Duration> {
    let path = directory.join("probe");
    let mut file = File::create(&path)?;
    let mut times = Vec::with_capacity(PROBES);
    for _ in 0..PROBES {
        let begun = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    fs::remove_file(path)?;
    times.sort_unstable();
    Ok(times[PROBES / 2])
}

/// Bytes of memory a process holds.
pub(crate) fn resident_bytes(pid: u32) -> io::Result<u64> {
    status_bytes(pid, "VmRSS:")
}

/// The most that it has held.
pub(crate) fn peak_bytes(pid: u32) -> io::Result<u64> {
    status_bytes(pid, "VmHWM:")
}

fn status_bytes(pid: u32, name: &str) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| ErrorKind::InvalidData.into())
}

/// Bytes of disk the files below `directory` take: allocated blocks, which a sparse file has fewer of than its length.
pub(crate) fn disk_bytes(directory: &Path) -> io::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // A running server's files come and go.
        total += match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path())?,
            Ok(metadata) => metadata.blocks() * 512,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
    }
    Ok(total)
}

/// Processor time that a process and its children have taken so far, in user and kernel mode.
pub(crate) fn cpu_time(pid: u32) -> io::Result<Duration> {
    let mut ticks = 0;
    for entry in fs::read_dir("/proc")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // One that has ended meanwhile has no say.
        let Ok(stat) = fs::read_to_string(format!("/proc/{number}/stat")) else { continue };
        let Some((_, fields)) = stat.rsplit_once(')') else { continue };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let field = |place: usize| fields.get(place).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
        // After the name: state, parent, …; user and kernel time are the twelfth and thirteenth.
        if number == pid || field(1) == u64::from(pid) {
            ticks += field(11) + field(12);
        }
    }
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}
