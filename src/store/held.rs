//! Claims of the proxy's namespaces that are held, for the start: their holders may have died with the run before.
//!
//! Only attempts of the proxy ever hold such a claim, and a run that has ended in order with all of them says so in its
//! mark. Nothing is written here.

use std::sync::atomic::Ordering;

use super::Store;
use super::engine::EngineError;
use super::fault::Fault;
use super::shared::Shared;
use crate::claim::{Held, Key, Record, Timestamp};

impl Store {
    /// Whether claims of the proxy's namespaces may be held by nobody, because the run before did not end in order or left
    /// some behind. Where it did not, nobody has to look.
    #[must_use]
    pub fn may_have_orphans(&self) -> bool {
        self.may_have_orphans
    }

    /// Says that whoever held a claim of the proxy's has ended, for the next start. Without it the next start looks.
    pub fn note_holders_gone(&self) {
        self.shared.holders_gone.store(true, Ordering::Relaxed);
    }

    /// Finds claims of the proxy's namespaces that are held, up to `limit` after a key.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn held_by_routes(&self, after: Option<Key>, limit: usize) -> Result<Vec<(Key, Held)>, Fault> {
        let now = self.clock.now();
        self.walk(move |shared| held_by_routes(shared, after.as_ref(), limit, now)).await
    }
}

/// Claims of the proxy's namespaces that are held at `now`, up to `limit` after a key. What is not held is passed over at a
/// glance, so that a walk over very many that are done is short; it is one step, because it runs before anybody is served.
fn held_by_routes(
    shared: &Shared,
    after: Option<&Key>,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<(Key, Held)>, Fault> {
    let walked = shared.borrow(|engine| -> Result<Vec<(Key, Held)>, EngineError> {
        let mut found = Vec::new();
        for prefix in Key::route_prefixes() {
            for item in engine.scan_held(&prefix, after.filter(|after| after.as_bytes() > &prefix[..])) {
                match item? {
                    (key, Ok(Record::Held(held))) if now < held.expires_at => found.push((key, held)),
                    // One that cannot be read is told of when somebody asks for it.
                    (_, Ok(Record::Held(_) | Record::Free(_) | Record::Done(_)) | Err(_)) => {}
                }
                if found.len() >= limit {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    });
    match walked {
        Some(Ok(found)) => Ok(found),
        Some(Err(error)) => Err(error.fault()),
        None => Err(shared.not_lent()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::claim::{ConfirmedTtl, Free, Namespace, Previous, Token};
    use crate::metrics::Metrics;
    use crate::store::engine::Engine;
    use crate::store::numbers::Numbers;

    #[test]
    fn of_the_proxys_claims_those_that_are_held_are_found_whatever_lies_around_them() {
        let dir = tempfile::tempdir().expect("a directory");
        let engine = Arc::new(Engine::open(dir.path(), 1 << 20, false).expect("it opens"));
        let key =
            |namespace: &str, id: &str| Key::new(&Namespace::parse_any(namespace).expect("good"), id).expect("good");
        let (now, later) = (Timestamp::from_millis(5), Timestamp::from_millis(9));
        let held = |expires_at| {
            Record::Held(Held {
                token: Token::from_bits([1; 16]),
                claimed_at: Timestamp::from_millis(1),
                expires_at,
                retention: ConfirmedTtl::MAX,
                attempt: 1,
                fence: 1,
                previous: Previous::None,
                fingerprint: None,
                owner: None,
            })
        };
        let long = format!("route:{}", "z".repeat(64));
        for (namespace, id, record) in [
            ("a", "k", held(later)),
            ("route", "k", held(later)),
            ("route.a", "k", held(later)),
            ("zzzzzzz", "k", held(later)),
            ("route:a", "1-free", Record::Free(Free { attempt: 1, expires_at: later })),
            ("route:a", "2-held", held(later)),
            ("route:a", "3-expired", held(now)),
            ("route:a", "4-held", held(later)),
            ("route:bb", "k", held(later)),
            (&long, "k", held(later)),
        ] {
            engine.write(&key(namespace, id), Some(&record)).expect("written");
        }
        engine.spoil(&key("route:a", "3-spoilt"));
        let shared = Shared::new(Arc::new(Metrics::new()), None, Numbers::after(0));
        shared.lend(Some(engine));
        let (mut found, mut after) = (Vec::new(), None);
        for _ in 0..3 {
            let page = held_by_routes(&shared, after.as_ref(), 2, now).expect("a page");
            found.extend(page.into_iter().map(|(key, _)| key));
            after = found.last().cloned();
        }
        let expected = [key("route:a", "2-held"), key("route:a", "4-held"), key("route:bb", "k"), key(&long, "k")];
        assert_eq!(found, expected);
    }
}
