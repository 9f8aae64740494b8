//! Sending an event to a URL of somebody's choice, from here.
//!
//! The daemon sends to configured apps alone: whoever may operate it must not be able to make it call any address that it
//! can reach. So the event is fetched, and sent by whoever runs this command. What its sender proved itself with to the app
//! is left out, since the URL may be anybody's.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;
use tokio::time::Instant;

use super::Exit;
use super::client::{ClientArgs, failed, refused};
use super::event_text::list;
use super::events::event_path;
use super::pages::wanted;
use super::replay::{Run, Stopped};
use crate::chain::Chain;
use crate::server::{Pool, PoolSettings, SendError, Target};

/// How long whoever is at the URL may take: what a route allows its app when nothing is said.
const MAX_DURATION: Duration = Duration::from_secs(30);
/// Four times that, as on a route.
const PROCESSING_TTL: &str = "120s";
const CONFIRMED_TTL: &str = "24h";
const NAMESPACE: &str = "replay";

/// By its whole name.
const COOKIE: &str = "cookie";
/// By a part of their names, in which `_` counts as `-`.
const CREDENTIAL_PARTS: [&str; 6] = ["token", "secret", "password", "auth", "api-key", "apikey"];

/// An event in hand, and where it goes.
pub(super) struct Sender<'a> {
    client: &'a ClientArgs,
    uri: Uri,
    target: Target,
    headers: HeaderMap,
    body: Bytes,
    /// The key of the claim; `None` past the guard.
    key: Option<String>,
    runtime: Runtime,
    pool: Pool,
}

impl<'a> Sender<'a> {
    /// Fetches the event. What stands in the way has been printed.
    pub(super) fn new(client: &'a ClientArgs, id: &str, url: &str, force: bool) -> Result<Self, Exit> {
        let wrong = |why: &dyn std::fmt::Display| failed(&format!("--to: {why}"), Exit::Usage);
        let uri: Uri = url.parse().map_err(|error| wrong(&error))?;
        let target = Target::from_uri(&uri).map_err(|error| wrong(&error))?;
        let key = (!force).then(|| key(id, url));
        let event = wanted(client, &event_path(id, ""))?;
        let body = client.ask(Method::GET, &event_path(id, "/body"), None)?;
        if body.status != StatusCode::OK {
            return Err(refused(&body));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(&format!("cannot start: {error}"), Exit::Failed))?;
        let pool = Pool::new(PoolSettings::default());
        let headers = headers(&event.json);
        Ok(Self { client, uri, target, headers, body: body.bytes, key, runtime, pool })
    }

    /// Sends it once, if the guard lets it pass.
    pub(super) fn send(&self) -> Result<Run, Stopped> {
        let Some(key) = &self.key else {
            let status = self.deliver();
            return Ok(run(status, None));
        };
        let claim = self.command("claim", &json!({ "key": key, "processing_ttl": PROCESSING_TTL }))?;
        let attempt = claim["attempt"].as_u64();
        match claim["outcome"].as_str() {
            Some("claimed") => {}
            Some("done") => return Ok(Run { outcome: "duplicate".to_owned(), attempt: None, status: None }),
            Some(other) => return Ok(Run { outcome: other.to_owned(), attempt: None, status: None }),
            None => return Err(failed("what answered is no onced daemon", Exit::Failed).into()),
        }
        let status = self.deliver();
        let run = run(status, attempt);
        let settled = if status.is_some_and(|status| status.is_success()) {
            let confirm = json!({ "key": key, "token": claim["token"], "confirmed_ttl": CONFIRMED_TTL });
            self.command("confirm", &confirm)
        } else {
            self.command("release", &json!({ "key": key, "token": claim["token"] }))
        };
        match settled {
            Ok(_) => Ok(run),
            // It went there all the same.
            Err(exit) => Err(Stopped::after(run, exit)),
        }
    }

    /// A verb in our namespace; a problem has been printed.
    fn command(&self, verb: &str, fields: &Value) -> Result<Value, Exit> {
        let mut body = fields.clone();
        body["namespace"] = NAMESPACE.into();
        let answer = self.client.ask(Method::POST, &format!("/v1/{verb}"), Some(&body))?;
        if answer.json["outcome"].is_string() { Ok(answer.json) } else { Err(refused(&answer)) }
    }

    /// What the URL answered; a failure to get an answer has been printed.
    fn deliver(&self) -> Option<StatusCode> {
        let mut request = Request::new(self.body.clone());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let sent =
            self.runtime.block_on(async { self.pool.send(&self.target, request, Instant::now() + MAX_DURATION).await });
        match sent {
            Ok(answer) => Some(answer.status()),
            Err(SendError::ReplyTooLong { status, .. }) => Some(status),
            Err(error) => {
                eprintln!("onced: {}: {}", self.target, Chain(&error));
                None
            }
        }
    }
}

/// What the guard remembers: the event, and a hash of where it went. The URL itself may have a token in its query, which has no
/// place among the keys of claims.
fn key(id: &str, url: &str) -> String {
    format!("{id} {}", hex::encode(Sha256::digest(url)))
}

fn run(status: Option<StatusCode>, attempt: Option<u64>) -> Run {
    let forwarded = status.is_some_and(|status| status.is_success());
    let outcome = if forwarded { "forwarded" } else { "failed" };
    Run { outcome: outcome.to_owned(), attempt, status: status.map(|status| status.as_u16().into()) }
}

/// The headers of an event that may go anywhere; the host is that of the URL.
fn headers(event: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for header in list(&event["headers"]) {
        let value = match (header["value"].as_str(), header["value_base64"].as_str()) {
            (Some(text), _) => text.as_bytes().to_vec(),
            (None, Some(base64)) => BASE64_STANDARD.decode(base64).unwrap_or_default(),
            (None, None) => continue,
        };
        let name = header["name"].as_str().and_then(|name| name.parse::<HeaderName>().ok());
        if let (Some(name), Ok(value)) = (name, HeaderValue::from_bytes(&value))
            && !is_credential(&name)
            && name != HOST
            && name != CONTENT_LENGTH
        {
            headers.append(name, value);
        }
    }
    headers
}

fn is_credential(name: &HeaderName) -> bool {
    let name = name.as_str().replace('_', "-");
    name == COOKIE || CREDENTIAL_PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sender_proves_itself_with_is_left_out_and_its_signature_is_not() {
        let names = [
            ("Authorization", false),
            ("COOKIE", false),
            ("Proxy-Authorization", false),
            ("X-Gitlab-Token", false),
            ("X-Hub-Secret-Hint", false),
            ("X-API-Key", false),
            ("X_Api_Key", false),
            ("X-ApiKey", false),
            ("X-Auth", false),
            ("X-Basic-Auth-User", false),
            ("X-Webhook-Password", false),
            ("Host", false),
            ("Content-Length", false),
            ("X-Hub-Signature-256", true),
            ("webhook-signature", true),
            ("Content-Type", true),
        ];
        let mut headers: Vec<_> = names.map(|(name, _)| json!({ "name": name, "value": "v" })).into();
        headers.push(json!({ "name": "X-Odd", "value_base64": "Y2Fm6Q==" }));
        headers.push(json!({ "name": "X-Odd", "value": "2" }));
        let event = json!({ "headers": headers });
        let kept = super::headers(&event);
        for (name, is_kept) in names {
            assert_eq!(kept.contains_key(name), is_kept, "{name}");
        }
        let odd: Vec<_> = kept.get_all("x-odd").iter().map(HeaderValue::as_bytes).collect();
        assert_eq!(odd, [&b"caf\xe9"[..], b"2"]);
    }
}
