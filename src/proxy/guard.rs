//! The claim that guards an attempt: how it is come by, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use tokio::time::Instant;

use super::kept::KeptAnswer;
use super::settings::{DuplicateResponse, InFlight, Mode, OnUnknownOutcome, RouteSettings};
use super::verdict::Verdict;
use super::{Proxy, answer};
use crate::claim::{ConfirmedTtl, Done, Key, Outcome, Token};
use crate::event::State;
use crate::ledger::{Ask, AskClaim, Ledger};
use crate::store::{Action, Actor, AnswerAt, Fault};

/// Who queues a dead letter anew by sending its event again, for the audit list.
const SENDER: &str = "sender";

/// The claim that guards an attempt.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) key: Key,
    pub(super) token: Token,
    pub(super) attempt: u32,
    pub(super) confirmed_ttl: ConfirmedTtl,
    /// Set when the claim is in memory only.
    pub(super) degraded: Option<Fault>,
}

impl Guarded {
    /// Ends the claim by what the app did.
    pub(super) async fn settle(&self, ledger: &Arc<Ledger>, route: &RouteSettings, verdict: &Verdict) {
        let ask = match verdict {
            Verdict::Answered(answer) if verdict.is_success() => {
                let (token, confirmed_ttl) = (Some(self.token.clone()), Some(self.confirmed_ttl));
                let result = match route.duplicate_response {
                    DuplicateResponse::Plain => None,
                    DuplicateResponse::Replay => KeptAnswer::of(answer),
                };
                Ask::Confirm { token, confirmed_ttl, result }
            }
            Verdict::Unknown { .. } if route.on_unknown_outcome == OnUnknownOutcome::Hold => return,
            _ => Ask::Release { token: self.token.clone() },
        };
        if let Err(fault) = ledger.ask(self.key.clone(), ask).await {
            // The store has it in memory and writes it back; the sender is told what the app said all the same.
            tracing::warn!(route = %route.name, %fault, "a claim could not be settled on disk yet");
        }
    }
}

impl Proxy {
    /// Claims the event, waiting for an attempt that is under way as the route says.
    pub(super) async fn claim(
        &self,
        route: &RouteSettings,
        id: &str,
        confirmed_ttl: ConfirmedTtl,
        at: Instant,
    ) -> Result<Guarded, Verdict> {
        // An id becomes a key by a mapping whose results are keys; the error is there for a mapping that is not.
        let key = Key::new(&route.namespace, id).map_err(|_| Verdict::NoId)?;
        let answer_at = match route.on_unknown_outcome {
            // The app may have the event while its claim is being synced: what the sender is told waits for the
            // confirm.
            OnUnknownOutcome::Release => AnswerAt::Decision,
            // A claim that is gone after a crash would hold nothing.
            OnUnknownOutcome::Hold => AnswerAt::Sync,
        };
        let claim = AskClaim { processing_ttl: Some(route.processing_ttl), answer_at, ..AskClaim::default() };
        let (answer, grant) = match route.in_flight {
            InFlight::Wait => {
                let left = route.answer_within.saturating_sub(at.elapsed());
                self.ledger.claim_waiting(key.clone(), claim, left).await?
            }
            InFlight::Busy => (self.ledger.ask(key.clone(), Ask::Claim(claim)).await?, None),
        };
        if let Some(mut grant) = grant {
            grant.keep();
        }
        match answer.outcome {
            Outcome::Claimed(claimed) => Ok(Guarded {
                key,
                token: claimed.token,
                attempt: claimed.attempt,
                confirmed_ttl,
                degraded: answer.degraded,
            }),
            Outcome::Done(done) => Err(self.done(route, &done).await),
            Outcome::InProgress { expires_at, .. } => {
                Err(Verdict::InProgress { expires_in: expires_at.since(self.ledger.clock().now()) })
            }
            // A claim that brings no fingerprint comes to nothing else.
            _ => Err(Verdict::Broken),
        }
    }

    /// What a sender is told whose event's key is done: that it is handled. But the event may be in a queue, as a dead letter
    /// that was redriven, or by another route; then a sender that waits for the app is not told so before it is, and that it
    /// comes again gives up nothing.
    async fn done(&self, route: &RouteSettings, done: &Done) -> Verdict {
        let duplicate = || Verdict::Duplicate { replay: replay(route, done) };
        let (Mode::Sync, Some(id)) = (&route.mode, done.event) else { return duplicate() };
        let (store, now) = (self.ledger.store(), self.ledger.clock().now());
        match store.event(id.into()).await {
            Ok(None) => duplicate(),
            Ok(Some(event)) if event.state.handled_at().is_some() => duplicate(),
            Ok(Some(event)) => {
                if let State::Dead { .. } = event.state
                    && let Err(fault) = store.requeue(event.id, Actor::new(SENDER), Action::Redrive).await
                {
                    tracing::warn!(route = %route.name, %fault, "a dead letter that was sent again could not be queued anew");
                }
                Verdict::InProgress { expires_in: event.state.due().map_or(Duration::ZERO, |due| due.at.since(now)) }
            }
            Err(_) => Verdict::StoreDown,
        }
    }
}

/// What a queue route says of each of its events; elsewhere the app's answer again, on a route that asks for it and if it was
/// kept; else what its sender takes for success, if that is not 200.
fn replay(route: &RouteSettings, done: &Done) -> Option<Response<Bytes>> {
    if let Mode::Queue { acknowledge } = &route.mode {
        return Some(answer::acknowledgement(acknowledge));
    }
    match route.duplicate_response {
        DuplicateResponse::Plain => None,
        DuplicateResponse::Replay => done.result.as_ref().and_then(KeptAnswer::answer),
    }
    .or_else(|| route.duplicate_answer.as_ref().map(answer::acknowledgement))
}
