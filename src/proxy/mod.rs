//! The webhook proxy: stands in front of the apps and does the claiming for them.
//!
//! The life of a request is [`Proxy::serve`], read from top to bottom: match a route, read the raw body, verify, answer a
//! handshake, find the event id, claim, hand over, confirm or release, answer. What stops it on the way is a [`Verdict`], and what a verdict
//! looks like to a sender stands in one file ([`answer`]).
//!
//! Input that fails verification changes no state. From claim to confirm an event is a task of its own ([`attempt`]): a
//! sender that hangs up does not cut it. If the process dies in between, the claim runs out by itself, and the sender's
//! retry is handed over with a higher attempt number.

mod answer;
mod app;
mod attempt;
mod handshake;
mod headers;
mod kept;
mod settings;
mod signing;
mod table;
mod verdict;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use http::Uri;
use http::request::Parts;
use http::uri::PathAndQuery;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

pub use settings::{
    DuplicateResponse, ForwardTo, ForwardToError, HandshakeSettings, HooksSettings, InFlight, Network, NetworkError,
    OnMissingId, OnUnknownOutcome, PublicUrl, PublicUrlError, RoutePath, RoutePathError, RouteSettings, SenderSettings,
};
pub use signing::{SigningKey, SigningKeyError};

use crate::chain::Chain;
use crate::claim::{ConfirmedTtl, Done, Key, Outcome};
use crate::ledger::{Ask, AskClaim, Ledger};
use crate::metrics::{ByProvider, ByReason, ByRoute, Metrics};
use crate::provider::{self, EventId, Identity, UnixSeconds, Verification, body_key_text};
use crate::server::{BodyError, BodyLimits, Pool, PoolSettings, Request, Response};
use crate::store::AnswerAt;
use app::App;
use attempt::{Attempt, Guarded, NO_EVENT_ID};
use headers::Origin;
use kept::KeptAnswer;
use table::{MAX_ATTEMPTS, Match, Table};
use verdict::Verdict;

/// The largest reply of an app that is relayed. Senders read a few hundred bytes.
const MAX_REPLY_BYTES: u64 = 4 << 20;
/// How long the hash of a body stands for an event without an id: equal bodies are a guess, so the memory is short.
const HASH_TTL: ConfirmedTtl = ConfirmedTtl::minutes(10);

/// The proxy of one daemon.
#[derive(Debug)]
pub struct Proxy {
    ledger: Arc<Ledger>,
    metrics: Arc<Metrics>,
    /// Put in its place as a whole at a reload; a request keeps the one that it began with.
    routing: RwLock<Arc<Routing>>,
    /// Whether senders arrive over TLS; every listener of theirs is alike.
    over_tls: bool,
    app: App,
    /// Attempts that are under way, whether their senders are still there or not.
    attempts: TaskTracker,
}

/// What a reload changes.
#[derive(Debug)]
struct Routing {
    table: Table,
    trusted_proxies: Vec<Network>,
}

/// One request whose body has been read.
struct Received {
    head: Parts,
    body: Bytes,
    origin: Origin,
    at: Instant,
}

/// What is claimed for an event, and for how long it is remembered; `None` for an event without an identity.
type EventKey = Option<(String, ConfirmedTtl)>;

/// What is known of a verified event before it is claimed.
struct Event {
    route: Arc<RouteSettings>,
    key: EventKey,
    event_id: Option<EventId>,
    uri: Option<Uri>,
}

impl Proxy {
    /// A proxy for these routes.
    #[must_use]
    pub fn new(ledger: Arc<Ledger>, metrics: Arc<Metrics>, hooks: &HooksSettings, routes: Vec<RouteSettings>) -> Self {
        let pool = Pool::new(PoolSettings { max_reply_bytes: MAX_REPLY_BYTES, ..PoolSettings::default() });
        Self {
            app: App::new(pool, Arc::clone(&metrics)),
            ledger,
            metrics,
            routing: RwLock::new(Arc::new(Routing {
                table: Table::new(routes, None),
                trusted_proxies: hooks.trusted_proxies.clone(),
            })),
            over_tls: hooks.tls.is_some(),
            attempts: TaskTracker::new(),
        }
    }

    /// Lets other routes hold from now on. A request that has come already goes on by the route that it came to.
    pub fn replace_routes(&self, hooks: &HooksSettings, routes: Vec<RouteSettings>) {
        let mut routing = self.routing.write().unwrap_or_else(PoisonError::into_inner);
        let table = Table::new(routes, Some(&routing.table));
        *routing = Arc::new(Routing { table, trusted_proxies: hooks.trusted_proxies.clone() });
    }

    fn routing(&self) -> Arc<Routing> {
        Arc::clone(&self.routing.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers a sender.
    pub async fn handle(self: Arc<Self>, request: Request) -> Response {
        let path = request.head.uri.path().to_owned();
        let routing = self.routing();
        let (route, verdict) = match routing.table.find(&path) {
            None => (String::new(), Verdict::Unrouted),
            Some(found) => {
                let trusted_proxies = &routing.trusted_proxies;
                (found.route.name.to_string(), self.serve(&found, trusted_proxies, request).await)
            }
        };
        let outcome = verdict.outcome();
        self.metrics.hooks.get_or_create(&ByRoute { route, outcome }).inc();
        answer::response(verdict)
    }

    /// Waits until every attempt that is under way has ended.
    pub async fn finish(&self) {
        self.attempts.close();
        self.attempts.wait().await;
    }

    /// The life of a request on its route.
    async fn serve(self: &Arc<Self>, found: &Match<'_>, trusted_proxies: &[Network], request: Request) -> Verdict {
        let at = Instant::now();
        let route = found.route;
        if !handshake::is_taken(route, &request.head.method) {
            return Verdict::Method;
        }
        let origin = Origin::of(&request, trusted_proxies, self.over_tls);
        let body = match request.body.read(&BodyLimits::up_to(route.max_body_bytes)).await {
            Ok(body) => body,
            Err(error) => {
                note_unread(route, &error);
                return Verdict::Body(error);
            }
        };
        let received = Received { head: request.head, body, origin, at };
        let received = match self.admit(found, received).await {
            Ok(received) => received,
            Err(verdict) => return verdict,
        };
        let (key, event_id) = match self.identify(route, &received) {
            Ok(identified) => identified,
            Err(verdict) => return verdict,
        };
        let uri = app::uri(&route.forward_to, found.suffix, received.head.uri.query());
        let event = Event { route: Arc::clone(route), key, event_id, uri };
        // Before the claim: an event that is refused here has left nothing behind.
        let Ok(place) = Arc::clone(found.places).try_acquire_owned() else {
            tracing::warn!(route = %route.name, limit = MAX_ATTEMPTS, "too many attempts are under way");
            return Verdict::Crowded;
        };
        self.pursue(event, received, place).await
    }

    /// Lets the event take its course, and the sender wait for it as long as senders of this route do.
    ///
    /// The course is a task of its own already when it claims: the transport drops what a sender waits for as soon as
    /// it has gone, half-closed included, and a claim that nobody follows up would hold the event until it expires.
    async fn pursue(self: &Arc<Self>, event: Event, received: Received, place: OwnedSemaphorePermit) -> Verdict {
        let patience = received.at + event.route.answer_within;
        let course = Arc::clone(self).claim_and_hand_over(event, received);
        let running = self.attempts.spawn(async move {
            let _place = place;
            course.await
        });
        match tokio::time::timeout_at(patience, running).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(_)) => Verdict::Broken,
            Err(_) => Verdict::Late,
        }
    }

    async fn claim_and_hand_over(self: Arc<Self>, event: Event, received: Received) -> Verdict {
        let Event { route, key, event_id, uri } = event;
        let guarded = match key {
            None => None,
            Some((text, confirmed_ttl)) => match self.claim(&route, &text, confirmed_ttl, received.at).await {
                Ok(guarded) => Some(guarded),
                Err(verdict) => return verdict,
            },
        };
        let attempt = Attempt { route, guarded, event_id, uri };
        attempt.run(self.app.clone(), Arc::clone(&self.ledger), received).await
    }

    /// Which of the secrets verifies a request, if anything verifies this route; else what a request gets that is not shown
    /// to be the sender's.
    #[expect(clippy::result_large_err, reason = "it is on its way out, once, and not worth an allocation")]
    fn verify(&self, route: &RouteSettings, received: &Received) -> Result<Option<usize>, Verdict> {
        let Some(verifier) = &route.sender.verifier else {
            return Ok(None);
        };
        let now = self.ledger.clock().wall_now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = UnixSeconds(i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
        let sent = sent(route, received);
        let (route_name, provider) = (&route.name, route.sender.provider.as_deref().unwrap_or_default());
        match verifier.verify(&sent, now) {
            Verification::Verified { secret, index, skew_seconds } => {
                self.note_skew(provider, skew_seconds);
                if skew_seconds.is_some() {
                    self.ledger.clock().senders().fresh(provider);
                }
                tracing::debug!(route = %route_name, secret, skew_seconds, "verified");
                Ok(Some(index))
            }
            Verification::Stale { secret, skew_seconds } => {
                self.note_skew(provider, Some(skew_seconds));
                self.ledger.clock().senders().stale(provider, skew_seconds);
                tracing::warn!(
                    route = %route_name, secret, skew_seconds,
                    "the signature is right and its timestamp out of tolerance: a late copy, or a clock that is wrong"
                );
                Err(Verdict::Stale)
            }
            Verification::Rejected(rejection) => {
                tracing::info!(route = %route_name, %rejection, "refused");
                Err(Verdict::Unverified)
            }
        }
    }

    /// The id of the event, and the text and the lifetime of its key; neither where the event has no identity.
    #[expect(clippy::result_large_err, reason = "it is on its way out, once, and not worth an allocation")]
    fn identify(&self, route: &RouteSettings, received: &Received) -> Result<(EventKey, Option<EventId>), Verdict> {
        let sent = sent(route, received);
        match route.sender.event_id.as_ref().map(|source| source.find(&sent)) {
            Some(Identity::Known(id)) => Ok((Some((id.key_text(), route.confirmed_ttl)), Some(id))),
            Some(Identity::DuplicateHeader(_)) => Err(Verdict::Unverified),
            Some(Identity::Missing(_)) | None => match route.on_missing_id {
                OnMissingId::Reject => Err(Verdict::NoId),
                OnMissingId::Hash => Ok((Some((body_key_text(&received.body), HASH_TTL)), None)),
                OnMissingId::Forward => {
                    self.count_unguarded(route);
                    Ok((None, None))
                }
            },
        }
    }

    fn count_unguarded(&self, route: &RouteSettings) {
        let labels = ByReason { namespace: route.namespace.to_string(), reason: NO_EVENT_ID };
        self.metrics.degraded.get_or_create(&labels).inc();
    }

    fn note_skew(&self, provider: &str, skew_seconds: Option<i64>) {
        if let Some(skew_seconds) = skew_seconds {
            let labels = ByProvider { provider: provider.to_owned() };
            self.metrics.sender_clock_skew_seconds.get_or_create(&labels).set(skew_seconds);
        }
    }

    /// Claims the event, waiting for an attempt that is under way as the route says.
    async fn claim(
        &self,
        route: &RouteSettings,
        id: &str,
        confirmed_ttl: ConfirmedTtl,
        at: Instant,
    ) -> Result<Guarded, Verdict> {
        // An id becomes a key by a mapping whose results are keys; the error is there for a mapping that is not.
        let key = Key::new(&route.namespace, id).map_err(|_| Verdict::NoId)?;
        // The app may have the event while its claim is being synced: what the sender is told waits for the confirm.
        let answer_at = AnswerAt::Decision;
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
            Outcome::Done(done) => Err(Verdict::Duplicate { replay: replay(route, &done) }),
            Outcome::InProgress { expires_at, .. } => {
                Err(Verdict::InProgress { expires_in: expires_at.since(self.ledger.clock().now()) })
            }
            // A claim that brings no fingerprint comes to nothing else.
            _ => Err(Verdict::Broken),
        }
    }
}

/// The request as its sender's profile sees it. What a body decodes to may be as large as a body.
fn sent<'r>(route: &RouteSettings, received: &'r Received) -> provider::Request<'r> {
    let target = received.head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    provider::Request::new(&received.head.headers, &received.body)
        .at(&received.head.method, target)
        .decoded_up_to(usize::try_from(route.max_body_bytes).unwrap_or(usize::MAX))
}

/// The app's answer again, on a route that asks for it and if it was kept; else what its sender takes for success, if that is
/// not 200.
fn replay(route: &RouteSettings, done: &Done) -> Option<http::Response<Bytes>> {
    match route.duplicate_response {
        DuplicateResponse::Plain => None,
        DuplicateResponse::Replay => done.result.as_ref().and_then(KeptAnswer::answer),
    }
    .or_else(|| route.duplicate_answer.as_ref().map(answer::acknowledgement))
}

/// The two lengths tell a sender that miscounts from a line that broke.
fn note_unread(route: &RouteSettings, error: &BodyError) {
    let (expected, got) = match error {
        BodyError::Incomplete { expected, got } | BodyError::TimedOut { expected, got } => (*expected, Some(*got)),
        BodyError::TooLarge { .. } | BodyError::Malformed(_) => (None, None),
    };
    tracing::info!(route = %route.name, expected, got, error = %Chain(error), "a body could not be read");
}
