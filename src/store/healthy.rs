//! Deciding against the database, and remembering what it would take to undo the part that is not synced yet.

use std::sync::Arc;
use std::time::Instant;

use super::content_log::ContentLog;
use super::engine::{Engine, EngineError};
use super::events::{Work, pin};
use super::fault::Fault;
use super::guard::Guard;
use super::job::{Answer, AnswerAt, Desk, Reading, Reply, Request};
use super::known::Known;
use super::room::Noted;
use super::settings::{OnStoreFailure, SyncMode};
use super::shared::{Records, Shared};
use crate::chain::Chain;
use crate::claim::{Change, Command, Decision, Key, Moment, Record, Timestamp, decide};

/// The database, and what it would take to undo its unsynced part.
pub(super) struct Healthy {
    pub(super) engine: Arc<Engine>,
    /// Holds what the group under way has overwritten.
    pub(super) shared: Arc<Shared>,
    /// What the group under way has written, if it will be answered before it is synced.
    written: Records,
    /// What was answered for and is not synced: all of it with `sync = "interval"`, else claims that were answered early.
    unsynced: Records,
    /// Since when a claim that was answered early waits for its sync.
    pub(super) early_since: Option<Instant>,
    sync: SyncMode,
    /// When it was opened.
    pub(super) since: Instant,
    pub(super) last_sync: Instant,
    pub(super) last_mark: Instant,
    /// The commit that the mark on disk speaks of.
    pub(super) marked: u64,
}

impl Healthy {
    pub(super) fn new(engine: Arc<Engine>, shared: Arc<Shared>, sync: SyncMode, marked: u64) -> Self {
        let now = Instant::now();
        Self {
            engine,
            shared,
            written: Records::new(),
            unsynced: Records::new(),
            early_since: None,
            sync,
            since: now,
            last_sync: now,
            last_mark: now,
            marked,
        }
    }

    /// The truth about every key whose record in the database may be wrong or may be lost, where it is known.
    pub(super) fn give_up(&mut self) -> (Guard, Arc<Engine>) {
        let mut guard = Guard::new();
        // Of that which the failed group overwrote the first, and of what was answered for the latest.
        let overwritten = std::mem::take(&mut *self.shared.overwritten());
        for (key, known) in overwritten.into_iter().rev() {
            match known {
                Known::Record(record) => guard.correct(&key, record),
                // What could not be read then is asked of the database again.
                Known::Nothing => guard.drop(&key),
            }
        }
        for (key, record) in self.unsynced.drain(..) {
            guard.correct(&key, record);
        }
        (guard, Arc::clone(&self.engine))
    }

    /// The desk for one group.
    pub(super) fn desk<'a>(&'a mut self, log: &'a mut ContentLog, now: Timestamp) -> HealthyDesk<'a> {
        self.shared.overwritten().clear();
        self.written.clear();
        HealthyDesk { healthy: self, log, now, noted: Vec::new(), is_written: false }
    }

    /// Syncs all that was written, up to the commit with this number, which it hands back.
    pub(super) fn sync(&mut self, sequence: u64) -> Result<u64, EngineError> {
        self.engine.flush()?;
        self.shared.overwritten().clear();
        self.unsynced.clear();
        self.early_since = None;
        self.last_sync = Instant::now();
        Ok(sequence)
    }

    /// With `sync = "interval"` the group is answered now, so its values are what must not be lost.
    pub(super) fn answer_before_sync(&mut self) {
        self.shared.overwritten().clear();
        self.unsynced.append(&mut self.written);
    }
}

pub(super) struct HealthyDesk<'a> {
    pub(super) healthy: &'a mut Healthy,
    /// Where what is sent goes.
    pub(super) log: &'a mut ContentLog,
    pub(super) now: Timestamp,
    /// The entries that the question about events under way has changed.
    pub(super) noted: Vec<Noted>,
    /// Whether it has changed anything.
    pub(super) is_written: bool,
}

impl HealthyDesk<'_> {
    /// Writes the record of a key.
    pub(super) fn put(
        &mut self,
        key: &Key,
        before: Known,
        next: Option<Record>,
        answer_at: AnswerAt,
    ) -> Result<(), EngineError> {
        // Noted first: a write that fails may have got there all the same.
        self.healthy.shared.overwritten().push((key.clone(), before));
        self.healthy.engine.write(key, next.as_ref())?;
        self.wrote(key, next, answer_at);
        Ok(())
    }

    fn wrote(&mut self, key: &Key, next: Option<Record>, answer_at: AnswerAt) {
        match (self.healthy.sync, answer_at) {
            (SyncMode::Always, AnswerAt::Sync) => {}
            (SyncMode::Interval, _) | (SyncMode::Always, AnswerAt::Decision) => {
                self.healthy.written.push((key.clone(), next));
            }
        }
    }

    /// Takes note that what was written last has been answered: it must not be lost any more, and it is the truth for whoever
    /// reads past this thread. So nothing is known of what its key had before, also where this group wrote it before: a sync
    /// that fails has not to undo that, but to keep what was answered for.
    pub(super) fn answered_early(&mut self) {
        if let Some((key, record)) = self.healthy.written.pop() {
            self.healthy.shared.overwritten().retain(|(written, _)| *written != key);
            self.healthy.unsynced.push((key, record));
        }
        self.healthy.early_since.get_or_insert_with(Instant::now);
    }

    fn pinned(&self, record: Option<Record>) -> Result<Option<Record>, EngineError> {
        record.map(|record| pin::pinned(&self.healthy.engine, record, self.now)).transpose()
    }

    /// Decides with the next number, which is drawn only if something changes.
    fn decide(&self, record: Option<&Record>, command: &Command) -> (Decision, u64) {
        let numbers = &self.healthy.shared.numbers;
        let number = numbers.draw();
        let decision = decide(record, command, Moment { now: self.now, sequence: number });
        if let Change::Keep = decision.change {
            numbers.give_back(number);
        }
        (decision, number)
    }

    /// Most claims are the first of their key: they are decided as such and written only if the key has no record, which
    /// spares a walk through the tree. `None` when it has one.
    fn first_claim(&mut self, request: &Request) -> Result<Option<Answer>, EngineError> {
        let (decision, number) = self.decide(None, &request.command);
        let Change::Put(record) = decision.change else {
            return Ok(None);
        };
        // Noted first, for whoever reads past this thread: what it reads is not answered for yet.
        let (key, shared) = (&request.key, &self.healthy.shared);
        shared.overwritten().push((key.clone(), Known::Record(None)));
        match self.healthy.engine.create(key, &record) {
            Ok(true) => {
                self.wrote(key, Some(record), request.answer_at);
                Ok(Some(Answer { outcome: decision.outcome, degraded: None }))
            }
            Ok(false) => {
                shared.overwritten().pop();
                shared.numbers.give_back(number);
                Ok(None)
            }
            Err(error) => {
                // It may have got there or not, and the key may have had a record that was never looked at.
                let before = match self.healthy.engine.read(key) {
                    Ok(before) => Known::Record(before.filter(|before| *before != record)),
                    Err(_) => Known::Nothing,
                };
                if let Some((_, noted)) = shared.overwritten().last_mut() {
                    *noted = before;
                }
                Err(error)
            }
        }
    }
}

impl Desk for HealthyDesk<'_> {
    type Failure = EngineError;

    fn command(&mut self, request: &Request) -> Result<Reply, EngineError> {
        if let Command::Claim(_) = request.command
            && let Some(answer) = self.first_claim(request)?
        {
            return Ok(Ok(answer));
        }
        let key = &request.key;
        let (before, degraded) = match self.healthy.engine.read(key) {
            Ok(record) => (Known::Record(self.pinned(record)?), None),
            Err(error @ EngineError::Damaged(_)) => {
                tracing::error!(key = ?key, error = %Chain(&error), "a record cannot be read");
                // These two need nothing of what was there, and are the way out.
                let lands = matches!(request.command, Command::Confirm(_) | Command::Forget);
                if request.on_failure == OnStoreFailure::Closed && !lands {
                    return Ok(Err(Fault::Damaged));
                }
                (Known::Nothing, Some(Fault::Damaged))
            }
            Err(error) => return Err(error),
        };
        let record = match &before {
            Known::Record(record) => record.as_ref(),
            Known::Nothing => None,
        };
        let (decision, _) = self.decide(record, &request.command);
        match decision.change {
            // What cannot be read can still be forgotten.
            Change::Keep if degraded.is_some() && matches!(request.command, Command::Forget) => {
                self.healthy.shared.numbers.draw();
                self.put(key, before, None, request.answer_at)?;
            }
            Change::Keep => {}
            Change::Put(next) => self.put(key, before, Some(next), request.answer_at)?,
            Change::Remove => self.put(key, before, None, request.answer_at)?,
        }
        Ok(Ok(Answer { outcome: decision.outcome, degraded }))
    }

    fn read(&mut self, key: &Key) -> Result<Result<Reading, Fault>, EngineError> {
        match self.healthy.engine.read(key) {
            Ok(record) => Ok(Ok(Reading { record: self.pinned(record)?, degraded: None })),
            Err(EngineError::Damaged(_)) => Ok(Err(Fault::Damaged)),
            Err(error) => Err(error),
        }
    }

    fn sweep(&mut self, key: &Key) -> Result<bool, EngineError> {
        match self.healthy.engine.read(key) {
            Ok(Some(record)) if pin::is_gone(&self.healthy.engine, &record, self.now)? => {
                // No number, and so no sync: a removal that is lost is swept again.
                self.healthy.engine.write(key, None)?;
                Ok(true)
            }
            // A damaged record is told of when somebody asks for it.
            Ok(_) | Err(EngineError::Damaged(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn events(&mut self, work: &mut dyn Work) -> Result<(), EngineError> {
        work.decide(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{Claim, Confirm, ConfirmedTtl, Namespace, ProcessingTtl, Token};
    use crate::metrics::Metrics;
    use crate::store::numbers::Numbers;

    const NOW: Timestamp = Timestamp::from_millis(1_000);

    fn request(id: &str, command: Command, on_failure: OnStoreFailure) -> Request {
        let key = Key::new(&Namespace::parse("a").expect("good"), id).expect("good");
        Request { key, command, on_failure, answer_at: AnswerAt::Sync }
    }

    fn claim() -> Command {
        Command::Claim(Claim {
            token: Token::from_bits([1; 16]),
            processing_ttl: ProcessingTtl::new(std::time::Duration::from_secs(60)).expect("good"),
            retention: ConfirmedTtl::MAX,
            fingerprint: None,
            owner: None,
        })
    }

    fn confirm() -> Command {
        Command::Confirm(Confirm { token: None, confirmed_ttl: ConfirmedTtl::MAX, result: None })
    }

    fn log(dir: &std::path::Path) -> ContentLog {
        ContentLog::open(dir).expect("it opens").0
    }

    fn healthy(dir: &std::path::Path) -> Healthy {
        let engine = Arc::new(Engine::open(dir, 1 << 20, false).expect("it opens"));
        let shared = Arc::new(Shared::new(Arc::new(Metrics::new()), None, Numbers::after(0)));
        Healthy::new(engine, shared, SyncMode::Always, 0)
    }

    /// In a closed namespace a damaged record blocked its key for ever: even forgetting it was refused.
    #[test]
    fn a_damaged_record_can_be_confirmed_and_forgotten_in_a_closed_namespace() {
        let dir = tempfile::tempdir().expect("a directory");
        let (mut healthy, mut log) = (healthy(dir.path()), log(dir.path()));
        for (id, command) in [("k-1", Command::Forget), ("k-2", confirm())] {
            let spoiled = request(id, claim(), OnStoreFailure::Closed);
            healthy.engine.spoil(&spoiled.key);
            let mut desk = healthy.desk(&mut log, NOW);
            assert_eq!(desk.command(&spoiled).expect("it goes on"), Err(Fault::Damaged));
            let before = desk.healthy.shared.numbers.last();
            let answer = desk.command(&request(id, command, OnStoreFailure::Closed)).expect("it goes on");
            assert_eq!(answer.expect("it is answered").degraded, Some(Fault::Damaged));
            assert!(desk.healthy.shared.numbers.last() > before, "it has a number, and so a sync");
            let again = desk.command(&spoiled).expect("it goes on").expect("it is answered");
            assert_eq!(again.degraded, None);
        }
    }

    /// The holder is at work by then: whoever asks next must find the key held, also when the sync fails.
    #[test]
    fn a_claim_that_was_answered_early_is_held_whatever_becomes_of_its_sync() {
        let dir = tempfile::tempdir().expect("a directory");
        let (mut healthy, mut log) = (healthy(dir.path()), log(dir.path()));
        let early = Request { answer_at: AnswerAt::Decision, ..request("early", claim(), OnStoreFailure::Open) };
        let late = request("late", claim(), OnStoreFailure::Open);
        let mut desk = healthy.desk(&mut log, NOW);
        for request in [&early, &late] {
            desk.command(request).expect("it goes on").expect("it is answered");
            if request.answer_at == AnswerAt::Decision {
                desk.answered_early();
            }
        }
        let shared = Arc::clone(&healthy.shared);
        shared.lend(Some(Arc::clone(&healthy.engine)));
        let held = |known: Known| matches!(known, Known::Record(Some(Record::Held(_))));
        assert!(held(shared.read_past_commits(&early.key, NOW)) && !held(shared.read_past_commits(&late.key, NOW)));
        let (guard, _) = healthy.give_up();
        assert!(matches!(guard.entry(&early.key), Some(Some(Record::Held(_)))), "{:?}", guard.entry(&early.key));
        assert!(matches!(guard.entry(&late.key), Some(None)), "{:?}", guard.entry(&late.key));
    }

    /// Where the same group had written the key before, whoever read past the commit thread was told what it had before that,
    /// though a holder was at work.
    #[test]
    fn what_was_answered_early_is_the_truth_whatever_the_group_wrote_before_and_after() {
        let dir = tempfile::tempdir().expect("a directory");
        let (mut healthy, mut log) = (healthy(dir.path()), log(dir.path()));
        let (late, forget) =
            (request("k", claim(), OnStoreFailure::Open), request("k", Command::Forget, OnStoreFailure::Open));
        let other = request("other", claim(), OnStoreFailure::Open);
        let early = Request { answer_at: AnswerAt::Decision, ..late.clone() };
        let shared = Arc::clone(&healthy.shared);
        shared.lend(Some(Arc::clone(&healthy.engine)));
        let is_held = |key: &Key| matches!(shared.read_past_commits(key, NOW), Known::Record(Some(Record::Held(_))));
        let mut desk = healthy.desk(&mut log, NOW);
        for request in [&other, &late, &forget, &early] {
            assert!(!is_held(&early.key), "nobody was told of it yet");
            desk.command(request).expect("it goes on").expect("it is answered");
        }
        desk.answered_early();
        assert!(is_held(&early.key));
        desk.command(&forget).expect("it goes on").expect("it is answered");
        assert!(is_held(&early.key), "that it is forgotten is not told before the sync");
        assert!(!is_held(&other.key), "of other keys it says nothing");
        let (guard, _) = healthy.give_up();
        assert!(matches!(guard.entry(&early.key), Some(Some(Record::Held(_)))), "{:?}", guard.entry(&early.key));
        assert!(matches!(guard.entry(&other.key), Some(None)), "{:?}", guard.entry(&other.key));
    }

    /// A record that could not be read counted as absent: when the database came back the key was removed.
    #[test]
    fn what_could_not_be_read_is_not_written_back_as_absent() {
        let dir = tempfile::tempdir().expect("a directory");
        let (mut healthy, mut log) = (healthy(dir.path()), log(dir.path()));
        let spoiled = request("k", confirm(), OnStoreFailure::Open);
        healthy.engine.spoil(&spoiled.key);
        let mut desk = healthy.desk(&mut log, NOW);
        desk.command(&spoiled).expect("it goes on").expect("it is answered");
        desk.command(&spoiled).expect("it goes on").expect("it is answered");
        desk.command(&request("new", claim(), OnStoreFailure::Open)).expect("it goes on").expect("it is answered");
        let (guard, _) = healthy.give_up();
        assert_eq!(guard.entry(&spoiled.key), None);
        assert_eq!(guard.entries().len(), 1, "the claim that nobody was told of is undone");
    }
}
