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
use super::engine::{Engine, EngineError};
use super::fault::Fault;
use super::healthy::Healthy;
use super::outage::Outage;
use crate::chain::Chain;
use crate::claim::Timestamp;

/// A store that fails again within this time after it came back was not well: a nearly full disk takes a few commits.
const RELAPSE: Duration = Duration::from_secs(10);
/// What the disk must take before the database is opened again: sled writes about that much when it opens.
const PROBE_BYTES: usize = 1 << 20;

impl Committer {
    pub(super) fn fail(&mut self, error: &EngineError) {
        let fault = error.fault();
        tracing::error!(fault = %fault, error = %Chain(error), "the store failed; answering from memory until it is back");
        self.state = match std::mem::replace(&mut self.state, State::Changing) {
            State::Healthy(healthy) => {
                let held_out = healthy.since.elapsed();
                let (guard, engine) = healthy.into_guard();
                let mut outage = Outage::new(fault, guard, Some(engine), self.clock.now());
                if held_out < RELAPSE {
                    outage.relapse(fault, self.clock.now());
                }
                State::Outage(outage)
            }
            other => other,
        };
        self.shared.health.send_replace(Some(fault));
    }

    /// Tries to come back, if the disk takes writes again.
    pub(super) fn recover(&mut self, now: Timestamp) -> Result<(), Unrecoverable> {
        let State::Outage(outage) = &mut self.state else {
            return Ok(());
        };
        if let Err(error) = self.directory.probe(PROBE_BYTES) {
            outage.back_off(Fault::of_io(&error), now);
            self.shared.health.send_replace(Some(outage.fault));
            return Ok(());
        }
        match self.reopen() {
            Ok(engine) => {
                self.resume(engine, now);
                Ok(())
            }
            Err(Reopening::Over(unrecoverable)) => Err(unrecoverable),
            // What is left of it may hold on to its lock, and a new process begins with nothing left over.
            Err(Reopening::Failed(error @ EngineError::Panicked(_))) => Err(Unrecoverable::Panicked(error)),
            Err(Reopening::Failed(error)) => {
                let State::Outage(outage) = &mut self.state else {
                    return Ok(());
                };
                outage.relapse(error.fault(), now);
                tracing::warn!(error = %Chain(&error), "the store cannot be opened again yet");
                Ok(())
            }
        }
    }

    /// Closes the failed database, makes sure of its files, opens it anew and writes back what was decided meanwhile.
    fn reopen(&mut self) -> Result<Arc<Engine>, Reopening> {
        let State::Outage(outage) = &mut self.state else {
            return Err(Reopening::Failed(EngineError::NotOpen));
        };
        outage.close_reader();
        self.shared.lend(None);
        if let Err(error) = self.directory.release_reserve() {
            tracing::debug!(error = %error, "the reserve could not be given back");
        }
        let shared = Arc::clone(&self.shared);
        // As long as it gets on it does not hang.
        let rewritten = self.directory.rewrite_records(|| shared.pulse.begin());
        rewritten.map_err(EngineError::Sync)?;
        let engine = Arc::new(Engine::open(&self.directory.records(), self.settings.cache_bytes, self.real_sync)?);
        // Whatever happens next, it can be read.
        outage.reader = Some(Arc::clone(&engine));
        let found = engine.sequence()?;
        if found < self.synced {
            return Err(Reopening::Over(Unrecoverable::Lost { found, expected: self.synced }));
        }
        for (key, record) in outage.guard.entries() {
            engine.write(key, record)?;
        }
        // Never below what the database has: a commit that failed may have got there all the same.
        self.sequence = self.sequence.max(found) + 1;
        engine.write_sequence(self.sequence)?;
        engine.flush()?;
        (self.written, self.synced) = (self.sequence, self.sequence);
        Ok(engine)
    }

    fn resume(&mut self, engine: Arc<Engine>, now: Timestamp) {
        self.shared.lend(Some(Arc::clone(&engine)));
        let shared = Arc::clone(&self.shared);
        let healthy = State::Healthy(Healthy::new(engine, shared, self.settings.sync, 0));
        if let State::Outage(outage) = std::mem::replace(&mut self.state, healthy) {
            let (down_ms, written_back) = (now.since(outage.since).as_millis(), outage.guard.entries().len());
            tracing::info!(down_ms, written_back, "the store is back");
        }
        self.shared.health.send_replace(None);
    }
}

/// Why nothing more may be answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unrecoverable {
    #[error("the store came back at commit {found}, but commit {expected} was acknowledged")]
    Lost { found: u64, expected: u64 },
    #[error("the store broke down while it was opened again")]
    Panicked(#[source] EngineError),
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
