//! The verbs, one at a time and in batches.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::value::RawValue;

use super::Api;
use super::access::{Caller, needs_json};
use super::answer::{self, Told};
use super::parse::{self, Parsed};
use super::problem::Problem;
use super::wire::{BatchBody, BatchRequest, Tagged, VerbName};
use crate::claim::Key;
use crate::ledger::{Ask, AskClaim, Grant};
use crate::server::{BodyLimits, Request, Response, ResponseBody};
use crate::store::{Answer, Fault, Reply};

/// The largest body of one command: a key, a result and the rest, every byte of them escaped, are below 20 KiB.
pub(super) const MAX_BODY_BYTES: u64 = 32 << 10;
/// The largest body of a batch: a thousand commands of ordinary size many times over.
const MAX_BATCH_BYTES: u64 = 4 << 20;
/// Commands in a batch.
const MAX_COMMANDS: usize = 1_000;
/// The whole body must be there by then: callers are on this machine.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Serves one verb.
pub(super) async fn one(
    api: &Arc<Api>,
    caller: &Caller<'_>,
    verb: VerbName,
    request: Request,
) -> Result<Response, Problem> {
    needs_json(&request.head.headers)?;
    let body = request.body.read(&limits(MAX_BODY_BYTES)).await?;
    let Parsed { key, ask, wait } = parse::verb(verb, &body)?;
    caller.needs_namespace(key.namespace())?;
    let is_claim = verb == VerbName::Claim;
    let ledger = &api.ledger;
    match (ask, wait) {
        (Ask::Claim(claim), Some(wait)) => {
            let (answer, grant) = claim_waiting(api, key, claim, wait).await?;
            let told = Told::of(&answer, is_claim, ledger.clock());
            Ok(told.response(|body| match grant {
                Some(grant) => ResponseBody::with_receipt(body, grant.into_receipt()),
                None => body.into(),
            }))
        }
        (ask, _) => {
            let answer = ledger.ask(key, ask).await?;
            Ok(Told::of(&answer, is_claim, ledger.clock()).response(ResponseBody::from))
        }
    }
}

/// A stop is not held up by those who wait: they are told how things stand, and may ask the next daemon.
async fn claim_waiting(api: &Api, key: Key, claim: AskClaim, wait: Duration) -> Result<(Answer, Option<Grant>), Fault> {
    tokio::select! {
        waited = api.ledger.claim_waiting(key.clone(), claim.clone(), wait) => waited,
        () = api.stopping.cancelled() => api.ledger.claim_waiting(key, claim, Duration::ZERO).await,
    }
}

/// For a body of at most so many bytes.
pub(super) fn limits(max_bytes: u64) -> BodyLimits {
    BodyLimits { whole: BODY_TIME, ..BodyLimits::up_to(max_bytes) }
}

/// Serves several commands: in order, one commit, a bad one fails alone.
pub(super) async fn batch(api: &Arc<Api>, caller: &Caller<'_>, request: Request) -> Result<Response, Problem> {
    needs_json(&request.head.headers)?;
    let body = request.body.read(&limits(MAX_BATCH_BYTES)).await?;
    let batch: BatchRequest<'_> = parse::from_json(&body)?;
    if batch.commands.is_empty() || batch.commands.len() > MAX_COMMANDS {
        return Err(Problem::field("commands", format_args!("must hold 1 to {MAX_COMMANDS} commands")));
    }
    let mut asks = Vec::with_capacity(batch.commands.len());
    let judged: Vec<_> = batch
        .commands
        .iter()
        .map(|command| {
            let (is_claim, Parsed { key, ask, .. }) = command_of(caller, command)?;
            asks.push((key, ask));
            Ok(is_claim)
        })
        .collect();
    let replies = if asks.is_empty() { Vec::new() } else { api.ledger.ask_all(asks).await };
    answers(api, judged, replies)
}

fn command_of(caller: &Caller<'_>, command: &RawValue) -> Result<(bool, Parsed), Problem> {
    let json = command.get().as_bytes();
    let Tagged { command: verb } = parse::from_json(json)?;
    let parsed = parse::verb(verb, json)?;
    if parsed.wait.is_some() {
        return Err(Problem::field("wait", "must not stand in a batch"));
    }
    caller.needs_namespace(parsed.key.namespace())?;
    Ok((verb == VerbName::Claim, parsed))
}

/// Puts the answers of those that were asked between those that were refused.
fn answers(api: &Api, judged: Vec<Result<bool, Problem>>, replies: Vec<Reply>) -> Result<Response, Problem> {
    let mut replies = replies.into_iter();
    let mut texts = Vec::with_capacity(judged.len());
    for verdict in judged {
        let text = match verdict {
            Err(problem) => text(problem.body()),
            Ok(is_claim) => match replies.next().ok_or(Problem::Internal)? {
                Ok(answer) => with_status(Told::of(&answer, is_claim, api.ledger.clock())),
                Err(fault) => text(Problem::Store(fault).body()),
            },
        };
        texts.push(RawValue::from_string(text?).map_err(|_| Problem::Internal)?);
    }
    let answers = texts.iter().map(AsRef::as_ref).collect();
    Ok(answer::respond(StatusCode::OK, &BatchBody { answers }))
}

/// An answer in a batch has its status inside, first. A problem carries its own.
fn with_status(told: Told) -> Result<String, Problem> {
    let object = text(told.body)?;
    let fields = object.strip_prefix('{').ok_or(Problem::Internal)?;
    Ok(format!("{{\"status\":{},{fields}", told.status.as_u16()))
}

fn text(json: Vec<u8>) -> Result<String, Problem> {
    String::from_utf8(json).map_err(|_| Problem::Internal)
}
