//! What callers put into the commit queue, and what comes back.

use tokio::sync::oneshot;

use super::events::Work;
use super::fault::Fault;
use super::settings::OnStoreFailure;
use crate::claim::{Claimed, Command, Key, Outcome, Record};

/// A command on a key.
#[derive(Debug, Clone)]
pub struct Request {
    /// The key.
    pub key: Key,
    /// What is asked of it.
    pub command: Command,
    /// What to do when the store cannot be asked.
    pub on_failure: OnStoreFailure,
    /// When a claim that is granted may be answered.
    pub answer_at: AnswerAt,
}

/// When a claim that is granted may be answered. Every other answer waits for its sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerAt {
    /// When it is synced.
    #[default]
    Sync,
    /// As soon as it is decided and written; its sync follows within [`EARLY_SYNC`](super::EARLY_SYNC). For a holder whose
    /// word to others waits for a sync of its own: what a crash in between can cost is the attempt number.
    Decision,
}

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The outcome.
    pub outcome: Outcome,
    /// Set when the answer comes from memory and may not survive: why.
    pub degraded: Option<Fault>,
}

/// An answer, or why there is none. Nothing is known of the command's effect then, except that none was acknowledged.
pub type Reply = Result<Answer, Fault>;

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The record; `None` when there is none.
    pub record: Option<Record>,
    /// Set while the store is down: why.
    pub degraded: Option<Fault>,
}

/// A place where jobs are decided: the database, or memory while the database is down.
pub(super) trait Desk {
    /// Why the desk had to give up: the whole group is decided again elsewhere.
    type Failure;

    fn command(&mut self, request: &Request) -> Result<Reply, Self::Failure>;
    fn read(&mut self, key: &Key) -> Result<Result<Reading, Fault>, Self::Failure>;
    /// Removes the record if it is gone; `true` when it did.
    fn sweep(&mut self, key: &Key) -> Result<bool, Self::Failure>;
    fn events(&mut self, work: &mut dyn Work) -> Result<(), Self::Failure>;
}

/// One entry of the queue. The reply waits in the job until what it speaks of is synced, or written with
/// `sync = "interval"`.
#[derive(Debug)]
pub(super) enum Job {
    One {
        request: Request,
        reply: Option<Reply>,
        /// `None` once it has been answered.
        to: Option<oneshot::Sender<Reply>>,
    },
    /// Decided in order and committed together.
    Batch {
        requests: Vec<Request>,
        replies: Vec<Reply>,
        to: oneshot::Sender<Vec<Reply>>,
    },
    Read {
        key: Key,
        reply: Option<Result<Reading, Fault>>,
        to: oneshot::Sender<Result<Reading, Fault>>,
    },
    /// Answered once all that was written before may be told.
    Barrier {
        to: oneshot::Sender<()>,
    },
    Sweep {
        keys: Vec<Key>,
        removed: usize,
        to: oneshot::Sender<usize>,
    },
    Events(Box<dyn Work>),
}

impl Job {
    /// Decides the job at a desk. A job that was decided before is decided anew.
    pub(super) fn decide<D: Desk>(&mut self, desk: &mut D) -> Result<(), D::Failure> {
        match self {
            // What was answered stays so: it is not decided again.
            Self::One { to: None, .. } => {}
            Self::One { request, reply, .. } => *reply = Some(desk.command(request)?),
            Self::Batch { requests, replies, .. } => {
                *replies = requests.iter().map(|request| desk.command(request)).collect::<Result<_, _>>()?;
            }
            Self::Read { key, reply, .. } => *reply = Some(desk.read(key)?),
            Self::Barrier { .. } => {}
            Self::Sweep { keys, removed, .. } => {
                *removed = 0;
                for key in keys {
                    *removed += usize::from(desk.sweep(key)?);
                }
            }
            Self::Events(work) => desk.events(&mut **work)?,
        }
        Ok(())
    }

    /// Answers a claim that was granted and need not wait for its sync; `true` when it did.
    pub(super) fn answer_early(&mut self) -> bool {
        let Self::One { request: Request { answer_at: AnswerAt::Decision, .. }, reply, to } = self else {
            return false;
        };
        // One that was granted before has written nothing now.
        let granted = matches!(
            reply,
            Some(Ok(Answer { outcome: Outcome::Claimed(Claimed { repeated: false, .. }), degraded: None }))
        );
        if !granted {
            return false;
        }
        if let (Some(to), Some(reply)) = (to.take(), reply.take()) {
            // A caller that has gone does not need it.
            let _gone = to.send(reply).is_err();
        }
        true
    }

    /// Whether somebody waits for the sync of what was decided.
    pub(super) fn waits(&self) -> bool {
        !matches!(self, Self::One { to: None, .. } | Self::Sweep { .. })
    }

    /// How many keys have to be looked at for it.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::One { .. } | Self::Read { .. } => 1,
            Self::Events(work) => work.weight(),
            Self::Batch { requests, .. } => requests.len(),
            Self::Barrier { .. } => 0,
            Self::Sweep { keys, .. } => keys.len(),
        }
    }

    /// Whether nobody may be told of it before it is synced, whatever the settings say.
    pub(super) fn must_be_synced(&self) -> bool {
        match self {
            Self::Events(work) => work.must_be_synced(),
            Self::One { .. } | Self::Batch { .. } | Self::Read { .. } | Self::Barrier { .. } | Self::Sweep { .. } => {
                false
            }
        }
    }

    /// Sends the reply. A caller that has gone does not need it.
    pub(super) fn answer(self) {
        let _gone = match self {
            Self::One { reply, to: Some(to), .. } => to.send(reply.unwrap_or(Err(Fault::Closed))).is_err(),
            Self::One { to: None, .. } => false,
            Self::Batch { replies, to, .. } => to.send(replies).is_err(),
            Self::Read { reply, to, .. } => to.send(reply.unwrap_or(Err(Fault::Closed))).is_err(),
            Self::Barrier { to } => to.send(()).is_err(),
            Self::Sweep { removed, to, .. } => to.send(removed).is_err(),
            Self::Events(work) => !work.answer(),
        };
    }
}
