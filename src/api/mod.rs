//! The control API: what apps on the machine and the command line ask, over HTTP and JSON.
//!
//! A request passes, in this order: its path and method are known ([`Resource`]), it is no browser's, its caller may
//! ([`access`]), its body is read, it is parsed into an ask that cannot be wrong ([`parse`]), the ledger decides it, and
//! the outcome becomes a status and a body ([`answer`]). Whatever stops it on the way is a [`problem`]. Nothing here
//! decides anything about a key, and nothing is stored before all of it has passed.

mod access;
mod answer;
mod audit;
mod claims;
mod event_list;
mod event_rows;
mod event_wire;
mod events;
mod filter;
mod openapi;
mod parse;
mod problem;
mod query;
mod redrive;
mod reload;
mod replay;
mod resource;
mod settings;
mod unique_json;
mod verbs;
mod wire;

use std::sync::{Arc, PoisonError, RwLock};

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use reload::{ReloadCall, ReloadDoor, ReloadOutcome, ReloadRefused, Reloaded};
pub use settings::{
    ApiSettings, BearerToken, BearerTokenError, LOOPBACK, MIN_BEARER_BYTES, SOCKET, Scope, TokenSettings,
};

use crate::delivery::Delivery;
use crate::ledger::Ledger;
use crate::metrics::{self, Metrics};
use crate::server::{Peer, Request, Response, ResponseBody};
use access::Caller;
use problem::Problem;
use resource::Resource;
use wire::ReadyBody;

/// The control API of one daemon.
#[derive(Debug)]
pub struct Api {
    ledger: Arc<Ledger>,
    delivery: Arc<Delivery>,
    metrics: Arc<Metrics>,
    /// Put in their place as a whole at a reload; a request keeps those that it began with.
    settings: RwLock<Arc<ApiSettings>>,
    reloads: ReloadDoor,
    /// For the bodies of events.
    body_places: Arc<Semaphore>,
    /// Cancelled when the daemon begins to stop: it is not ready any more.
    stopping: CancellationToken,
}

impl Api {
    /// The API over a ledger, and over what delivers events.
    #[must_use]
    pub fn new(
        ledger: Arc<Ledger>,
        delivery: Arc<Delivery>,
        metrics: Arc<Metrics>,
        settings: ApiSettings,
        reloads: ReloadDoor,
        stopping: CancellationToken,
    ) -> Self {
        let (settings, body_places) =
            (RwLock::new(Arc::new(settings)), Arc::new(Semaphore::new(events::BODIES_AT_ONCE)));
        Self { ledger, delivery, metrics, settings, reloads, body_places, stopping }
    }

    /// Lets other callers in from now on. Where it listens does not change.
    pub fn replace_settings(&self, settings: ApiSettings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// Whether a route of this name is configured now.
    fn has_route(&self, name: &str) -> bool {
        self.delivery.is_working(name)
    }

    fn settings(&self) -> Arc<ApiSettings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers a request.
    pub async fn handle(self: Arc<Self>, request: Request) -> Response {
        let answered = self.route(request).await;
        answered.unwrap_or_else(|problem| problem.response())
    }

    async fn route(self: Arc<Self>, request: Request) -> Result<Response, Problem> {
        let path = request.head.uri.path().to_owned();
        let resource = Resource::of(&path).ok_or(Problem::NotFound)?;
        let allow = resource.allow();
        if !allow.split(", ").any(|method| method == request.head.method.as_str()) {
            return Err(Problem::Method { allow });
        }
        let headers = &request.head.headers;
        let settings = self.settings();
        match resource {
            Resource::Live => return Ok(answer::respond(StatusCode::OK, &serde_json::json!({ "status": "ok" }))),
            Resource::Ready => return Ok(self.ready()),
            _ => access::refuse_browsers(&settings, request.peer, headers)?,
        }
        if let Resource::Metrics = resource {
            may_read_metrics(&settings, &request)?;
            return Ok(self.metrics());
        }
        let caller = access::caller(&settings, request.peer, headers)?;
        self.answer(&caller, resource, request).await
    }

    async fn answer(
        self: &Arc<Self>,
        caller: &Caller<'_>,
        resource: Resource<'_>,
        request: Request,
    ) -> Result<Response, Problem> {
        let query = request.head.uri.query();
        match resource {
            Resource::Verb(verb) => verbs::one(self, caller, verb, request).await,
            Resource::Batch => verbs::batch(self, caller, request).await,
            Resource::Claim(namespace, key) if request.head.method == Method::DELETE => {
                claims::forget(self, caller, namespace, key).await
            }
            Resource::Claim(namespace, key) => claims::read(self, caller, namespace, key).await,
            Resource::Claims => claims::list(self, caller, query).await,
            Resource::Events => event_list::events(self, caller, query).await,
            Resource::DeadLetters => event_list::dead_letters(self, caller, query).await,
            Resource::Event(id) if request.head.method == Method::DELETE => {
                events::discard(self, caller, id, query).await
            }
            Resource::Event(id) => events::read(self, caller, id).await,
            Resource::EventBody(id) => events::body(self, caller, id).await,
            Resource::Replay(id) => replay::replay(self, caller, id, request).await,
            Resource::Redrive => redrive::redrive(self, caller, request).await,
            Resource::Audit => audit::audit(self, caller, query).await,
            Resource::Reload => reload::reload(self, caller).await,
            Resource::OpenApi => Ok(openapi::response()),
            Resource::Live | Resource::Ready | Resource::Metrics => Err(Problem::Internal),
        }
    }

    fn metrics(&self) -> Response {
        let mut response = Response::new(ResponseBody::from(self.metrics.render().into_bytes()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE));
        response
    }

    fn ready(&self) -> Response {
        let mut reasons = Vec::new();
        if self.stopping.is_cancelled() {
            reasons.push("stopping".to_owned());
        }
        if let Some(fault) = self.ledger.store().fault() {
            reasons.push(format!("store: {fault}"));
        }
        let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let off = self.ledger.clock().senders().off();
        let warning = |(provider, skew_seconds): (Box<str>, i64)| {
            format!(
                "clock: timestamps of {provider} are off by {skew_seconds} s, all alike; look at this machine's clock"
            )
        };
        let warnings = off.into_iter().map(warning).collect();
        answer::respond(status, &ReadyBody { ready: reasons.is_empty(), reasons, warnings })
    }
}

/// Open on loopback and on the socket; from elsewhere with a token that may operate.
fn may_read_metrics(settings: &ApiSettings, request: &Request) -> Result<(), Problem> {
    match request.peer {
        Peer::Tcp(address) if !address.ip().is_loopback() => {
            access::caller(settings, request.peer, &request.head.headers)?.needs_operate()
        }
        Peer::Tcp(_) | Peer::Unix => Ok(()),
    }
}
