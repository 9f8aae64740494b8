//! The claim state machine: a record, a command and a moment in; an outcome and a change out.
//!
//! It does no I/O, reads no clock and draws no randomness, so every cell of the table is a row of a test and every run
//! can be replayed. It decides nothing twice: whoever applies the change applies it before the next decision on the key.

use super::record::{Done, Free, Held, Previous, Record, Standing};
use super::text::{Fingerprint, Owner, Token, WorkResult};
use super::ttl::{ConfirmedTtl, ProcessingTtl, Timestamp};

/// What a caller asks of a key.
#[derive(Debug, Clone)]
pub enum Command {
    /// The exclusive right to handle the key.
    Claim(Claim),
    /// The work is done.
    Confirm(Confirm),
    /// The work failed: let the next attempt have it.
    Release {
        /// The holder's proof.
        token: Token,
    },
    /// The work takes longer.
    Extend {
        /// The holder's proof.
        token: Token,
        /// How long from now.
        processing_ttl: ProcessingTtl,
    },
    /// Forget the key, whatever it is.
    Forget,
}

/// The fields of a claim.
#[derive(Debug, Clone)]
pub struct Claim {
    /// What the holder will prove itself with: the caller's, or a fresh one.
    pub token: Token,
    /// How long the claim lives unfinished.
    pub processing_ttl: ProcessingTtl,
    /// How long the attempt number outlives an unfinished claim.
    pub retention: ConfirmedTtl,
    /// The caller's hash of the payload.
    pub fingerprint: Option<Fingerprint>,
    /// The caller's name.
    pub owner: Option<Owner>,
}

/// The fields of a confirm.
#[derive(Debug, Clone)]
pub struct Confirm {
    /// The holder's proof, if the caller has one: it only tells an overrun.
    pub token: Option<Token>,
    /// How long the finished key is remembered.
    pub confirmed_ttl: ConfirmedTtl,
    /// What to leave for those who come later.
    pub result: Option<WorkResult>,
}

/// When a decision is taken.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The point on the store's timeline.
    pub now: Timestamp,
    /// The store's sequence number for this command.
    pub sequence: u64,
}

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The caller is the holder.
    Claimed(Claimed),
    /// Somebody else is.
    InProgress {
        /// When the holder's claim ends.
        expires_at: Timestamp,
        /// The holder's attempt.
        attempt: u32,
    },
    /// The key is finished.
    Done(Done),
    /// The key is known with another payload.
    Mismatch,
    /// The key is finished now, or was before.
    Confirmed {
        /// Whether the caller's claim had ended or passed to somebody else.
        overrun: bool,
        /// The attempt that is recorded as the finished one.
        attempt: u32,
        /// When the key is forgotten.
        expires_at: Timestamp,
    },
    /// The caller holds the key no longer.
    Released {
        /// The attempt that ended, where one is remembered.
        attempt: Option<u32>,
    },
    /// The caller holds the key for longer.
    Extended {
        /// The caller's attempt.
        attempt: u32,
        /// When the claim ends now.
        expires_at: Timestamp,
    },
    /// The caller is not the holder.
    NotHolder,
    /// The key is absent now.
    Forgotten {
        /// Whether anything was there.
        existed: bool,
    },
}

/// The answer to a claim that was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The holder's proof.
    pub token: Token,
    /// 1 for the first claim of the key.
    pub attempt: u32,
    /// Rises over all claims and restarts.
    pub fence: u64,
    /// What became of the attempt before.
    pub previous: Previous,
    /// Whether this very claim had been granted before.
    pub repeated: bool,
    /// When the claim ends unless finished or extended.
    pub expires_at: Timestamp,
}

/// What has to become of the record before the outcome may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Keep,
    /// This is the record now.
    Put(Record),
    /// There is no record now.
    Remove,
}

/// A decision: tell the outcome once the change is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What to tell.
    pub outcome: Outcome,
    /// What to write first.
    pub change: Change,
}

impl Decision {
    fn told(outcome: Outcome) -> Self {
        Self { outcome, change: Change::Keep }
    }

    fn put(record: Record, outcome: Outcome) -> Self {
        Self { outcome, change: Change::Put(record) }
    }
}

/// Decides a command on a key whose record is `record`.
#[must_use]
pub fn decide(record: Option<&Record>, command: &Command, moment: Moment) -> Decision {
    let standing = record.map_or(Standing::Absent, |record| record.standing(moment.now));
    match command {
        Command::Claim(claim) => self::claim(standing, claim, moment),
        Command::Confirm(confirm) => self::confirm(standing, confirm, moment.now),
        Command::Release { token } => release(standing, token, moment.now),
        Command::Extend { token, processing_ttl } => extend(record, standing, token, moment.now.plus(*processing_ttl)),
        Command::Forget => forget(standing),
    }
}

fn claim(standing: Standing<'_>, claim: &Claim, moment: Moment) -> Decision {
    match standing {
        Standing::Absent => grant(claim, moment, 1, Previous::None),
        Standing::Free { attempt, previous, .. } => grant(claim, moment, attempt.saturating_add(1), previous),
        Standing::Held(held) if differs(claim.fingerprint.as_ref(), held.fingerprint.as_ref()) => {
            Decision::told(Outcome::Mismatch)
        }
        Standing::Held(held) if held.token == claim.token => Decision::told(Outcome::Claimed(claimed(held, true))),
        Standing::Held(held) => {
            Decision::told(Outcome::InProgress { expires_at: held.expires_at, attempt: held.attempt })
        }
        Standing::Done(done) if differs(claim.fingerprint.as_ref(), done.fingerprint.as_ref()) => {
            Decision::told(Outcome::Mismatch)
        }
        Standing::Done(done) => Decision::told(Outcome::Done(done.clone())),
    }
}

/// Only two fingerprints can differ: a caller that brings none, or a record that has none, makes no mismatch.
fn differs(brought: Option<&Fingerprint>, recorded: Option<&Fingerprint>) -> bool {
    matches!((brought, recorded), (Some(brought), Some(recorded)) if brought != recorded)
}

fn grant(claim: &Claim, moment: Moment, attempt: u32, previous: Previous) -> Decision {
    let held = Held {
        token: claim.token.clone(),
        claimed_at: moment.now,
        expires_at: moment.now.plus(claim.processing_ttl),
        retention: claim.retention,
        attempt,
        fence: moment.sequence,
        previous,
        fingerprint: claim.fingerprint.clone(),
        owner: claim.owner.clone(),
    };
    let outcome = Outcome::Claimed(claimed(&held, false));
    Decision::put(Record::Held(held), outcome)
}

fn claimed(held: &Held, repeated: bool) -> Claimed {
    Claimed {
        token: held.token.clone(),
        attempt: held.attempt,
        fence: held.fence,
        previous: held.previous,
        repeated,
        expires_at: held.expires_at,
    }
}

/// A confirm always lands, as a plain SET would: the work is done, and refusing to remember it would invite a third run.
fn confirm(standing: Standing<'_>, confirm: &Confirm, now: Timestamp) -> Decision {
    let (overrun, attempt, fingerprint, owner) = match standing {
        Standing::Done(done) => {
            let outcome = Outcome::Confirmed { overrun: false, attempt: done.attempt, expires_at: done.expires_at };
            return Decision::told(outcome);
        }
        Standing::Held(held) => {
            let overrun = confirm.token.as_ref().is_some_and(|token| *token != held.token);
            (overrun, held.attempt, held.fingerprint.clone(), held.owner.clone())
        }
        Standing::Free { attempt, .. } => (true, attempt, None, None),
        Standing::Absent => (true, 1, None, None),
    };
    let expires_at = now.plus(confirm.confirmed_ttl);
    let result = confirm.result.clone();
    let done = Done { confirmed_at: now, expires_at, attempt, fingerprint, owner, result, event: None };
    Decision::put(Record::Done(done), Outcome::Confirmed { overrun, attempt, expires_at })
}

fn release(standing: Standing<'_>, token: &Token, now: Timestamp) -> Decision {
    match standing {
        Standing::Held(held) if held.token == *token => Decision::put(
            Record::Free(Free { attempt: held.attempt, expires_at: now.plus(held.retention) }),
            Outcome::Released { attempt: Some(held.attempt) },
        ),
        Standing::Held(_) => Decision::told(Outcome::NotHolder),
        Standing::Free { attempt, .. } => Decision::told(Outcome::Released { attempt: Some(attempt) }),
        Standing::Absent => Decision::told(Outcome::Released { attempt: None }),
        Standing::Done(done) => Decision::told(Outcome::Done(done.clone())),
    }
}

fn extend(record: Option<&Record>, standing: Standing<'_>, token: &Token, expires_at: Timestamp) -> Decision {
    if let Standing::Done(done) = standing {
        return Decision::told(Outcome::Done(done.clone()));
    }
    // An expired claim that nobody took is still its holder's to extend, as long as it is remembered.
    let remembered = !matches!(standing, Standing::Absent);
    match record {
        Some(Record::Held(held)) if remembered && held.token == *token => {
            let outcome = Outcome::Extended { attempt: held.attempt, expires_at };
            Decision::put(Record::Held(Held { expires_at, ..held.clone() }), outcome)
        }
        _ => Decision::told(Outcome::NotHolder),
    }
}

fn forget(standing: Standing<'_>) -> Decision {
    // The record may be there and count as absent; removing what counts as nothing changes nothing.
    match standing {
        Standing::Absent => Decision::told(Outcome::Forgotten { existed: false }),
        Standing::Free { .. } | Standing::Held(_) | Standing::Done(_) => {
            Decision { outcome: Outcome::Forgotten { existed: true }, change: Change::Remove }
        }
    }
}
