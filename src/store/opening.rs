//! Opening a store: what must fit together before anything may be answered.

use std::path::Path;
use std::sync::Arc;

use super::commit::{Committer, State};
use super::content_file;
use super::content_log::ContentLog;
use super::directory::{self, Directory};
use super::engine::{Engine, EngineError};
use super::error::OpenError;
use super::events;
use super::fault::Fault;
use super::guard::Guard;
use super::healthy::Healthy;
use super::mark::{self, Mark, MarkError};
use super::numbers::Numbers;
use super::original::{self, Original};
use super::outage::Outage;
use super::room::Room;
use super::settings::StoreSettings;
use super::shared::Shared;
use crate::chain::Chain;
use crate::clock::{Clock, Readings, Resumed, Source};
use crate::event::EventId;
use crate::metrics::Metrics;

/// After an unclean end the numbering goes on so far above the last number that is known, and above where the run before
/// began: more than could have been given out without a sync, so that a fencing number never comes twice.
const UNCLEAN_JUMP: u64 = 1 << 24;

/// Less than this while the daemon was down is ordinary slewing.
const LARGE_STEP_MS: i64 = 60_000;

/// Opens the store, or makes it, and hands back what the commit thread needs.
pub(super) fn open(
    settings: StoreSettings,
    source: Source,
    real_sync: bool,
    metrics: Arc<Metrics>,
) -> Result<Committer, OpenError> {
    let directory = Directory::take(&settings.dir)?;
    if !directory.has_store()? {
        make(&directory, &settings, real_sync, source.clone())?;
    }
    let mark = read_mark(directory.path())?;
    let (clock, resumed) = Clock::resume(source, Some(&mark.anchor));
    tell_of(resumed);
    tell_of_step(&mark.anchor.readings, &clock.anchor().readings);
    let (engine, found) = open_guarded(&directory, &settings, real_sync, &mark)?;
    let sequence = if mark.clean { found } else { found.max(mark.numbered_from) + UNCLEAN_JUMP };
    let engine = Arc::new(engine);
    let begun =
        Mark { sequence: found, numbered_from: sequence, clean: false, holders_gone: false, anchor: clock.anchor() };
    // A process that was killed may have left records in the kernel's memory only, and a mark must not speak of those.
    let synced = if mark.clean { Ok(()) } else { directory.sync_records() };
    // What is there can be read; the commit thread tries to come back from here as from any other fault.
    let fault = synced.and_then(|()| mark::write(directory.path(), &begun)).err().map(|error| {
        let fault = Fault::of_io(&error);
        tracing::error!(fault = %fault, error = %Chain(&error), "the store cannot be written to");
        fault
    });
    if let Err(error) = directory.keep_reserve() {
        tracing::warn!(error = %error, "no reserve for a full disk could be made");
    }
    let (log, segments) = ContentLog::open(directory.path())
        .map_err(|source| OpenError::Directory { path: directory.path().into(), source })?;
    let room = Arc::new(Room::new(&settings, segments, Arc::clone(&metrics)));
    // On a disk that takes no writes that is left to the coming back.
    if fault.is_none() {
        undo(&engine, found).map_err(|error| engine_error(&directory, error))?;
    }
    let delivering = take_stock(&engine, &room).map_err(|error| engine_error(&directory, error))?;
    if fault.is_none() {
        let interrupted = events::undo::interrupt(&engine, &room, &delivering);
        interrupted.map_err(|error| engine_error(&directory, error))?;
    }
    let shared = Arc::new(Shared::new(metrics, fault, Numbers::after(sequence)));
    shared.lend(Some(Arc::clone(&engine)));
    let state = match fault {
        None => State::Healthy(Healthy::new(engine, Arc::clone(&shared), settings.sync, found)),
        Some(fault) => State::Outage(Outage::new(fault, Guard::new(), Some(engine), clock.now())),
    };
    Ok(Committer {
        shared,
        room,
        log,
        directory,
        settings,
        real_sync,
        clock,
        numbered_from: sequence,
        may_have_orphans: !(mark.clean && mark.holders_gone),
        written: found,
        synced: found,
        state,
    })
}

/// Removes the events that were never acknowledged, before any of their numbers is given again.
fn undo(engine: &Engine, acknowledged: u64) -> Result<(), EngineError> {
    let undone = events::undo::remove_above(engine, acknowledged)?;
    if undone > 0 {
        engine.flush()?;
        tracing::info!(undone, "events that were never acknowledged are removed");
    }
    Ok(())
}

/// Counts the events, and removes what a crash left behind: contents that no entry names, since the entry was never written,
/// or is gone already. Hands back the events that were being handed over.
fn take_stock(engine: &Engine, room: &Room) -> Result<Vec<EventId>, EngineError> {
    let stock = room.count(engine, || ())?;
    if stock.unreadable > 0 {
        // What one of them names may be all that is left of it.
        tracing::error!(
            unreadable = stock.unreadable,
            records = %room.store().join(directory::RECORDS).display(),
            "events that were acknowledged cannot be read and are not handed over; contents that no event names are left \
             where they are. Copy the store's directory, have the events sent again, and discard these by their ids"
        );
        return Ok(stock.delivering);
    }
    let segments = room.segments().remove_unheld();
    match content_file::remove_unnamed(room.store(), |nonce| stock.named.contains(&nonce)) {
        Ok(files) if files + segments > 0 => {
            tracing::info!(files, segments, "contents of events that were never kept, or are gone, are removed");
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(error = %error, "files that no event names could not be removed"),
    }
    Ok(stock.delivering)
}

/// Opens the records, and leaves them as they were where they do not hold what was acknowledged.
fn open_guarded(
    directory: &Directory,
    settings: &StoreSettings,
    real_sync: bool,
    mark: &Mark,
) -> Result<(Engine, u64), OpenError> {
    let original = Original::keep(directory.path()).unwrap_or_else(|error| {
        tracing::debug!(error = %error, "no copy of the records could be made before opening them");
        None
    });
    let opened = open_engine(directory, settings, real_sync).and_then(|engine| {
        let refused = match engine.sequence() {
            Ok(found) if found >= mark.sequence => return Ok((engine, found)),
            Ok(found) => OpenError::LostTail { file: directory.records(), found, expected: mark.sequence },
            Err(error) => engine_error(directory, error),
        };
        if let Err(error) = Engine::close(Arc::new(engine)) {
            tracing::debug!(error = %Chain(&error), "the refused records could not be closed");
        }
        Err(refused)
    });
    match (&opened, original) {
        (Ok(_), _) => {
            if let Err(error) = original::drop_copy(directory.path()) {
                tracing::debug!(error = %error, "the copy of the records could not be removed");
            }
        }
        (Err(_), Some(original)) => match original.put_back() {
            Ok(()) => tracing::info!("the records are as they were before this start"),
            Err(error) => tracing::error!(error = %error, "records.before holds the records as they were"),
        },
        (Err(OpenError::Damaged { .. } | OpenError::LostTail { .. }), None) => tracing::warn!(
            "no copy of the records was made, for want of room, for their size, or because one of an earlier start is there; \
             opening may have changed them, so copy them before you go on"
        ),
        (Err(_), None) => {}
    }
    opened
}

fn make(directory: &Directory, settings: &StoreSettings, real_sync: bool, source: Source) -> Result<(), OpenError> {
    directory.make_store(|records| {
        let filled = Engine::open(records, settings.cache_bytes, real_sync).and_then(|engine| {
            engine.write_sequence(0)?;
            engine.flush()
        });
        filled.map_err(|error| engine_error(directory, error))?;
        let (clock, _first) = Clock::resume(source, None);
        let anchor = clock.anchor();
        let mark = Mark { sequence: 0, numbered_from: 0, clean: true, holders_gone: true, anchor };
        mark::write(directory.path(), &mark)
            .map_err(|source| OpenError::Directory { path: directory.path().into(), source })
    })?;
    tracing::info!(dir = %directory.path().display(), "made a new store");
    Ok(())
}

fn read_mark(dir: &Path) -> Result<Mark, OpenError> {
    let file = dir.join(mark::FILE);
    mark::read(dir).map_err(|error| match error {
        MarkError::Read(error) if error.kind() == std::io::ErrorKind::NotFound => OpenError::Missing { file },
        MarkError::Read(source) => OpenError::Directory { path: file, source },
        MarkError::Damaged => OpenError::Damaged { file, source: None },
    })
}

/// A full disk gets one more try, with the reserve given back.
fn open_engine(directory: &Directory, settings: &StoreSettings, real_sync: bool) -> Result<Engine, OpenError> {
    let open = || Engine::open(&directory.records(), settings.cache_bytes, real_sync);
    let opened = match open() {
        Err(error) if error.fault() == Fault::DiskFull => match directory.release_reserve() {
            Ok(()) => open(),
            Err(_) => Err(error),
        },
        other => other,
    };
    opened.map_err(|error| engine_error(directory, error))
}

fn engine_error(directory: &Directory, error: EngineError) -> OpenError {
    let file = directory.records();
    if error.is_damage() {
        return OpenError::Damaged { file, source: Some(Box::new(error)) };
    }
    OpenError::Engine { file, source: Box::new(error) }
}

/// Within one boot the boot clock says how long the daemon was down, and so whether the wall clock was stepped meanwhile.
fn tell_of_step(then: &Readings, now: &Readings) {
    if then.boot_id != now.boot_id || now.boot_ms < then.boot_ms {
        return;
    }
    let signed = |millis| i64::try_from(millis).unwrap_or(i64::MAX);
    let step_ms = signed(now.wall_ms) - signed(then.wall_ms) - signed(now.boot_ms - then.boot_ms);
    if step_ms.abs() >= LARGE_STEP_MS {
        tracing::warn!(
            step_ms,
            "the wall clock was stepped while the daemon was down; lifetimes follow the boot clock"
        );
    }
}

fn tell_of(resumed: Resumed) {
    match resumed {
        Resumed::First | Resumed::SameBoot | Resumed::Reboot => {}
        Resumed::WallBehind { behind_ms } => {
            tracing::warn!(behind_ms, "the wall clock is behind the last time seen; no time counts as passed");
        }
        Resumed::WallFarAhead { ahead_ms } => {
            tracing::warn!(ahead_ms, "the wall clock is far ahead of the last time seen; one day counts as passed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;
    use crate::clock::ManualTime;

    fn store(dir: &Path) -> Store {
        let source = Source::manual(&ManualTime::new(1_800_000_000_000));
        Store::open(StoreSettings::for_dir(dir.join("store")), source, false, Arc::new(Metrics::new()))
            .expect("it opens")
    }

    /// Looking for claims that nobody holds takes as long as opening the store, so it is spared where it is known that there
    /// are none, and only there.
    #[tokio::test]
    async fn only_after_an_end_in_order_with_every_holder_gone_nobody_has_to_look_for_orphans() {
        let dir = tempfile::tempdir().expect("a directory");
        let first = store(dir.path());
        assert!(!first.may_have_orphans(), "a store that was just made");
        first.close().await.expect("closed");
        let second = store(dir.path());
        assert!(second.may_have_orphans(), "its holders were not said to be gone");
        second.note_holders_gone();
        second.close().await.expect("closed");
        let third = store(dir.path());
        assert!(!third.may_have_orphans());
        third.close().await.expect("closed");
        // What a killed process leaves: the mark of its beginning.
        let mut mark = mark::read(&dir.path().join("store")).expect("sound");
        (mark.clean, mark.holders_gone) = (false, true);
        mark::write(&dir.path().join("store"), &mark).expect("written");
        assert!(store(dir.path()).may_have_orphans());
    }
}
