//! The commit queue: many callers in, one thread out, a whole group at a time.
//!
//! A plain lock beats a channel here: a push is one short critical section, and the commit thread takes everything that
//! has gathered while it synced by swapping one vector. The queue needs no bound of its own. Almost every job belongs
//! to a connection or to an attempt at an event, which wait for it and are bounded. A job whose caller has given up stays
//! in it, and the caller may come back with another; that is bounded by time alone, because a round that hangs for two
//! commit deadlines ends the process.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::job::Job;

/// How long the thread waits for those who were answered a moment ago to come back: less than a sync takes.
const GATHERING: Duration = Duration::from_micros(150);

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: Vec<Job>,
    /// How many jobs the thread sleeps for; 0 while it works.
    awaited: usize,
    closed: bool,
}

impl Queue {
    /// Adds a job; `false` when the queue is closed and the job dropped.
    pub(super) fn push(&self, job: Job) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        state.jobs.push(job);
        if state.awaited != 0 && state.jobs.len() >= state.awaited {
            state.awaited = 0;
            self.filled.notify_one();
        }
        true
    }

    /// Takes all jobs into `group`, which is empty, waiting at most `patience` for the first one, and a moment for as many
    /// as are expected. `false` when the queue is closed and nothing is left.
    pub(super) fn take(&self, group: &mut Vec<Job>, patience: Duration, expected: usize) -> bool {
        let mut state = self.lock();
        if state.jobs.is_empty() {
            state = self.wait_for(1, patience, state);
        }
        if !state.jobs.is_empty() && state.jobs.len() < expected {
            state = self.wait_for(expected, GATHERING, state);
        }
        std::mem::swap(&mut state.jobs, group);
        !(state.closed && group.is_empty())
    }

    fn wait_for<'a>(&self, jobs: usize, patience: Duration, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if !state.closed {
            state.awaited = jobs;
            (state, _) = self.filled.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
            state.awaited = 0;
        }
        state
    }

    /// Adds to `group` what has gathered, without waiting.
    pub(super) fn take_more(&self, group: &mut Vec<Job>) {
        group.append(&mut self.lock().jobs);
    }

    /// Takes no more jobs; those that are in it are still served.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
    }

    /// Nothing under this lock can panic halfway, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
