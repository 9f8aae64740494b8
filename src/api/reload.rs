//! `POST /v1/reload`: asks for the config to be loaded anew, and waits for what comes of it.
//!
//! The API does not load anything. It knocks at a door behind which the daemon sits; a signal knocks at the same one, so
//! that there is one reload at a time and one account of it.

use std::sync::{Arc, OnceLock};

use http::StatusCode;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use utoipa::ToSchema;

use super::Api;
use super::access::Caller;
use super::answer;
use super::problem::Problem;
use crate::server::Response;

/// Knocks that wait for the one before them. Whoever comes later waits at the door itself.
const MAX_WAITING: usize = 8;

/// A config that has been loaded anew and holds from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    /// How many routes there are.
    pub routes: usize,
    /// What is odd about them.
    pub warnings: Vec<String>,
    /// Addresses that are listened on from now on: those of senders, with the first route.
    pub opened: Vec<String>,
}

/// Why the config stays as it was: a line for each fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadRefused {
    /// Never empty.
    pub faults: Vec<String>,
}

/// What a reload came to.
pub type ReloadOutcome = Result<Reloaded, ReloadRefused>;

/// Somebody asks for a reload and waits for its outcome.
pub type ReloadCall = oneshot::Sender<ReloadOutcome>;

/// Where a reload is asked for. Clones lead to the same place; until it is opened, nobody is there.
#[derive(Debug, Clone, Default)]
pub struct ReloadDoor(Arc<OnceLock<mpsc::Sender<ReloadCall>>>);

impl ReloadDoor {
    /// Opens the door and stands behind it; `None` where somebody does already.
    #[must_use]
    pub fn open(&self) -> Option<mpsc::Receiver<ReloadCall>> {
        let (calls, behind) = mpsc::channel(MAX_WAITING);
        self.0.set(calls).is_ok().then_some(behind)
    }

    /// Asks for a reload. It runs to its end also when this is dropped.
    ///
    /// # Errors
    /// When the config has faults, changes what only a restart can change, or there is nobody to load it.
    pub async fn ask(&self) -> ReloadOutcome {
        let nobody = || ReloadRefused { faults: vec!["this daemon has no config to load anew".to_owned()] };
        let (call, outcome) = oneshot::channel();
        self.0.get().ok_or_else(nobody)?.send(call).await.map_err(|_| nobody())?;
        outcome.await.map_err(|_| nobody())?
    }
}

/// The wire form of [`Reloaded`].
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReloadedBody {
    /// Always `reloaded`.
    pub(super) outcome: &'static str,
    /// How many routes there are.
    pub(super) routes: usize,
    /// What is odd about them.
    pub(super) warnings: Vec<String>,
    /// Addresses that are listened on from now on.
    pub(super) opened: Vec<String>,
}

pub(super) async fn reload(api: &Arc<Api>, caller: &Caller<'_>) -> Result<Response, Problem> {
    caller.needs_operate()?;
    if caller.namespaces().is_some() {
        return Err(Problem::Forbidden { detail: "a reload concerns all namespaces" });
    }
    let reloaded = api.reloads.ask().await.map_err(|refused| Problem::ReloadRefused { faults: refused.faults })?;
    let Reloaded { routes, warnings, opened } = reloaded;
    Ok(answer::respond(StatusCode::OK, &ReloadedBody { outcome: "reloaded", routes, warnings, opened }))
}
