//! Answering where the commit thread does not, because a commit hangs. The process ends soon after, or the disk wakes up.
//!
//! Nothing here is written. The database is read past the commit thread, without what the hanging group has put there, so
//! keys that were done stay done and keys that are held stay held; what is decided on top is kept in a guard. A claim that
//! is answered here may still land in the database, with the token that is told here. So the guard goes once the jobs that
//! waited with it are decided: from then on the database knows better.
//!
//! What is done and held is known here only as long as the database speaks for all of it. Once it has failed, the commit
//! thread's guard overrides it, and while it is reopened nobody can ask it; a round that hangs *then* is answered with the
//! fault, for open namespaces too. The contract lets those be claimed unless this process knows better, and it does: it is
//! only that nobody can be asked, and a key that is done would be handed out anew. The option not taken is a guard that two
//! threads share, for the few seconds between a second fault and the end of the process. A disk that does not even read
//! leaves nothing known, by whomever: then open means claimed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::fault::Fault;
use super::guard::Guard;
use super::job::{Answer, Reply, Request};
use super::known::Known;
use super::settings::OnStoreFailure;
use super::shared::Shared;
use crate::claim::{Change, Key, Moment, Timestamp, decide};

/// How long reading may take when a commit is overdue already.
const READ_DEADLINE: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct LastResort {
    recent: Mutex<Recent>,
}

/// What was decided, and in which round of the commit thread the first of it.
#[derive(Debug)]
struct Recent {
    guard: Guard,
    round: u64,
}

impl LastResort {
    pub(super) fn new() -> Self {
        Self { recent: Mutex::new(Recent { guard: Guard::new(), round: 0 }) }
    }

    /// Answers these requests, in order.
    pub(super) async fn answer(
        &self,
        shared: &Arc<Shared>,
        requests: Vec<Request>,
        fault: Fault,
        now: Timestamp,
    ) -> Vec<Reply> {
        let known = read(shared, &requests, now).await;
        // Asked after the reads: a database that fails loses its notes of what was overwritten only once this is told.
        let down = *shared.health.borrow();
        if let Some(down) = down {
            return requests.iter().map(|_| Err(down)).collect();
        }
        let known = known.into_iter().chain(std::iter::repeat(Known::Nothing));
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.forget_before(shared.pulse.round());
        let answer = |(request, known)| decide_one(&mut recent.guard, shared, request, known, fault, now);
        requests.iter().zip(known).map(answer).collect()
    }
}

impl Recent {
    /// Begins anew once the jobs that waited for the hanging round are decided: they are so in the round after it.
    fn forget_before(&mut self, round: u64) {
        if round > self.round + 1 || self.guard.entries().len() == 0 {
            *self = Self { guard: Guard::new(), round };
        }
    }
}

async fn read(shared: &Arc<Shared>, requests: &[Request], now: Timestamp) -> Vec<Known> {
    let shared = Arc::clone(shared);
    let keys: Vec<Key> = requests.iter().map(|request| request.key.clone()).collect();
    let read = move || keys.iter().map(|key| shared.read_past_commits(key, now)).collect();
    let read = tokio::time::timeout(READ_DEADLINE, tokio::task::spawn_blocking(read)).await;
    read.ok().and_then(Result::ok).unwrap_or_default()
}

fn decide_one(
    guard: &mut Guard,
    shared: &Shared,
    request: &Request,
    known: Known,
    fault: Fault,
    now: Timestamp,
) -> Reply {
    let open = request.on_failure == OnStoreFailure::Open;
    let known = guard.entry(&request.key).map_or(known, |entry| Known::Record(entry.cloned()));
    let record = match known {
        Known::Record(record) => record,
        Known::Nothing if open => None,
        Known::Nothing => return Err(fault),
    };
    // Never given back: that is the commit thread's alone.
    let decision = decide(record.as_ref(), &request.command, Moment { now, sequence: shared.numbers.draw() });
    let next = match decision.change {
        Change::Keep => None,
        Change::Put(record) => Some(Some(record)),
        Change::Remove => Some(None),
    };
    if let Some(next) = next {
        if !open {
            return Err(fault);
        }
        // Without room the answer stands, degraded and unguarded.
        let _remembered = guard.remember(&request.key, next, now);
    }
    Ok(Answer { outcome: decision.outcome, degraded: Some(fault) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{Claim, Command, ConfirmedTtl, Namespace, Outcome, ProcessingTtl, Token};
    use crate::metrics::Metrics;
    use crate::store::AnswerAt;
    use crate::store::numbers::Numbers;

    struct Hanging {
        shared: Arc<Shared>,
        last_resort: LastResort,
    }

    impl Hanging {
        fn new() -> Self {
            let shared = Arc::new(Shared::new(Arc::new(Metrics::new()), None, Numbers::after(7)));
            shared.pulse.begin();
            Self { shared, last_resort: LastResort::new() }
        }

        /// A claim with a token of its own.
        async fn claim(&self, id: &str, token: u8) -> Result<Outcome, Fault> {
            let claim = Claim {
                token: Token::from_bits([token; 16]),
                processing_ttl: ProcessingTtl::new(Duration::from_secs(60)).expect("good"),
                retention: ConfirmedTtl::MAX,
                fingerprint: None,
                owner: None,
            };
            let key = Key::new(&Namespace::parse("a").expect("good"), id).expect("good");
            let requests = vec![Request {
                key,
                command: Command::Claim(claim),
                on_failure: OnStoreFailure::Open,
                answer_at: AnswerAt::Sync,
            }];
            let now = Timestamp::from_millis(1_000);
            let mut replies = self.last_resort.answer(&self.shared, requests, Fault::CommitDeadline, now).await;
            replies.pop().expect("a reply").map(|answer| answer.outcome)
        }

        async fn fence(&self, id: &str, token: u8) -> u64 {
            match self.claim(id, token).await {
                Ok(Outcome::Claimed(claimed)) => claimed.fence,
                other => panic!("{other:?}"),
            }
        }
    }

    /// All of them were zero.
    #[tokio::test]
    async fn the_fences_of_its_claims_are_unique_and_rise_with_all_others() {
        let hanging = Hanging::new();
        let first = hanging.fence("k-1", 1).await;
        assert!(first > 7);
        assert!(matches!(hanging.claim("k-1", 2).await, Ok(Outcome::InProgress { .. })));
        let second = hanging.fence("k-2", 1).await;
        assert!(second > first);
        assert!(hanging.shared.numbers.draw() > second);
    }

    /// A hang passed, and hours later, in the next one, what had been decided then counted more than the database.
    #[tokio::test]
    async fn what_it_decided_counts_until_the_database_knows_it() {
        let hanging = Hanging::new();
        hanging.fence("k", 1).await;
        hanging.shared.pulse.begin();
        assert!(
            matches!(hanging.claim("k", 2).await, Ok(Outcome::InProgress { .. })),
            "its job is decided in this round"
        );
        hanging.shared.pulse.begin();
        hanging.fence("k", 2).await;
    }

    /// While the store was reopened every key was absent, and what was done was handed out again.
    #[tokio::test]
    async fn a_round_that_hangs_in_an_outage_is_answered_with_its_fault() {
        let hanging = Hanging::new();
        hanging.shared.health.send_replace(Some(Fault::DiskFull));
        assert_eq!(hanging.claim("k", 1).await, Err(Fault::DiskFull));
    }
}
