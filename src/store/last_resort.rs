//! Answering where the commit thread does not: a commit hangs, or the thread has ended. The process ends soon after.
//!
//! Nothing here is written. The database is read past the commit thread, without what the hanging group has put there, so
//! keys that were done stay done and keys that are held stay held; what is decided on top is kept in a guard. A claim that
//! is answered here may still land in the database, with the token that is told here.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::fault::Fault;
use super::guard::Guard;
use super::job::{Answer, Reply, Request};
use super::settings::OnStoreFailure;
use super::shared::Shared;
use crate::claim::{Change, Key, Moment, Record, Timestamp, decide};

/// How long reading may take when a commit is overdue already.
const READ_DEADLINE: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct LastResort {
    guard: Mutex<Guard>,
}

impl LastResort {
    pub(super) fn new() -> Self {
        Self { guard: Mutex::new(Guard::new()) }
    }

    /// Answers these requests, in order.
    pub(super) async fn answer(
        &self,
        shared: &Arc<Shared>,
        requests: Vec<Request>,
        fault: Fault,
        now: Timestamp,
    ) -> Vec<Reply> {
        let known = read(shared, &requests).await;
        // A disk that does not even read leaves nothing known but what is in memory.
        let known = known.into_iter().chain(std::iter::repeat(None));
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = |(request, known)| decide_one(&mut guard, request, known, fault, now);
        requests.iter().zip(known).map(answer).collect()
    }
}

async fn read(shared: &Arc<Shared>, requests: &[Request]) -> Vec<Option<Record>> {
    let shared = Arc::clone(shared);
    let keys: Vec<Key> = requests.iter().map(|request| request.key.clone()).collect();
    let read = move || keys.iter().map(|key| shared.read_past_commits(key)).collect();
    let read = tokio::time::timeout(READ_DEADLINE, tokio::task::spawn_blocking(read)).await;
    read.ok().and_then(Result::ok).unwrap_or_default()
}

fn decide_one(guard: &mut Guard, request: &Request, known: Option<Record>, fault: Fault, now: Timestamp) -> Reply {
    let record = match guard.entry(&request.key) {
        Some(entry) => entry.cloned(),
        None => known,
    };
    let decision = decide(record.as_ref(), &request.command, Moment { now, sequence: 0 });
    let next = match decision.change {
        Change::Keep => None,
        Change::Put(record) => Some(Some(record)),
        Change::Remove => Some(None),
    };
    if let Some(next) = next {
        if request.on_failure == OnStoreFailure::Closed {
            return Err(fault);
        }
        // Without room the answer stands, degraded and unguarded.
        let _remembered = guard.remember(&request.key, next);
    }
    Ok(Answer { outcome: decision.outcome, degraded: Some(fault) })
}
