//! Claims whose holders died with the process before: those of the proxy's namespaces, because nobody but an attempt of the
//! proxy ever holds one.
//!
//! They are dealt with before any listener opens, so that nobody is told to wait for an attempt that is no more, and never
//! again while the daemon runs: from then on every holder lives, also while the store comes and goes. Claims of the API are
//! their callers', who may well have survived us, and are left alone.
//!
//! What the app did is not known, so the rule is the route's for that case. A claim that is given back keeps its attempt
//! number: the sender's next try is the next one. A sender that does not come again has no next try, and nothing of its
//! event is on disk: that event is lost, which is told.

use std::collections::HashMap;
use std::sync::Arc;

use crate::claim::{Held, Key, Outcome};
use crate::ledger::{Ask, Ledger};
use crate::proxy::{KeepFailures, OnUnknownOutcome, RouteSettings};
use crate::store::Answer;

/// Claims that are looked for and given back together, in one commit.
const PAGE: usize = 500;

/// What becomes of the orphans of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rule {
    /// They stay until they expire.
    hold: bool,
    /// Their senders may not come again.
    lost: bool,
}

/// What became of all of them.
#[derive(Debug, Default)]
struct Counts {
    released: usize,
    held: usize,
    failed: usize,
    lost: usize,
}

/// Settles the claims that the process before has left. After an end in order there are none: then the walk over all that is
/// remembered of routes, which takes as long as opening the store does, is spared.
pub(super) async fn settle(ledger: &Arc<Ledger>, routes: &[RouteSettings]) {
    if !ledger.store().may_have_orphans() {
        return;
    }
    let rules = rules(routes);
    let (mut counts, mut after) = (Counts::default(), None);
    loop {
        let page = match ledger.store().held_by_routes(after.take(), PAGE).await {
            Ok(page) => page,
            Err(fault) => {
                tracing::warn!(%fault, "claims of attempts that died cannot be found; they stay until they expire");
                break;
            }
        };
        let is_last = page.len() < PAGE;
        after = page.last().map(|(key, _)| key.clone());
        settle_page(ledger, &rules, page, &mut counts).await;
        if is_last {
            break;
        }
    }
    counts.tell();
}

async fn settle_page(ledger: &Arc<Ledger>, rules: &HashMap<&str, Rule>, page: Vec<(Key, Held)>, counts: &mut Counts) {
    let mut asks = Vec::new();
    for (key, held) in page {
        // Nobody remembers how a route that is gone wanted it; if it comes back, its sender is not to be kept waiting.
        let rule = rules.get(key.namespace()).copied().unwrap_or(Rule { hold: false, lost: false });
        counts.lost += usize::from(rule.lost);
        match rule.hold {
            true => counts.held += 1,
            false => asks.push((key, Ask::Release { token: held.token })),
        }
    }
    if asks.is_empty() {
        return;
    }
    for reply in ledger.ask_all(asks).await {
        match reply {
            Ok(Answer { outcome: Outcome::Released { .. }, .. }) => counts.released += 1,
            // It has expired meanwhile, or the store is down: then it is remembered if it can be.
            Ok(_) | Err(_) => counts.failed += 1,
        }
    }
}

/// The rules by namespace. Of routes that share one the more careful rule counts: whose claim it is cannot be told.
fn rules(routes: &[RouteSettings]) -> HashMap<&str, Rule> {
    let mut rules: HashMap<&str, Rule> = HashMap::new();
    for route in routes {
        let rule = rules.entry(route.namespace.as_str()).or_insert(Rule { hold: false, lost: false });
        rule.hold |= match route.on_unknown_outcome {
            OnUnknownOutcome::Release => false,
            OnUnknownOutcome::Hold => true,
        };
        rule.lost |= match route.keep_failures {
            // Where the route says so itself, the loss is no news.
            KeepFailures::Never | KeepFailures::Stopped(_) => false,
            KeepFailures::Always => true,
        };
    }
    rules
}

impl Counts {
    fn tell(&self) {
        let Self { released, held, failed, lost } = self;
        if released + held + failed == 0 {
            return;
        }
        if *lost == 0 {
            tracing::info!(released, held, failed, "claims of attempts that died with the last process are settled");
        } else {
            tracing::warn!(
                released,
                held,
                failed,
                lost,
                "claims of attempts that died with the last process are settled; of these, the senders of those that are \
                 lost do not promise to send their events again"
            );
        }
    }
}
