//! `[store]`.

use std::path::PathBuf;
use std::time::Duration;

use crate::store::{StoreSettings, SyncMode};

use super::Environment;
use super::faults::Reported;
use super::section::Section;
use super::value;

/// The longest deadline of a commit: beyond it, senders have long given up, and a stuck disk should be seen.
const MAX_COMMIT_DEADLINE: Duration = Duration::from_secs(60);
/// The smallest page cache that sled can work with.
const MIN_CACHE_BYTES: u64 = 1 << 20;
/// The largest page cache, so that a typing error does not ask for more memory than machines have.
const MAX_CACHE_BYTES: u64 = 1 << 40;

pub(super) fn read(mut section: Section<'_>, environment: &Environment) -> Result<StoreSettings, Reported> {
    let dir = section.parse("dir", value::path);
    let sync = section.choice("sync", &[("always", SyncMode::Always), ("interval", SyncMode::Interval)]);
    let cache = section.parse("cache", value::size(MIN_CACHE_BYTES, MAX_CACHE_BYTES, "from 1MiB to 1TiB"));
    let min_free = section.parse("min_free", value::size(0, u64::MAX, "a size"));
    let max_events = section.parse("max_event_bytes", value::size(1, u64::MAX, "more than 0B"));
    let commit_deadline = section.parse("commit_deadline", value::length(MAX_COMMIT_DEADLINE));
    section.finish();
    let defaults = StoreSettings::for_dir(dir?.unwrap_or_else(|| default_dir(environment)));
    Ok(StoreSettings {
        sync: sync?.unwrap_or(defaults.sync),
        cache_bytes: cache?.unwrap_or(defaults.cache_bytes),
        min_free_bytes: min_free?.unwrap_or(defaults.min_free_bytes),
        max_event_bytes: max_events?.unwrap_or(defaults.max_event_bytes),
        commit_deadline: commit_deadline?.unwrap_or(defaults.commit_deadline),
        dir: defaults.dir,
    })
}

fn default_dir(environment: &Environment) -> PathBuf {
    environment.directory("STATE_DIRECTORY").unwrap_or_else(|| PathBuf::from("./onced-data"))
}
