//! How the commit thread gives a database up, and how it comes back.
//!
//! Down: what may be wrong in the database, or not be there, goes into the guard, and the failed database stays for reads.
//! Back, in this order: the disk takes a probe; the database is closed; its files are written anew, because after a failed
//! sync the kernel counts pages as written that never were; it is opened; all of the guard is written and synced; only then
//! is it asked again. A process that dies on the way starts from a database that is at least what was acknowledged, or
//! refuses to.

use std::sync::Arc;
use std::time::Duration;

use super::commit::{Committer, State};
use super::counts::Counted;
use super::engine::{Engine, EngineError};
use super::events;
use super::fault::Fault;
use super::healthy::Healthy;
use super::outage::Outage;
use crate::chain::Chain;
use crate::claim::{Record, Timestamp};

/// A store that fails again within this time after it came back was not well: a nearly full disk takes a few commits.
const RELAPSE: Duration = Duration::from_secs(10);
/// What the disk must take before the database is opened again: sled writes about that much when it opens.
const PROBE_BYTES: usize = 1 << 20;

impl Committer {
    /// Gives the database up, if that has not been done.
    pub(super) fn fail(&mut self, error: &EngineError) {
        let State::Healthy(healthy) = &mut self.state else {
            return;
        };
        let fault = error.fault();
        tracing::error!(fault = %fault, error = %Chain(error), "the store failed; answering from memory until it is back");
        // Told first: from here on nobody may take what this database says for what was answered for.
        self.shared.health.send_replace(Some(fault));
        let held_out = healthy.since.elapsed();
        let (guard, engine) = healthy.give_up();
        self.log.give_up();
        let now = self.clock.now();
        let mut outage = Outage::new(fault, guard, Some(engine), now);
        if held_out < RELAPSE {
            outage.relapse(fault, now);
        }
        self.state = State::Outage(outage);
    }

    /// Tries to come back, if the disk takes writes again.
    pub(super) fn recover(&mut self) -> Result<(), Unrecoverable> {
        let State::Outage(outage) = &mut self.state else {
            return Ok(());
        };
        if let Err(error) = self.directory.probe(PROBE_BYTES) {
            outage.back_off(Fault::of_io(&error), self.clock.now());
            self.shared.health.send_replace(Some(outage.fault));
            return Ok(());
        }
        let failed = match self.reopen() {
            Ok(engine) => {
                self.resume(engine);
                return Ok(());
            }
            Err(Reopening::Over(unrecoverable)) => return Err(unrecoverable),
            // What is left of it may hold on to its lock, and a new process begins with nothing left over.
            Err(Reopening::Failed(error @ EngineError::Panicked(_))) => return Err(Unrecoverable::Panicked(error)),
            Err(Reopening::Failed(error)) => error,
        };
        tracing::warn!(error = %Chain(&failed), "the store cannot be opened again yet");
        if let State::Outage(outage) = &mut self.state {
            // Lists walk over what there is, as they did before the try.
            self.shared.lend(outage.reader.clone());
            // Counted from the end of the try, which may have read the whole log.
            outage.relapse(failed.fault(), self.clock.now());
            self.shared.health.send_replace(Some(outage.fault));
        }
        Ok(())
    }

    /// Closes the failed database, makes sure of its files, opens it anew and writes back what was decided meanwhile.
    fn reopen(&mut self) -> Result<Arc<Engine>, Reopening> {
        let State::Outage(outage) = &mut self.state else {
            return Err(Reopening::Failed(EngineError::NotOpen));
        };
        let lent = self.shared.lend(None);
        let reader = outage.close_reader();
        // One after the other: whichever comes last closes it.
        for engine in [lent, reader].into_iter().flatten() {
            Engine::close(engine)?;
        }
        if let Err(error) = self.directory.release_reserve() {
            tracing::debug!(error = %error, "the reserve could not be given back");
        }
        let shared = Arc::clone(&self.shared);
        // As long as it gets on it does not hang.
        let rewritten = self.directory.rewrite_records(|| shared.pulse.go_on());
        rewritten.map_err(EngineError::Sync)?;
        let engine = Arc::new(Engine::open(&self.directory.records(), self.settings.cache_bytes, self.real_sync)?);
        // Whatever happens next, it can be read.
        outage.reader = Some(Arc::clone(&engine));
        let found = engine.sequence()?;
        if found < self.synced {
            return Err(Reopening::Over(Unrecoverable::Lost { found, expected: self.synced }));
        }
        // Before what is known of their keys is written back.
        let undone = events::undo::remove_above(&engine, self.synced)?;
        if undone > 0 {
            tracing::info!(undone, "events that were never acknowledged are removed");
        }
        write_back(&engine, outage, self.clock.now())?;
        settle_events(&engine, outage)?;
        // Never below what the database has: a commit that failed may have got there all the same.
        self.shared.numbers.pass(found);
        let sequence = self.shared.numbers.draw();
        engine.write_sequence(sequence)?;
        engine.flush()?;
        (self.written, self.synced) = (sequence, sequence);
        Ok(engine)
    }

    fn resume(&mut self, engine: Arc<Engine>) {
        if let State::Outage(outage) = &self.state {
            self.clear_up(&engine, outage);
            let down_ms = self.clock.now().since(outage.since).as_millis();
            tracing::info!(down_ms, written_back = outage.guard.entries().len(), "the store is back");
        }
        let _none_was_lent = self.shared.lend(Some(Arc::clone(&engine)));
        let shared = Arc::clone(&self.shared);
        self.state = State::Healthy(Healthy::new(engine, shared, self.settings.sync, 0));
        self.shared.health.send_replace(None);
    }

    /// Counts the events anew, since some got there that nobody was told of and some may have gone, and removes what none of
    /// them names.
    fn clear_up(&self, engine: &Engine, outage: &Outage) {
        self.shared.pulse.go_on();
        match self.room.count(engine, || self.shared.pulse.go_on()) {
            Ok(stock) if stock.unreadable == 0 => {
                let doubtful = outage.doubtful.iter().filter(|file| !stock.named.contains(&file.nonce));
                doubtful.for_each(|file| self.room.remove(file));
                self.room.segments().remove_unheld();
            }
            // One that cannot be read may name what would be removed.
            Ok(_) => {}
            Err(error) => tracing::warn!(error = %Chain(&error), "the events could not be counted anew"),
        }
    }
}

/// Removes the entries of events that were handled meanwhile; their files become doubtful.
fn settle_events(engine: &Engine, outage: &mut Outage) -> Result<(), EngineError> {
    for id in &outage.settled {
        match engine.read_event(*id) {
            Ok(Some(kept)) if events::keep::is_settled(&kept.event.state) => {
                outage.doubtful.extend(kept.place.file());
                events::desk::remove(engine, *id, &Counted::of(&kept))?;
            }
            Ok(_) => {}
            Err(EngineError::Damaged(_)) => engine.write_event(*id, None)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes what was decided meanwhile. What was decided while nothing was known of its key gives way to a record that says
/// that the key is done, and to one that still cannot be read.
fn write_back(engine: &Engine, outage: &Outage, now: Timestamp) -> Result<(), EngineError> {
    for (key, record, blind) in outage.guard.entries() {
        if blind && !matches!(record, Some(Record::Done(_))) {
            match engine.read(key) {
                Ok(Some(there @ Record::Done(_))) if !events::pin::is_gone(engine, &there, now)? => continue,
                Ok(_) => {}
                Err(EngineError::Damaged(_)) => continue,
                Err(error) => return Err(error),
            }
        }
        engine.write(key, record)?;
    }
    Ok(())
}

/// Why nothing more may be answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unrecoverable {
    #[error("the store came back at commit {found}, but commit {expected} was acknowledged")]
    Lost { found: u64, expected: u64 },
    #[error("the store broke down while it was opened or closed")]
    Panicked(#[source] EngineError),
    #[error("the store could not be closed in order; what was answered from memory only is lost")]
    NotClosed(#[source] EngineError),
}

enum Reopening {
    Failed(EngineError),
    Over(Unrecoverable),
}

impl From<EngineError> for Reopening {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{ConfirmedTtl, Done, Free, Key, Namespace};
    use crate::event::{Arrival, Event, EventId};
    use crate::store::guard::Guard;
    use crate::store::kept::{ContentFile, Kept, Place};
    use crate::store::record::encode_event;

    /// An event that is not handled yet, in the database.
    fn waiting(engine: &Engine, namespace: Namespace) -> EventId {
        let id = EventId::queued(7, [7; 8]);
        let arrival = Arrival {
            route: "q".into(),
            app: "app".into(),
            namespace,
            key: None,
            confirmed_ttl: ConfirmedTtl::MAX,
            received_at: Timestamp::from_millis(1),
        };
        let event = Event::accepted(id, 7, &arrival, 0);
        let place = Place::File(ContentFile { nonce: 1, bytes: 0 });
        let kept = Kept { event, place, remembered_until: None, record_bytes: 0 };
        engine.write_event(id, encode_event(&kept).as_deref()).expect("written");
        id
    }

    /// A claim that was granted because nothing could be read was written over the record that said that the key was done;
    /// later only over one that had run out, though its event still waited in its queue and was handed over twice.
    #[test]
    fn what_was_decided_blindly_gives_way_to_a_key_that_is_done() {
        let dir = tempfile::tempdir().expect("a directory");
        let engine = Engine::open(dir.path(), 1 << 20, false).expect("it opens");
        let (now, later) = (Timestamp::from_millis(1_000), Timestamp::from_millis(1_000).plus(ConfirmedTtl::MAX));
        let free = Record::Free(Free { attempt: 2, expires_at: later });
        let done = |attempt, expires_at| {
            let (fingerprint, owner, result) = (None, None, None);
            Record::Done(Done { confirmed_at: now, expires_at, attempt, fingerprint, owner, result, event: None })
        };
        let namespace = Namespace::parse("a").expect("good");
        let event = Some(waiting(&engine, namespace.clone()).into());
        let Record::Done(gone) = done(1, now) else { panic!("it is done") };
        let pinned = Record::Done(Done { event, ..gone });
        let cases = [
            ("pinned", Some(pinned.clone()), free.clone(), Some(pinned)),
            ("done", Some(done(1, later)), free.clone(), Some(done(1, later))),
            ("gone", Some(done(1, now)), free.clone(), Some(free.clone())),
            ("absent", None, free.clone(), Some(free.clone())),
            ("confirmed", Some(done(1, later)), done(2, later), Some(done(2, later))),
        ];
        let key = |id: &str| Key::new(&namespace, id).expect("good");
        let mut guard = Guard::new();
        for (id, there, decided, _) in &cases {
            engine.write(&key(id), there.as_ref()).expect("written");
            assert!(guard.remember_blindly(&key(id), Some(decided.clone()), now));
        }
        engine.write(&key("known"), Some(&done(1, later))).expect("written");
        assert!(guard.remember(&key("known"), Some(free.clone()), now));
        write_back(&engine, &Outage::new(Fault::Io, guard, None, now), now).expect("written");
        for (id, _, _, after) in &cases {
            assert_eq!(&engine.read(&key(id)).expect("readable"), after, "{id}");
        }
        assert_eq!(engine.read(&key("known")).expect("readable"), Some(free));
    }
}
