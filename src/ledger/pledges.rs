//! Claims that are given back if their answer does not arrive, unless their caller has asked for them again since.
//!
//! A caller that has lost an answer asks again with its token, perhaps before the loss is noticed here. It is told that the
//! claim is its own, and goes to work: the loss of the first answer must not take it away any more. In doubt a claim is
//! not given back, and expires.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::claim::{Key, Token};

#[derive(Debug, Default)]
pub(super) struct Pledges {
    latest: Arc<Mutex<Latest>>,
}

/// The last call that would give a claim back, by claim.
#[derive(Debug, Default)]
struct Latest {
    calls: u64,
    by_claim: HashMap<Wanted, u64>,
}

/// Who asks for what.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    key: Key,
    token: Token,
}

impl Hash for Wanted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
        self.token.as_str().hash(state);
    }
}

/// One call's promise to give back what nobody receives.
#[derive(Debug)]
pub(super) struct Pledge {
    latest: Arc<Mutex<Latest>>,
    claim: Wanted,
    call: u64,
}

impl Pledges {
    /// A call that gives its claim back asks for it. Earlier pledges on the same claim are void.
    pub(super) fn make(&self, key: Key, token: Token) -> Pledge {
        let (mut latest, claim) = (lock(&self.latest), Wanted { key, token });
        latest.calls += 1;
        let call = latest.calls;
        latest.by_claim.insert(claim.clone(), call);
        Pledge { latest: Arc::clone(&self.latest), claim, call }
    }

    /// A call that does not give its claim back asks for it.
    pub(super) fn void(&self, key: &Key, token: &Token) {
        let mut latest = lock(&self.latest);
        if !latest.by_claim.is_empty() {
            latest.by_claim.remove(&Wanted { key: key.clone(), token: token.clone() });
        }
    }
}

impl Pledge {
    /// Gives the claim back, if it is not void. `release` must have the release in the commit queue when it returns: then
    /// a caller that asks again comes either before it, and this is void, or after it, and makes a claim of its own.
    pub(super) fn redeem<T>(&self, release: impl FnOnce(Key, Token) -> T) -> Option<T> {
        let latest = lock(&self.latest);
        let Wanted { key, token } = self.claim.clone();
        (latest.by_claim.get(&self.claim) == Some(&self.call)).then(|| release(key, token))
    }
}

impl Drop for Pledge {
    fn drop(&mut self) {
        let mut latest = lock(&self.latest);
        if latest.by_claim.get(&self.claim) == Some(&self.call) {
            latest.by_claim.remove(&self.claim);
        }
    }
}

/// The map is whole at every point where this could panic.
fn lock(latest: &Mutex<Latest>) -> MutexGuard<'_, Latest> {
    latest.lock().unwrap_or_else(PoisonError::into_inner)
}
