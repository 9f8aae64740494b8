//! Counts what the ledger answered, by namespace.
//!
//! Any caller may name any namespace, and a series once made stays for as long as the process lives. So the namespaces of
//! the config are counted by their names, and of the others as many as are first seen; the rest are counted together.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use super::outcome_name;
use crate::claim::Outcome;
use crate::metrics::{ByNamespace, ByOutcome, ByReason, Metrics};
use crate::store::Reply;

/// Namespaces beyond those of the config that are counted by their names.
const MAX_STRANGERS: usize = 1_000;
/// How the rest are called; no namespace can be called that.
const OTHERS: &str = "(others)";

#[derive(Debug)]
pub(super) struct Tally {
    metrics: Arc<Metrics>,
    known: RwLock<Known>,
}

/// The namespaces that are counted by their names.
#[derive(Debug)]
struct Known {
    names: HashSet<Box<str>>,
    max: usize,
}

impl Tally {
    pub(super) fn new<'n>(metrics: Arc<Metrics>, configured: impl Iterator<Item = &'n str>) -> Self {
        let names: HashSet<Box<str>> = configured.map(Into::into).collect();
        let max = names.len() + MAX_STRANGERS;
        Self { metrics, known: RwLock::new(Known { names, max }) }
    }

    /// Counts these by their names from now on, however many there are already.
    pub(super) fn know<'n>(&self, configured: impl Iterator<Item = &'n str>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for namespace in configured {
            known.max += usize::from(known.names.insert(namespace.into()));
        }
    }

    /// Counts an answer, or that there was none.
    pub(super) fn count(&self, namespace: &str, reply: &Reply) {
        let namespace = self.label(namespace);
        let (outcome, fault) = match reply {
            Ok(answer) => (outcome_name(&answer.outcome), answer.degraded),
            Err(fault) => ("unavailable", Some(*fault)),
        };
        if let Ok(answer) = reply
            && let Outcome::Confirmed { overrun: true, .. } = answer.outcome
        {
            self.metrics.late_confirms.get_or_create(&ByNamespace { namespace: namespace.clone() }).inc();
        }
        if let Some(fault) = fault {
            let reason = fault.as_str();
            self.metrics.degraded.get_or_create(&ByReason { namespace: namespace.clone(), reason }).inc();
        }
        self.metrics.claims.get_or_create(&ByOutcome { namespace, outcome }).inc();
    }

    fn label(&self, namespace: &str) -> String {
        let is_known = self.known.read().unwrap_or_else(PoisonError::into_inner).names.contains(namespace);
        if is_known || self.learn(namespace) { namespace.to_owned() } else { OTHERS.to_owned() }
    }

    fn learn(&self, namespace: &str) -> bool {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.names.len() >= known.max && !known.names.contains(namespace) {
            return false;
        }
        known.names.insert(namespace.into());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Answer, Fault};

    #[test]
    fn strangers_are_counted_by_name_until_there_are_too_many() {
        let metrics = Arc::new(Metrics::new());
        let tally = Tally::new(Arc::clone(&metrics), ["mine"].into_iter());
        let reply = Ok(Answer { outcome: Outcome::NotHolder, degraded: Some(Fault::Io) });
        for number in 0..MAX_STRANGERS + 2 {
            tally.count(&format!("n{number}"), &reply);
        }
        tally.count("mine", &reply);
        tally.count("n0", &Err(Fault::DiskFull));
        let text = metrics.render();
        for line in [
            "onced_claims_total{namespace=\"mine\",outcome=\"not_holder\"} 1",
            "onced_claims_total{namespace=\"(others)\",outcome=\"not_holder\"} 2",
            "onced_claims_total{namespace=\"n0\",outcome=\"unavailable\"} 1",
            "onced_degraded_total{namespace=\"n0\",reason=\"disk_full\"} 1",
        ] {
            assert!(text.contains(line), "{line} is missing");
        }
        assert!(!text.contains("namespace=\"n1000\""));
    }
}
