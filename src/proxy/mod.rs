//! The webhook proxy: stands in front of the apps and does the claiming for them.
//!
//! The life of a request is [`Proxy::serve`], read from top to bottom: match a route, read the raw body, verify, answer
//! a handshake, find the event id, claim, hand over, confirm or release, answer; or, on a queue route, accept and answer. What stops it on the way is a
//! [`Verdict`], and what a verdict looks like to a sender stands in one file ([`answer`]).
//!
//! Input that fails verification changes no state. From claim to confirm an event is a task of its own ([`attempt`]): a
//! sender that hangs up does not cut it. A failed event whose sender will not come again is kept before the failure is
//! answered ([`dead_letter`]). If the process dies in between, the next start gives the claim back, and the sender's
//! retry is handed over with a higher attempt number; nothing of the event itself is on disk then.

mod answer;
mod attempt;
mod dead_letter;
mod guard;
mod handshake;
mod headers;
mod history;
mod identity;
mod kept;
mod queue;
mod settings;
mod table;
mod verdict;
mod verification;
mod watch;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use bytes::Bytes;
use http::Uri;
use http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use answer::STAMP;
pub use settings::{
    DuplicateResponse, HandshakeSettings, HooksSettings, InFlight, KeepFailures, Mode, Network, NetworkError,
    OnMissingId, OnUnknownOutcome, PublicUrl, PublicUrlError, RouteSettings, SenderSettings,
};

use crate::app::Apps;
use crate::chain::Chain;
use crate::ledger::Ledger;
use crate::metrics::{ByRoute, Metrics};
use crate::provider::EventId;
use crate::quiet::Quiet;
use crate::server::{BodyError, BodyLimits, Request, Response};
use attempt::{Attempt, Course};
use handshake::Admitted;
use headers::Origin;
use history::History;
use identity::EventKey;
use table::{Found, MAX_ATTEMPTS, Match, Table};
use verdict::Verdict;
use verification::sent;
use watch::Watch;

/// The proxy of one daemon.
#[derive(Debug)]
pub struct Proxy {
    ledger: Arc<Ledger>,
    metrics: Arc<Metrics>,
    /// Put in its place as a whole at a reload; a request keeps the one that it began with.
    routing: RwLock<Arc<Routing>>,
    /// Whether senders arrive over TLS; every listener of theirs is alike.
    over_tls: bool,
    apps: Apps,
    /// Attempts that are under way, whether their senders are still there or not.
    attempts: TaskTracker,
    /// Ends the wait for apps, when a stop cannot wait any longer.
    cut: CancellationToken,
    history: History,
    quiet: Quiet<Topic>,
}

/// What a reload changes.
#[derive(Debug)]
struct Routing {
    table: Table,
    trusted_proxies: Vec<Network>,
}

/// What a stranger can cause to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Topic {
    /// A request that is not shown to be the sender's.
    Refused,
    /// A copy of one that is, long after.
    Stale,
    /// A body that could not be read.
    Unread,
    /// An event that found no place; on a route without verification it may be a stranger's.
    Crowded,
    /// A handshake that found no place, and that nobody has signed.
    CrowdedHandshakes,
    /// An event that could not be put into its queue.
    NotAccepted,
}

/// One request whose body has been read.
struct Received {
    head: Parts,
    body: Bytes,
    origin: Origin,
    at: Instant,
}

impl Received {
    /// When it arrived, by the wall clock, which shows `now`.
    fn on_the_wall(&self, now: SystemTime) -> SystemTime {
        now.checked_sub(self.at.elapsed()).unwrap_or(now)
    }
}

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
    pub fn new(
        ledger: Arc<Ledger>,
        metrics: Arc<Metrics>,
        apps: Apps,
        hooks: &HooksSettings,
        routes: Vec<RouteSettings>,
    ) -> Self {
        let attempts = TaskTracker::new();
        Self {
            apps,
            history: History::new(Arc::clone(&ledger), Arc::clone(&metrics), attempts.clone()),
            ledger,
            metrics,
            routing: RwLock::new(Arc::new(Routing {
                table: Table::new(routes, None),
                trusted_proxies: hooks.trusted_proxies.clone(),
            })),
            over_tls: hooks.tls.is_some(),
            attempts,
            cut: CancellationToken::new(),
            quiet: Quiet::default(),
        }
    }

    /// Reads what TLS towards apps needs, if an app is behind it. What fails is told and tried again when an event
    /// comes: the other apps can be reached all the same.
    pub async fn prepare(&self) {
        if self.routing().table.routes().any(|route| route.forward_to.is_https()) {
            self.apps.prepare_tls().await;
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
            Found::Nothing => (String::new(), Verdict::Unrouted),
            Found::Climbing => (String::new(), Verdict::Climbing),
            Found::Route(found) => {
                let trusted_proxies = &routing.trusted_proxies;
                (found.route.name.to_string(), self.serve(&found, trusted_proxies, request).await)
            }
        };
        let outcome = verdict.outcome();
        self.metrics.hooks.get_or_create(&ByRoute { route, outcome }).inc();
        answer::response(verdict)
    }

    /// Waits for apps no longer: what they are at counts as unknown from now on, and is settled as that.
    pub fn cut(&self) {
        self.cut.cancel();
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
        let taken = handshake::methods(route);
        if !taken.contains(&request.head.method) {
            return Verdict::Method { taken };
        }
        let origin = Origin::of(&request, trusted_proxies, self.over_tls);
        let body = match request.body.read(&BodyLimits::up_to(route.max_body_bytes)).await {
            Ok(body) => body,
            Err(error) => {
                self.note_unread(route, &error);
                return Verdict::Body(error);
            }
        };
        let received = Received { head: request.head, body, origin, at };
        let admitted = self.admit(route, &sent(route, &received));
        let (key, event_id) = match admitted {
            Ok(Admitted::Event { key, event_id }) => (key, event_id),
            Ok(Admitted::Passed { verified }) => return self.pass(found, received, verified).await,
            Err(verdict) => return verdict,
        };
        let uri = route.forward_to.extended(found.suffix, received.head.uri.query());
        let event = Event { route: Arc::clone(route), key, event_id, uri };
        // Before the claim: an event that is refused here holds nothing up.
        let Ok(place) = Arc::clone(&found.places.signed).try_acquire_owned() else {
            self.note_crowded_attempts(route);
            return self.turn_away(event, received).await;
        };
        self.pursue(event, received, place).await
    }

    /// Refuses an event for want of room; one whose sender does not come again is kept, also if it has gone already.
    async fn turn_away(self: &Arc<Self>, event: Event, received: Received) -> Verdict {
        if !dead_letter::is_final(&Verdict::Crowded, &event.route.keep_failures) {
            return Verdict::Crowded;
        }
        let ledger = Arc::clone(&self.ledger);
        let watch = Watch(event.route.name.clone());
        let keeping = async move {
            let _watch = watch;
            dead_letter::keep_untried(event, received, &Verdict::Crowded, &ledger).await;
        };
        match self.attempts.spawn(keeping).await {
            Ok(()) => Verdict::Crowded,
            Err(_) => Verdict::Broken,
        }
    }

    /// Lets the event take its course, and the sender wait for it as long as senders of this route do.
    ///
    /// The course is a task of its own already when it claims: the transport drops what a sender waits for as soon as
    /// it has gone, half-closed included, and a claim that nobody follows up would hold the event until it expires.
    async fn pursue(self: &Arc<Self>, event: Event, received: Received, place: OwnedSemaphorePermit) -> Verdict {
        let patience = received.at + event.route.answer_within;
        let watch = Watch(event.route.name.clone());
        let (late, kept) = oneshot::channel();
        let history = event.route.keep_passed.then(|| self.history.clone());
        let course = Course { patience, late, cut: self.cut.clone(), history };
        let running = Arc::clone(self).take_course(event, received, course);
        let running = self.attempts.spawn(async move {
            let (_place, _watch) = (place, watch);
            running.await
        });
        match tokio::time::timeout_at(patience, running).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(_)) => Verdict::Broken,
            Err(_) => {
                // Nothing is ever sent: what ends the wait is that the other end goes, when all is kept that must be.
                let _kept = kept.await;
                Verdict::Late
            }
        }
    }

    async fn take_course(self: Arc<Self>, event: Event, received: Received, course: Course) -> Verdict {
        if let Mode::Queue { .. } = event.route.mode {
            // Apart: what the events of sync routes never come to should not make the room for them larger.
            if let Some(verdict) = Box::pin(self.accept(&event, &received)).await {
                return verdict;
            }
        }
        self.claim_and_hand_over(event, received, course).await
    }

    async fn claim_and_hand_over(self: Arc<Self>, event: Event, received: Received, course: Course) -> Verdict {
        let guarded = match &event.key {
            None => None,
            Some((text, confirmed_ttl)) => match self.claim(&event.route, text, *confirmed_ttl, received.at).await {
                Ok(guarded) => Some(guarded),
                Err(verdict @ Verdict::StoreDown) => {
                    // Apart: what is rarely done should not make the room for every event larger.
                    Box::pin(dead_letter::keep_untried(event, received, &verdict, &self.ledger)).await;
                    return verdict;
                }
                Err(verdict) => return verdict,
            },
        };
        let Event { route, event_id, uri, .. } = event;
        let attempt = Attempt { route, guarded, event_id, uri };
        attempt.run(self.apps.clone(), Arc::clone(&self.ledger), received, course).await
    }

    fn note_crowded_attempts(&self, route: &RouteSettings) {
        if let Some(left_out) = self.quiet.permits(&route.name, Topic::Crowded) {
            tracing::warn!(route = %route.name, limit = MAX_ATTEMPTS, left_out, "too many attempts are under way");
        }
    }

    /// The two lengths tell a sender that miscounts from a line that broke.
    fn note_unread(&self, route: &RouteSettings, error: &BodyError) {
        let Some(left_out) = self.quiet.permits(&route.name, Topic::Unread) else { return };
        let (expected, got) = match error {
            BodyError::Incomplete { expected, got } | BodyError::TimedOut { expected, got } => (*expected, Some(*got)),
            BodyError::TooLarge { .. } | BodyError::Malformed(_) | BodyError::Crowded => (None, None),
        };
        let error = Chain(error);
        tracing::info!(route = %route.name, expected, got, %error, left_out, "a body could not be read");
    }
}
