//! The ledger: what the API and the proxy ask about claims.
//!
//! It fills in what a request leaves open (lifetimes, tokens, what to do when the store fails), lets claims wait for one
//! another ([`waiters`]), and counts. It decides nothing about keys and makes nothing durable: that is
//! [`crate::claim`]'s and [`crate::store`]'s part.

mod grant;
mod pledges;
mod settings;
mod tally;
mod unbroken;
mod waiters;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio_util::task::TaskTracker;

pub use grant::Grant;
pub use settings::{LedgerSettings, NamespaceSettings, OnStoreFailure};

use crate::claim::{
    Claim, Command, Confirm, ConfirmedTtl, Fingerprint, Key, Namespace, Outcome, Owner, ProcessingTtl, Timestamp,
    Token, WorkResult,
};
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::store::{Answer, AnswerAt, Fault, Page, Reading, Reply, Request, Selection, Store};
use pledges::Pledges;
use tally::Tally;
use unbroken::Unbroken;
use waiters::Waiters;

/// The longest time that a claim may wait for another holder; longer waits are clamped.
pub const MAX_WAIT: Duration = Duration::from_secs(30);

/// What a caller asks of a key, with what it may leave open left open.
#[derive(Debug, Clone)]
pub enum Ask {
    /// The exclusive right to handle the key.
    Claim(AskClaim),
    /// The work is done.
    Confirm {
        /// The holder's proof.
        token: Option<Token>,
        /// How long to remember it.
        confirmed_ttl: Option<ConfirmedTtl>,
        /// What to leave for those who come later.
        result: Option<WorkResult>,
    },
    /// The work failed.
    Release {
        /// The holder's proof.
        token: Token,
    },
    /// The work takes longer.
    Extend {
        /// The holder's proof.
        token: Token,
        /// How long from now.
        processing_ttl: Option<ProcessingTtl>,
    },
    /// Forget the key.
    Forget,
}

/// The fields of a claim.
#[derive(Debug, Clone, Default)]
pub struct AskClaim {
    /// The caller's own token, so that the claim can be retried after a lost answer.
    pub token: Option<Token>,
    /// How long the claim lives unfinished.
    pub processing_ttl: Option<ProcessingTtl>,
    /// The caller's hash of the payload.
    pub fingerprint: Option<Fingerprint>,
    /// The caller's name.
    pub owner: Option<Owner>,
    /// When the claim may be answered, in a namespace that is open when the store fails. A closed one has asked not to go on
    /// before all is safe.
    pub answer_at: AnswerAt,
}

/// The ledger of one daemon.
#[derive(Debug)]
pub struct Ledger {
    store: Store,
    /// Put in their place as a whole at a reload.
    settings: RwLock<LedgerSettings>,
    waiters: Waiters,
    tally: Tally,
    pledges: Pledges,
    /// What is finished without its caller.
    orphans: TaskTracker,
}

impl Ledger {
    /// A ledger over an open store.
    #[must_use]
    pub fn new(store: Store, settings: LedgerSettings, metrics: Arc<Metrics>) -> Self {
        let configured = settings.by_namespace.keys().map(Namespace::as_str);
        let tally = Tally::new(metrics, configured);
        Self {
            store,
            settings: RwLock::new(settings),
            waiters: Waiters::default(),
            tally,
            pledges: Pledges::default(),
            orphans: TaskTracker::new(),
        }
    }

    /// Lets other settings hold from now on, for what is asked from now on.
    pub fn replace_settings(&self, settings: LedgerSettings) {
        self.tally.know(settings.by_namespace.keys().map(Namespace::as_str));
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// The store below.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The clock of all lifetimes.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        self.store.clock()
    }

    /// Asks something of a key. What has been asked is finished, with all that follows from it, also when this is dropped.
    ///
    /// # Errors
    /// The fault of the store, in a namespace that is closed then.
    pub async fn ask(self: &Arc<Self>, key: Key, ask: Ask) -> Reply {
        self.note_repetition(&key, &ask);
        let ledger = Arc::clone(self);
        Unbroken::new(async move { ledger.carry_out(key, ask).await }, &self.orphans).await
    }

    /// Asks several things in order; they are committed together, and finished like one.
    pub async fn ask_all(self: &Arc<Self>, asks: Vec<(Key, Ask)>) -> Vec<Reply> {
        asks.iter().for_each(|(key, ask)| self.note_repetition(key, ask));
        let ledger = Arc::clone(self);
        Unbroken::new(async move { ledger.carry_out_all(asks).await }, &self.orphans).await
    }

    /// Claims a key, waiting for at most `wait` while somebody else holds it. A claim that this call has made comes with a
    /// grant, which releases it unless it is kept, so that a caller that has gone leaves nothing held.
    ///
    /// # Errors
    /// The fault of the store, in a namespace that is closed then.
    pub async fn claim_waiting(
        self: &Arc<Self>,
        key: Key,
        claim: AskClaim,
        wait: Duration,
    ) -> Result<(Answer, Option<Grant>), Fault> {
        let deadline = Timestamp::from_millis(self.clock().now().as_millis() + millis(wait.min(MAX_WAIT)));
        loop {
            // Joined before asking: what ends between the answer and the wait is not missed.
            let place = self.waiters.join(&key);
            let granted = Arc::clone(self).grant(key.clone(), claim.clone());
            let (answer, grant) = Unbroken::new(granted, &self.orphans).await?;
            let Outcome::InProgress { expires_at, .. } = answer.outcome else {
                return Ok((answer, grant));
            };
            let over = self.clock().now() >= deadline;
            let Some(place) = place.filter(|_| !over) else {
                return Ok((answer, None));
            };
            tokio::select! {
                () = place.called() => {}
                () = self.clock().sleep_until(expires_at.min(deadline)) => {}
            }
        }
    }

    /// Waits until all is finished that goes on without its caller.
    pub async fn finish(&self) {
        self.orphans.close();
        self.orphans.wait().await;
    }

    /// Reads the record of a key.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn read(&self, key: Key) -> Result<Reading, Fault> {
        self.store.read(key).await
    }

    /// Reads a page of records.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn list(&self, selection: Selection) -> Result<Page, Fault> {
        self.store.list(selection).await
    }

    async fn carry_out(&self, key: Key, ask: Ask) -> Reply {
        let verb = Verb::of(&ask);
        let reply = self.store.submit(self.request(key.clone(), ask)).await;
        self.settle(&key, verb, &reply);
        reply
    }

    async fn carry_out_all(&self, asks: Vec<(Key, Ask)>) -> Vec<Reply> {
        let told: Vec<_> = asks.iter().map(|(key, ask)| (key.clone(), Verb::of(ask))).collect();
        let requests = asks.into_iter().map(|(key, ask)| self.request(key, ask)).collect();
        let replies = self.store.submit_batch(requests).await;
        for ((key, verb), reply) in told.iter().zip(&replies) {
            self.settle(key, *verb, reply);
        }
        replies
    }

    /// What is asked here may be a claim asked for before, whose first answer is about to get lost.
    fn note_repetition(&self, key: &Key, ask: &Ask) {
        if let Ask::Claim(AskClaim { token: Some(token), .. }) = ask {
            self.pledges.void(key, token);
        }
    }

    /// Claims; the grant is made before anybody is told, so that it is there if nobody can be.
    async fn grant(self: Arc<Self>, key: Key, mut claim: AskClaim) -> Result<(Answer, Option<Grant>), Fault> {
        let pledge = self.pledges.make(key.clone(), claim.token.get_or_insert_with(fresh_token).clone());
        let answer = self.carry_out(key, Ask::Claim(claim)).await?;
        let grant = match &answer.outcome {
            Outcome::Claimed(claimed) if !claimed.repeated => Some(Grant::armed(self, pledge)),
            _ => None,
        };
        Ok((answer, grant))
    }

    fn request(&self, key: Key, ask: Ask) -> Request {
        let settings = self.settings.read().unwrap_or_else(PoisonError::into_inner).of(key.namespace());
        let answer_at = match (&ask, settings.on_store_failure) {
            (Ask::Claim(claim), OnStoreFailure::Open) => claim.answer_at,
            _ => AnswerAt::Sync,
        };
        let command = match ask {
            Ask::Claim(claim) => Command::Claim(Claim {
                token: claim.token.unwrap_or_else(fresh_token),
                processing_ttl: claim.processing_ttl.unwrap_or(settings.processing_ttl),
                retention: settings.confirmed_ttl,
                fingerprint: claim.fingerprint,
                owner: claim.owner,
            }),
            Ask::Confirm { token, confirmed_ttl, result } => Command::Confirm(Confirm {
                token,
                confirmed_ttl: confirmed_ttl.unwrap_or(settings.confirmed_ttl),
                result,
            }),
            Ask::Release { token } => Command::Release { token },
            Ask::Extend { token, processing_ttl } => {
                Command::Extend { token, processing_ttl: processing_ttl.unwrap_or(settings.processing_ttl) }
            }
            Ask::Forget => Command::Forget,
        };
        Request { key, command, on_failure: settings.on_store_failure, answer_at }
    }

    /// Calls those who wait for what has just happened, and counts it.
    fn settle(&self, key: &Key, verb: Verb, reply: &Reply) {
        match (verb, reply) {
            (Verb::Confirm, Ok(Answer { outcome: Outcome::Confirmed { .. }, .. })) => self.waiters.call_all(key),
            (Verb::Release, Ok(Answer { outcome: Outcome::Released { .. }, .. })) | (Verb::Forget, Ok(_)) => {
                self.waiters.call_one(key);
            }
            // What could not be answered may be remembered or land yet. Those who wait may ask; one that gets no answer
            // either lets the next one ask.
            (Verb::Confirm, Err(_)) => self.waiters.call_all(key),
            (Verb::Claim | Verb::Release | Verb::Forget, Err(_)) => self.waiters.call_one(key),
            (Verb::Extend, _) | (Verb::Claim | Verb::Confirm | Verb::Release, Ok(_)) => {}
        }
        self.tally.count(key.namespace(), reply);
    }
}

/// What was asked, for those who come after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Claim,
    Confirm,
    Release,
    Extend,
    Forget,
}

impl Verb {
    fn of(ask: &Ask) -> Self {
        match ask {
            Ask::Claim(_) => Self::Claim,
            Ask::Confirm { .. } => Self::Confirm,
            Ask::Release { .. } => Self::Release,
            Ask::Extend { .. } => Self::Extend,
            Ask::Forget => Self::Forget,
        }
    }
}

/// The word for an outcome, in answers and metrics.
#[must_use]
pub fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Claimed(_) => "claimed",
        Outcome::InProgress { .. } => "in_progress",
        Outcome::Done(_) => "done",
        Outcome::Mismatch => "mismatch",
        Outcome::Confirmed { .. } => "confirmed",
        Outcome::Released { .. } => "released",
        Outcome::Extended { .. } => "extended",
        Outcome::NotHolder => "not_holder",
        Outcome::Forgotten { .. } => "forgotten",
    }
}

/// A token of 128 random bits.
#[must_use]
pub fn fresh_token() -> Token {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).expect("the kernel's random source answers once it is seeded, long before this runs");
    Token::from_bits(bits)
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
mod tests {
    use super::*;
    use crate::clock::{ManualTime, Source};
    use crate::store::StoreSettings;

    /// A namespace that is closed in an outage remembers what it refuses to answer for, and its waiters slept on.
    #[tokio::test]
    async fn those_who_wait_are_called_though_the_store_gave_no_answer() {
        let dir = tempfile::tempdir().unwrap();
        let (metrics, time) = (Arc::new(Metrics::new()), ManualTime::new(1_800_000_000_000));
        let settings = StoreSettings::for_dir(dir.path().join("store"));
        let store = Store::open(settings, Source::manual(&time), false, Arc::clone(&metrics)).unwrap();
        let ledger = Ledger::new(store, LedgerSettings::default(), metrics);
        let key = Key::new(&Namespace::parse("a").unwrap(), "k").unwrap();
        for verb in [Verb::Confirm, Verb::Release, Verb::Forget, Verb::Claim] {
            let place = ledger.waiters.join(&key).unwrap();
            ledger.settle(&key, verb, &Err(Fault::Io));
            let called = tokio::time::timeout(Duration::from_secs(20), place.called()).await;
            assert!(called.is_ok(), "{verb:?}");
        }
    }
}
