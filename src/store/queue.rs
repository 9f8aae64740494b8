//! The commit queue: many callers in, one thread out, a whole group at a time.
//!
//! A plain lock beats a channel here: a push is one short critical section, and the commit thread takes everything that
//! has gathered while it synced by swapping one vector. The queue needs no bound of its own, because every job belongs to
//! a connection, and those are bounded.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::job::Job;

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: Vec<Job>,
    thread_sleeps: bool,
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
        if state.thread_sleeps {
            state.thread_sleeps = false;
            self.filled.notify_one();
        }
        true
    }

    /// Takes all jobs into `group`, which is empty, waiting at most `patience` for the first one.
    /// `false` when the queue is closed and nothing is left.
    pub(super) fn take(&self, group: &mut Vec<Job>, patience: Duration) -> bool {
        let mut state = self.lock();
        if state.jobs.is_empty() && !state.closed {
            state.thread_sleeps = true;
            (state, _) = self
                .filled
                .wait_timeout(state, patience)
                .unwrap_or_else(PoisonError::into_inner);
            state.thread_sleeps = false;
        }
        std::mem::swap(&mut state.jobs, group);
        !(state.closed && group.is_empty())
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
