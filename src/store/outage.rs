//! Deciding while the database is down.
//!
//! The failed database is kept for reads, so keys that were done before stay done; the guard overrides it. A decision
//! that would write lands in the guard if the request says `open`, and is refused if it says `closed`. What the refused
//! caller has already done counts all the same: a confirm or release is remembered, because its caller may not come back.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use super::engine::Engine;
use super::fault::Fault;
use super::guard::Guard;
use super::job::{Answer, Desk, Reading, Reply, Request};
use super::recall::Recall;
use super::settings::OnStoreFailure;
use crate::claim::{Change, Command, Key, Moment, Record, Timestamp, decide};

/// The first try to come back, in milliseconds after the failure; each further one waits twice as long.
const FIRST_RETRY_MS: u64 = 250;
/// The longest pause between two tries: service is back within seconds of the cause's end.
const LAST_RETRY_MS: u64 = 2_000;
/// The pause where the disk took the probe and then failed the database: each such turn costs some lines in the log, most
/// of them sled's own, and they have to stay under a hundred a minute.
const RELAPSE_RETRY_MS: u64 = 4_000;

#[derive(Debug)]
pub(super) struct Outage {
    pub(super) fault: Fault,
    pub(super) guard: Guard,
    /// The failed database, for reads; none while opening fails.
    pub(super) reader: Option<Arc<Engine>>,
    /// What it held, once it had to be closed so that the next one can be opened.
    recall: Recall,
    pub(super) since: Timestamp,
    retry_ms: u64,
    retry_at: Timestamp,
}

impl Outage {
    pub(super) fn new(fault: Fault, guard: Guard, reader: Option<Arc<Engine>>, now: Timestamp) -> Self {
        let retry_at = Timestamp::from_millis(now.as_millis() + FIRST_RETRY_MS);
        Self { fault, guard, reader, recall: Recall::default(), since: now, retry_ms: FIRST_RETRY_MS, retry_at }
    }

    /// Puts off the next try for longer, because the last one got past the probe.
    pub(super) fn relapse(&mut self, fault: Fault, now: Timestamp) {
        self.fault = fault;
        self.back_off_to(RELAPSE_RETRY_MS, now);
    }

    /// Whether it is time to try to come back.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.retry_at <= now
    }

    pub(super) fn until_retry(&self, now: Timestamp) -> Duration {
        self.retry_at.since(now)
    }

    /// Closes the failed database, and keeps in mind what it holds: opening may fail, and go on failing.
    pub(super) fn close_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.recall.add(&reader, self.since);
        }
    }

    /// Puts off the next try.
    pub(super) fn back_off(&mut self, fault: Fault, now: Timestamp) {
        self.fault = fault;
        self.back_off_to((self.retry_ms * 2).min(LAST_RETRY_MS), now);
    }

    fn back_off_to(&mut self, retry_ms: u64, now: Timestamp) {
        self.retry_ms = retry_ms;
        self.retry_at = Timestamp::from_millis(now.as_millis() + retry_ms);
    }

    /// The desk for one group.
    pub(super) fn desk<'a>(&'a mut self, now: Timestamp, sequence: &'a mut u64) -> OutageDesk<'a> {
        OutageDesk { outage: self, now, sequence }
    }

    fn record(&self, key: &Key) -> Option<Record> {
        match self.guard.entry(key) {
            Some(known) => known.cloned(),
            // What cannot be read is not known; the answer says that it is degraded.
            // What was read out first is as good as it gets: a database that was opened and could not be written to may have
            // lost its way, and the guard knows all that has changed since.
            None => self.recall.read(key).or_else(|| {
                let reader = self.reader.as_ref()?;
                reader.read(key).ok().flatten()
            }),
        }
    }
}

pub(super) struct OutageDesk<'a> {
    outage: &'a mut Outage,
    now: Timestamp,
    sequence: &'a mut u64,
}

impl Desk for OutageDesk<'_> {
    type Failure = Infallible;

    fn command(&mut self, request: &Request) -> Result<Reply, Infallible> {
        let fault = self.outage.fault;
        let record = self.outage.record(&request.key);
        let moment = Moment { now: self.now, sequence: *self.sequence + 1 };
        let decision = decide(record.as_ref(), &request.command, moment);
        let answer = Answer { outcome: decision.outcome, degraded: Some(fault) };
        let next = match decision.change {
            Change::Keep => return Ok(Ok(answer)),
            Change::Put(record) => Some(record),
            Change::Remove => None,
        };
        let finishes = matches!(request.command, Command::Confirm(_) | Command::Release { .. });
        let open = request.on_failure == OnStoreFailure::Open;
        if open || finishes {
            *self.sequence += 1;
            // A guard full of held claims cannot remember one more: the answer stands, degraded and unguarded.
            let _remembered = self.outage.guard.remember(&request.key, next);
        }
        Ok(if open { Ok(answer) } else { Err(fault) })
    }

    fn read(&mut self, key: &Key) -> Result<Result<Reading, Fault>, Infallible> {
        Ok(Ok(Reading { record: self.outage.record(key), degraded: Some(self.outage.fault) }))
    }

    fn sweep(&mut self, _key: &Key) -> Result<bool, Infallible> {
        Ok(false)
    }
}
