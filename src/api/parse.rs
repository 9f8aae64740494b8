//! From JSON text to an ask that cannot be wrong: every field at its limits, every fault with the field's name.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_path_to_error::Segment;

use super::problem::Problem;
use super::wire::{ClaimRequest, ConfirmRequest, ExtendRequest, ReleaseRequest, VerbName};
use crate::claim::{Fingerprint, Key, KeyError, Namespace, Owner, ROUTE_PREFIX, Token, Ttl, WorkResult};
use crate::ledger::{Ask, AskClaim};
use crate::quantity::parse_duration;
use crate::store::AnswerAt;

/// A command on a key, and how long a claim may wait.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) key: Key,
    pub(super) ask: Ask,
    pub(super) wait: Option<Duration>,
}

/// Reads the request of a verb.
pub(super) fn verb(verb: VerbName, json: &[u8]) -> Result<Parsed, Problem> {
    match verb {
        VerbName::Claim => claim(from_json(json)?),
        VerbName::Confirm => confirm(from_json(json)?),
        VerbName::Release => release(from_json(json)?),
        VerbName::Extend => extend(from_json(json)?),
    }
}

/// Reads JSON into its wire form. Fast where all is well; where it is not, a second look finds the field.
pub(super) fn from_json<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Problem> {
    // A derived reader would take the bare values in a row as well.
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::Json { detail: "a request must be a JSON object".to_owned() });
    }
    serde_json::from_slice(json).map_err(|first| {
        let mut second = serde_json::Deserializer::from_slice(json);
        match serde_path_to_error::deserialize::<_, T>(&mut second) {
            Err(error) => fault(&error),
            // Only what follows the object is wrong.
            Ok(_) => not_json(&first),
        }
    })
}

/// Says which field is wrong and why, without the value: it may be a secret in the wrong place. Values stand in the
/// message of a data error, in front of what was expected, and nowhere else.
fn fault(error: &serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let message = error.inner().to_string();
    let reason = message.rsplit_once(" at line ").map_or(&*message, |(reason, _)| reason);
    // Of these two the path ends above the field, whose name is one of ours.
    let named = |prefix| reason.strip_prefix(prefix).and_then(|rest: &str| rest.split('`').nth(1));
    if error.inner().is_data() && error.path().iter().next().is_none() {
        if let Some(field) = named("missing field") {
            return Problem::field(field.to_owned(), "is missing");
        }
        if let Some(field) = named("duplicate field") {
            return Problem::field(field.to_owned(), "must not come twice");
        }
    }
    let field = match error.path().iter().next() {
        Some(Segment::Map { .. }) => error.path().to_string(),
        _ => return not_json(error.inner()),
    };
    match reason.rsplit_once(", expected ") {
        Some((found, known)) if found.starts_with("unknown field") => {
            Problem::field(field, format_args!("is unknown here, expected {known}"))
        }
        Some((_, expected)) => Problem::field(field, format_args!("is wrong, expected {expected}")),
        None => Problem::field(field, format_args!("is wrong: {reason}")),
    }
}

/// For an error without a field: its message holds no value unless it is one of data.
fn not_json(error: &serde_json::Error) -> Problem {
    let detail = if error.is_data() {
        "the body is not a request".to_owned()
    } else {
        format!("the body is not a request: {error}")
    };
    Problem::Json { detail }
}

fn claim(request: ClaimRequest) -> Result<Parsed, Problem> {
    is_verb(request.command, VerbName::Claim)?;
    let key = key(&request.namespace, &request.key)?;
    let ask = Ask::Claim(AskClaim {
        answer_at: AnswerAt::Sync,
        token: request.token.as_deref().map(token).transpose()?,
        processing_ttl: ttl("processing_ttl", request.processing_ttl.as_deref())?,
        fingerprint: optional("fingerprint", request.fingerprint.as_deref(), Fingerprint::parse)?,
        owner: optional("owner", request.owner.as_deref(), Owner::parse)?,
    });
    let wait = optional("wait", request.wait.as_deref(), parse_duration)?;
    Ok(Parsed { key, ask, wait })
}

fn confirm(request: ConfirmRequest) -> Result<Parsed, Problem> {
    is_verb(request.command, VerbName::Confirm)?;
    let key = key(&request.namespace, &request.key)?;
    let ask = Ask::Confirm {
        token: request.token.as_deref().map(token).transpose()?,
        confirmed_ttl: ttl("confirmed_ttl", request.confirmed_ttl.as_deref())?,
        result: optional("result", request.result.as_ref().map(|result| result.0.get()), WorkResult::from_json)?,
    };
    Ok(Parsed { key, ask, wait: None })
}

fn release(request: ReleaseRequest) -> Result<Parsed, Problem> {
    is_verb(request.command, VerbName::Release)?;
    let key = key(&request.namespace, &request.key)?;
    Ok(Parsed { key, ask: Ask::Release { token: token(&request.token)? }, wait: None })
}

fn extend(request: ExtendRequest) -> Result<Parsed, Problem> {
    is_verb(request.command, VerbName::Extend)?;
    let key = key(&request.namespace, &request.key)?;
    let token = token(&request.token)?;
    let processing_ttl = ttl("processing_ttl", request.processing_ttl.as_deref())?;
    Ok(Parsed { key, ask: Ask::Extend { token, processing_ttl }, wait: None })
}

/// `command` may stand in a single request too, as long as it says the same as the path.
fn is_verb(command: Option<VerbName>, verb: VerbName) -> Result<(), Problem> {
    match command {
        Some(command) if command != verb => Err(Problem::field("command", format_args!("must be {}", verb.as_str()))),
        Some(_) | None => Ok(()),
    }
}

fn key(namespace: &str, id: &str) -> Result<Key, Problem> {
    if namespace.starts_with(ROUTE_PREFIX) {
        return Err(Problem::ReservedNamespace);
    }
    let namespace = Namespace::parse(namespace).map_err(|error| Problem::field("namespace", error))?;
    key_in(&namespace, id)
}

/// The key of an id in a namespace that is known to be one.
pub(super) fn key_in(namespace: &Namespace, id: &str) -> Result<Key, Problem> {
    Key::new(namespace, id).map_err(|error| Problem::field("key", error))
}

/// A namespace to read or forget in: the proxy's are allowed.
pub(super) fn any_namespace(text: &str) -> Result<Namespace, Problem> {
    Namespace::parse_any(text).map_err(|error: KeyError| Problem::field("namespace", error))
}

fn token(text: &str) -> Result<Token, Problem> {
    Token::parse(text).map_err(|error| Problem::field("token", error))
}

fn ttl<const MAX_MS: u64>(field: &'static str, text: Option<&str>) -> Result<Option<Ttl<MAX_MS>>, Problem> {
    let Some(length) = optional(field, text, parse_duration)? else {
        return Ok(None);
    };
    Ttl::new(length).map(Some).map_err(|error| Problem::field(field, error))
}

fn optional<'a, T, E: std::fmt::Display>(
    field: impl Into<Cow<'static, str>>,
    text: Option<&'a str>,
    parse: impl FnOnce(&'a str) -> Result<T, E>,
) -> Result<Option<T>, Problem> {
    text.map(parse).transpose().map_err(|error| Problem::field(field, error))
}
