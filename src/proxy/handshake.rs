//! Handshakes on their way through the proxy: answered here, or passed on to the app.
//!
//! What a request is and gets is decided in [`provider`]; here it is carried out. No handshake is claimed, and none is
//! retried: whoever asks again is answered again. One that is passed on reaches the app at most once for each time that
//! it came; if the app does not answer, the sender is told so, and nothing is left behind.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response};
use tokio::time::timeout_at;

use super::headers::towards_app;
use super::identity::EventKey;
use super::settings::RouteSettings;
use super::table::{MAX_UNSIGNED_HANDSHAKES, Match};
use super::verdict::Verdict;
use super::{Proxy, Received, Topic};
use crate::app::{self, Marks};
use crate::event::EventId as DeliveryId;
use crate::ledger::fresh_bits;
use crate::provider::{self, Acknowledgement, EventId, HandshakeMethod, HandshakeReply, SignedToken};

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

/// What a request is that is not answered here at once.
#[derive(Debug)]
pub(super) enum Admitted {
    /// An event that is shown to be its sender's, or comes by a route that nothing verifies.
    Event {
        /// Its key.
        key: EventKey,
        /// Its sender's name for it.
        event_id: Option<EventId>,
    },
    /// A handshake for the app to answer.
    Passed {
        /// Whether it is shown to be its sender's.
        verified: bool,
    },
}

/// The methods that a route takes: POST always, another one as a handshake that the sender has.
pub(super) fn methods(route: &RouteSettings) -> Vec<Method> {
    let asks = |wanted| route.handshakes.known.iter().any(|handshake| handshake.method == wanted);
    let others = [(Method::GET, HandshakeMethod::Get), (Method::HEAD, HandshakeMethod::Head)];
    let others = others.into_iter().filter_map(|(method, wanted)| asks(wanted).then_some(method));
    [Method::POST].into_iter().chain(others).collect()
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
    /// Lets an event pass that is shown to be its sender's, and a handshake that the app answers. All else gets its
    /// verdict here: a handshake what it asks for, a stranger the same refusal for every reason.
    #[expect(clippy::result_large_err, reason = "it is on its way out, once, and not worth an allocation")]
    pub(super) fn admit(&self, route: &RouteSettings, sent: &provider::Request<'_>) -> Result<Admitted, Verdict> {
        if let Some(reply) = before_verification(route, sent) {
            return self.greet(route, reply, None, sent);
        }
        if *sent.method() != Method::POST {
            return Err(Verdict::Method { taken: methods(route) });
        }
        let secret = self.verify(route, sent)?;
        match provider::reply_verified(&route.handshakes.known, sent) {
            Some(reply) => self.greet(route, reply, secret, sent),
            None => {
                let (key, event_id) = self.identify(route, sent)?;
                Ok(Admitted::Event { key, event_id })
            }
        }
    }

    /// Gives a handshake what it gets, unless the app is to answer it. `secret` is which one verified it, if one did.
    #[expect(clippy::result_large_err, reason = "it is on its way out, once, and not worth an allocation")]
    fn greet(
        &self,
        route: &RouteSettings,
        reply: HandshakeReply<'_>,
        secret: Option<usize>,
        sent: &provider::Request<'_>,
    ) -> Result<Admitted, Verdict> {
        tracing::debug!(route = %route.name, method = %sent.method(), "a handshake");
        let greeting = match reply {
            HandshakeReply::Text(text) => Greeting::Text(text),
            HandshakeReply::Fixed(answer) => Greeting::Fixed(answer.clone()),
            HandshakeReply::Sign { form, token } => match signed(route, form, &token, secret) {
                Some(json) => Greeting::Json(json),
                // Nothing verifies this route, so that there is no secret here; the app may have it.
                None => return Ok(Admitted::Passed { verified: false }),
            },
            HandshakeReply::Pass => return Ok(Admitted::Passed { verified: secret.is_some() }),
            HandshakeReply::Refused => {
                if let Some(left_out) = self.quiet.permits(&route.name, Topic::Refused) {
                    let route = &route.name;
                    tracing::info!(%route, left_out, "refused: a handshake without the route's verify_token");
                }
                return Err(Verdict::Unverified);
            }
        };
        Err(Verdict::Handshake(greeting))
    }

    /// Lets the app answer, unclaimed.
    pub(super) async fn pass(&self, found: &Match<'_>, received: Received, verified: bool) -> Verdict {
        let route = found.route;
        let places = if verified { &found.places.signed } else { &found.places.unsigned };
        let Ok(_place) = Arc::clone(places).try_acquire_owned() else {
            self.note_crowded(route, verified);
            return Verdict::Crowded;
        };
        let patience = received.at + route.answer_within;
        let Some(request) = self.passed(found, received, verified) else {
            return Verdict::NeverReached;
        };
        match timeout_at(patience, self.apps.send(&route.name, request, route.max_duration)).await {
            Ok(outcome) => match Verdict::of(route, outcome) {
                Verdict::Answered(answer) => Verdict::Handshake(Greeting::Relayed(answer)),
                verdict => verdict,
            },
            Err(_) => Verdict::Late,
        }
    }

    fn note_crowded(&self, route: &RouteSettings, verified: bool) {
        if verified {
            return self.note_crowded_attempts(route);
        }
        if let Some(left_out) = self.quiet.permits(&route.name, Topic::CrowdedHandshakes) {
            let limit = MAX_UNSIGNED_HANDSHAKES;
            tracing::warn!(route = %route.name, limit, left_out, "too many unsigned handshakes are with the app");
        }
    }

    /// The request for the app, if it can be made. We sign nothing that is not shown to be the sender's.
    fn passed(&self, found: &Match<'_>, received: Received, verified: bool) -> Option<Request<Bytes>> {
        let (route, now) = (found.route, self.ledger.clock().wall_now());
        let received_at = received.on_the_wall(now);
        let Received { mut head, body, origin, .. } = received;
        // Where a route verifies, what it could not verify brings the app no content: anybody could have written it.
        let body = if verified || route.sender.verifier.is_none() { body } else { Bytes::new() };
        let uri = route.forward_to.extended(found.suffix, head.uri.query())?;
        towards_app(&mut head.headers, &origin);
        let delivery = DeliveryId::from_bytes(fresh_bits());
        let verified_by = route.sender.provider.as_deref().filter(|_| verified);
        let marks = Marks { delivery, received_at, verified_by, event: None };
        let signing = route.signing_key.as_ref().filter(|_| verified).map(|key| (key, now));
        Some(app::request(head, body, uri, &marks, signing))
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
