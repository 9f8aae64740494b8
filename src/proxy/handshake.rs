//! Handshakes on their way through the proxy: answered here, or passed on to the app.
//!
//! What a request is and gets is decided in [`provider`]; here it is carried out. No handshake is claimed, and none is
//! retried: whoever asks again is answered again. One that is passed on reaches the app at most once for each time that it
//! came; if the app does not answer, the sender is told so, and nothing is left behind.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, Version};
use humantime::format_rfc3339_millis;
use tokio::time::timeout_at;

use super::app;
use super::attempt::{RECEIVED_AT, VERIFIED};
use super::headers::towards_app;
use super::settings::RouteSettings;
use super::table::Match;
use super::verdict::Verdict;
use super::{Proxy, Received, sent};
use crate::provider::{self, Acknowledgement, HandshakeMethod, HandshakeReply, SignedToken};

/// What a handshake came to.
#[derive(Debug)]
pub(super) enum Greeting {
    /// A text that the sender wants to see again.
    Text(Vec<u8>),
    /// What the profile says.
    Fixed(Acknowledgement),
    /// A JSON object that shows that we hold the secret.
    Json(String),
    /// What the app said.
    Relayed(Response<Bytes>),
}

/// Whether a request of this method is taken at all: a POST always, another one as a handshake that the sender has.
pub(super) fn is_taken(route: &RouteSettings, method: &Method) -> bool {
    let asks = |wanted| route.handshakes.known.iter().any(|handshake| handshake.method == wanted);
    match *method {
        Method::POST => true,
        Method::GET => asks(HandshakeMethod::Get),
        Method::HEAD => asks(HandshakeMethod::Head),
        _ => false,
    }
}

/// What a request gets that is a handshake without a signature.
fn before_verification<'r>(route: &'r RouteSettings, sent: &provider::Request<'_>) -> Option<HandshakeReply<'r>> {
    let known = &route.handshakes.known;
    match *sent.method() {
        Method::POST => provider::reply_unverified(known, sent),
        _ => provider::reply_unsigned(known, sent, route.handshakes.token.as_ref()),
    }
}

impl Proxy {
    /// Lets an event pass that is shown to be its sender's. All else gets its verdict here: a handshake what it asks for, a
    /// stranger the same refusal for every reason.
    pub(super) async fn admit(&self, found: &Match<'_>, received: Received) -> Result<Received, Verdict> {
        let route = found.route;
        if let Some(reply) = before_verification(route, &sent(route, &received)) {
            return Err(self.greet(found, reply, None, received).await);
        }
        if received.head.method != Method::POST {
            return Err(Verdict::Method);
        }
        let secret = self.verify(route, &received)?;
        match provider::reply_verified(&route.handshakes.known, &sent(route, &received)) {
            Some(reply) => Err(self.greet(found, reply, secret, received).await),
            None => Ok(received),
        }
    }

    /// Gives a handshake what it gets. `secret` is which one verified it, if one did.
    async fn greet(
        &self,
        found: &Match<'_>,
        reply: HandshakeReply<'_>,
        secret: Option<usize>,
        received: Received,
    ) -> Verdict {
        tracing::debug!(route = %found.route.name, method = %received.head.method, "a handshake");
        match reply {
            HandshakeReply::Text(text) => Verdict::Handshake(Greeting::Text(text)),
            HandshakeReply::Fixed(answer) => Verdict::Handshake(Greeting::Fixed(answer.clone())),
            HandshakeReply::Sign { form, token } => match signed(found.route, form, &token, secret) {
                Some(json) => Verdict::Handshake(Greeting::Json(json)),
                // Nothing verifies this route, so that there is no secret here; the app may have it.
                None => self.pass(found, received, false).await,
            },
            HandshakeReply::Pass => self.pass(found, received, secret.is_some()).await,
            HandshakeReply::Refused => {
                tracing::info!(route = %found.route.name, "refused: a handshake without the route's verify_token");
                Verdict::Unverified
            }
        }
    }

    /// Lets the app answer, unclaimed.
    async fn pass(&self, found: &Match<'_>, received: Received, verified: bool) -> Verdict {
        let route = found.route;
        let Some(uri) = app::uri(&route.forward_to, found.suffix, received.head.uri.query()) else {
            return Verdict::NeverReached;
        };
        let Ok(_place) = Arc::clone(found.places).try_acquire_owned() else {
            return Verdict::Crowded;
        };
        let patience = received.at + route.answer_within;
        let received_at = self.ledger.clock().wall_now().max(UNIX_EPOCH);
        let Received { mut head, body, origin, .. } = received;
        towards_app(&mut head.headers, &origin);
        if let Ok(at) = HeaderValue::try_from(format_rfc3339_millis(received_at).to_string()) {
            head.headers.insert(RECEIVED_AT, at);
        }
        if let Some(provider) = route.sender.provider.as_deref().filter(|_| verified)
            && let Ok(provider) = HeaderValue::try_from(provider)
        {
            head.headers.insert(VERIFIED, provider);
        }
        (head.uri, head.version) = (uri, Version::HTTP_11);
        match timeout_at(patience, self.app.send(route, Request::from_parts(head, body))).await {
            Ok(Verdict::Answered(answer)) => Verdict::Handshake(Greeting::Relayed(answer)),
            Ok(verdict) => verdict,
            Err(_) => Verdict::Late,
        }
    }
}

/// A token and its HMAC as JSON; `None` where no secret has verified the request.
fn signed(route: &RouteSettings, form: &SignedToken, token: &str, secret: Option<usize>) -> Option<String> {
    let mac = route.sender.verifier.as_ref()?.mac(secret?, token.as_bytes())?;
    let mut object = serde_json::Map::new();
    object.insert(form.text_key.clone(), token.into());
    object.insert(form.mac_key.clone(), hex::encode(mac).into());
    Some(serde_json::Value::Object(object).to_string())
}
