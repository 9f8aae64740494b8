//! `claim`, `confirm`, `release`, `extend`, `get`, `forget`: one request each.

use clap::Args;
use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::client::{Answer, ClientArgs, failed};
use super::{Exit, say};
use crate::claim::ROUTE_PREFIX;

/// The key of a command.
#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    /// The namespace and the key, as in stripe:evt_1P
    #[arg(value_name = "NS:KEY", value_parser = NamedKey::parse)]
    key: NamedKey,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
pub(super) struct ClaimArgs {
    #[command(flatten)]
    key: KeyArgs,
    /// How long the claim lives unfinished, as in 120s
    #[arg(long)]
    processing_ttl: Option<String>,
    /// A token of your own, so that the claim can be retried
    #[arg(long)]
    token: Option<String>,
    /// Wait while somebody else holds the key, as in 5s
    #[arg(long)]
    wait: Option<String>,
    /// A hash of the payload
    #[arg(long)]
    fingerprint: Option<String>,
    /// A label for people
    #[arg(long)]
    owner: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ConfirmArgs {
    #[command(flatten)]
    key: KeyArgs,
    /// The holder's token, to learn of an overrun
    #[arg(long)]
    token: Option<String>,
    /// How long to remember it, as in 7d
    #[arg(long)]
    confirmed_ttl: Option<String>,
    /// Any JSON, for those who come later
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ReleaseArgs {
    #[command(flatten)]
    key: KeyArgs,
    /// The holder's token
    #[arg(long)]
    token: String,
}

#[derive(Debug, Args)]
pub(super) struct ExtendArgs {
    #[command(flatten)]
    key: KeyArgs,
    /// The holder's token
    #[arg(long)]
    token: String,
    /// How long from now, as in 120s
    #[arg(long)]
    processing_ttl: Option<String>,
}

/// `NS:KEY`, split.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedKey {
    namespace: String,
    id: String,
}

impl NamedKey {
    /// The first colon parts them, not counting the one of `route:`.
    fn parse(text: &str) -> Result<Self, String> {
        let (prefix, rest) = text.strip_prefix(ROUTE_PREFIX).map_or(("", text), |rest| (ROUTE_PREFIX, rest));
        let (name, id) = rest.split_once(':').ok_or("must be a namespace and a key, as in stripe:evt_1P")?;
        Ok(Self { namespace: format!("{prefix}{name}"), id: id.to_owned() })
    }

    fn path(&self) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        format!("/v1/claims/{}/{}", encoded(&self.namespace), encoded(&self.id))
    }
}

pub(super) fn claim(args: &ClaimArgs) -> Exit {
    post(
        "/v1/claim",
        &args.key,
        &[
            ("processing_ttl", args.processing_ttl.as_deref()),
            ("token", args.token.as_deref()),
            ("wait", args.wait.as_deref()),
            ("fingerprint", args.fingerprint.as_deref()),
            ("owner", args.owner.as_deref()),
        ],
        None,
    )
}

pub(super) fn confirm(args: &ConfirmArgs) -> Exit {
    let result = match args.result.as_deref().map(serde_json::from_str::<Value>).transpose() {
        Ok(result) => result,
        Err(error) => return failed(&format!("--result is not JSON: {error}"), Exit::Usage),
    };
    let fields = [("token", args.token.as_deref()), ("confirmed_ttl", args.confirmed_ttl.as_deref())];
    post("/v1/confirm", &args.key, &fields, result)
}

pub(super) fn release(args: &ReleaseArgs) -> Exit {
    post("/v1/release", &args.key, &[("token", Some(&args.token))], None)
}

pub(super) fn extend(args: &ExtendArgs) -> Exit {
    let fields = [("token", Some(args.token.as_str())), ("processing_ttl", args.processing_ttl.as_deref())];
    post("/v1/extend", &args.key, &fields, None)
}

pub(super) fn get(args: &KeyArgs) -> Exit {
    tell(&args.client, args.client.ask(Method::GET, &args.key.path(), None))
}

pub(super) fn forget(args: &KeyArgs) -> Exit {
    tell(&args.client, args.client.ask(Method::DELETE, &args.key.path(), None))
}

fn post(path: &str, key: &KeyArgs, fields: &[(&str, Option<&str>)], result: Option<Value>) -> Exit {
    let mut body = Map::new();
    body.insert("namespace".into(), key.key.namespace.as_str().into());
    body.insert("key".into(), key.key.id.as_str().into());
    for (name, value) in fields {
        if let Some(value) = value {
            body.insert((*name).into(), (*value).into());
        }
    }
    if let Some(result) = result {
        body.insert("result".into(), result);
    }
    tell(&key.client, key.client.ask(Method::POST, path, Some(&body.into())))
}

/// Prints an answer and says what it means for a script.
pub(super) fn tell(client: &ClientArgs, answer: Result<Answer, Exit>) -> Exit {
    let answer = match answer {
        Ok(answer) => answer,
        Err(exit) => return exit,
    };
    if !is_ours(&answer) {
        // A script must not take somebody else's 200 for a claim.
        return failed("what answered is no onced daemon", Exit::Failed);
    }
    if client.json {
        say(&answer.text);
    } else if answer.json["detail"].is_string() {
        return failed(answer.text_of("detail"), exit_of(&answer));
    } else {
        say(&sentence(&answer.json));
    }
    exit_of(&answer)
}

/// Every answer to a command has an outcome, a claim that is read a state, and a problem its detail.
fn is_ours(answer: &Answer) -> bool {
    ["outcome", "state", "detail"].iter().any(|field| answer.json[field].is_string())
}

fn exit_of(answer: &Answer) -> Exit {
    let claims = answer.status == StatusCode::OK || answer.status == StatusCode::CONFLICT;
    match answer.text_of("outcome") {
        "done" if claims => Exit::AlreadyDone,
        "in_progress" | "not_holder" => Exit::Held,
        _ if answer.status.is_success() => Exit::Well,
        _ if answer.status == StatusCode::BAD_REQUEST => Exit::Usage,
        _ => Exit::Failed,
    }
}

/// The answer in one line: what it is, then the fields as they come.
fn sentence(json: &Value) -> String {
    let Some(fields) = json.as_object() else {
        return json.to_string();
    };
    let head = fields.get("outcome").or_else(|| fields.get("state")).and_then(Value::as_str).unwrap_or("answer");
    let rest = fields.iter().filter(|(name, value)| {
        !matches!(name.as_str(), "outcome" | "state" | "first_delivery") && **value != Value::Bool(false)
    });
    let rest = rest.map(|(name, value)| match value {
        Value::String(text) => format!("{name} {text}"),
        other => format!("{name} {other}"),
    });
    let rest: Vec<_> = rest.collect();
    if rest.is_empty() { head.to_owned() } else { format!("{head}: {}", rest.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_split_at_its_first_colon() {
        for (text, namespace, id) in [
            ("stripe:evt_1", "stripe", "evt_1"),
            ("a:b:c", "a", "b:c"),
            ("route:stripe:evt_1", "route:stripe", "evt_1"),
            ("a:", "a", ""),
        ] {
            let key = NamedKey::parse(text).expect(text);
            assert_eq!((key.namespace.as_str(), key.id.as_str()), (namespace, id));
        }
        assert!(NamedKey::parse("stripe").is_err() && NamedKey::parse("route:stripe").is_err());
        assert_eq!(NamedKey::parse("a:b/c %é").expect("a key").path(), "/v1/claims/a/b%2Fc%20%25%C3%A9");
    }
}
