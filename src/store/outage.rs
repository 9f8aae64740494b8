//! Deciding while the database is down.
//!
//! The failed database is kept for reads, so keys that were done before stay done; the guard overrides it. A decision
//! that would write lands in the guard if the request says `open`, and is refused if it says `closed`. What the refused
//! caller has already done counts all the same: a confirm or release is remembered, because its caller may not come back.
//!
//! No event is kept or accepted meanwhile: memory is not where it is safe, and saying so would be a lie. That one is done
//! with after all is remembered like a confirm.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use super::engine::Engine;
use super::events::{Work, pin};
use super::fault::Fault;
use super::guard::Guard;
use super::job::{Answer, Desk, Reading, Reply, Request};
use super::known::Known;
use super::numbers::Numbers;
use super::recall::Recall;
use super::settings::OnStoreFailure;
use crate::claim::{Change, Command, Key, Moment, Timestamp, decide};
use crate::event::EventId;

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
    /// Dead letters that were handled after all: their entries go when the database is back.
    pub(super) settled: HashSet<EventId>,
    /// What it held, once it had to be closed so that the next one can be opened.
    recall: Recall,
    pub(super) since: Timestamp,
    retry_ms: u64,
    retry_at: Timestamp,
}

impl Outage {
    pub(super) fn new(fault: Fault, guard: Guard, reader: Option<Arc<Engine>>, now: Timestamp) -> Self {
        let retry_at = Timestamp::from_millis(now.as_millis() + FIRST_RETRY_MS);
        Self {
            fault,
            guard,
            reader,
            settled: HashSet::new(),
            recall: Recall::default(),
            since: now,
            retry_ms: FIRST_RETRY_MS,
            retry_at,
        }
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

    /// Hands the failed database over to be closed, and keeps in mind what it holds: opening may fail, and go on failing.
    pub(super) fn close_reader(&mut self) -> Option<Arc<Engine>> {
        let reader = self.reader.take()?;
        self.recall.add(&reader, self.since);
        Some(reader)
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
    pub(super) fn desk<'a>(&'a mut self, now: Timestamp, numbers: &'a Numbers) -> OutageDesk<'a> {
        OutageDesk { outage: self, now, numbers }
    }

    fn known(&self, key: &Key, now: Timestamp) -> Known {
        match self.guard.entry(key) {
            Some(known) => Known::Record(known.cloned()),
            // What was read out first is as good as it gets: a database that was opened and could not be written to may have
            // lost its way, and the guard knows all that has changed since.
            None => match (self.recall.read(key), &self.reader) {
                (Some(record), _) => Known::Record(Some(record)),
                (None, Some(reader)) => {
                    let pinned = |record| pin::pinned(reader, record, now);
                    reader.read(key).and_then(|record| record.map(pinned).transpose()).into()
                }
                (None, None) => Known::Nothing,
            },
        }
    }
}

pub(super) struct OutageDesk<'a> {
    outage: &'a mut Outage,
    now: Timestamp,
    numbers: &'a Numbers,
}

impl Desk for OutageDesk<'_> {
    type Failure = Infallible;

    fn command(&mut self, request: &Request) -> Result<Reply, Infallible> {
        let fault = self.outage.fault;
        let (record, blind) = match self.outage.known(&request.key, self.now) {
            Known::Record(record) => (record, false),
            // What cannot be read can still be claimed where the caller says so: the answer tells that it is degraded, and
            // a key that turns out to be done stays done.
            Known::Nothing => (None, true),
        };
        let open = request.on_failure == OnStoreFailure::Open;
        let finishes = matches!(request.command, Command::Confirm(_) | Command::Release { .. });
        if blind && (!open || matches!(request.command, Command::Forget)) && !finishes {
            return Ok(Err(fault));
        }
        let number = self.numbers.draw();
        let decision = decide(record.as_ref(), &request.command, Moment { now: self.now, sequence: number });
        let answer = Answer { outcome: decision.outcome, degraded: Some(fault) };
        let next = match decision.change {
            Change::Keep => {
                self.numbers.give_back(number);
                return Ok(if blind && !open { Err(fault) } else { Ok(answer) });
            }
            Change::Put(record) => Some(record),
            Change::Remove => None,
        };
        if open || finishes {
            // A guard full of held claims cannot remember one more: the answer stands, degraded and unguarded.
            let _remembered = match blind {
                true => self.outage.guard.remember_blindly(&request.key, next, self.now),
                false => self.outage.guard.remember(&request.key, next, self.now),
            };
        }
        Ok(if open { Ok(answer) } else { Err(fault) })
    }

    fn read(&mut self, key: &Key) -> Result<Result<Reading, Fault>, Infallible> {
        Ok(match self.outage.known(key, self.now) {
            Known::Record(record) => Ok(Reading { record, degraded: Some(self.outage.fault) }),
            Known::Nothing => Err(self.outage.fault),
        })
    }

    fn sweep(&mut self, _key: &Key) -> Result<bool, Infallible> {
        Ok(false)
    }

    fn events(&mut self, work: &mut dyn Work) -> Result<(), Infallible> {
        work.decide_down(self.outage);
        Ok(())
    }
}
